"""The outputs of a run for a text, in its directory `decodes`."""

import os
import sys

from keras_transformer.data.text import text_files
from keras_transformer.decoding.engines import batching
from keras_transformer.decoding.loading import load_plan
from keras_transformer.errors import UserError
from keras_transformer.files.directories import check_directory
from keras_transformer.files.progress import Progress
from keras_transformer.files.writing import atomic_write
from keras_transformer.files.writing import atomic_write_together
from keras_transformer.files.writing import check_writable
from keras_transformer.parsing.parseval import write_evalb
from keras_transformer.parsing.tree import parse_tree


def outputs_path(output_dir, name, ending="txt"):
    """Returns the path of outputs; EVALB has the endings "gold" and "test"."""
    return os.path.join(output_dir, "decodes", f"{name}.{ending}")


def check_files(output_dir, name, evalb_files=False, further_paths=()):
    """Raises a `UserError` if a file of an evaluation cannot be written."""
    endings = ("txt", "gold", "test") if evalb_files else ("txt",)
    for path in (
        *(outputs_path(output_dir, name, ending) for ending in endings),
        *further_paths,
        os.path.join(output_dir, "README.md"),
        os.path.join(output_dir, "scores", f"{name}.json"),
    ):
        # A missing folder is made later, beside the files of the run.
        check_directory(os.path.dirname(path))
        if os.path.exists(os.path.dirname(path)):
            check_writable(path)


def read_others(path, texts):
    """Returns another model's outputs for the text, from a file or a run."""
    if os.path.isdir(path):
        run, path = path, outputs_path(path, texts.name)
        # Only a user's own path may be a pipe, for which we would wait here.
        if not os.path.isfile(path):
            raise UserError(
                f"{run} has not decoded the same text: {path} is not a file. "
                f"Decode it with kt-evaluate --output_dir={run} first."
            )
    return text_files.read_parallel_lines(
        path, len(texts.sources), f"the references of {texts.name}"
    )


def load_translator(plan):
    """Loads what a `Plan` states, for many sentences."""
    if plan.engine == "keras":
        batching.give_each_a_core()
    return load_plan(plan)


def decode(translator, problem, sources, **options):
    """Returns the best `Hypothesis` of each source.

    Its text is an output of the problem. The other arguments are as in
    `Translator.hypotheses`.
    """
    with Progress("sentences", len(sources)) as progress:
        n_best = translator.hypotheses(sources, progress.add, **options)
        hypotheses = [best for best, *_ in n_best]
    # A parser returns trees already. Other outputs may need a conversion.
    if translator.linearization:
        _report_trees(translator)
        return hypotheses
    return [
        one._replace(text=problem.output(source, one.text))
        for source, one in zip(sources, hypotheses)
    ]


def write(texts, outputs, output_dir, evalb_files=False):
    """Writes the outputs, and perhaps trees for EVALB, beside their run."""
    path = outputs_path(output_dir, texts.name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with atomic_write(path) as file:
        file.writelines(output + "\n" for output in outputs)
    print(f"Outputs: {path}", file=sys.stderr)
    if evalb_files:
        _write_evalb_files(texts, outputs, output_dir)


def _write_evalb_files(texts, outputs, output_dir):
    paths = [outputs_path(output_dir, texts.name, e) for e in ("gold", "test")]
    sides = (list(map(parse_tree, s)) for s in (texts.references, outputs))
    with atomic_write_together(paths) as files:
        too_large = write_evalb(*files, *sides)
    print(f"Input of EVALB: {', '.join(paths)}", file=sys.stderr)
    if too_large:
        print(
            "EVALB needs larger limits, which are set when it is compiled, "
            f"for the trees of lines {', '.join(map(str, too_large))}.",
            file=sys.stderr,
        )


def _report_trees(parser):
    trees = parser.trees
    share = trees.num_malformed / max(1, trees.num_outputs)
    print(
        f"Malformed and repaired: {trees.num_malformed} of {trees.num_outputs} "
        f"({share:.1%}).",
        file=sys.stderr,
    )
    if parser.linearization != "tagged":
        print(
            "This run predicts the tags of punctuation alone, so the tag of "
            "every word counts as wrong.",
            file=sys.stderr,
        )
