"""The model card of a run or an export: its README.md, from one template."""

import dataclasses
import importlib.resources
import json
import os
import re

import jinja2

from keras_transformer import registry
from keras_transformer.data.vocabulary.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.vocabulary.subwords import VOCABULARY_FILE
from keras_transformer.files import markdown
from keras_transformer.files.writing import atomic_write
from keras_transformer.parsing.target_text import find_linearization
from keras_transformer.runs import data_record
from keras_transformer.runs import scores
from keras_transformer.runs.metrics_table import describe_cost

FILE_NAME = "README.md"
# The beginning of every card, by which a later version recognises it.
_BEGINNING = "---\n# Written by keras_transformer"
_MARK = (
    f"{_BEGINNING}, which replaces this file after each training and "
    "evaluation. Remove this line to keep your own changes."
)
# Other formats are opened by this package.
_LIBRARIES = {"marian": "transformers", "ctranslate2": "ctranslate2"}
# One of these is at the beginning of every card; version 0.1 wrote no header.
_BEGINNINGS = (_BEGINNING, "<!-- Written by keras_transformer")
_EMBEDDINGS = {
    "all": "one matrix for source, target and softmax",
    "target": "one matrix for target and softmax, one for the source",
    "none": "three matrices: source, target and softmax",
}
# Languages of the registered problems. A card shows others by their codes.
LANGUAGES = {
    "cs": "Czech",
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "it": "Italian",
    "nl": "Dutch",
    "pl": "Polish",
    "pt": "Portuguese",
    "ro": "Romanian",
    "ru": "Russian",
}
_FORMATS = {
    "saved_model": "TensorFlow SavedModel",
    "saved_model_ids": "TensorFlow SavedModel that takes and returns ids",
    "ctranslate2": "CTranslate2",
    "marian": "Marian, for transformers",
}


def write_model_card(directory, run, step=None, export=None):
    """Writes the model card, `README.md`, into a directory; returns its path.

    A card begins with the YAML that model hubs read. It
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
    format = export.get("format")
    step = run.checkpoints.find(step)
    data = data_record.get_data(run)
    training = run.read_training(step)
    title, task = _describe_task(run, data)
    # The class may be the user's, and missing in this process.
    problem = data_record.find_problem(run)
    purpose = (problem and type(problem).__doc__ or "").strip()
    return _read_template().render(
        header=_make_header(run, step, title, export),
        title=title,
        task=task,
        purpose=purpose.partition("\n")[0],
        run=run,
        step=step,
        # Loading takes the newest checkpoint, so only another step is named.
        older_step=not format and step != run.checkpoints.find(),
        best_step=run.checkpoints.best_step,
        # A card may be published, so it names no directory of the machine.
        origin=_shorten_origin(run.imported_from),
        data=data,
        training=training,
        costs=describe_cost(training),
        export=export,
        format=format,
        format_name=_FORMATS.get(format),
        place="model" if format else "run",
        decode=dataclasses.asdict(export.get("decode", run.hparams.decoding)),
        # `metrics.csv` has no signatures of its scores.
        dev_signatures=problem
        and problem.dev_signatures(run.record.get("measure")),
        **_describe_model(run),
        **_describe_hparams(run),
        # The card of a run lists all its checkpoints; an export holds one.
        **_describe_scores(scores.list_entries(run, step if format else None)),
    )


def _describe_model(run):
    linearization = find_linearization(run.vocabulary)
    is_shared = run.vocabularies.is_shared
    return {
        "model": run.hparams.model,
        "embeddings": _EMBEDDINGS[run.hparams.model.tied_embeddings],
        "vocabulary": run.source_vocabulary,
        "is_shared": is_shared,
        "source_file": VOCABULARY_FILE if is_shared else SOURCE_VOCABULARY_FILE,
        "linearization": linearization,
        "verb": "parse" if linearization else "translate",
        "results": "trees in brackets" if linearization else "translations",
    }


def _describe_scores(entries):
    names = [n for n in scores.TITLES if any(n in e for _, e in entries)]
    return {
        "titles": scores.TITLES,
        "entries": entries,
        "score_names": names,
        "score_titles": [scores.TITLES[name] for name in names],
    }


def _read_template():
    environment = jinja2.Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    environment.filters.update(
        code=markdown.code,
        thousands="{:,}".format,
        duration=_describe_time,
        decoding=scores.describe_decoding,
    )
    template = importlib.resources.files(__package__).joinpath("card.md")
    return environment.from_string(template.read_text("utf-8"))


def _shorten_origin(origin):
    if origin and "://" not in origin:
        return os.path.basename(os.path.normpath(origin))
    return origin


def _is_card(path):
    if not os.path.isfile(path):
        return False  # opening a pipe would wait for ever
    # A user's README may be in any encoding, and have any size.
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(max(map(len, _BEGINNINGS))).startswith(_BEGINNINGS)


def _describe_task(run, data):
    """Describes the model's task for the title and the text of its card."""
    codes = data_record.list_language_codes(run)
    languages = [LANGUAGES.get(code, code) for code in codes]
    if find_linearization(run.vocabulary):
        task = "that writes the constituency tree of an English sentence"
        return "that parses English", task
    several = run.source_vocabulary.language_codes
    if several:
        return (f"that translates into any of {len(several)} languages",) * 2
    if not languages:
        title = f"for the problem `{run.problem_name}`"
        return title, "that turns one text into another"
    if (data or {}).get("both_directions"):
        return (f"that translates between {' and '.join(languages)}",) * 2
    return (
        f"that translates {' into '.join(languages)}",
        f"that translates from {' to '.join(languages)}",
    )


