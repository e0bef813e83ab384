"""Draws how many sequences of each length are right, by kind of positions.

    python benchmarks/draw_lengths.py benchmarks/tables_results lengths.png

The results are those of tables.py. A curve is the mean of all seeds, and the
area around it reaches from the lowest to the highest one.
"""

import pathlib
import re
import sys

import tables

from keras_transformer.visualization import picture

COLOURS = dict(zip(tables.POSITIONS, ("C0", "C1", "C2")))
TASKS = {"identity": "copy", "reverse": "reverse", "addition": "add"}


def draw(folder, path):
    trainings = list(tables.make_trainings())
    results = tables.read_results(pathlib.Path(folder), trainings)
    tasks = {task: read_scores(results, task) for task in TASKS}
    tasks = {task: scores for task, scores in tasks.items() if scores}
    if not tasks:
        fault = f"{folder} has no results of tables.py for the lengths."
        print(f"draw_lengths.py: error: {fault}", file=sys.stderr)
        sys.exit(2)
    size = (3.6 * len(tasks), 3)
    figure, (axes,) = picture.make_axes(size, 1, len(tasks), sharey=True)
    for axis, (task, scores) in zip(axes, tasks.items()):
        for positions, of_seeds in scores.items():
            plot(axis, of_seeds, positions, COLOURS[positions])
        axis.axvline(40, color="gray", linestyle=":", label="longest in train")
        axis.set_title(TASKS[task])
        axis.set_xlabel("symbols, at most")
    axes[0].set_ylabel("exact match, %")
    axes[0].legend(frameon=False)
    picture.write_picture(figure, path)


def read_scores(results, task):
    """Returns the scores of all seeds by kind of positions."""
    names = {each: f"lengths: {task}: {each}" for each in tables.POSITIONS}
    return {
        positions: [run["scores"] for run in results[name]["runs"].values()]
        for positions, name in names.items()
        if results[name]["runs"]
    }


def plot(axis, scores, label, colour):
    """Plots percentages by groups of lengths, such as 1-40 symbols."""
    lengths = [int(re.search(r"-(\d+)", group)[1]) for group in scores[0]]
    columns = list(zip(*(seed.values() for seed in scores)))
    means = [sum(column) / len(column) for column in columns]
    axis.plot(lengths, means, colour, marker=".", label=label)
    lowest, highest = map(min, columns), map(max, columns)
    band = lengths, list(lowest), list(highest)
    axis.fill_between(*band, color=colour, alpha=0.2)


if __name__ == "__main__":
    draw(*sys.argv[1:])
