"""Directories of models to decode with: one model, or runs in an ensemble."""

import os

from keras_transformer.decoding.exported import export_format


def directories(path):
    """Returns the paths of models as a list.

    Args:
        path: Path of a directory, or an iterable of such paths.

    Raises:
        ValueError: If there is none.
    """
    paths = [path] if isinstance(path, str | os.PathLike) else list(path or ())
    if not paths or not all(map(os.fspath, paths)):
        raise ValueError(
            "`output_dir` must name a directory for each model. Received: "
            f"{', '.join(map(repr, paths)) or 'no directories'}. Name one run, "
            "or the runs of an ensemble."
        )
    return paths


def format_of(paths):
    """Returns the format of an exported model, or None for runs.

    Args:
        paths: List that `directories` returned.

    Raises:
        ValueError: If one of several models is an exported one.
    """
    formats = list(map(export_format, paths))
    if len(paths) == 1:
        return formats[0]
    for path, format in zip(paths, formats):
        if format:
            raise ValueError(
                "Each model of an ensemble must be a run. Received: "
                f"{path}, which is an exported model. Name the directory of "
                "its run."
            )
    return None


def open_runs(paths):
    """Opens one run, or the runs of an ensemble.

    Args:
        paths: List that `directories` returned.

    Returns:
        List of `RunDirectory`.

    Raises:
        ValueError: If a directory holds no run, or if the vocabularies differ.
    """
    # Imported here because an exported model starts faster without them.
    from keras_transformer.runs.run_directory import RunDirectory

    first, *others = map(RunDirectory, paths)
    for other in others:
        if other.vocabularies.model_bytes != first.vocabularies.model_bytes:
            raise ValueError(
                "The runs of an ensemble must have the same vocabulary. "
                f"Received: {first.path} and {other.path} with different "
                "ones. Train both on the data of one problem."
            )
    return [first, *others]


def load_model(runs, step=None, precision="float32"):
    """Builds the model of a run, or the ensemble of several.

    Args:
        runs: List that `open_runs` returned.
        step: Step of each run's checkpoint, "best", or None for the newest. A
            list has an entry for each run.
        precision: Precision of the computation, see `weights.load_model`.

    Returns:
        A `Transformer`, or an `Ensemble` of several.
    """
    from keras_transformer.runs import weights
    from keras_transformer.search.ensemble import Ensemble

    models = [
        weights.load_model(run, step, precision)
        for run, step in zip(runs, steps_of(runs, step))
    ]
    return models[0] if len(models) == 1 else Ensemble(models)


def steps_of(runs, step):
    """Returns the step of each run, a list.

    Args:
        runs: List of `RunDirectory`.
        step: A step for all runs, or a list with an entry for each.

    Raises:
        ValueError: If a list has another number of entries.
    """
    steps = list(step) if isinstance(step, list | tuple) else [step] * len(runs)
    if len(steps) != len(runs):
        raise ValueError(
            "`step` must have one entry for each run. Received: "
            f"{len(steps)} steps of {len(runs)} runs. Pass equally many."
        )
    return steps


def find_steps(runs, step=None):
    """Returns the numbers of steps, which stay while the runs train on.

    Args:
        runs, step: As for `load_model`.

    Returns:
        List of the integer step of each run's checkpoint.

    Raises:
        ValueError: If a checkpoint does not exist.
    """
    return [
        run.checkpoints.find(own)
        for run, own in zip(runs, steps_of(runs, step))
    ]
