"""The text that a run is evaluated on: a split, or a set of sacreBLEU."""

import dataclasses

from keras_transformer.data.token_arrays import text_path
from keras_transformer.decoding.loading import load_checker
from keras_transformer.errors import UserError
from keras_transformer.scoring.test_sets import read_test_set
from keras_transformer.trees.tree import parse_tree


@dataclasses.dataclass(frozen=True)
class Texts:
    """Sources and their references."""

    name: str  # of the files of its outputs and scores, such as "test"
    place: str  # for error messages
    sources: list
    references: list
    origin: dict  # entries of a score's signature
    language: str | None = None  # of the references; None if there are two
    more_references: tuple = ()  # lists of further ones, as `references` is
    corpora: tuple = ()  # entries of the manifest whose pairs make up the text


def split_texts(problem, split):
    """Returns the text of the "dev" or "test" split of generated data."""
    sources, references = problem.text_split(split)
    place = f"{problem.name}, split {split}"
    if not sources:
        raise UserError(
            f"The split {split} in {problem.directory} has no sentences to "
            "score. Generate the data again with kt-datagen."
        )
    # With both directions, half of the references are in either language.
    if len(problem.directions) > 1:
        return Texts(split, place, sources, references, {})
    language = problem.targets_language
    corpora = tuple(problem.corpora(split))
    return Texts(
        split, place, sources, references, {}, language, corpora=corpora
    )


def test_set_texts(problem, test_set):
    """Returns the text of one of sacreBLEU's test sets, such as "wmt14/full".

    The languages of the problem, one of raw text, choose the side of the set.
    """
    if problem.measure != "bleu" or problem.is_tokenized:
        raise UserError(
            "`--test_set` must go with a problem that translates raw text, as "
            f"sacreBLEU's sets are. Received: --test_set={test_set} with the "
            f"problem {problem.name}. Use --split."
        )
    pair = f"{problem.inputs_language}-{problem.targets_language}"
    sources, references, *others = read_test_set(test_set, pair)
    # sacreBLEU names the files of a set in the same way.
    name = test_set.replace("/", "_")
    origin = {"test": test_set, "lang": pair}
    place = f"{test_set}, {pair}"
    language = problem.targets_language
    return Texts(
        name, place, sources, references, origin, language, tuple(others)
    )


def check_texts(texts, problem, output_dirs):
    """Checks that runs can translate a text and that it can be scored."""
    checker = load_checker(output_dirs, problem.measure == "f1")
    checker.check_lengths(texts.sources, texts.place)
    if problem.measure == "f1":
        path = text_path(problem.directory, texts.name, "target")
        for number, reference in enumerate(texts.references, 1):
            parse_tree(reference, path, number)
