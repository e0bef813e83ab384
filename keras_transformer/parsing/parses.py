"""Reads the parses that a parser wrote to a file."""

import re

from keras_transformer.data.text.text_files import read_lines
from keras_transformer.errors import UserError
from keras_transformer.parsing.brackets import split_blocks
from keras_transformer.parsing.tree import clean
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.treebank import list_treebank_files

# Brackets without a word, as Collins' parser, Berkeley's and EVALB write them.
_FAILED = re.compile(r"\s*\(?\s*(?:TOP|ROOT|S1|VROOT)?[\s()]*")


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


def _read_tree(text, path, line):
    tree = clean(parse_tree(text, path, line))
    if tree is None:
        raise UserError(
            f"A parse must hold a word. Received: {path}, line {line}, with "
            "traces alone. Leave the line blank."
        )
    return tree
