"""Generation of a problem's data: its vocabulary and its token arrays."""

import itertools
import json
import logging
import os

from keras_transformer import errors
from keras_transformer.data.generation import encoding
from keras_transformer.data.generation import token_arrays
from keras_transformer.data.generation import token_links
from keras_transformer.data.generation.attributes import check_attributes
from keras_transformer.data.generation.attributes import check_corpora
from keras_transformer.data.vocabulary import vocabularies
from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.errors import UserError
from keras_transformer.files import directories
from keras_transformer.files import locks
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import check_reachable
from keras_transformer.files.reading import read_record
from keras_transformer.files.writing import write_record
from keras_transformer.token_ids import UNKNOWN_ID

MANIFEST_FILE = "manifest.json"

_CORPUS = {"name": str, "sha256": [str], "weight": float, "pairs": WHOLE}
_CORPUS |= {"tag?": str}
_SPLIT: dict = {"pairs": WHOLE, "source_tokens": WHOLE}
_SPLIT |= {"target_tokens": WHOLE, "corpora?": [_CORPUS]}
_SPLIT |= {"dropped": {str: WHOLE}}
# The shape of `manifest.json`; see `read_record`.
_MANIFEST = {
    "made_from": {
        "splits": [str],
        "vocab_size": (WHOLE, None),
        "source_vocab_size?": WHOLE,
        "vocab_sha256?": (str, None),
        "source_vocab_sha256?": str,
        "files": [{"name": str, "sha256": str}],
        "settings?": {},
    },
    "vocab_size": WHOLE,
    "vocab_sha256": str,
    "source_vocab_size?": WHOLE,
    "source_vocab_sha256?": str,
    "splits": {"train": _SPLIT, str: _SPLIT},
}

# Largest number of training pairs that the vocabulary is trained on. They are
# spread evenly over the text; more of them change the vocabulary little.
MAX_VOCABULARY_PAIRS = 500_000
# Pairs of a split that tell whether the vocabulary suits it.
SAMPLE_SIZE = 1000

# Attributes of a problem that the manifest names if they are unusual.
_VOCABULARY_SETTINGS = {
    "normalize_text": True,
    "vocabulary_temperature": 1,
    "vocabulary_type": "subwords",
    "source_vocabulary_type": None,
    "character_coverage": None,
}

_logger = logging.getLogger(__name__)


def generate(problem, tmp_dir):
    """Writes a problem's vocabulary, token arrays and manifest.

    Does nothing if they were generated before from the same files. Everything
    is written to a temporary directory and then moved into place, the manifest
    last, so a later process never takes the remains of a killed one for
    complete data. The files of splits that a problem no longer has are removed.
    Other files in the folder stay, and are an error if they have the names of
    data. Processes that generate at the same time wait for each other. Returns
    the manifest, a dictionary.
    """
    # Complete data may lie in a folder that cannot be written to.
    if read_manifest(problem.directory) is None:
        directories.check_directory(problem.directory, "The folder of the data")
    check_attributes(problem, tmp_dir)
    vocabularies.check_problem(problem)
    with locks.lock_directory(problem.data_dir):
        directories.finish_replacing(problem.directory, MANIFEST_FILE)
        depends_on = describe_origin(problem, tmp_dir)
        manifest = read_manifest(problem.directory)
        if manifest and manifest["made_from"] == depends_on:
            _logger.info("%s is complete already.", problem.directory)
            return manifest
        # Files of the user may lie in the directory.
        earlier = set()
        if manifest:
            settings = manifest["made_from"].get("settings", {})
            earlier = _list_files(
                manifest["splits"],
                is_shared="source_vocab_sha256" not in manifest,
                has_links=token_links.SETTING in settings,
            )
        _check_names(problem, earlier)
        with directories.replace_content(
            problem.directory, MANIFEST_FILE, owned=earlier
        ) as aside:
            data = _write_data(problem, tmp_dir, aside)
            manifest = {"made_from": depends_on, **data}
            write_manifest(manifest, aside)
        problem.forget_data()
    return manifest


def read_manifest(directory):
    """Returns the manifest in a directory, or None if there is none."""
    path = os.path.join(directory, MANIFEST_FILE)
    check_reachable(path)
    # `exists` would overlook a link to nothing.
    if not os.path.lexists(path):
        return None
    return read_record(path, _MANIFEST, token_arrays.REMEDY)


def describe_origin(problem, tmp_dir):
    """Returns everything that the data depend on, as a dictionary."""
    path = problem.vocabulary_path
    existing = vocabularies.read_path(path) if path else None
    origin = {
        "problem": problem.data_name,
        "splits": list(problem.splits),
        "vocab_size": None if existing else problem.vocab_size,
    }
    # Unset options have no entry, as in earlier manifests.
    if not problem.shared_vocabulary:
        source_size = problem.source_vocab_size or problem.vocab_size
        origin["source_vocab_size"] = source_size
    origin["vocab_sha256"] = existing.targets.sha256 if existing else None
    if existing and not existing.is_shared:
        origin["source_vocab_sha256"] = existing.sources.sha256
    origin["files"] = problem.fingerprints(tmp_dir)
    if settings := _describe_settings(problem):
        origin["settings"] = settings
    return origin


