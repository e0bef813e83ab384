"""The scores of a run's translations, kept in its directory."""

import dataclasses
import json
import os

from keras_transformer.files import written_aside

DIRECTORY = "scores"


def record_scores(run, split, step, num_pairs, decode, report):
    """Writes down what a split was scored with, in `scores/SPLIT.json`.

    Scores of other checkpoints, or of other ways to decode or to score, stay.

    Args:
        run: a `RunDirectory`.
        split: name of the split.
        step: of the checkpoint that was decoded with.
        num_pairs: number of sentences.
        decode: the `DecodeOptions` it was decoded with.
        report: what the problem's `report` returns.
    """
    entry = {
        "step": step,
        "num_pairs": num_pairs,
        "decode": dataclasses.asdict(decode),
        **report.scores,
        "lines": report.text.splitlines(),
    }
    entries = [
        held
        for held in read_scores(run).get(split, [])
        if _identity(held) != _identity(entry)
    ]
    path = run.file(DIRECTORY, f"{split}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with written_aside(path) as file:
        json.dump([*entries, entry], file, indent=2)
        file.write("\n")


def read_scores(run):
    """Reads all that `record_scores` wrote.

    Args:
        run: a `RunDirectory`.

    Returns:
        dictionary of split to a list of dictionaries of `step`, `num_pairs`,
        `decode`, the scores by name, such as `bleu`, and `lines`, the report
        with its signatures; oldest first.
    """
    directory = run.file(DIRECTORY)
    if not os.path.isdir(directory):
        return {}
    found = {}
    for name in sorted(os.listdir(directory)):
        split, ending = os.path.splitext(name)
        if ending == ".json":
            with open(run.file(DIRECTORY, name), encoding="utf-8") as file:
                found[split] = json.load(file)
    return found


def signature(line):
    """Returns the signature in a line of sacreBLEU's.

    Example:

    >>> signature("BLEU|nrefs:1|case:mixed|version:2.6.0 = 35.1 68/42/28/19")
    'BLEU|nrefs:1|case:mixed|version:2.6.0'
    """
    return line.partition(" = ")[0]


def _identity(entry):
    signatures = [signature(line) for line in entry["lines"]]
    return entry["step"], entry["decode"], signatures
