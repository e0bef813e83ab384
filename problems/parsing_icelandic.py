"""Parsing of Icelandic, learnt from the treebank IcePaHC."""

import glob
import os

from keras_transformer.errors import UserError
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import walk
from keras_transformer.parsing.treebank import fingerprint
from keras_transformer.parsing.treebank import read_treebank
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.registry import register_problem

# Begins of names of files; so no text is in two splits. Train has the rest.
SPLITS = {
    "dev": "1250.thetubrot 1450.judit 1675.modars 1859.hugvekjur 1907.leysing",
    "test": "1350.finnbogi 1628.olafuregils 1791.jonsteingrims 2008.ofsi",
}


@register_problem
class ParsingIcelandic16k(ParsingProblem):
    """Parsing of Icelandic, 16,384 subwords, from the files of IcePaHC.

    `tmp_dir` holds the files `icepahc/*.psd`, plain or as `.gz`. A word is what
    comes before its lemma, and `$` stays at the parts of a divided word. Empty
    categories such as `*T*-1` and `0` are left out, and so are trees without a
    word. Five files are dev, and four are test.
    """

    vocab_size = 2**14

    def trees(self, split, tmp_dir):
        # Some trees hold notes alone.
        self.bad[split] = []
        for tree in read_treebank(self._paths(split, tmp_dir), self.bad[split]):
            yield from build_trees(
                (step, label, word and _cut_lemma(word))
                for step, label, word in walk(tree)
                if not (word and _is_empty(word))
            )

    def source_files(self, tmp_dir):
        return [p for split in self.splits for p in self._paths(split, tmp_dir)]

    def fingerprints(self, tmp_dir):
        return [
            fingerprint(split, self._paths(split, tmp_dir))
            for split in self.splits
        ]

    def _paths(self, split, tmp_dir):
        folder = os.path.join(glob.escape(tmp_dir), "icepahc")
        paths = {name: [] for name in self.splits}
        for path in sorted(glob.glob(f"{folder}/*.psd*")):
            begin = ".".join(os.path.basename(path).split(".")[:2])
            is_in = [name for name in SPLITS if begin in SPLITS[name].split()]
            paths[is_in[0] if is_in else "train"].append(path)
        if not all(paths.values()):
            raise UserError(
                f"{self.data_name} needs files of IcePaHC for train, dev and "
                f"test. Received: {sum(map(len, paths.values()))} files "
                f"icepahc/*.psd in {tmp_dir}. Place those of the treebank's "
                "folder finished there, plain or as .gz."
            )
        return paths[split]


def _is_empty(word):
    """Returns whether a leaf stands for no word."""
    return word == "0" or word.startswith("*")


def _cut_lemma(word):
    """Returns a leaf without its lemma, which may have hyphens as the word.

    >>> _cut_lemma("Jón-Páll-Jón-Páll"), _cut_lemma("---"), _cut_lemma("{um}")
    ('Jón-Páll', '-', '{um}')
    """
    parts = word.split("-")
    return "-".join(parts[: max(1, len(parts) // 2)])
