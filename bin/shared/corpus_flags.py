"""The flags of kt-datagen for the parallel text of translate_files."""

import itertools
import os

from keras_transformer import errors
from keras_transformer.bin.shared import flags
from keras_transformer.data.generation.corpora import MAX_WEIGHT
from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.data.text import parallel_files
from keras_transformer.data.text.tags import is_tag
from keras_transformer.errors import UserError

TITLE = "Files of translate_files"  # of the group of flags
SPLITS = ("train", "dev", "test")
LANGUAGE_FLAGS = ("source_language", "target_language")


def parse_corpus(text):
    """Returns the `Corpus` that a text such as `a.en,a.de@de:3` names.

    >>> parse_corpus("a.tsv@fr:0.5")
    Corpus(paths=('a.tsv',), weight=0.5, tag='fr')
    """
    files, colon, weight = text.rpartition(":")
    number = errors.parse_number(weight) if colon else 1
    files = files if colon else text
    names, _, tag = files.rpartition("@")
    # The name of a file may have an @, too.
    if not (names and is_tag(tag)):
        names, tag = files, None
    paths = tuple(os.path.expanduser(path) for path in names.split(","))
    parallel_files.detect_kind(paths)
    # A whole weight stays an integer in messages and in the manifest.
    return Corpus(paths, int(number) if number % 1 == 0 else number, tag)


CORPORA = flags.several(
    parse_corpus,
    "a corpus such as a.en,a.de or a.tsv or a.tmx, which a tag such as @fr and "
    f"a weight above 0 and at most {MAX_WEIGHT:,}, such as :3, may follow",
)
TABLE = f"""
{TITLE}:
  train (corpus): Corpus of training text: two files with a comma in between, or
    one that ends in .tsv or .tmx. Repeat the flag for several corpora. A colon
    and a weight say how many times an epoch goes through it, such as own.tsv:3
    or web.en,web.de:0.5. Default weight: 1.
  dev (corpus): The development text, named like a corpus.
  test (corpus): The test text, named like a corpus. Default: none.
  train_source
  train_target
  train_alignments (path): Word alignments of the training text, one line for
    each pair, such as 0-0 2-1, for the hparam guided_alignment. Default: none.
  dev_source (path): Source side of the development text.
  dev_target (path): Target side of the development text.
  test_source (path): Source side of the test text. Default: none.
  test_target (path): Target side of the test text. Default: none.
  source_language
  target_language
  vocab_size (count, maximum {flags.MAX_VOCAB_SIZE}): Number of subwords in the
    vocabulary of both sides, or of the target; parsing_files takes it too.
    Default: the problem's.
  clean (switch): Drop the training pairs that the default rules of kt-clean
    drop or that occur in dev or test, and show what each rule took.
"""


def settings(values):
    """Returns the arguments of `TranslateFiles.use_files` except the files."""
    parts = {split: values[split].value or [] for split in SPLITS}
    check_unweighted(values, *SPLITS[1:])
    languages = read_languages(values, itertools.chain(*parts.values()))
    return {
        "alignments": values.train_alignments,
        "clean": values.clean,
        "corpora": {split: some for split, some in parts.items() if some},
        "languages": languages,
    }


def check_unweighted(values, *names):
    """Checks that the corpora of flags have no weights."""
    for name in names:
        if any(corpus.weight != 1 for corpus in values[name].value or ()):
            rule = "must have no weight, because only the text to train on has"
            flags.refuse(values, [name], f"{rule} one", "Leave the weight out.")


def read_languages(values, corpora):
    """Returns the codes of the source and target language, or None for each."""
    languages = tuple(values[name].value or None for name in LANGUAGE_FLAGS)
    kinds = {parallel_files.detect_kind(corpus.paths) for corpus in corpora}
    if any(languages) and "tmx" not in kinds:
        raise UserError(
            "Languages need a TMX file. Received: source_language="
            f"{languages[0]} and target_language={languages[1]} without one. "
            "Leave them out: other files have the source first."
        )
    return languages
