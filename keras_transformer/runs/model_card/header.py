"""The header of a model card: the facts in YAML that model hubs read."""

import json
import re

from keras_transformer.parsing.target_text import find_linearization
from keras_transformer.runs import data_record
from keras_transformer.runs import scores

# The beginning of every card, by which a later version recognises it.
BEGINNING = "---\n# Written by keras_transformer"
_MARK = (
    f"{BEGINNING}, which replaces this file after each training and "
    "evaluation. Remove this line to keep your own changes."
)
# Other formats are opened by this package.
_LIBRARIES = {"marian": "transformers", "ctranslate2": "ctranslate2"}


def make_header(run, step, title, export):
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
