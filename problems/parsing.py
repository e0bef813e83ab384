"""Constituency parsing: from words to a linearised tree.

Section 6.3 of Vaswani et al. (2017), after Vinyals et al. (2015), "Grammar as a
Foreign Language".
"""

import functools
import glob
import itertools
import os

from keras_transformer.data.generation import generation
from keras_transformer.data.generation.attributes import at_least
from keras_transformer.data.generation.attributes import check_attribute
from keras_transformer.errors import UserError
from keras_transformer.parsing import parseval
from keras_transformer.parsing import target_text
from keras_transformer.parsing import treebank
from keras_transformer.parsing.augmentation import augment
from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import collect_symbols
from keras_transformer.parsing.linearization import find_linearization
from keras_transformer.parsing.span_targets import SpanTargets
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk
from keras_transformer.problem import Problem
from keras_transformer.registry import register_problem

# The usual split of the Wall Street Journal.
WSJ_SECTIONS = {"train": "02-21", "dev": "22", "test": "23"}
# Beginnings of the names of IcePaHC's files, so that no text is in two splits.
ICEPAHC = {
    "dev": "1250.thetubrot 1450.judit 1675.modars 1859.hugvekjur 1907.leysing",
    "test": "1350.finnbogi 1628.olafuregils 1791.jonsteingrims 2008.ofsi",
}

_SETTINGS = ("linearization", "augmentation_rounds", "skip_bad")
_ONE_OF_THEM = f"one of {', '.join(LINEARIZATIONS)}"
# As the rules of `check_attributes`.
RULES = {
    "linearization": (LINEARIZATIONS.__contains__, _ONE_OF_THEM),
    "augmentation_rounds": at_least(0),
    "treebank_weight": at_least(1),
}


