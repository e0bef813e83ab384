"""The text of a model card and its overview."""

import dataclasses
import os
import re

from keras_transformer.files.writing import atomic_write
from keras_transformer.markdown import code
from keras_transformer.markdown import table
from keras_transformer.runs.model_card import facts
from keras_transformer.runs.model_card import sections
from keras_transformer.runs.model_card.cost import cost_rows
from keras_transformer.runs.model_card.use import how_to_use
from keras_transformer.trees.target_text import find_linearization

FILE_NAME = "README.md"
# The first line of a card begins with this in every version, so a later version
# recognises the cards of earlier ones.
MARK_BEGINNING = "<!-- Written by keras_transformer"
MARK = (
    f"{MARK_BEGINNING}, which replaces this file after each training and "
    "evaluation. Remove this line to keep your own changes. -->"
)
_EMBEDDINGS = {
    "all": "one matrix for source, target and softmax",
    "target": "one matrix for target and softmax, one for the source",
    "none": "three matrices: source, target and softmax",
}
# The languages of the registered problems. A card shows other languages by
# their codes.
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def write_model_card(directory, run, step=None, export=None):
    """Writes the model card, `README.md`, into a directory.

    A card describes the purpose of the model, its data and training, its scores
    with sacreBLEU's signatures, its limits, its use and its hyperparameters. A
    `README.md` that is not a card remains unchanged. So does a card without its
    first line, which users remove to keep their own text.

    Args:
        directory: Directory of the run or of the exported model.
        run: `RunDirectory` that the model comes from.
        step: Step of the checkpoint, or "best". Defaults to the newest.
        export: Dictionary about an exported model. It holds `format` as
            kt-exporter takes it, and optionally `decode`, the `DecodeOptions`
            of the export, `quantization`, `precision`, and `shortlist`, whether
            the model has one. Defaults to None, for a run.

    Returns:
        The path of the file, or None if another `README.md` was there.

    Raises:
        ValueError: If there is no such checkpoint.
    """
    path = os.path.join(directory, FILE_NAME)
    if os.path.lexists(path) and not _is_card(path):
        return None
    text = model_card(run, step, export)
    with atomic_write(path) as file:
        file.write(text)
    return path


def check_model_card(run, step=None):
    """Checks that the files a card is made from can be read.

    These are the scores, `metrics.csv` and the checkpoint. Commands call this
    first, because they write the card when hours of work are done.

    Args:
        run: A `RunDirectory`.
        step: As for `write_model_card`.

    Raises:
        ValueError: If such a file is not as it was written.
    """
    model_card(run, step)


def model_card(run, step=None, export=None):
    """Returns the text of a card; see `write_model_card` for the arguments."""
    export = export or {}
    decode = sections.decode_of(run)
    if "decode" in export:
        decode = dataclasses.asdict(export["decode"])
    step = run.checkpoints.find(step)
    data = facts.data_of(run)
    training = run.training_until(step)
    parts = [
        MARK,
        f"# {_title(run, data)}",
        _summary(run, data),
        _overview(run, step, data, training, export, decode),
        "## Use",
        how_to_use(run, step, export, decode["beam_size"]),
        "## Data",
        sections.data_section(run, data),
        "## Scores",
        sections.scores_section(run, step, training, export),
        "## Limits",
        sections.limits_section(run, data, decode["extra_length"]),
        "## Hyperparameters",
        sections.hparams_section(run),
    ]
    return "\n\n".join(parts) + "\n"


def _is_card(path):
    if not os.path.isfile(path):
        return False  # opening a pipe would wait for ever
    # A user's own README may be in any encoding, and have any size.
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(len(MARK_BEGINNING)) == MARK_BEGINNING


def _languages(data):
    """Returns the names of both languages, or None if they are unknown."""
    codes = data["languages"] if data else []
    # Problems other than translation have words here, such as "symbols".
    if not codes or not all(re.fullmatch("[a-z]{2,3}", c) for c in codes):
        return None
    return [LANGUAGES.get(code, code) for code in codes]


