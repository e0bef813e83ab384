"""What a run's directory tells of its data, its training and its size."""

import dataclasses
import math
import zipfile

import numpy as np

from keras_transformer import registry
from keras_transformer.data import generation


def describe_data(problem):
    """Returns what a run's record holds of the data that it is trained on.

    Args:
        problem: a `Problem`.

    Returns:
        dictionary of `languages`, `vocab_size`, `files` (name and sha256 of
        each, where the text comes from files) and `splits`: of each the
        `pairs`, `source_tokens` and `target_tokens`, in the direction that the
        problem is translated in. None if there is no manifest.
    """
    manifest = generation.read_manifest(problem.directory)
    if manifest is None:
        return None
    sides = ("target", "source") if problem.reverse else ("source", "target")
    return {
        "languages": [problem.inputs_language, problem.targets_language],
        "vocab_size": manifest["vocab_size"],
        "files": manifest["made_from"]["files"],
        "splits": {
            split: {
                "pairs": counts["pairs"],
                "source_tokens": counts[f"{sides[0]}_tokens"],
                "target_tokens": counts[f"{sides[1]}_tokens"],
            }
            for split, counts in manifest["splits"].items()
        },
    }


def data_of(run):
    """Returns the data of a run, as `describe_data` does, or None.

    Of runs that did not record it, the data where it was generated is asked.
    """
    if "data" in run.record:
        return run.record["data"]
    problem = problem_of(run)
    if problem is None or problem.data_dir is None:
        return None
    return describe_data(problem)


def problem_of(run):
    """Returns a run's problem, or None where nothing has registered it."""
    if run.problem_name.removesuffix("_rev") not in registry.problems.names():
        return None
    return registry.get_problem(run.problem_name, run.record.get("data_dir"))


def changed_hparams(run):
    """Lists the hyper-parameters that are not those of the run's set.

    Returns:
        list of (name, value, value in the set); None where nothing has
        registered the set.
    """
    name = run.record.get("hparams_set")
    if name not in registry.hparams_sets.names():
        return None
    ours = dataclasses.asdict(run.hparams)
    of_set = dataclasses.asdict(registry.get_hparams(name))
    return [
        (field, value, of_set[field])
        for field, value in ours.items()
        if value != of_set[field]
    ]


def num_parameters(run, step):
    """Counts a model's weights from the heads of its checkpoint's arrays."""
    total = 0
    with zipfile.ZipFile(run.checkpoints.path(step)) as file:
        for name in file.namelist():
            if name.startswith("model/"):
                with file.open(name) as array:
                    total += math.prod(_shape(array))
    return total


def _shape(file):
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }[version]
    return read(file)[0]
