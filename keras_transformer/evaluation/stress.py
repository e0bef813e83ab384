"""The scores of a text whose sources are written carelessly."""

import os

from keras_transformer.data import disturbances
from keras_transformer.files.records import write_record
from keras_transformer.scoring.report import align_columns


def measure_stress(texts, outputs, decode, report):
    """Scores a text under each disturbance; see `data.disturbances`.

    Args:
        texts: `Texts`, whose references stay as they are.
        outputs: List of str, the translations of the clean sources.
        decode: Function from a list of sources to a `Hypothesis` of each.
        report: Function from outputs and references to a `Report`.

    Returns:
        Dictionary of the clean text and of each disturbance, by its name, to a
        dictionary of `disturbed`, the number of sources that it changes, and
        the scores. Emoji are removed from the translations before they are
        scored.
    """
    clean = report(outputs, texts.references).scores
    scores = {"clean": {"disturbed": 0, **clean}}
    for change in disturbances.ALL:
        sources = disturbances.disturb_all(texts.sources, change)
        numbers = [
            number
            for number, source in enumerate(sources)
            if source != texts.sources[number]
        ]
        changed = list(outputs)
        hypotheses = numbers and decode([sources[n] for n in numbers])
        for number, hypothesis in zip(numbers, hypotheses):
            changed[number] = hypothesis.text
        if change is disturbances.emoji:
            changed = list(map(disturbances.drop_emoji, changed))
        scores[change.__name__] = {
            "disturbed": len(numbers),
            **report(changed, texts.references).scores,
        }
    return scores


def write_stress(output_dir, name, step, scores):
    """Writes the scores of a text into a run, as `stress/NAME.json`."""
    path = os.path.join(output_dir, "stress", f"{name}.json")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    write_record(path, {"step": step, "scores": scores})


def format_stress(scores):
    """Returns the lines of a table of the scores and their changes."""
    clean = scores["clean"]
    measures = [name for name in clean if name != "disturbed"]
    rows = [["sources", "disturbed"]]
    rows[0] += [cell for name in measures for cell in (name, "change")]
    for title, row in scores.items():
        cells = [title.replace("_", " "), f"{row['disturbed']:,}"]
        for name in measures:
            cells += [f"{row[name]:.2f}", f"{row[name] - clean[name]:+.2f}"]
        rows.append(cells)
    return align_columns(rows)
