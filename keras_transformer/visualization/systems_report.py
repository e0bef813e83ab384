"""The page that compares the outputs of two systems for one text."""

import dataclasses
import typing

from keras_transformer.files.directories import shorten_paths
from keras_transformer.files.writing import write_file
from keras_transformer.scoring import analysis
from keras_transformer.scoring import comparison
from keras_transformer.visualization.page import make_page

# Sentences of the training text to count words in. More would take minutes and
# hardly move a word into another group.
MAX_COUNTED = 500_000
DECODED_AT_ONCE = 1000


@dataclasses.dataclass(frozen=True)
class Systems:
    """The outputs of two systems for one text."""

    texts: typing.Any  # `Texts`
    names: tuple  # of this system and the other
    outputs: tuple  # two lists of strings


def name_systems(paths, other):
    """Returns short names of the system at these paths and of another.

    A system of several paths is an ensemble of runs.
    """
    *names, other = shorten_paths([*paths, other])
    this = "+".join(names)
    # A run may be compared with its earlier outputs.
    return this, f"earlier {other}" if other == this else other


def compare_systems(
    systems, tokenize, lowercase, path=None, problem=None, measure="bleu"
):
    """Tests which of two systems is better, and may write a page to `path`.

    The page counts the frequencies of words in the training text of the
    problem, or in the references if there is no problem.
    """
    options = tokenize, lowercase, systems.texts.more_references, measure
    differences = comparison.compare(
        *systems.outputs, systems.texts.references, *options
    )
    if path:
        words = analysis.Words(tokenize, lowercase)
        targets = problem and read_training_targets(problem)
        page = make_systems_report(systems, differences, words, targets)
        write_file(path, page)
    return comparison.comparison_text(differences, systems.names)


def make_systems_report(systems, differences, words=None, training_text=None):
    """Returns the HTML of a page that compares two systems.

    The page is a single HTML file that needs neither another file nor a network
    nor JavaScript. It follows the light or dark theme of the system. Words are
    counted in `training_text`, an iterable of its targets, or by default in the
    references. `words` defaults to the words of BLEU 13a.
    """
    words = words or analysis.Words()
    texts, outputs = systems.texts, systems.outputs
    references = texts.references
    counted = references if training_text is None else training_text
    return make_page(
        "visualization/systems_page.html",
        systems=systems,
        differences=differences,
        meaning=comparison.MEANING,
        side="reference" if texts.sources is None else "source",
        counted_text="references" if training_text is None else "training text",
        by_length=analysis.score_by_length(
            texts.sources or references, outputs, references, words
        ),
        by_frequency=analysis.score_by_frequency(
            outputs, references, words, words.count(counted)
        ),
        # Those on which this system is better, and those on which the other is.
        examples=[
            [_describe_example(sentence, systems, words) for sentence in some]
            for some in analysis.find_largest_differences(
                outputs, references, words.lowercase
            )
        ],
    )


def read_training_targets(problem):
    """Yields the first targets of a problem's training text, from token ids."""
    targets = problem.token_pairs("train").targets
    size = min(len(targets), MAX_COUNTED)
    for start in range(0, size, DECODED_AT_ONCE):
        numbers = range(start, min(start + DECODED_AT_ONCE, size))
        yield from problem.vocabulary.decode([targets[n] for n in numbers])


def _describe_example(sentence, systems, words):
    """Returns the texts of a sentence, with each word's longest match."""
    place = sentence.number - 1
    texts = systems.texts
    reference = texts.references[place]
    outputs = [each[place] for each in systems.outputs]
    compared, *tokens = words.tokenize_all([reference, *outputs])
    orders = [analysis.match_orders(each, compared) for each in tokens]
    # Words are shown as they are written, even if case is ignored.
    as_written = dataclasses.replace(words, lowercase=False)
    marked = map(zip, as_written.tokenize_all(outputs), orders)
    scores = sentence.this, sentence.other
    return {
        "number": sentence.number,
        "difference": sentence.difference,
        "source": texts.sources and texts.sources[place],
        "reference": reference,
        "translations": zip(("this", "other"), systems.names, scores, marked),
    }
