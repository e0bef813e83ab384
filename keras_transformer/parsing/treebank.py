"""Reads treebanks, files and directories of trees, and a parser's output.

Callers pass a treebank as a list of paths. A path is one of:

- a file, whatever its name;
- a directory, in which all files of trees are read;
- a directory with a range of numbers. `wsj:02-21` selects the files or folders
  of `wsj` that are called `02` to `21`, `wsj_sample:0001-0159` the files
  `wsj_0001.mrg` to `wsj_0159.mrg`, and `wsj:22` a single one.
"""

import hashlib
import os
import re

from keras_transformer.data.text.text_files import make_recordable
from keras_transformer.data.text.text_files import read_lines
from keras_transformer.data.text.text_files import sha256
from keras_transformer.errors import UserError
from keras_transformer.parsing.brackets import split_blocks
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import clean
from keras_transformer.parsing.tree import parse_tree

# Names of the files that are read in a directory, plain or with `.gz`.
SUFFIXES = (".mrg", ".psd", ".ptb", ".tree", ".trees", ".txt", ".penn", ".fid")

# Brackets without a word, as Collins' parser, Berkeley's and EVALB write them.
_FAILED = re.compile(r"\s*\(?\s*(?:TOP|ROOT|S1|VROOT)?[\s()]*")


def read_treebank(paths, bad=None):
    """Yields the trees of a treebank as `tree.clean` returns them.

    A tree takes one line or several, and all but its first are indented; its
    root may lack a label. Lines of comments between trees are left out, such as
    `%% Sent 1` and `<S ID=1>`. Faults are brackets that do not balance or stand
    within a word, an empty tree or one of traces alone, more than one tree on a
    line, bytes that are not UTF-8, and a file without a tree.

    The module describes the `paths`. The first fault raises a `UserError` that
    names the file and the line, unless `bad` is a list: it then receives one
    message for each fault, while good trees are still read. A file that is
    missing or damaged, and a treebank without a good tree, are always errors.
    """
    num_trees = 0
    for path in list_treebank_files(paths):
        # Surrogates let an error name the line and the byte that are wrong.
        lines = read_lines(path, errors="surrogateescape")
        for tree in read_trees(lines, path):
            if isinstance(tree, Tree):
                num_trees += 1
                yield tree
            elif bad is None:
                raise tree
            else:
                bad.append(str(tree))
    # Skipping faults must not end in an empty training set.
    if bad and not num_trees:
        raise UserError(
            f"All {len(bad):,} trees of {', '.join(paths)} are faulty. Correct "
            f"them. The first fault: {bad[0]}"
        )


def read_trees(lines, name):
    """Yields the cleaned trees of a file, and a `UserError` for each fault.

    After a fault it resumes at the next line that begins a tree. Invalid UTF-8
    may be present as the surrogates of `errors="surrogateescape"`.
    """
    is_empty = True
    for number, text in split_blocks(lines):
        is_empty = False
        try:
            tree = clean(parse_tree(text, name, number))
            yield tree or _wordless("tree", name, number, "Remove it.")
        except UserError as error:
            yield error
    if is_empty:
        yield UserError(f"{name} holds no tree. Leave the file out.")


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
        for line, text in blocks:
            parse = None
            if not is_failed_parse(text):
                parse = clean(parse_tree(text, file, line))
                if parse is None:
                    advice = "Leave the line blank."
                    raise _wordless("parse", file, line, advice)
            parses.append(parse)
    return parses


def is_failed_parse(text):
    """Returns whether a parser wrote no parse, but a blank text or brackets.

    >>> [is_failed_parse(text) for text in ("(())", "(TOP )", "", "(NN a)")]
    [True, True, True, False]
    """
    is_balanced = text.count("(") == text.count(")")
    return is_balanced and bool(_FAILED.fullmatch(text))


def _wordless(kind, name, line, advice):
    return UserError(
        f"A {kind} must hold a word. Received: {name}, line {line}, with "
        f"traces alone. {advice}"
    )


def list_treebank_files(paths):
    """Returns the files of a treebank in reading order."""
    return [file for path in paths for file in _files(path)]


def fingerprint(name, paths):
    """Returns the name of a treebank and one SHA-256 of all its contents."""
    # Paths are left out so that a copy elsewhere has the same fingerprint.
    hashes = [sha256(path) for path in list_treebank_files(paths)]
    total = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    return {"name": make_recordable(name), "sha256": total}


def _files(path):
    # A pipe is a file as well.
    if os.path.exists(path) and not os.path.isdir(path):
        return [path]
    folder, first, last = path, None, None
    # A directory may have a name that looks like a range.
    match = re.fullmatch(r"(.+):(\d{1,18})(?:-(\d{1,18}))?", path)
    if match and not os.path.exists(path):
        folder, first, last = match[1], int(match[2]), int(match[3] or match[2])
    if not os.path.isdir(folder):
        raise UserError(
            f"There is no treebank at {path}. Name a file or a directory of "
            "trees, or a directory with a range of numbers such as wsj:02-21."
        )
    files = _files_below(folder)
    if not files:
        raise UserError(
            f"The directory {path} holds no trees. Their files must end in "
            f"{', '.join(SUFFIXES)}, with or without .gz. Check the path."
        )
    if first is not None:
        files = [
            file for file in files if first <= _number(file, folder) <= last
        ]
    if not files:
        raise UserError(
            f"The range {path} holds no file. Write the smaller number first, "
            "and check that there are files with such numbers."
        )
    return files


def _files_below(folder):
    """Returns the sorted paths of the files of trees in a folder."""
    files, ways = [], {folder: ()}
    for place, folders, names in os.walk(folder, followlinks=True):
        # A link to a folder on the way to this place would lead back here.
        way = (*ways.pop(place), os.path.realpath(place))
        # Sorting in place makes os.walk visit the folders in this order.
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and os.path.realpath(os.path.join(place, name)) not in way
        )
        ways.update((os.path.join(place, name), way) for name in folders)
        files.extend(
            os.path.join(place, name)
            for name in sorted(names)
            if name.lower().removesuffix(".gz").endswith(SUFFIXES)
            and not name.startswith(".")
        )
    return files


def _number(file, folder):
    """Returns the last number in the name of a file or its section, or -1."""
    name = os.path.relpath(file, folder).split(os.sep)[0]
    digits = re.findall(r"\d+", name.split(".")[0])
    return int(digits[-1]) if digits else -1
