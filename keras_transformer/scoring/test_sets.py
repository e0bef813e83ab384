"""The test sets that sacreBLEU downloads, such as wmt14/full."""

import os

from keras_transformer.data import text_files
from keras_transformer.errors import UserError
from keras_transformer.fields import did_you_mean


def read_test_set(name, pair):
    """Returns the lists of sources and of each reference of a test set.

    A set that is not there is downloaded. Some have several references for each
    sentence. sacreBLEU keeps its sets in the directory that the environment
    variable SACREBLEU names, or in `~/.sacrebleu`. Of these, only "wmt14/full"
    has the 3,003 sentences of newstest2014 that the paper translates. A `pair`
    is two codes of languages such as "en-de".
    """
    _check(name, pair)
    paths = _locate_files(name, pair)
    if not all(map(os.path.isfile, paths)):
        paths = _download(name, pair)
    sides = list(zip(*text_files.read_pairs(*paths[:2])))
    sides += [
        text_files.read_parallel_lines(path, len(sides[0]), paths[0])
        for path in paths[2:]
    ]
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
    """Returns where sacreBLEU puts the text of a set with one reference."""
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
            f"Cannot download --test_set={name}: {error}. Place its text into "
            f"{source} and {reference}, one sentence a line."
        ) from error
