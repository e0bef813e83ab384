"""The sections of a model card after its overview."""

import dataclasses
import importlib.resources
import string

from keras_transformer.data.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.markdown import block
from keras_transformer.markdown import code
from keras_transformer.markdown import table
from keras_transformer.runs.model_card import facts
from keras_transformer.runs.model_card import scores
from keras_transformer.trees.target_text import find_linearization

_FOLDER = importlib.resources.files("keras_transformer.runs.model_card")
# Exports that leave the text to their users, and where the vocabulary is.
_WITH_FILES = {"ctranslate2": "", "saved_model_ids": "assets.extra/"}
_SPELLED_IN_BYTES = (
    "Characters outside the vocabulary are spelled in bytes, which the model "
    "has hardly seen in training."
)
_SYMBOLS_ONLY = (
    "Inputs must be symbols of the vocabulary with spaces between them, where "
    "`@@` joins a symbol to the next one. Any other word is unknown to the "
    "model."
)
_SPELLED_IN_DIGITS = (
    "Characters outside the vocabulary are spelled as numbers, which the "
    "model has hardly seen in training."
)
_OTHERS_UNKNOWN = "Characters outside the vocabulary are unknown to the model."


def fill_template(name, **parts):
    """Returns the text of a Markdown file of this folder with its parts."""
    text = _FOLDER.joinpath(f"{name}.md").read_text(encoding="utf-8")
    return string.Template(text.strip()).substitute(parts)


def count_training_pairs(data):
    """Returns the number of training pairs as text, or None if unknown."""
    return data and f"{data['splits']['train']['pairs']:,}"


def describe_decoding(decode):
    """Describes options of decoding in a few words."""
    words = {
        "beam_size": "beam",
        "alpha": "alpha",
        "num_hypotheses": "hypotheses",
        "min_length": "minimum length",
        "temperature": "temperature",
        "top_k": "top-k",
        "top_p": "top-p",
        "mbr_samples": "samples for minimum Bayes risk",
    }
    # Options with these values change nothing and are not mentioned.
    usual = {"num_hypotheses": 1, "min_length": 0, "temperature": 0.0}
    usual.update(top_k=0, top_p=1.0, mbr_samples=0)
    return ", ".join(
        f"{word} {decode[name]:g}"
        for name, word in words.items()
        if name in decode and decode[name] != usual.get(name)
    )


def _describe_hashes(run):
    target = f"`{run.vocabulary.sha256}`"
    if run.vocabularies.is_shared:
        return f"The SHA-256 of the vocabulary is {target}."
    return (
        "The SHA-256 of the vocabulary of the source is "
        f"`{run.source_vocabulary.sha256}`, and that of the target is {target}."
    )


def make_data_section(run, data):
    """Describes the training data."""
    if run.imported_from:
        return f"Those of the imported model. {_describe_hashes(run)}"
    if not data:
        return (
            "The run does not record the counts of its data, and the generated "
            f"data of the problem `{run.problem_name}` is not available."
        )
    rows = [
        (
            split,
            f"{counts['pairs']:,}",
            f"{counts['source_tokens']:,}",
            f"{counts['target_tokens']:,}",
        )
        for split, counts in data["splits"].items()
    ]
    head = ("Split", "Pairs", "Source tokens", "Target tokens")
    text = table(head, rows, numbers=True) + (
        "\n\nTokens are subwords and include the end of each sentence. Pairs "
        f"with more than {run.hparams.max_length} tokens on either side were "
        f"not used for training. {_describe_hashes(run)}"
    )
    if data["files"]:
        rows = [
            (code(file["name"]), code(file["sha256"][:16]))
            for file in data["files"]
        ]
        text += "\n\n" + table(("File", "First digits of its SHA-256"), rows)
    return text


def make_scores_section(run, step, training, export):
    """Lists the scores from training and from kt-evaluate."""
    parts = _list_training_scores(run, step, training)
    parts += _list_evaluation_scores(run, step, of_step_only=bool(export))
    if not parts:
        return (
            "There are no scores yet. `kt-evaluate --output_dir=RUN "
            "--split=test` adds them."
        )
    if export:
        parts.append(
            "These are the scores of the original run in float32. They were "
            "not measured again for this export."
        )
    return "\n\n".join(parts)


def _list_training_scores(run, step, training):
    if not {"dev", "dev_step"} <= training.keys():
        return []
    rows = [
        (scores.TITLES.get(name, name), f"{value:.4g}")
        for name, value in training["dev"].items()
    ]
    when = "during training"
    if run.averaged_steps:
        when = "when the checkpoints were averaged"
    # `metrics.csv` has no signatures of its scores.
    problem = facts.find_problem(run)
    measure = run.record.get("measure")
    signatures = problem.dev_signatures(measure) if problem else []
    signatures = signatures and [
        "The signatures of sacreBLEU:",
        block(signatures),
    ]
    return [
        f"On the dev split at update {training['dev_step']:,}, measured {when} "
        "with greedy decoding:",
        table(("Metric", "Value"), rows, numbers=True),
        *signatures,
        *_describe_best(run, step),
    ]