class ParsingProblem(Problem):
    """Supplies the trees of a parsing task.

    To add a task, subclass it, write `trees` and register the class. A source
    is the words of a sentence with spaces between them; its target is the tree
    in brackets. The model learns to write the linearization of the tree. Each
    bracket is one id of the vocabulary, which also holds the words.

    Class attributes:
        linearization: "normalised" replaces every tag by XX (Vinyals et al.,
            2015), "tagged" keeps the tags (Tensor2Tensor), "lexicalised" has
            the words instead, and so does "in_order", whose opening brackets
            follow the first child.
        augmentation_rounds: Number of rounds of an epoch through the treebank
            and new trees from it, see `augment`; 0 for only the treebank.
        treebank_weight: Number of times that an epoch goes through the
            treebank, with what augmentation made from it, for each time through
            `parsed_trees`. Defaults to 1.
        skip_bad: Whether to list faulty trees in `bad` instead of failing.

    Example:

    >>> class ParsingYes(ParsingProblem):
    ...     name = "parsing_yes"
    ...     def trees(self, split, tmp_dir):
    ...         yield parse_tree("(TOP (INTJ (UH Yes) (. .)))")
    >>> problem = ParsingYes("data")
    >>> next(problem.text_pairs("dev", tmp_dir=None))
    ('Yes .', '(TOP (INTJ (UH Yes) (. .)))')
    >>> problem.target_text("(TOP (INTJ (UH Yes) (. .)))")
    '(INTJ XX XX )INTJ'
    """

    vocab_size = 16000
    inputs_language = "words"
    targets_language = "trees"
    measure = "f1"
    linearization = "normalised"
    augmentation_rounds = 0
    treebank_weight = 1
    skip_bad = False

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        if reverse:
            raise self._direction_error(self.name)
        # Split, or "parsed": list of messages, one for each fault.
        self.bad = {}

    def use_both_directions(self):
        raise self._direction_error(f"{self.data_name}_both")

    def _direction_error(self, name):
        return UserError(
            "A parsing problem must have the words as its source. "
            f"Received: {name}. Use {self.data_name}."
        )

    def generate(self, tmp_dir):
        for name, rule in RULES.items():
            check_attribute(self, name, *rule)
        if self.linearization in WITH_WORDS and not self.shared_vocabulary:
            raise UserError(
                "A tree that holds the words of its source needs their "
                f"vocabulary. Received: linearization={self.linearization!r} "
                f"and shared_vocabulary=False for {self.data_name}. Share the "
                "vocabulary, or use another linearization."
            )
        return super().generate(tmp_dir)

    def trees(self, split, tmp_dir):
        """Yields the trees of one of `splits`, as `tree.clean` returns them.

        `tmp_dir` holds the treebank.
        """
        raise NotImplementedError

    def parsed_trees(self, tmp_dir):
        """Yields automatically parsed trees for training beside the treebank.

        They may exceed the memory, and are never augmented. None by default.
        """
        return iter(())

    def settings(self):
        settings = {name: getattr(self, name) for name in _SETTINGS}
        # Without a weight there is no entry, as in earlier manifests.
        if self.treebank_weight != 1:
            settings["treebank_weight"] = self.treebank_weight
        return settings

    def text_pairs(self, split, tmp_dir):
        for tree in self._read_trees(split, tmp_dir):
            yield " ".join(tree.words()), str(tree)

    def _read_trees(self, split, tmp_dir):
        """Yields the trees of an epoch, one at a time."""
        # Scores on dev and test must stay comparable with other work.
        if split != "train":
            yield from self.trees(split, tmp_dir)
            return
        for _ in range(self.treebank_weight):
            trees = self.trees("train", tmp_dir)
            yield from augment(trees, self.augmentation_rounds)
        yield from self.parsed_trees(tmp_dir)

    def target_text(self, target):
        return target_text.write_tree(parse_tree(target), self.linearization)

    def symbols(self, tmp_dir):
        # Augmentation exchanges whole constituents, so it adds no symbol.
        trees = itertools.chain(
            self.trees("train", tmp_dir), self.parsed_trees(tmp_dir)
        )
        return collect_symbols(trees, self.linearization)

    def make_guidance(self, hparams):
        if hparams.source_noise:
            raise UserError(
                "`source_noise` must be 0 for a parser, because a tree has all "
                "words of its source. Received: source_noise="
                f"{hparams.source_noise}. Leave it out."
            )
        if not hparams.span_labels:
            return super().make_guidance(hparams)
        return SpanTargets(
            self.source_vocabulary, self.vocabulary, hparams.span_labels
        )

    def output(self, source, decoded):
        # The data may have another linearization than this class.
        form = self._linearization_of_data
        return str(target_text.read_tree(decoded, source.split(), form))

    @functools.cached_property
    def _linearization_of_data(self):
        return find_linearization(self.vocabulary)

    def num_left_out(self, split):
        corpora = ("train", "parsed") if split == "train" else (split,)
        return {
            "bad_trees": sum(len(self.bad.get(name, ())) for name in corpora)
        }

    def report(self, hypotheses, references):
        """Scores trees by EVALB's rules; see `parseval`."""
        texts = references, hypotheses
        return parseval.parseval(*(list(map(parse_tree, t)) for t in texts))

    def score(self, hypotheses, references):
        """Returns the scores of `report` that are logged during training."""
        scores = self.report(hypotheses, references).scores
        return {name: scores[name] for name in ("f1", "exact_match")}


@register_problem
class ParsingWsj(ParsingProblem):
    """Parsing of the Wall Street Journal section of the Penn Treebank.

    Sections 02 to 21 are for training, 22 for dev and 23 for test, with 16,000
    subwords, as in section 6.3 of the paper, which reports F1 91.3 on section
    23. The treebank is licensed (LDC99T42). `tmp_dir` holds its sections,
    `wsj/00` to `wsj/24`, or files of extracted trees called
    `parsing_wsj.train.trees` and so on, plain or as `.gz`.
    """

    num_trees = {"train": 39832, "dev": 1700, "test": 2416}

    def trees(self, split, tmp_dir):
        return treebank.read_treebank(self._paths(split, tmp_dir))

    def generate(self, tmp_dir):
        # Missing sections would otherwise show only as a lower score.
        is_new = generation.read_manifest(self.directory) is None
        for split, expected in self.num_trees.items() if is_new else ():
            num_trees = sum(1 for _ in self.trees(split, tmp_dir))
            if num_trees != expected:
                raise UserError(
                    f"{self.data_name} must have {expected:,} trees for "
                    f"{split}. Received: {num_trees:,} trees in "
                    f"{', '.join(self._paths(split, tmp_dir))}. Place the "
                    "whole sections there, or use parsing_files."
                )
        return super().generate(tmp_dir)

    def source_files(self, tmp_dir):
        paths = [p for s in self.splits for p in self._paths(s, tmp_dir)]
        return treebank.list_treebank_files(paths)

    def fingerprints(self, tmp_dir):
        return [
            treebank.fingerprint(split, self._paths(split, tmp_dir))
            for split in self.splits
        ]

    def _paths(self, split, tmp_dir):
        sections = os.path.join(tmp_dir, "wsj")
        if os.path.isdir(sections):
            return [f"{sections}:{WSJ_SECTIONS[split]}"]
        stem = os.path.join(tmp_dir, f"parsing_wsj.{split}.trees")
        for path in (stem, stem + ".gz"):
            if os.path.exists(path):
                return [path]
        raise UserError(
            f"{tmp_dir} holds neither wsj/ nor {stem}. The treebank is "
            "licensed: place the sections of LDC99T42 there, wsj/00 to wsj/24, "
            "or parsing_wsj.{train,dev,test}.trees, plain or as .gz."
        )


