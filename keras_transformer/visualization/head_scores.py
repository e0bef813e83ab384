"""Scores of attention heads: how diagonal, local, sharp and bracket-like.

Each score compares a head with uniform attention, which gives every word of a
sentence the same weight. Uniform attention scores 0 and a perfect head 1. A
head that attends to distant words alone is less local: it scores below 0.
"""

import collections
import itertools

import numpy as np

from keras_transformer.data.generation.token_arrays import text_path
from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError
from keras_transformer.files.progress import Progress
from keras_transformer.parsing.tree import find_smallest_constituents
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.visualization import page
from keras_transformer.visualization import picture
from keras_transformer.visualization.paper_figures import Panel
from keras_transformer.visualization.paper_figures import entropy

NEIGHBOURS = ("previous", "itself", "next")  # the word before comes first
TINY = 1e-12
SPLITS = ("dev", "test")
NUM_SENTENCES = 200
EXAMPLE_WORDS = range(8, 17)  # so that a picture is neither empty nor crowded
NUM_ROWS = 10  # of the text table
# The values of each score by its name, and a note on each: the neighbour, the
# mean distance, or "". Both are arrays of shape `(num_layers, num_heads)`.
HeadScores = collections.namedtuple(
    "HeadScores", "values notes num_sentences num_words"
)


def read_sentences(source, problem=None):
    """Returns the first sentences to score heads over, and their constituents.

    The `source` is one of the `SPLITS` of a problem, or the path of a text
    file. Both lists have at most `NUM_SENTENCES` items. Constituents come from
    `find_smallest_constituents`, or are empty if there are no trees.
    """
    texts, trees = text_files.read_lines(source), itertools.repeat("")
    if problem:
        texts, trees = problem.text_split(source)
    rows = zip(itertools.count(1), texts, trees)
    rows = (row for row in rows if row[1].strip())
    rows = list(itertools.islice(rows, NUM_SENTENCES))
    if not rows:
        raise UserError(
            f"{source} has no sentences. Name a split, or a file with one "
            "sentence per line."
        )
    constituents = [[] for _ in rows]
    if problem and problem.measure == "f1":
        path = text_path(problem.directory, source, "target")
        constituents = [
            find_smallest_constituents(parse_tree(tree, path, number))
            for number, _, tree in rows
        ]
    return [text for _, text, _ in rows], constituents


def score_heads(attention, constituents):
    """Returns the `HeadScores` over sentences, and a pair to show.

    A score is `(q - u) / (p - u)`, where q is the mean of a quantity over all
    words i of all sentences, u the same for uniform attention, and p for a
    perfect head. `A[i, j]` is the weight from word i to word j.

    - diagonal: q is `A[i, i + offset]` where that word exists, for the offset
      in -1, 0 and 1 with the highest score, and p is 1.
    - local: q is the sum over j of `A[i, j] * |i - j|`, the distance in words,
      and p is 0.
    - sharp: q is the entropy of `A[i]` in nats, and p is 0.
    - brackets: q is the share of the weights to other words that stays within
      the smallest constituent around word i that has two words or more, and p
      is 1. The end of a sentence is no word here. Neighbours often share a
      constituent, so a diagonal head scores above 0, too.

    Args:
        attention: Iterable of pairs: the words of a sentence, and the attention
            between them, `(num_layers, num_heads, num_words, num_words)`. The
            pair to show is the first of medium length, or the first. A sentence
            of a single word has no score.
        constituents: For each sentence, the spans of
            `find_smallest_constituents`, or none without a tree.
    """
    sums, uniform = collections.Counter(), collections.Counter()
    examples = {}  # the first pair of medium length, and the first other one
    with Progress("sentences", len(constituents)) as progress:
        for (words, weights), spans in zip(attention, constituents):
            progress.add(1)
            examples.setdefault(len(words) in EXAMPLE_WORDS, (words, weights))
            if len(spans) != len(words) - 1:
                spans = []  # a word vanished when its text was normalised
            if len(words) > 1:
                same = np.full((1, 1, *weights.shape[-2:]), 1 / len(words))
                sums.update(_sum(weights.astype("float64"), spans))
                uniform.update(_sum(same, spans))
    if not sums:
        raise UserError(
            "There is no sentence of two words or more to score heads on. "
            "Use other sentences."
        )
    q, u = sums["neighbours"], uniform["neighbours"]
    # The first word of a sentence has no previous one, and the last no next.
    most = sums["words"] - sums["sentences"] * np.array([[[1]], [[0]], [[1]]])
    diagonals = (q - u) / (most - u)  # (3, num_layers, num_heads)
    values = {"diagonal": diagonals.max(axis=0)}
    # With p = 0, the numbers of words cancel out.
    values["local"] = 1 - sums["distance"] / uniform["distance"]
    values["sharp"] = 1 - sums["entropy"] / uniform["entropy"]
    if 0 < uniform["inside"] < uniform["others"]:
        # A head that attends to no other word has no share of others.
        q = sums["inside"] / np.maximum(sums["others"], TINY)
        u = uniform["inside"] / uniform["others"]
        values["brackets"] = (q - u) / (1 - u)
    notes = dict.fromkeys(values, np.full(weights.shape[:2], ""))
    notes["diagonal"] = np.take(NEIGHBOURS, diagonals.argmax(axis=0))
    distances = sums["distance"] / sums["words"]
    notes["local"] = np.char.mod("%.1f words", distances)
    scores = HeadScores(values, notes, sums["sentences"], sums["words"])
    return scores, examples.get(True) or examples[False]