def _describe_best(run, step):
    best = run.checkpoints.best_step
    if best in (None, step):
        return []
    measure = run.record.get("measure", "score")
    return [
        f"The checkpoint of update {best:,} has the best "
        f"{scores.TITLES.get(measure, measure)} on dev among those that are "
        "kept. `--checkpoint_step=best` selects it."
    ]


def _list_evaluation_scores(run, step, of_step_only):
    # The card of a run lists all its checkpoints; an export holds only one.
    entries = [
        (split, entry)
        for split, entries in scores.read_scores(run).items()
        for entry in entries
        if entry["step"] == step or not of_step_only
    ]
    if not entries:
        return []
    names = [
        name
        for name in scores.TITLES
        if any(name in entry for _, entry in entries)
    ]
    rows = [
        (
            split,
            f"{entry['num_pairs']:,}",
            f"{entry['step']:,}",
            describe_decoding(entry["decode"]),
            *(f"{entry[n]:.2f}" if n in entry else "" for n in names),
        )
        for split, entry in entries
    ]
    titles = (scores.TITLES[name] for name in names)
    head = ("Split", "Pairs", "Updates", "Decoding", *titles)
    lines = [
        f"{split}: {line}"
        for split, entry in entries
        for line in entry["lines"]
    ]
    return [
        "Measured by `kt-evaluate`:",
        table(head, rows, numbers=True),
        "The full reports with their signatures:",
        block(lines),
    ]


def make_limits_section(run, data, extra_length):
    """Lists the limits of the model and of its output."""
    pairs = count_training_pairs(data)
    is_parser = find_linearization(run.vocabulary)
    characters = _SYMBOLS_ONLY
    if run.source_vocabulary.has_bytes:
        characters = _SPELLED_IN_BYTES
    elif run.source_vocabulary.is_tensor2tensor:
        characters = _SPELLED_IN_DIGITS
    elif run.source_vocabulary.is_marian:
        characters = _OTHERS_UNKNOWN
    return fill_template(
        "limits",
        source=f"{pairs} pairs" if pairs else "the training data",
        problem=run.problem_name,
        task=fill_template(
            f"limits_{'parsing' if is_parser else 'translation'}"
        ),
        max_length=run.hparams.max_length,
        extra_length=extra_length,
        vocabulary=characters,
    )


def make_use_section(run, step, export, beam_size):
    """Says how to load the model and how to call it."""
    format = export.get("format")
    linearization = find_linearization(run.vocabulary)
    # Loading takes the newest checkpoint, so only any other step is named.
    names_step = not format and step != run.checkpoints.find()
    is_shared = run.vocabularies.is_shared
    parts = {
        "source_file": VOCABULARY_FILE if is_shared else SOURCE_VOCABULARY_FILE,
        "folder": _WITH_FILES.get(format, ""),
        "beam_size": beam_size,
        "use_vmap": ", use_vmap=True" if export.get("shortlist") else "",
        "place": "model" if format else "run",
        "ending": "" if format else ". In Python",
        "verb": "parse" if linearization else "translate",
        "results": "trees in brackets" if linearization else "translations",
        "step": f", step={step}" if names_step else "",
        "linearization": linearization,
        "flag": f" --checkpoint_step={step}" if names_step else "",
    }
    if linearization:
        names = ["install", "exported_parser" if format else "parser"]
    else:
        names = [format] if format else ["install", "run"]
        if run.source_vocabulary.is_imported and format in _WITH_FILES:
            names.append("imported")
    return "\n\n".join(fill_template(f"use_{name}", **parts) for name in names)


def make_hparams_section(run):
    """Lists the differences from the hparams set, then all values."""
    name = run.record.get("hparams_set")
    changed = facts.list_changed_hparams(run)
    if run.imported_from:
        text = "They follow from the files of the imported model."
    elif not name:
        text = "They are those of the model that the run began as."
    elif changed is None:
        text = f"The set `{name}` is not registered in this installation."
    elif not changed:
        text = f"The set `{name}` without changes."
    else:
        rows = [tuple(map(code, row)) for row in changed]
        text = f"The set `{name}` with these changes:\n\n"
        text += table(("Name", "This run", "In the set"), rows)
    rows = [
        (code(name), code(value))
        for name, value in dataclasses.asdict(run.hparams).items()
        # --train_steps may differ, and the first table has the updates.
        if name != "train_steps"
    ]
    return (
        f"{text}\n\nAll values except `train_steps`:\n\n"
        f"{table(('Name', 'Value'), rows)}"
    )
