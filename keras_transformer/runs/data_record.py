"""What a run records of its data, and how that compares with the data."""

import re

from keras_transformer import registry
from keras_transformer.data.generation import generation
from keras_transformer.errors import UserError


def describe_data(problem):
    """Describes the generated data of a problem, or returns None without any.

    The dictionary holds `languages`; `vocab_size` and, if the source has a
    vocabulary of its own, `source_vocab_size`; `files`, the name and the
    SHA-256 of each text file; the `settings` that the data depend on; and
    `splits`. Each split has the numbers of `pairs`, `source_tokens` and
    `target_tokens`, in the direction of the problem. If it has both,
    `both_directions` is True, and the numbers count all pairs in both.
    """
    manifest = generation.read_manifest(problem.directory)
    if manifest is None:
        return None
    # Both directions share one manifest, which counts the forward direction.
    inputs, targets = zip(*problem.directions)
    has_both = len(problem.directions) == 2
    sizes = [n for n in ("vocab_size", "source_vocab_size") if manifest.get(n)]
    order = reversed(sizes) if problem.reverse else sizes
    return {
        **({"both_directions": True} if has_both else {}),
        "languages": [problem.inputs_language, problem.targets_language],
        **{name: manifest[other] for name, other in zip(sizes, order)},
        "files": manifest["made_from"]["files"],
        "settings": manifest["made_from"].get("settings", {}),
        "splits": {
            split: {
                "pairs": counts["pairs"] * len(problem.directions),
                "source_tokens": sum(counts[f"{s}_tokens"] for s in inputs),
                "target_tokens": sum(counts[f"{s}_tokens"] for s in targets),
            }
            for split, counts in manifest["splits"].items()
        },
    }


def check_same_data(run, problem):
    """Raises a `UserError` if the data differ from those that a run records.

    The data may have moved since the run was started. An early run records
    none, so none is compared.
    """
    earlier = run.record.get("data")
    if not earlier:
        return
    described = describe_data(problem)
    # The other parts of a description are labels, or follow from these.
    current = {
        "files": described["files"],
        "settings": described["settings"],
        "splits": described["splits"],
        "corpus_weights": problem.corpus_weights,
        **problem.vocabularies.hashes,
    }
    recorded = {**run.record, **earlier}
    for name, value in current.items():
        if recorded.get(name, value) != value:
            raise UserError(
                f"The data in {problem.directory} have changed since {run.path}"
                f" was started: their {name} differ. Restore the data, or use "
                "another --output_dir."
            )


def get_data(run):
    """Returns the description of a run's data as `describe_data`, or None.

    If the run does not record it, the manifest in `data_dir` is read.
    """
    # The record describes the data at the start of training. The directory
    # may be gone or hold other data by now.
    if "data" in run.record:
        return run.record["data"]
    problem = find_problem(run)
    if problem is None or problem.data_dir is None:
        return None
    return describe_data(problem)


def find_languages(run):
    """Returns a run's names of its source and target languages, or None.

    They are codes such as "en", or words such as "symbols".
    """
    if run.imported_from:
        return run.record["imported"]["languages"]
    data = get_data(run)
    return data["languages"] if data else None


def list_language_codes(run):
    """Returns the codes of both languages; empty if they are unknown.

    If sources of the model name one of several target languages, it returns
    these after the language of the source, as far as it is known.
    """
    codes = find_languages(run) or []
    several = run.source_vocabulary.language_codes
    if several:
        # A language may have its script or its country after it.
        targets = [re.split("[_-]", code)[0] for code in several]
        codes = list(dict.fromkeys([*codes[:1], *targets]))
    # Problems other than translation have words here.
    known = [code for code in codes if re.fullmatch("[a-z]{2,3}", code)]
    return known if several or known == codes else []


def find_problem(run):
    """Returns the problem of a run, or None if it is not registered."""
    # The registry lists a problem once, without its other directions.
    name = registry.base_name(run.problem_name)
    if name not in registry.problems.names():
        return None
    return registry.get_problem(run.problem_name, run.record.get("data_dir"))
