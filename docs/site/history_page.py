"""Makes the page and the picture of `benchmarks/history.jsonl`."""

import json

import matplotlib
from matplotlib.figure import Figure

from keras_transformer.files.markdown import table

QUIET_LOAD = 1.0  # processes that want the processor at the start
HEAD = (
    "# Benchmark history",
    "`make benchmark` appends a line to `benchmarks/history.jsonl`, from which "
    "this page is made. [speed.md](speed.md#a-history-of-speeds) says how to "
    "read it.",
)


def read_history(path):
    """Returns the records of a history, the oldest first."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def make_page(records):
    """Returns the page: the picture, the newest numbers, and all lines."""
    if not records:
        return "\n\n".join([*HEAD, "There is no line yet."]) + "\n"
    newest = records[-1]
    alike = [r for r in records if r["machine"] == newest["machine"]]
    head = ["per second", "per product", "of the first line"]
    rows = [
        (
            name,
            f"{figure['per_second']:,}",
            f"{figure['per_product']:,}",
            f"{figure['per_product'] / first['per_product']:.0%}",
        )
        for name, figure in newest["figures"].items()
        if (first := alike[0]["figures"].get(name))
    ]
    lines = [
        (
            record["date"],
            record["commit"],
            record["machine"],
            " to ".join(map(str, record["load"])),
            str(record["product_seconds"]),
            record["versions"].get("tensorflow", ""),
        )
        for record in records
    ]
    titles = ["time", "commit", "machine", "load", "seconds of a product"]
    parts = [
        *HEAD,
        "![Each figure per matrix product, over the lines of the history]"
        "(history.svg)",
        f"## Figures of {newest['commit']}",
        table(["amount", *head], rows),
        "## Lines",
        table([*titles, "TensorFlow"], lines),
    ]
    return "\n\n".join(parts) + "\n"


def draw(records, path):
    """Draws each figure per product; a hollow point had a busy machine."""
    names = list(records[-1]["figures"])
    num_rows = -(-len(names) // 3)
    figure = Figure(figsize=(9, 2.2 * num_rows), layout="constrained")
    panels = figure.subplots(num_rows, 3, squeeze=False).flat
    for panel, name in zip(panels, names):
        values = [
            r["figures"].get(name, {}).get("per_product") for r in records
        ]
        panel.plot(values, color="tab:blue", linewidth=1)
        for place, record in enumerate(records):
            is_quiet = record["load"][0] <= QUIET_LOAD
            face = "tab:blue" if is_quiet else "white"
            panel.plot(place, values[place], "o", color="tab:blue", mfc=face)
        panel.set_title(name, fontsize=9)
        panel.set_ylim(0, 1.1 * max(filter(None, values), default=1))
        labels = [record["commit"][:7] for record in records]
        panel.set_xticks(range(len(records)), labels, fontsize=7, rotation=30)
        panel.tick_params(axis="y", labelsize=7)
    with matplotlib.rc_context({"svg.hashsalt": "history"}):
        figure.savefig(path, metadata={"Date": None})
