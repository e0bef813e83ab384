"""The model card of a run or an export: its README.md, from one template."""

import dataclasses
import json
import os

import jinja2

from keras_transformer import registry
from keras_transformer.files import markdown
from keras_transformer.files.reading import begins_with
from keras_transformer.files.writing import write_file
from keras_transformer.runs import data_record
from keras_transformer.runs import scores
from keras_transformer.runs.metrics_table import describe_cost

FILE_NAME = "README.md"
# One of these begins every card; version 0.1 wrote no header.
_BEGINNING = "---\n# Written by keras_transformer"
_BEGINNINGS = (_BEGINNING, "<!-- Written by keras_transformer")
# Languages of the registered problems. A card shows others by their codes.
LANGUAGES = """
    cs=Czech de=German en=English es=Spanish et=Estonian fi=Finnish fr=French
    id=Indonesian it=Italian lv=Latvian mk=Macedonian nl=Dutch
    pl=Polish pt=Portuguese ro=Romanian ru=Russian tn=Tswana tr=Turkish
    vi=Vietnamese zh=Chinese
"""
LANGUAGES = dict(pair.split("=") for pair in LANGUAGES.split())


def write_model_card(directory, run, step=None, export=None):
    """Writes the model card, `README.md`, into a directory; returns its path.

    A card begins with the YAML that model hubs read. It describes the purpose
    of the model, its data and training, its scores with sacreBLEU's signatures,
    its limits, its use and its hyperparameters. A `README.md` that is not a
    card remains unchanged, and the result is None. So does a card without its
    second line, which users remove to keep their text.

    `export` is about an exported model. It holds `format` as kt-exporter takes
    it, and optionally `decode`, the `DecodeOptions` of the export,
    `quantization`, `precision`, `shortlist`, whether the model has one, and
    `certificate`, a text about a comparison with the run.
    """
    path = os.path.join(directory, FILE_NAME)
    if os.path.lexists(path) and not begins_with(path, *_BEGINNINGS):
        return None
    write_file(path, make_model_card(run, step, export))
    return path


def make_model_card(run, step=None, export=None):
    """Returns the text of a card; see `write_model_card` for the arguments.

    Commands call it early for its errors, as they write a card after hours. The
    folder of an export's format has the part of the card about its use.
    """
    export = export or {}
    step = run.checkpoints.find(step)
    # The card of a run lists all its checkpoints; an export holds one.
    entries = scores.list_entries(run, step if export else None)
    codes = data_record.list_language_codes(run)
    translates = codes and not run.linearization
    task = "translation" if translates else "text2text-generation"
    template = _make_environment().get_template("runs/model_card.md")
    return template.render(
        beginning=_BEGINNING,
        run=run,
        step=step,
        # The class may be the user's, and missing in this process.
        problem=data_record.find_problem(run),
        codes=codes,
        translates=translates,
        data=data_record.get_data(run),
        training=run.read_training(step),
        export=export,
        format=export.get("format"),
        decode=dataclasses.asdict(export.get("decode", run.hparams.decoding)),
        results=_list_results(run, step, export, task),
        titles=scores.TITLES,
        entries=entries,
        measured=[n for n in scores.TITLES if any(n in e for _, e in entries)],
        hparams=dataclasses.asdict(run.hparams),
        changed=_list_changes(run),
    )


def _make_environment():
    # A card takes the part on its use from the folder of the format.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("keras_transformer", "."),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        basename=lambda path: os.path.basename(os.path.normpath(path)),
        code=markdown.code,
        code_table=lambda rows, *head: markdown.table(
            head, [map(markdown.code, row) for row in rows]
        ),
        costs=describe_cost,
        decoding=scores.describe_decoding,
        duration=_describe_time,
        language=lambda code: LANGUAGES.get(code, code),
        thousands="{:,}".format,
        yaml=_dump,
    )
    return environment


def _describe_time(seconds):
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours:
        return f"{hours:,} h {minutes} min"
    return f"{minutes} min" if minutes else f"{seconds:.0f} s"


def _list_changes(run):
    """Lists (name, value, value in the set) where they differ, or None."""
    name = run.record.get("hparams_set")
    if name not in registry.hparams_sets.names():
        return None
    # Compared with the set of this installation, which may be newer.
    of_set = dataclasses.asdict(registry.get_hparams(name))
    return [
        (field, value, of_set.get(field))
        for field, value in dataclasses.asdict(run.hparams).items()
        if value != of_set.get(field)
    ]


def _list_results(run, step, export, task):
    """Lists the scores of a checkpoint as model hubs read them."""
    # The scores of approximate arithmetic were not measured.
    numbers = {export.get("quantization"), export.get("precision")}
    if numbers - {None, "float32"} or export.get("shortlist"):
        return []
    problem, results = run.problem_name, []
    for split, entry in scores.list_entries(run, step):
        decoding = {"decoding": scores.describe_decoding(entry["decode"])}
        metrics = [
            {
                # The hub has one kind of BLEU; the signature says which.
                "type": "bleu" if name.startswith("bleu") else name,
                "name": scores.TITLES[name],
                "value": round(value, 2),
                "args": decoding | ({"signature": text} if text else {}),
            }
            for name, value, text in scores.list_scores(entry)
        ]
        name = f"{problem}, {split}"
        dataset = {"name": name, "type": problem, "split": split}
        results.append(
            {"task": {"type": task}, "dataset": dataset, "metrics": metrics}
        )
    return results


def _dump(value):
    """Returns a value as YAML on indented lines."""
    # JSON is YAML, except that YAML takes neither the halves of characters that
    # JSON escapes nor unprintable characters as they are.
    text = json.dumps(value, ensure_ascii=False, indent=2)
    return "".join(
        char if char == "\n" or char.isprintable() else f"\\U{ord(char):08x}"
        for char in text.replace("\n", "\n  ")
    )
