"""The scores of a run, in its directory."""

import dataclasses
import os

from keras_transformer.errors import UserError
from keras_transformer.files.locks import lock_directory
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import read_record
from keras_transformer.files.writing import write_record
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.scoring.report import check_scores

DIRECTORY = "scores"

# The scores in the tables of a card, in their order, and their usual names.
TITLES = {
    "bleu": "BLEU",
    "bleu_13a": "BLEU 13a",
    "bleu_intl": "BLEU intl",
    "bleu_paper": "BLEU paper",
    "chrf": "chrF2",
    "ter": "TER",
    "f1": "F1",
    "exact_match": "exact",
    "symbol_error_rate": "symbol errors",
    "character_error_rate": "character errors",
}

# How a card names the options of decoding, and the values that change nothing.
_OPTIONS = {
    "beam_size": ("beam", None),
    "alpha": ("alpha", None),
    "num_hypotheses": ("hypotheses", 1),
    "min_length": ("minimum length", 0),
    "no_repeat_ngram_size": ("no repeated n-gram of", 0),
    "temperature": ("temperature", 0.0),
    "top_k": ("top-k", 0),
    "top_p": ("top-p", 1.0),
    "mbr_samples": ("samples for minimum Bayes risk", 0),
}

_SCORES = {f"{name}?": float for name in TITLES}
_ENTRY = {"step": WHOLE, "num_pairs": WHOLE, "lines": [str], **_SCORES}
_ENTRY["decode"] = {str: (bool, float)}  # fields of `DecodeOptions`
_ENTRY["engine?"] = str
_REMEDY = "Restore the file from a copy, or delete it and evaluate again."


def record_scores(run, split, step, num_pairs, decode, report, engine="Keras"):
    """Adds the `report` of a problem on a split to `scores/SPLIT.json`.

    It replaces earlier scores of the same checkpoint with the same options of
    decoding and the same first measure. All other scores remain. `engine`
    describes what computed the outputs, and why.
    """
    entry = {
        "step": step,
        "num_pairs": num_pairs,
        "decode": dataclasses.asdict(decode),
        "engine": engine,
        **check_scores(report.scores, run.problem_name),
        "lines": report.lines,
    }
    directory = run.file(DIRECTORY)
    # Another process may add scores of other options at the same time.
    with lock_directory(directory):
        if RunDirectory(run.path).averaged_steps != run.averaged_steps:
            raise UserError(
                f"{run.path} was replaced while its outputs were computed, so "
                "their scores are not recorded. Evaluate it again."
            )
        entries = [
            earlier
            for earlier in read_scores(run).get(split, [])
            if _get_identity(earlier) != _get_identity(entry)
        ]
        path = os.path.join(directory, f"{split}.json")
        write_record(path, [*entries, entry])


def read_scores(run):
    """Reads all scores that `record_scores` wrote, by split and oldest first.

    Each is a dictionary of `step`, `num_pairs`, `decode`, the scores by name,
    such as `bleu`, and the `lines` of the report with their signatures.
    """
    directory = run.file(DIRECTORY)
    names = os.listdir(directory) if os.path.isdir(directory) else ()
    return {
        name.removesuffix(".json"): read_record(
            os.path.join(directory, name), [_ENTRY], _REMEDY
        )
        # Sorted, so that the same scores give the same card.
        for name in sorted(names)
        if name.endswith(".json")
    }


def list_entries(run, step=None):
    """Lists (split, entry) of all recorded scores, or of one checkpoint."""
    return [
        (split, entry)
        for split, entries in read_scores(run).items()
        for entry in entries
        if step in (None, entry["step"])
    ]


def describe_decoding(decode):
    """Describes options of decoding, a dictionary, in a few words.

    >>> describe_decoding({"beam_size": 4, "alpha": 0.6, "min_length": 0})
    'beam 4, alpha 0.6'
    """
    return ", ".join(
        f"{word} {decode[name]:g}"
        for name, (word, neutral) in _OPTIONS.items()
        if name in decode and decode[name] != neutral
    )


def list_scores(entry):
    """Lists (name, score, sacreBLEU's signature or None) of an entry."""
    names = [name for name in entry if name in TITLES]
    lines = entry["lines"]
    # There is a line for each score, in the same order.
    if len(names) != len(lines):
        lines = [""] * len(names)
    return [
        (name, entry[name], read_signature(line) if "|" in line else None)
        for name, line in zip(names, lines)
    ]


def read_signature(line):
    """Returns the signature in a line of sacreBLEU.

    >>> read_signature("BLEU|nrefs:1|case:mixed = 35.1 68/42/28/19")
    'BLEU|nrefs:1|case:mixed'
    """
    return line.partition(" = ")[0]


def _get_identity(entry):
    # A signature states the options of a measure. The scores are left out, so
    # that a repeated evaluation replaces the earlier one. Versions differ in
    # the measures after the first.
    first = [read_signature(line) for line in entry["lines"][:1]]
    return entry["step"], entry["decode"], first