@register_problem
class ParsingWsjTagged(ParsingWsj):
    """Parsing of the same treebank with parts of speech in the output."""

    linearization = "tagged"


@register_problem
class ParsingWsjSemi(ParsingWsj):
    """Parsing of the same treebank and of automatically parsed sentences.

    This is the paper's semi-supervised setting: 32,000 subwords; F1 92.7 on
    section 23 with about 17 million sentences. You supply the second corpus:
    files `parsing_wsj_semi.*.trees` in `tmp_dir`, plain or as `.gz`, with one
    tree per line. The paper names no weight, so an epoch goes once through each
    corpus. A subclass with another `treebank_weight` repeats the treebank.
    """

    vocab_size = 32000

    def parsed_trees(self, tmp_dir):
        return treebank.read_treebank(self._find_parsed_paths(tmp_dir))

    def source_files(self, tmp_dir):
        parsed = treebank.list_treebank_files(self._find_parsed_paths(tmp_dir))
        return super().source_files(tmp_dir) + parsed

    def fingerprints(self, tmp_dir):
        paths = self._find_parsed_paths(tmp_dir)
        parsed = treebank.fingerprint("parsed", paths)
        return [*super().fingerprints(tmp_dir), parsed]

    def _find_parsed_paths(self, tmp_dir):
        pattern = os.path.join(glob.escape(tmp_dir), "parsing_wsj_semi.*.trees")
        parsed = sorted(glob.glob(pattern) + glob.glob(pattern + ".gz"))
        if not parsed:
            raise UserError(
                f"{tmp_dir} holds no automatically parsed sentences, "
                "parsing_wsj_semi.*.trees. Place files of one tree per line "
                "there, or use parsing_wsj."
            )
        return parsed


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
        paths = self._paths(split, tmp_dir)
        for tree in treebank.read_treebank(paths, self.bad[split]):
            yield from build_trees(
                (step, label, word and _cut_lemma(word))
                for step, label, word in walk(tree)
                if not word or (word != "0" and not word.startswith("*"))
            )

    def _paths(self, split, tmp_dir):
        folder = os.path.join(tmp_dir, "icepahc")
        files = treebank.list_treebank_files([folder])
        return [file for file in files if _find_split(file) == split]


@register_problem
class ParsingIcelandic(ParsingIcelandic16k):
    """Parsing of Icelandic from the files of IcePaHC, with in-order trees.

    Otherwise it is `parsing_icelandic16k`, which has Tensor2Tensor's trees.
    """

    linearization = "in_order"


def _find_split(path):
    for split, beginnings in ICEPAHC.items():
        if os.path.basename(path).startswith(tuple(beginnings.split())):
            return split
    return "train"


def _cut_lemma(word):
    """Returns a leaf without its lemma, which may have hyphens as the word.

    >>> [_cut_lemma(word) for word in ("Jón-Páll-Jón-Páll", "---", "-", "{um}")]
    ['Jón-Páll', '-', '-', '{um}']
    """
    parts = word.split("-")
    return "-".join(parts[: max(1, len(parts) // 2)]) or word
