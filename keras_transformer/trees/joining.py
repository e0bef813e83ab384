"""Joins the parses that several parsers wrote to files."""

import itertools
import math
import re

from keras_transformer import fields
from keras_transformer.data.text_files import read_lines
from keras_transformer.errors import UserError
from keras_transformer.trees.brackets import split_blocks
from keras_transformer.trees.consensus import find_consensus
from keras_transformer.trees.tree import clean
from keras_transformer.trees.tree import parse_tree
from keras_transformer.trees.treebank import list_treebank_files

# Brackets without a word, as Collins' parser, Berkeley's and EVALB write them.
_FAILED = re.compile(r"\s*\(?\s*(?:TOP|ROOT|S1|VROOT)?[\s()]*")


def join_parses(paths):
    """Yields the consensus tree of several parsers, or None, for each sentence.

    Each path is a file for `read_parses`. Each parser has the same weight,
    which its parses of a sentence share in proportion to their probabilities.
    Parsers without a parse of the sentence do not count.
    """
    files = [read_parses(path) for path in paths]
    for line, parsers in enumerate(itertools.zip_longest(*files), 1):
        if None in parsers:
            longer = next(n for n, p in enumerate(parsers) if p is not None)
            raise UserError(
                f"{paths[parsers.index(None)]} has fewer lines than "
                f"{paths[longer]}: it ends before line {line}. Parse the same "
                "text with each parser."
            )
        _check_words(paths, line, parsers)
        pairs = list(itertools.chain(*parsers))
        yield find_consensus(*zip(*pairs)) if pairs else None


def read_best_parses(path, number):
    """Returns the best parse of each sentence, None for a failed one.

    The path leads to a treebank, or to a file or pipe with a line for each of
    the `number` sentences. The rest of a line after a tab is ignored, so lines
    may have scores of any kind. See `is_failed_parse`.
    """
    parses = []
    for file in list_treebank_files([path]):
        # A pipe can be read only once.
        lines = list(read_lines(file, errors="surrogateescape"))
        blocks = split_blocks(lines)
        if file == path and len(lines) == number:
            blocks = enumerate((line.partition("\t")[0] for line in lines), 1)
        parses += [
            None if is_failed_parse(text) else _read_tree(text, file, line)
            for line, text in blocks
        ]
    return parses


def is_failed_parse(text):
    """Returns whether a parser wrote no parse, but a blank text or brackets.

    >>> [is_failed_parse(text) for text in ("(())", "(TOP )", "", "(NN a)")]
    [True, True, True, False]
    """
    is_balanced = text.count("(") == text.count(")")
    return is_balanced and bool(_FAILED.fullmatch(text))


def read_parses(path):
    r"""Yields lists of the parses of a sentence, pairs of `Tree` and weight.

    A line has the parses of a sentence, separated by tabs, such as the output
    of `kt-decoder`. After each there may be its score, the logarithm of its
    probability; otherwise parses have the same weight. The weights of a line
    have the sum 1. A line that `is_failed_parse` has none.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "parses.tsv")
    >>> with open(path, "w") as file:
    ...     _ = file.write("(NP (XX a))\t-0.2\t(VP (XX a))\t-1.8\n")
    >>> (parses,) = read_parses(path)
    >>> [(str(tree), round(weight, 2)) for tree, weight in parses]
    [('(TOP (NP (XX a)))', 0.83), ('(TOP (VP (XX a)))', 0.17)]
    """
    for line, text in enumerate(read_lines(path), 1):
        trees = text.split("\t")
        scores = ["0"] * len(trees)
        if len(trees) > 1 and not trees[1].lstrip().startswith("("):
            trees, scores = trees[::2], trees[1::2]
        is_failed = is_failed_parse(trees[0])
        yield [] if is_failed else _weight_trees(trees, scores, path, line)


def _weight_trees(texts, scores, path, line):
    """Returns pairs of a tree and its share of the probability."""
    if len(texts) != len(scores):
        raise UserError(
            "Each parse of a line must have a score if the first one has. "
            f"Received: {path}, line {line}, with {len(texts)} parses and "
            f"{len(scores)} scores. Write a score after each parse, or none."
        )
    trees = [_read_tree(text, path, line) for text in texts]
    numbers = [_read_log_probability(score, path, line) for score in scores]
    # Relative to the largest, those of a long sentence do not vanish.
    shares = [math.exp(number - max(numbers)) for number in numbers]
    return [(tree, share / sum(shares)) for tree, share in zip(trees, shares)]


def _read_tree(text, path, line):
    tree = clean(parse_tree(text, path, line))
    if tree is None:
        raise UserError(
            f"A parse must hold a word. Received: {path}, line {line}, with "
            "traces alone. Leave the line blank."
        )
    return tree


def _read_log_probability(text, path, line):
    try:
        number = fields.parse_number(text)
    except ValueError:
        number = math.inf
    if number > 0:
        raise UserError(
            "The score of a parse must be the logarithm of its probability, at "
            f"most 0. Received: {path}, line {line}, with "
            f"{fields.quote(text)}. Parse with --write_scores --alpha=0, "
            "without mbr_samples, and with --decode_hparams=num_hypotheses=21 "
            "if the parser has a chart."
        )
    return number


def _check_words(paths, line, parsers):
    parses = [
        (path, tree.words())
        for path, pairs in zip(paths, parsers)
        for tree, _ in pairs
    ]
    for path, words in parses:
        if words != parses[0][1]:
            raise UserError(
                f"The parses of line {line} have different words: "
                f"{' '.join(parses[0][1])!r} in {parses[0][0]}, "
                f"{' '.join(words)!r} in {path}. Parse the same text with each "
                "parser."
            )
