"""Writes a model's card: what it is, what it learned from, how to use it."""

import dataclasses
import os
import re

from keras_transformer.files import written_aside
from keras_transformer.runs.model_card import facts
from keras_transformer.runs.model_card import sections
from keras_transformer.runs.model_card.use import how_to_use
from keras_transformer.trees.target_text import linearization_of

FILE_NAME = "README.md"
MARK = (
    "<!-- Written by keras_transformer, and written anew after each training "
    "and evaluation. Remove this line to keep your own changes. -->"
)
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def write_model_card(directory, run, step=None, extra=None):
    """Writes `README.md`, the model card, into a directory.

    It says what the model is for, the data and their counts, how long it was
    trained, its scores with sacreBLEU's signatures, its limits, how to load it,
    and all hyper-parameters. A `README.md` that is not a card, or from which
    the card's first line was removed, stays as it is.

    Args:
        directory: where to write: the run's, or that of an exported model.
        run: the `RunDirectory` the model comes from.
        step: of the checkpoint, or "best"; by default the newest.
        extra: None for a run itself. For an exported model a dictionary:
            `format`, as `kt-exporter` takes it; `decode`, the
            `DecodeOptions` it was exported with, or a dictionary of them; and,
            where there are such, `quantization`, `precision` and
            `model_name`.

    Returns:
        the path of the file, or None if another one was there.

    Raises:
        ValueError: if there is no such checkpoint.
    """
    path = os.path.join(directory, FILE_NAME)
    if os.path.exists(path) and not _is_card(path):
        return None
    text = model_card(run, step, extra)
    with written_aside(path) as file:
        file.write(text)
    return path


def model_card(run, step=None, extra=None):
    """Returns the text of the card; arguments as for `write_model_card`."""
    extra = dict(extra or {})
    if dataclasses.is_dataclass(extra.get("decode")):
        extra["decode"] = dataclasses.asdict(extra["decode"])
    step = run.checkpoints.find(step)
    data = facts.data_of(run)
    training = run.training_until(step)
    parts = [
        MARK,
        f"# {_title(run, data)}",
        _summary(run, data),
        _overview(run, step, data, training, extra),
        "## Use",
        how_to_use(run, step, extra),
        "## Data",
        sections.data_section(run, data),
        "## Scores",
        sections.scores_section(run, step, training, extra),
        "## Limits",
        sections.limits_section(run, data, extra),
        "## Hyper-parameters",
        sections.hparams_section(run),
    ]
    return "\n\n".join(parts) + "\n"


def _is_card(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.readline().rstrip("\n") == MARK


def _languages(data):
    """The names of both languages, or None where they are not known."""
    codes = data["languages"] if data else []
    if not codes or not all(re.fullmatch("[a-z]{2,3}", c) for c in codes):
        return None
    return [LANGUAGES.get(code, code) for code in codes]


def _title(run, data):
    if linearization_of(run.vocabulary):
        return "A constituency parser, a Transformer"
    languages = _languages(data)
    if languages:
        return f"{languages[0]} to {languages[1]}, a Transformer"
    return f"A Transformer for `{run.problem_name}`"


def _summary(run, data):
    languages = _languages(data)
    task = "maps one text to another"
    if linearization_of(run.vocabulary):
        task = "parses: it writes the tree of a sentence's constituents"
    elif languages:
        task = f"translates {languages[0]} into {languages[1]}"
    text = (
        'An encoder-decoder model of "Attention Is All You Need" (Vaswani et '
        f"al., 2017) that {task}, one sentence at a time. It was trained with "
        f"`keras_transformer` on the problem `{run.problem_name}`"
    )
    problem = facts.problem_of(run)
    lines = (type(problem).__doc__ or "").strip().splitlines()
    return f"{text}:\n\n> {lines[0]}" if problem and lines else f"{text}."


def _overview(run, step, data, training, extra):
    hparams = run.hparams
    rows = [
        (
            "Model",
            f"{hparams.num_layers} + {hparams.num_layers} layers, d_model "
            f"{hparams.d_model}, d_ff {hparams.d_ff}, {hparams.num_heads} "
            f"heads, {hparams.norm}-norm",
        ),
        ("Parameters", f"{facts.num_parameters(run, step):,}"),
        (
            "Vocabulary",
            f"{run.vocabulary.vocab_size:,} subwords (SentencePiece) for both "
            "sides",
        ),
        ("Training pairs", sections.training_pairs(data)),
        ("Hyper-parameters", _hparams_set(run)),
        ("Updates", _updates(run, step)),
        ("Training time", _training_time(training)),
        ("Precision in training", run.record.get("precision", "float32")),
        ("Form", _form(extra)),
        (
            "Decoding",
            sections.decoding_words(
                extra.get("decode") or sections.decode_of(run)
            ),
        ),
    ]
    head, *rows = [row for row in rows if row[1]]
    return sections.table(head, rows)


def _hparams_set(run):
    changed = facts.changed_hparams(run)
    with_changes = f" with {len(changed)} changed" if changed else ""
    return f"`{run.record.get('hparams_set')}`{with_changes}"


def _updates(run, step):
    steps = run.averaged_steps
    if not steps:
        return f"{step:,}"
    shown = ", ".join(f"{step:,}" for step in steps)
    return f"{step:,}; the average of the checkpoints at {shown}"


def _training_time(training):
    if "seconds" not in training:
        return None
    hours, minutes = divmod(round(training["seconds"] / 60), 60)
    epochs = training["epochs"]
    time = f"{hours:,} h {minutes} min" if hours else f"{minutes} min"
    if not hours and not minutes:
        time = f"{training['seconds']:.0f} s"
    plural = "" if epochs == 1 else "s"
    return f"{time} of updates, {epochs:,} whole epoch{plural}"


def _form(extra):
    if "format" not in extra:
        return None
    name = {
        "saved_model": "TensorFlow SavedModel",
        "saved_model_ids": "TensorFlow SavedModel of ids",
        "ctranslate2": "CTranslate2",
    }
    text = name[extra["format"]]
    if "quantization" in extra:
        text += f", stored in {extra['quantization']}"
    if "precision" in extra:
        text += f", computing in {extra['precision']}"
    return text
