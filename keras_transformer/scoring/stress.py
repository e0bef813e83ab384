"""The scores of a text with carelessly written sources."""

import os

from keras_transformer.data.text import disturbances
from keras_transformer.files.writing import write_record
from keras_transformer.scoring.report import tabulate_scores


def measure_stress(texts, outputs, translator, decode, report):
    """Scores a text under each disturbance; see `data.text.disturbances`.

    A source that would become too long is not disturbed.

    Args:
        texts: `Texts`; their references stay as they are.
        outputs: List of str, the translations of the clean sources.
        translator: The `Translator`, which counts tokens.
        decode: Function from a list of sources to a `Hypothesis` of each.
        report: Function from outputs and references to a `Report`.

    Returns:
        Dictionary of the clean text and of each disturbance, by its name, to a
        dictionary of `disturbed`, the number of sources that it changes, and
        the scores. The emoji that was appended to a source is removed from its
        translation before it is scored.
    """
    clean = report(outputs, texts.references).scores
    scores = {"clean": {"disturbed": 0, **clean}}
    for change in disturbances.ALL:
        sources = disturbances.disturb_all(texts.sources, change)
        counts = translator.count_tokens(sources)
        numbers = [
            number
            for number, source in enumerate(sources)
            if source != texts.sources[number]
            and counts[number] <= translator.max_tokens
        ]
        changed = list(outputs)
        hypotheses = numbers and decode([sources[n] for n in numbers])
        for number, hypothesis in zip(numbers, hypotheses):
            changed[number] = hypothesis.text
            if change is disturbances.emoji:
                changed[number] = disturbances.drop_emoji(hypothesis.text)
        scores[change.__name__] = {
            "disturbed": len(numbers),
            **report(changed, texts.references).scores,
        }
    return scores


def stress_path(output_dir, name):
    """Returns the path of the scores of a text in the directory of a run."""
    return os.path.join(output_dir, "stress", f"{name}.json")


def write_stress(output_dir, name, step, scores):
    """Writes the scores of a text into a run, to `stress_path`."""
    path = stress_path(output_dir, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_record(path, {"step": step, "scores": scores})


def format_stress(scores):
    """Returns the lines of a table of the scores and their changes."""
    rows = []
    for title, row in scores.items():
        row = dict(row)
        cells = title.replace("_", " "), f"{row.pop('disturbed'):,}"
        rows.append((cells, row, scores["clean"]))
    return tabulate_scores(["sources", "disturbed"], rows, "change")