def _describe_settings(problem):
    """Returns the settings of a problem as they are read from a manifest."""
    settings = {}
    if problem.user_symbols:
        settings["symbols"] = problem.user_symbols
    for name, usual in _VOCABULARY_SETTINGS.items():
        if (value := getattr(problem, name)) != usual:
            settings[name] = value
    settings.update(problem.settings())
    try:
        # JSON turns a tuple into a list, which is not equal to it.
        return json.loads(json.dumps(settings, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise UserError(
            "`settings` of a problem must return what JSON can hold. Received: "
            f"{errors.quote(settings)} from problem={problem.data_name}. "
            "Return a dictionary of texts and numbers."
        ) from error


def _write_data(problem, tmp_dir, directory):
    """Writes vocabularies and splits; returns their part of the manifest."""
    # A fault in one of them must not appear after hours of encoding.
    splits = problem.splits
    described = {s: check_corpora(problem, s, tmp_dir) for s in splits}
    both = _make_vocabularies(problem, tmp_dir, directory)
    data = {
        "vocab_size": both.targets.vocab_size,
        "vocab_sha256": both.targets.sha256,
    }
    if not both.is_shared:
        data["source_vocab_size"] = both.sources.vocab_size
        data["source_vocab_sha256"] = both.sources.sha256
    data["splits"] = {
        split: encoding.encode_split(
            problem, split, tmp_dir, both, directory, described[split]
        )
        for split in splits
    }
    alignments = problem.training_alignments(tmp_dir)
    if alignments is not None:
        token_links.write_links(directory, both, alignments)
    return data


def _make_vocabularies(problem, tmp_dir, directory):
    if problem.vocabulary_path:
        existing = vocabularies.read_path(problem.vocabulary_path)
        if not existing.is_shared:
            vocabularies.check_one_direction(problem)
        _check_symbols(existing.sources, problem, tmp_dir)
        _warn_of_unknown(existing, problem, tmp_dir)
        existing.write(directory)
        return existing
    symbols = problem.shared_vocabulary and problem.bpe_symbols(tmp_dir)
    if symbols:
        path = os.path.join(directory, vocabularies.VOCABULARY_FILE)
        shared = write_symbols(symbols, path)
        return vocabularies.Vocabularies(shared, shared)
    corpora = [
        encoding.select_complete_pairs(problem, corpus)
        for corpus in problem.text_corpora("train", tmp_dir)
    ]
    pairs = vocabularies.sample_corpora(
        corpora, MAX_VOCABULARY_PAIRS, problem.vocabulary_temperature
    )
    encoding.check_number(len(pairs), problem, "train")
    both = vocabularies.train(problem, pairs, tmp_dir, directory)
    if "dev" in problem.splits:
        dev = _sample(problem, "dev", tmp_dir)
        train = [(s, problem.target_text(t)) for s, t in pairs[:SAMPLE_SIZE]]
        vocabularies.warn_of_rote(both, train, dev)
    _warn_of_unknown(both, problem, tmp_dir)
    return both


def _warn_of_unknown(both, problem, tmp_dir):
    if all(vocabulary.has_bytes for vocabulary in both):
        return  # bytes spell all text
    for split in problem.splits:
        # A vocabulary was trained on train, and says what it leaves out.
        if split != "train":
            pairs = _sample(problem, split, tmp_dir)
            vocabularies.warn_of_unknown(both, split, pairs)


def _sample(problem, split, tmp_dir):
    """Returns the first pairs of a split, in the form that is encoded."""
    pairs = itertools.chain(*problem.text_corpora(split, tmp_dir))
    pairs = encoding.select_complete_pairs(problem, pairs)
    return [
        (source, problem.target_text(target))
        for source, target in itertools.islice(pairs, SAMPLE_SIZE)
    ]


def _check_symbols(vocabulary, problem, tmp_dir):
    for symbol in problem.symbols(tmp_dir):
        (ids,) = vocabulary.encode([symbol])
        fault = f"spells {symbol} with {len(ids) - 1} subwords"
        if UNKNOWN_ID in ids:
            fault = f"does not know {symbol}"
        if UNKNOWN_ID in ids or len(ids) > 2:  # for the symbol and the end
            raise UserError(
                "A given vocabulary must have one id for each tag and symbol. "
                f"Received: {problem.vocabulary_path}, which {fault}. Train a "
                "vocabulary of this text."
            )


def write_manifest(manifest, directory):
    """Writes the manifest of a directory, or replaces it."""
    # No time and no path: the same text gives the same bytes on any machine.
    write_record(os.path.join(directory, MANIFEST_FILE), manifest)


def _list_files(splits, is_shared=False, has_links=True):
    """Returns the names of all files of data, apart from the manifest."""
    names = set(vocabularies.FILES[: 1 if is_shared else 2])
    if has_links:
        names.update(token_links.FILES)
    for split, side in itertools.product(splits, token_arrays.SIDES):
        suffixes = set(token_arrays.SUFFIXES)
        if split == "train":  # its text is not written
            suffixes.remove(token_arrays.TEXT_SUFFIX)
        names |= {f"{split}.{side}{suffix}" for suffix in suffixes}
    return names


def _check_names(problem, earlier):
    """Checks that no file of the user has the name of a file to write.

    The `earlier` names belong to the data, as the manifest says.
    """
    names = _list_files(problem.splits) - earlier
    # A vocabulary that is given is written again as it is.
    given = os.path.realpath(problem.vocabulary_path or "")
    if given == os.path.realpath(problem.directory):
        names -= set(vocabularies.FILES)
    for name in sorted(names):
        path = os.path.join(problem.directory, name)
        if os.path.lexists(path) and os.path.realpath(path) != given:
            raise UserError(
                f"{path} must be a file that kt-datagen wrote. Received: one "
                f"that {MANIFEST_FILE} beside it does not name. Move it "
                "elsewhere, or remove the folder."
            )