def _sum(weights, spans):
    """Returns the sums of all quantities over a sentence, by their names."""
    places = np.arange(weights.shape[-1])
    distances = np.abs(places - places[:, None])
    is_inside = np.zeros(distances.shape, bool)
    for word, (start, stop) in enumerate(spans):
        is_inside[word, start:stop] = True
    # The end of the sentence, which no constituent holds, is not counted.
    is_word = places < len(spans)
    is_other = is_word & is_word[:, None] & (distances > 0)
    factors = {"distance": distances, "others": is_other}
    factors["inside"] = is_other & is_inside
    sums = {name: (weights * f).sum((-2, -1)) for name, f in factors.items()}
    diagonals = [weights.trace(offset, -2, -1) for offset in (-1, 0, 1)]
    sums["neighbours"] = np.stack(diagonals)
    sums["entropy"] = entropy(weights).sum(axis=-1)
    return sums | {"words": len(places), "sentences": 1}


def rank_heads(values):
    """Returns pairs `(layer, head)` from the highest to the lowest value."""
    return sorted(np.ndindex(values.shape), key=lambda place: -values[place])


def head_table(scores):
    """Returns the `NUM_ROWS` heads with the highest scores of each kind."""
    columns = []
    for name, values in scores.values.items():
        columns.append([name])
        for layer, head in rank_heads(values)[:NUM_ROWS]:
            value, note = values[layer, head], scores.notes[name][layer, head]
            columns[-1].append(f"{layer + 1}.{head + 1} {value:z6.3f} {note}")
    lines = ["  ".join(f"{c:22}" for c in cells) for cells in zip(*columns)]
    return "\n".join(map(str.rstrip, lines))


def write_head_page(scores, words, weights, path, text_name):
    """Writes a page that ranks heads and shows each for one sentence.

    A table holds the scores of all heads on the text called `text_name`, and a
    click sorts it by any of them. Each name in it links to the head's picture,
    drawn as in figure 5 of the paper.
    """
    page.write_page(
        path,
        "visualization/head_page.html",
        text_name=text_name,
        scores=scores,
        heads=rank_heads(scores.values["diagonal"]),
        panels={
            (layer, head): Panel(words, [head], weights[layer, [head]])
            for layer, head in np.ndindex(weights.shape[:2])
        },
    )


def write_head_picture(scores, path):
    """Draws a map for each score, with a row per layer, a column per head."""
    num_layers, num_heads = scores.values["diagonal"].shape
    # In inches: a cell has 0.45, and the rest is for labels.
    width = (0.45 * max(4, num_heads) + 0.6) * len(scores.values)
    size = width, 0.45 * num_layers + 1.2
    columns = len(scores.values)
    figure, axes = picture.make_axes(size, 1, columns, layout="constrained")
    for axis, (name, values) in zip(axes.flat, scores.values.items()):
        axis.imshow(values, "Blues", vmin=0, vmax=1)
        axis.set(title=name, xlabel="head", ylabel="layer", frame_on=False)
        axis.set_xticks(range(num_heads), range(1, num_heads + 1))
        axis.set_yticks(range(num_layers), range(1, num_layers + 1))
        axis.tick_params(length=0)
        axis.grid(False)
        for (layer, head), value in np.ndenumerate(values):
            colour = "white" if value > 0.5 else "0.2"
            options = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(head, layer, f"{value:z.2f}", color=colour, **options)
    picture.write_picture(figure, path)
