"""Parsing of Icelandic, learnt from the treebank IcePaHC."""

import os

from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import walk
from keras_transformer.parsing.treebank import list_treebank_files
from keras_transformer.parsing.treebank import read_treebank
from keras_transformer.problems.parsing import ParsingWsj
from keras_transformer.registry import register_problem

# Begins of the names of files; so no text is in two splits.
DEV = "1250.thetubrot 1450.judit 1675.modars 1859.hugvekjur 1907.leysing"
TEST = "1350.finnbogi 1628.olafuregils 1791.jonsteingrims 2008.ofsi"


@register_problem
class ParsingIcelandic16k(ParsingWsj):
    """Parsing of Icelandic, 16,384 subwords, from the files of IcePaHC.

    `tmp_dir` holds the files `icepahc/*.psd`, plain or as `.gz`. Words lose
    their lemmas and keep `$`, which marks the parts of a divided one. Empty
    categories such as `*T*-1` and `0` are left out.
    """

    vocab_size = 2**14
    num_trees: dict[str, int] = {}  # other versions have others

    def trees(self, split, tmp_dir):
        self.bad[split] = []  # trees of notes alone
        for tree in read_treebank(self._paths(split, tmp_dir), self.bad[split]):
            yield from build_trees(
                (step, label, word and _cut_lemma(word))
                for step, label, word in walk(tree)
                if not word or (word != "0" and not word.startswith("*"))
            )

    def _paths(self, split, tmp_dir):
        files = list_treebank_files([os.path.join(tmp_dir, "icepahc")])
        return [file for file in files if _find_split(file) == split]


def _find_split(path):
    for split, begins in (("dev", DEV), ("test", TEST)):
        if os.path.basename(path).startswith(tuple(begins.split())):
            return split
    return "train"


def _cut_lemma(word):
    """Returns a leaf without its lemma, which may have hyphens as the word.

    >>> [_cut_lemma(word) for word in ("Jón-Páll-Jón-Páll", "---", "-", "{um}")]
    ['Jón-Páll', '-', '-', '{um}']
    """
    parts = word.split("-")
    return "-".join(parts[: max(1, len(parts) // 2)]) or word
