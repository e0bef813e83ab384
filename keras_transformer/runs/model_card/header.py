"""The header of a model card: the facts in YAML that model hubs read."""

import json
import re

from keras_transformer.runs.model_card import facts
from keras_transformer.runs.model_card import scores
from keras_transformer.runs.model_card import sections
from keras_transformer.trees.target_text import find_linearization

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
    languages = facts.list_language_codes(run)
    translates = languages and not find_linearization(run.vocabulary)
    task = "translation" if translates else "text2text-generation"
    results = _list_results(run, step, task)
    if _is_approximate(export):
        results = []  # the scores were measured with other arithmetic
    fields = {
        "language": list(dict.fromkeys(languages)),
        "license": run.record.get("licence"),
        "pipeline_tag": translates and task,
        "library_name": _LIBRARIES.get(
            export.get("format"), "keras_transformer"
        ),
        "datasets": facts.find_datasets(run),
        "model-index": results
        and [{"name": f"Transformer {title}", "results": results}],
    }
    lines = [f"{name}: {_dump(v)}" for name, v in fields.items() if v]
    return "\n".join([_MARK, *lines, "---"])


def _is_approximate(export):
    numbers = {export.get(name) for name in ("quantization", "precision")}
    return bool(numbers - {None, "float32"} or export.get("shortlist"))


def _list_results(run, step, task):
    return [
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
        for split, entries in scores.read_scores(run).items()
        for entry in entries
        if entry["step"] == step
    ]


def _describe_score(entry, name, value, signature):
    args = {"decoding": sections.describe_decoding(entry["decode"])}
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
    text = text.replace("\n", "\n  ")
    return re.sub(
        r"[^\n -~]",
        lambda match: (
            match[0] if match[0].isprintable() else f"\\U{ord(match[0]):08x}"
        ),
        text,
    )