def _title(run, data):
    if find_linearization(run.vocabulary):
        return "A Transformer that parses English"
    languages = _languages(data)
    if languages and data.get("both_directions"):
        return (
            f"A Transformer that translates between {' and '.join(languages)}"
        )
    if languages:
        return f"A Transformer that translates {' into '.join(languages)}"
    return f"A Transformer for the problem `{run.problem_name}`"


def _summary(run, data):
    languages = _languages(data)
    task = "that turns one text into another"
    if find_linearization(run.vocabulary):
        task = "that writes the constituency tree of an English sentence"
    elif languages and data.get("both_directions"):
        task = f"that translates between {languages[0]} and {languages[1]}"
    elif languages:
        task = f"that translates from {languages[0]} to {languages[1]}"
    text = (
        f"This model is an encoder-decoder Transformer {task}. It follows "
        '"Attention Is All You Need" (Vaswani et al., 2017) and handles one '
        "sentence at a time. It was trained with `keras_transformer` on the "
        f"problem `{run.problem_name}`"
    )
    # The class may be the user's, and missing in this process.
    problem = facts.problem_of(run)
    lines = (type(problem).__doc__ or "").strip().splitlines()
    return f"{text}:\n\n> {lines[0]}" if problem and lines else f"{text}."


def _overview(run, step, data, training, export, decode):
    hparams = run.hparams
    rows = [
        (
            "Layers",
            f"{hparams.num_layers} in the encoder, "
            f"{hparams.decoder_depth} in the decoder",
        ),
        (
            "Size",
            f"d_model {hparams.d_model}, d_ff {hparams.d_ff}, "
            f"{hparams.num_heads} heads, {hparams.norm}-norm",
        ),
        ("Embeddings", _EMBEDDINGS[hparams.tied_embeddings]),
        ("Parameters", f"{facts.num_parameters(run, step):,}"),
        ("Vocabulary", _vocabulary(run)),
        ("Training pairs", sections.training_pairs(data)),
        ("Corpus weights", "; ".join(run.record.get("corpus_weights", []))),
        ("Hyperparameters", _hparams_set(run)),
        ("Updates", _updates(run, step)),
        ("Training time", _training_time(training)),
        *cost_rows(training),
        ("Training precision", run.record.get("precision", "float32")),
        ("Format", _format(export)),
        ("Decoding", sections.decoding_words(decode)),
    ]
    # A card states what is recorded and leaves out the rest.
    rows = [row for row in rows if row[1]]
    return table(("Property", "Value"), rows)


def _vocabulary(run):
    target, source = run.vocabularies.sizes
    if run.vocabularies.is_shared:
        return f"{target:,} SentencePiece subwords, shared by source and target"
    return (
        f"{source:,} SentencePiece subwords of the source and {target:,} of "
        "the target"
    )


def _hparams_set(run):
    changed = facts.changed_hparams(run)
    with_changes = f", with {len(changed)} changed" if changed else ""
    return code(run.record.get("hparams_set")) + with_changes


def _updates(run, step):
    steps = run.averaged_steps
    if not steps:
        return f"{step:,}"
    listed = ", ".join(f"{step:,}" for step in steps)
    return f"{step:,}; the weights are the average of updates {listed}"


def _training_time(training):
    if "seconds" not in training:
        return None
    hours, minutes = divmod(round(training["seconds"] / 60), 60)
    time = f"{hours:,} h {minutes} min" if hours else f"{minutes} min"
    if not hours and not minutes:
        time = f"{training['seconds']:.0f} s"
    epochs = training.get("epochs")
    if not epochs:
        return f"{time}, less than one epoch"
    return f"{time}, {epochs:,} complete epoch{'' if epochs == 1 else 's'}"


def _format(export):
    if not export:
        return None
    name = {
        "saved_model": "TensorFlow SavedModel",
        "saved_model_ids": "TensorFlow SavedModel that takes and returns ids",
        "ctranslate2": "CTranslate2",
    }
    text = name[export["format"]]
    if "quantization" in export:
        text += f", weights stored in {export['quantization']}"
    if "precision" in export:
        text += f", computes in {export['precision']}"
    if export.get("shortlist"):
        text += ", with a shortlist of target subwords"
    return text
