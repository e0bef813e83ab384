"""The comparison of two systems that kt-evaluate prints and writes."""

import sys

from keras_transformer.evaluation import systems_report
from keras_transformer.scoring import comparison
from keras_transformer.scoring.words import Words


def compare(systems, tokenize, lowercase, path=None, problem=None):
    """Prints whether one of two systems is better, and may write a page.

    Args:
        systems: `Systems` to compare.
        tokenize: Name of sacreBLEU's tokenizer for BLEU.
        lowercase: Whether to ignore case.
        path: Path of the page to write. Defaults to None, for no page.
        problem: `Problem` whose training text has the frequencies of words.
            Defaults to None.
    """
    differences = comparison.compare(
        *systems.outputs, systems.references, tokenize, lowercase
    )
    if path:
        systems_report.write_systems_report(
            systems,
            differences,
            path,
            Words(tokenize, lowercase),
            problem and systems_report.training_targets(problem),
        )
        print(f"Page: {path}", file=sys.stderr)
    # Printed last: the page survives a reader that closes the pipe.
    print(f"\n{comparison.comparison_text(differences, systems.names[1])}")
