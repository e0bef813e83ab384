"""Scores of attention heads: how diagonal, local, sharp and bracket-like.

Each score compares a head with uniform attention, which gives every word of a
sentence the same weight. Uniform attention scores 0 and a perfect head 1. A
score below 0 is possible: a head that attends to distant words alone is less
local than uniform attention.
"""

import itertools
import typing

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


class HeadScores(typing.NamedTuple):
    """Scores of all heads by their names, and the number of words behind them.

    The scores are arrays of shape `(num_layers, num_heads)`. So are the notes
    on some of them, which hold the best neighbour and the mean distance.
    """

    values: dict
    notes: dict
    num_sentences: int
    num_words: int


def read_sentences(source, problem=None):
    """Returns the first sentences to score heads over, and their constituents.

    The `source` is one of the `SPLITS` of a problem, or the path of a text
    file. Both lists have at most `NUM_SENTENCES` items. Constituents are those
    of `find_smallest_constituents`, or empty tuples if there are no trees.
    """
    texts, trees = text_files.read_lines(source), itertools.repeat(None)
    if problem:
        texts, trees = problem.text_split(source)
    is_treebank = problem and problem.measure == "f1"
    rows = enumerate(zip(texts, trees), 1)
    rows = (row for row in rows if row[1][0].strip())
    sentences, constituents = [], []
    for number, (text, tree) in itertools.islice(rows, NUM_SENTENCES):
        spans = ()
        if is_treebank:
            path = text_path(problem.directory, source, "target")
            spans = find_smallest_constituents(parse_tree(tree, path, number))
        sentences.append(text)
        constituents.append(spans)
    if not sentences:
        raise UserError(
            f"{source} has no sentences. Name a split, or a file with one "
            "sentence per line."
        )
    return sentences, constituents


def score_heads(attention, constituents):
    """Returns the `HeadScores` over sentences, and a pair to show.

    In a sentence of n words, `A[i, j]` is the weight from word i to word j. For
    uniform attention it is 1 / n. Each quantity q below is a mean over all
    words i of all sentences, and u is its value for uniform attention.

    - diagonal: `(q - u) / (1 - u)` with `q = A[i, i + offset]`, where that word
      exists, for the offset in -1, 0 and 1 with the highest score.
    - local: `1 - q / u` with `q = sum over j of A[i, j] * |i - j|`, the
      distance in words.
    - sharp: `1 - q / u` with `q = -sum over j of A[i, j] * ln A[i, j]`, the
      entropy in nats.
    - brackets: `(q - u) / (1 - u)`, where q is the share of the weights to
      other words that stays within the smallest constituent around word i that
      has two words or more. The end of a sentence is no word here. Neighbours
      often share a constituent, so a diagonal head scores above 0, too.

    A sentence of a single word counts for nothing.

    Args:
        attention: Iterable of pairs: the words of a sentence, and the attention
            between them, `(num_layers, num_heads, num_words, num_words)`. The
            pair to show is the first of medium length, or the first.
        constituents: For each sentence, the spans `(start, stop)` of the
            smallest constituent of two words or more around each word except
            the end of the sentence; empty without a tree.
    """
    sums, lengths, example = 0, [], None
    with Progress("sentences", len(constituents)) as progress:
        for (words, weights), spans in zip(attention, constituents):
            progress.add(1)
            length = len(words)
            if example is None or (
                length in EXAMPLE_WORDS and len(example[0]) not in EXAMPLE_WORDS
            ):
                example = words, weights
            if length > 1:
                lengths.append(length)
                heads = weights.astype("float64").reshape(-1, length, length)
                # The last head is uniform attention.
                evenly = np.full((1, length, length), 1 / length)
                sums = sums + _sums(np.concatenate([heads, evenly]), spans)
    if not lengths:
        raise UserError(
            "There is no sentence of two words or more to score heads on. "
            "Use other sentences."
        )
    *neighbours, distances, entropies, inside, others = sums
    num_words = sum(lengths)
    ends = num_words - len(lengths)  # words that have the neighbour
    possible = np.array([[ends], [num_words], [ends]])
    diagonals = _compare(np.array(neighbours) / possible)  # (neighbour, head)
    values = {
        "diagonal": diagonals.max(axis=0),
        "local": 1 - distances / distances[-1],
        "sharp": 1 - entropies / entropies[-1],
    }
    if inside[-1] < others[-1]:
        # A head that attends to no other word has no share.
        values["brackets"] = _compare(inside / np.maximum(others, TINY))
    notes = {
        "diagonal": np.take(NEIGHBOURS, diagonals.argmax(axis=0)),
        "local": np.array([f"{d / num_words:.1f} words" for d in distances]),
    }
    values, notes = (
        {name: x[:-1].reshape(weights.shape[:2]) for name, x in each.items()}
        for each in (values, notes)
    )
    return HeadScores(values, notes, len(lengths), num_words), example


