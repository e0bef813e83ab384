"""Read treebanks: files of bracketed trees, one by one or in directories.

What names a treebank is a list of paths. Each is a file, whatever its name, a
directory, of which all files of trees are read, or a directory with a range of
numbers: `wsj:02-21` is what in `wsj` is called `02` to `21`, files or folders,
`wsj_sample:0001-0159` are `wsj_0001.mrg` to `wsj_0159.mrg`, `wsj:22` is one.
"""

import hashlib
import os
import re

from keras_transformer.data import text_files
from keras_transformer.trees import tree as trees

# What in a directory is read, plain or gzip-compressed.
SUFFIXES = (".mrg", ".ptb", ".tree", ".trees", ".txt")


def read_treebank(paths, bad=None):
    """Yield the trees of a treebank, as `trees.clean` makes them.

    A tree takes one line or several, of which the further ones are indented;
    its root may have no label. What is no tree is an error: brackets that do
    not balance or stand in a word, an empty tree or one of traces alone, more
    than one on a line, bytes that are no UTF-8, a file without a tree.

    Args:
        paths: list of str, see the module.
        bad: None, or a list, to which a line is added for each thing that is
            no tree, instead of an error; all other trees are read.

    Raises:
        ValueError: if there is no such file or it is damaged, or all of the
            treebank is bad, or anything and `bad` is None; the message names
            file and line.
    """
    num_trees = 0
    for path in treebank_files(paths):
        for tree in _read_file(path):
            if isinstance(tree, trees.Tree):
                num_trees += 1
                yield tree
            elif bad is None:
                raise tree
            else:
                bad.append(str(tree))
    if bad and not num_trees:
        raise ValueError(
            f"A treebank must have a good tree. Received: {', '.join(paths)} "
            f"with {len(bad):,} bad ones and no other; the first: {bad[0]}"
        )


def treebank_files(paths):
    """Return the list of the files of a treebank, in the order of reading.

    Args:
        paths: list of str, see the module. Of a directory the files come in
            the order of their names, those of its folders after its own.

    Raises:
        ValueError: if a path names no file.
    """
    return [file for path in paths for file in _files(path)]


def fingerprint(name, paths):
    """Return what a manifest records of a treebank: its name and one SHA-256.

    The hash is that of its files' hashes, in order: it tells other contents,
    but not another place.
    """
    hashes = [text_files.sha256(path) for path in treebank_files(paths)]
    total = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    return {"name": name, "sha256": total}


def _read_file(path):
    """Yield a cleaned tree or an error for each tree of a file."""
    lines = text_files.read_lines(path, errors="surrogateescape")
    is_empty = True
    for number, tree in trees.read_trees(lines, path):
        is_empty = False
        if isinstance(tree, trees.Tree):
            tree = trees.clean(tree) or ValueError(
                f"A tree must hold a word. Received: {path}, line {number}, "
                "where one of traces alone begins. Leave the tree out."
            )
        yield tree
    if is_empty:
        yield ValueError(
            f"A file of trees must hold one. Received: {path}, line 1, where "
            "the file ends. Leave the file out."
        )


def _files(path):
    """Return the files that one path names."""
    if os.path.isfile(path):
        return [path]
    folder, first, last = path, None, None
    match = re.fullmatch(r"(.+):(\d+)(?:-(\d+))?", path)
    if match and not os.path.exists(path):
        folder, first, last = match[1], int(match[2]), int(match[3] or match[2])
    if not os.path.isdir(folder):
        raise ValueError(
            "A treebank must be a file or a directory. Received: "
            f"{path}, which is not there. Check the path."
        )
    files = [
        file
        for file in _files_below(folder)
        if first is None or first <= _number(file, folder) <= last
    ]
    if not files:
        raise ValueError(
            "A treebank must have files of trees, which end in "
            f"{', '.join(SUFFIXES)} or in .gz after that. Received: {path}, "
            "which has none. Check the path and the numbers."
        )
    return files


def _files_below(folder):
    """Return the paths of a folder's files of trees, sorted."""
    found = []
    for place, folders, names in os.walk(folder, followlinks=True):
        folders[:] = sorted(n for n in folders if not n.startswith("."))
        found.extend(
            os.path.join(place, name)
            for name in sorted(names)
            if name.lower().removesuffix(".gz").endswith(SUFFIXES)
            and not name.startswith(".")
        )
    return found


def _number(file, folder):
    """Return the number of what a file belongs to in a folder, -1 if none.

    It is made of the last digits in the name of the file or the folder.
    """
    name = os.path.relpath(file, folder).split(os.sep)[0]
    digits = re.findall(r"\d+", name.split(".")[0])
    return int(digits[-1]) if digits else -1