def _describe_time(seconds):
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def _describe_hparams(run):
    """Lists all values, and those that differ from the hparams set."""
    name = run.record.get("hparams_set")
    hparams = dataclasses.asdict(run.hparams)
    changed = None
    if name in registry.hparams_sets.names():
        # Compared with the set of this installation, which may be newer.
        of_set = dataclasses.asdict(registry.get_hparams(name))
        changed = [
            (field, value, of_set.get(field))
            for field, value in hparams.items()
            if value != of_set.get(field)
        ]
    return {"hparams": hparams, "hparams_set": name, "changed": changed}


def _make_header(run, step, title, export):
    """Returns the header of a card with the lines that enclose it.

    It names the languages, licence and data sets, the task and the library, and
    the scores of the checkpoint with their signatures, as far as they are
    recorded. `export` is as in `write_model_card`.
    """
    languages = data_record.list_language_codes(run)
    translates = languages and not find_linearization(run.vocabulary)
    task = "translation" if translates else "text2text-generation"
    results = [
        {
            "task": {"type": task},
            "dataset": {
                "name": f"{run.problem_name}, {split}",
                "type": run.problem_name,
                "split": split,
            },
            "metrics": [
                _describe_score(entry, *score)
                for score in scores.list_scores(entry)
            ],
        }
        for split, entry in scores.list_entries(run, step)
    ]
    # The scores of approximate arithmetic were not measured.
    numbers = {export.get("quantization"), export.get("precision")}
    if numbers - {None, "float32"} or export.get("shortlist"):
        results = []
    # An imported run names a problem only to be evaluated on its data.
    problem = None if run.imported_from else data_record.find_problem(run)
    fields = {
        "language": list(dict.fromkeys(languages)),
        "license": run.record.get("licence"),
        "pipeline_tag": translates and task,
        "library_name": _LIBRARIES.get(
            export.get("format"), "keras_transformer"
        ),
        "datasets": run.record.get("datasets")
        or list(getattr(problem, "hub_datasets", ())),
        "model-index": results
        and [{"name": f"Transformer {title}", "results": results}],
    }
    lines = [
        f"{name}: {_dump(value)}" for name, value in fields.items() if value
    ]
    return "\n".join([_MARK, *lines, "---"])


def _describe_score(entry, name, value, signature):
    args = {"decoding": scores.describe_decoding(entry["decode"])}
    if signature:
        args["signature"] = signature
    return {
        # The hub has one kind of BLEU; the signature says which it is.
        "type": "bleu" if name.startswith("bleu") else name,
        "name": scores.TITLES[name],
        "value": round(value, 2),
        "args": args,
    }


def _dump(value):
    """Returns a value as YAML on indented lines."""
    # JSON is YAML, except that YAML takes neither the halves of characters that
    # JSON escapes nor unprintable characters as they are.
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return re.sub(
        r"[^\n -~]",
        lambda match: (
            match[0] if match[0].isprintable() else f"\\U{ord(match[0]):08x}"
        ),
        text.replace("\n", "\n  "),
    )