def _compare(shares):
    """Scores shares so that uniform attention, the last, has 0, and 1 has 1."""
    uniform = shares[..., -1:]
    return (shares - uniform) / (1 - uniform)


def _sums(weights, constituents):
    """Returns the sums of all quantities of heads over a sentence, by rows."""
    places = np.arange(weights.shape[-1])
    offsets = places - places[:, None]
    is_inside = np.zeros(offsets.shape, bool)
    for word, (start, stop) in enumerate(constituents):
        is_inside[word, start:stop] = True
    # The end of the sentence, which no constituent holds, is not counted.
    is_word = places < len(constituents)
    is_counted = is_word & is_word[:, None] & (offsets != 0)
    neighbours = [offsets == offset for offset in (-1, 0, 1)]
    factors = [*neighbours, np.abs(offsets), is_inside & is_counted, is_counted]
    sums = [(weights * factor).sum(axis=(-2, -1)) for factor in factors]
    sums.insert(-2, entropy(weights).sum(axis=-1))
    return np.stack(sums)


def rank_heads(values):
    """Returns pairs `(layer, head)` from the highest to the lowest value.

    The values have the shape `(num_layers, num_heads)`.
    """
    order = np.argsort(-values, axis=None, kind="stable")
    return [divmod(int(place), values.shape[1]) for place in order]


def _describe(scores, name, head):
    """Returns the name of a head, such as "5.8", its score and a note."""
    layer, number = head
    note = scores.notes[name][head] if name in scores.notes else ""
    return f"{layer + 1}.{number + 1}", scores.values[name][head], note


def head_table(scores):
    """Returns the `NUM_ROWS` heads with the highest scores of each kind."""
    columns = []
    for name, values in scores.values.items():
        best = rank_heads(values)[:NUM_ROWS]
        cells = [_describe(scores, name, head) for head in best]
        columns.append([name, *("{} {:z6.3f} {}".format(*c) for c in cells)])
    return "\n".join(
        "  ".join(cell.ljust(22) for cell in line).rstrip()
        for line in zip(*columns)
    )


def write_head_page(scores, words, weights, path, text_name):
    """Writes a page that ranks heads and shows each for one sentence.

    A table holds the scores of all heads on the text called `text_name`, and a
    click sorts it by any of them. Each name in it links to the head's picture,
    drawn as in figure 5 of the paper. The page is a single HTML file that needs
    no other file and no network. The weights have the shape `(num_layers,
    num_heads, num_words, num_words)`.
    """
    rows = []
    for head in rank_heads(scores.values["diagonal"]):
        cells = {name: _describe(scores, name, head) for name in scores.values}
        rows.append((cells["diagonal"][0], cells))
    panels = {
        (layer + 1, head + 1): Panel(words, [head], weights[layer, [head]])
        for layer, head in np.ndindex(weights.shape[:2])
    }
    parts = {"text_name": text_name, "rows": rows, "panels": panels}
    page.write_page(
        path, "visualization/head_page.html", scores=scores, **parts
    )


def write_head_picture(scores, path):
    """Draws a map for each score, with a row per layer, a column per head."""
    num_layers, num_heads = scores.values["diagonal"].shape
    # In inches: a cell has 0.45, and the rest is for labels.
    width = (0.45 * max(4, num_heads) + 0.6) * len(scores.values)
    size = width, 0.45 * num_layers + 1.2
    figure, (axes,) = picture.make_axes(
        size, 1, len(scores.values), layout="constrained"
    )
    for axis, (name, values) in zip(axes, scores.values.items()):
        axis.imshow(values, "Blues", vmin=0, vmax=1)
        axis.set(title=name, xlabel="head", ylabel="layer")
        axis.set_xticks(range(num_heads), range(1, num_heads + 1))
        axis.set_yticks(range(num_layers), range(1, num_layers + 1))
        axis.tick_params(length=0)
        axis.grid(False)
        axis.spines[:].set_visible(False)
        for (layer, head), value in np.ndenumerate(values):
            colour = "white" if value > 0.5 else "0.2"
            options = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(head, layer, f"{value:z.2f}", color=colour, **options)
    picture.write_picture(figure, path)
