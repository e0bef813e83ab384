"""The text that a run is evaluated on: a split, or a set of sacreBLEU."""

import dataclasses
import os

from keras_transformer.data.generation.token_arrays import text_path
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.errors import did_you_mean
from keras_transformer.files.reading import file_error
from keras_transformer.parsing.tree import parse_tree


@dataclasses.dataclass(frozen=True)
class Texts:
    """Sources and their references."""

    name: str  # of the files of its outputs and scores, such as "test"
    place: str  # for error messages
    sources: list | None  # None if they are not known
    references: list
    origin: dict  # entries of a score's signature
    language: str | None = None  # of the references; None if there are two
    more_references: tuple = ()  # lists of further ones, as `references` is
    corpora: tuple = ()  # entries of the manifest whose pairs make up the text


def get_split(problem, split):
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
    return Texts(
        *(split, place, sources, references, {}, problem.targets_language),
        corpora=tuple(problem.corpora(split)),
    )


def get_test_set(problem, test_set):
    """Returns the text of one of sacreBLEU's test sets, such as "wmt14/full".

    The languages of the problem, one of raw text, choose the side of the set.
    """
    if problem.measure != "bleu" or problem.is_tokenized:
        raise UserError(
            "`--test_set` needs a problem that translates raw text, like "
            f"sacreBLEU's sets. Received: --test_set={test_set} with the "
            f"problem {problem.name}. Use --split."
        )
    pair = f"{problem.inputs_language}-{problem.targets_language}"
    sources, references, *others = read_test_set(test_set, pair)
    return Texts(
        # sacreBLEU names the files of a set in the same way.
        test_set.replace("/", "_"),
        f"{test_set}, {pair}",
        sources,
        references,
        {"test": test_set, "lang": pair},
        problem.targets_language,
        tuple(others),
    )


def check_texts(texts, problem, checker):
    """Checks that a text can be translated and scored.

    The `checker` is the `Preparation` of the runs.
    """
    checker.check_lengths(texts.sources, texts.place)
    if problem.measure == "f1":
        path = text_path(problem.directory, texts.name, "target")
        for number, reference in enumerate(texts.references, 1):
            parse_tree(reference, path, number)


def read_test_set(name, pair):
    """Returns the lists of sources and of each reference of a test set.

    A missing set is downloaded. Some have several references for each sentence.
    sacreBLEU keeps its sets in the directory that the environment variable
    SACREBLEU names, or in `~/.sacrebleu`. Only "wmt14/full" has the 3,003
    sentences of newstest2014 that the paper translates. A `pair` is two codes
    of languages such as "en-de".
    """
    _check(name, pair)
    paths = _locate_files(name, pair)
    if not all(map(os.path.isfile, paths)):
        paths = _download(name, pair)
    sides = list(zip(*text_files.read_rows(*paths)))
    if not sides:
        remedy = "Delete it, so that it is downloaded again."
        raise file_error(paths[0], "which is empty", remedy)
    # sacreBLEU keeps the entities of older sets, and a model knows characters.
    return [list(map(text_files.unescape, side)) for side in sides]


def _check(name, pair):
    # Imported here because the import takes 0.5 s and few callers need it.
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        raise UserError(
            "`--test_set` must be a test set of sacreBLEU. Received: "
            f"--test_set={name}. {did_you_mean(name, DATASETS, cutoff=0.4)}"
            "`sacrebleu --list` lists all."
        )
    pairs = DATASETS[name].langpairs
    if pair not in pairs:
        raise UserError(
            "A test set must have the languages of the problem. Received: "
            f"--test_set={name} for {pair}; it has {', '.join(pairs)}. Choose "
            "another set."
        )


def _locate_files(name, pair):
    """Returns where sacreBLEU puts a set with one reference."""
    from sacrebleu.utils import SACREBLEU_DIR

    stem = os.path.join(SACREBLEU_DIR, name, f"{name.replace('/', '_')}.{pair}")
    return [f"{stem}.src", f"{stem}.ref"]


def _download(name, pair):
    from sacrebleu import utils

    try:
        source = utils.get_source_file(name, pair)
        return [source, *utils.get_reference_files(name, pair)]
    # sacreBLEU exits if a checksum or a certificate is wrong.
    except (OSError, SystemExit) as error:
        source, reference = _locate_files(name, pair)
        raise UserError(
            f"Cannot download --test_set={name}: {error}. Put its text into "
            f"{source} and {reference}, one sentence per line."
        ) from error
