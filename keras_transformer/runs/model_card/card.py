"""The model card of a run: its file, its summary and its overview."""

import dataclasses
import datetime
import os

from keras_transformer.files.writing import atomic_write
from keras_transformer.markdown import code
from keras_transformer.markdown import table
from keras_transformer.runs.model_card import facts
from keras_transformer.runs.model_card import header
from keras_transformer.runs.model_card import sections
from keras_transformer.trees.target_text import find_linearization

FILE_NAME = "README.md"
# One of these is at the beginning of every card; version 0.1 wrote no header.
_BEGINNINGS = (header.BEGINNING, "<!-- Written by keras_transformer")
_EMBEDDINGS = {
    "all": "one matrix for source, target and softmax",
    "target": "one matrix for target and softmax, one for the source",
    "none": "three matrices: source, target and softmax",
}
# Languages of the registered problems. A card shows others by their codes.
LANGUAGES = {"en": "English", "de": "German", "fr": "French"}
_FORMATS = {
    "saved_model": "TensorFlow SavedModel",
    "saved_model_ids": "TensorFlow SavedModel that takes and returns ids",
    "ctranslate2": "CTranslate2",
    "marian": "Marian, for transformers",
}
UNKNOWN_DEVICE = (
    "unknown by the paper's formula, because the device is not in its table; "
    "`--device` of kt-trainer names it"
)


def write_model_card(directory, run, step=None, export=None):
    """Writes the model card, `README.md`, into a directory; returns its path.

    A card begins with the YAML that model hubs read; see `make_header`. It
    describes the purpose of the model, its data and training, its scores with
    sacreBLEU's signatures, its limits, its use and its hyperparameters. A
    `README.md` that is not a card remains unchanged, and the result is None. So
    does a card without its second line, which users remove to keep their text.

    `export` is about an exported model. It holds `format` as kt-exporter takes
    it, and optionally `decode`, the `DecodeOptions` of the export,
    `quantization`, `precision`, and `shortlist`, whether the model has one.
    """
    path = os.path.join(directory, FILE_NAME)
    if os.path.lexists(path) and not _is_card(path):
        return None
    text = make_model_card(run, step, export)
    with atomic_write(path) as file:
        file.write(text)
    return path


def check_model_card(run, step=None):
    """Raises what `write_model_card` would raise.

    Commands call this first, as they write the card after hours of work.
    """
    make_model_card(run, step)


def make_model_card(run, step=None, export=None):
    """Returns the text of a card; see `write_model_card` for the arguments."""
    export = export or {}
    decode = dataclasses.asdict(export.get("decode", run.hparams.decoding))
    step = run.checkpoints.find(step)
    data = facts.get_data(run)
    training = run.read_training(step)
    title, task = _describe_task(run, data)
    text = sections.fill_template(
        "card",
        header=header.make_header(run, step, title, export),
        title=title,
        summary=_make_summary(run, task),
        overview=_make_overview(run, step, data, training, export, decode),
        use=sections.make_use_section(run, step, export, decode["beam_size"]),
        data=sections.make_data_section(run, data),
        scores=sections.make_scores_section(run, step, training, export),
        limits=sections.make_limits_section(run, data, decode["extra_length"]),
        hparams=sections.make_hparams_section(run),
    )
    return f"{text}\n"


def _is_card(path):
    if not os.path.isfile(path):
        return False  # opening a pipe would wait for ever
    # A user's README may be in any encoding, and have any size.
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(max(map(len, _BEGINNINGS))).startswith(_BEGINNINGS)


def _describe_task(run, data):
    """Describes the model's task for the title and the text of its card."""
    codes = facts.list_language_codes(run)
    languages = [LANGUAGES.get(code, code) for code in codes]
    if find_linearization(run.vocabulary):
        task = "that writes the constituency tree of an English sentence"
        return "that parses English", task
    if not languages:
        title = f"for the problem `{run.problem_name}`"
        return title, "that turns one text into another"
    if data and data.get("both_directions"):
        return (f"that translates between {' and '.join(languages)}",) * 2
    return (
        f"that translates {' into '.join(languages)}",
        f"that translates from {' to '.join(languages)}",
    )


def _make_summary(run, task):
    text = (
        f"This model is an encoder-decoder Transformer {task}. It follows "
        '"Attention Is All You Need" (Vaswani et al., 2017) and handles one '
        "sentence at a time. It was"
    )
    if run.imported_from:
        # A card may be published, so it names no directory of the machine.
        origin = run.imported_from
        if "://" not in origin:
            origin = os.path.basename(os.path.normpath(origin))
        return f"{text} imported from {code(origin)}."
    text += (
        f" trained with `keras_transformer` on the problem `{run.problem_name}`"
    )
    # The class may be the user's, and missing in this process.
    problem = facts.find_problem(run)
    lines = (type(problem).__doc__ or "").strip().splitlines()
    return f"{text}:\n\n> {lines[0]}" if problem and lines else f"{text}."


def _make_overview(run, step, data, training, export, decode):
    changed = facts.list_changed_hparams(run)
    hparams = code(run.record.get("hparams_set"))
    if changed:
        hparams += f", with {len(changed)} changed"
    if not run.record.get("hparams_set"):
        hparams = "those of the model that it began as"
    updates = f"{step:,}"
    if run.averaged_steps:
        listed = ", ".join(f"{step:,}" for step in run.averaged_steps)
        updates += f"; the weights are the average of updates {listed}"
    rows = [
        *_describe_model(run.hparams.model),
        ("Parameters", f"{facts.count_parameters(run, step):,}"),
        ("Vocabulary", _describe_vocabulary(run)),
        ("Training pairs", sections.count_training_pairs(data)),
        ("Corpus weights", "; ".join(run.record.get("corpus_weights", []))),
        ("Hyperparameters", hparams),
        ("Updates", updates),
        ("Training time", _describe_time(training)),
        *describe_cost(training),
        ("Training precision", run.record.get("precision", "float32")),
        ("Format", _describe_format(export)),
        ("Decoding", sections.describe_decoding(decode)),
    ]
    # A card states recorded facts and leaves out the rest.
    rows = [row for row in rows if row[1]]
    return table(("Property", "Value"), rows)


def _describe_model(config):
    return [
        (
            "Layers",
            f"{config.num_layers} in the encoder, "
            f"{config.decoder_depth} in the decoder",
        ),
        (
            "Size",
            f"d_model {config.d_model}, d_ff {config.d_ff}, "
            f"{config.num_heads} heads, {config.norm}-norm",
        ),
        ("Embeddings", _EMBEDDINGS[config.tied_embeddings]),
    ]


def _describe_vocabulary(run):
    target, source = run.vocabularies.sizes
    if run.vocabularies.is_shared:
        return f"{target:,} SentencePiece subwords, shared by source and target"
    return (
        f"{source:,} SentencePiece subwords of the source and {target:,} of "
        "the target"
    )


def _describe_time(training):
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


def describe_cost(training):
    """Describes the cost of a run as a list of (title, text).

    It is empty for a run of an earlier version.

    >>> hours = 12 * 3600
    >>> costs = {"device_flops": hours * 7.6e13, "token_flops": 9.4e17}
    >>> for row in describe_cost({"seconds": hours, **costs}):
    ...     print(*row, sep=": ")
    Training cost: 3.3e18 FLOP, 12:00:00 at 76 TFLOP/s sustained by the devices
    Arithmetic: 9.4e17 FLOP for the tokens
    """
    arithmetic = [
        f"{_shorten(training[name])} FLOP {words}"
        for name, words in (
            ("token_flops", "for the tokens"),
            ("position_flops", "with the padding"),
        )
        if name in training
    ]
    if not arithmetic:
        return []
    cost = UNKNOWN_DEVICE
    if "device_flops" in training:
        rate = training["device_flops"] / training["seconds"] / 1e12
        time = datetime.timedelta(seconds=round(training["seconds"]))
        cost = (
            f"{_shorten(training['device_flops'])} FLOP, {time} at {rate:.3g} "
            "TFLOP/s sustained by the devices"
        )
    return [("Training cost", cost), ("Arithmetic", ", ".join(arithmetic))]


def _shorten(number):
    digits, exponent = f"{number:.1e}".split("e")
    return f"{digits}e{int(exponent)}"


def _describe_format(export):
    if not export:
        return None
    text = _FORMATS[export["format"]]
    if "quantization" in export:
        text += f", weights stored in {export['quantization']}"
    if "precision" in export:
        text += f", computes in {export['precision']}"
    if export.get("shortlist"):
        text += ", with a shortlist of target subwords"
    return text
