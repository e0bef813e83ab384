"""Labelled bracketing scores of parses, by EVALB's rules."""

import collections
import dataclasses
import functools
import itertools
import re

from keras_transformer.trees.tree import ROOT
from keras_transformer.trees.tree import TRACE
from keras_transformer.trees.tree import Tree
from keras_transformer.trees.tree import steps
from keras_transformer.trees.tree import trees_of

CUT_OFF = 40  # words; the second column is of sentences no longer than that
# What COLLINS.prm deletes: of a constituent the bracket, else the word.
DELETED = frozenset([ROOT, TRACE, ",", ":", "``", "''", "."])
SIGNATURE = f"parseval|rules:EVALB|prm:COLLINS|failed:counted|cutoff:{CUT_OFF}"
# Arrays of EVALB as it is distributed; it does not check their ends.
EVALB_MAX_WORDS = 200
EVALB_MAX_BRACKETS = 200
EVALB_MAX_WORD = 99  # bytes
EVALB_MAX_LINE = 4998  # bytes
WRONG = "*"  # ends the tags in EVALB's files that must count, and as wrong
ROWS = {
    "sentences": "num_sentences",
    "failed": "num_failed",
    "precision": "precision",
    "recall": "recall",
    "F1": "f1",
    "exact match": "exact_match",
    "tag accuracy": "tag_accuracy",
}


@dataclasses.dataclass(frozen=True)
class ParsevalScores:
    """Counts over a set of sentences, and the scores they make, 0 to 100.

    A score with nothing to count is 0, as in EVALB.
    """

    num_sentences: int = 0
    num_failed: int = 0  # without a parse, or with one over other words
    num_gold: int = 0  # brackets of the gold trees
    num_test: int = 0  # brackets of the parses
    num_matched: int = 0  # brackets in both
    num_exact: int = 0  # sentences whose brackets all match
    num_words: int = 0  # those that EVALB counts: no punctuation
    num_right_tags: int = 0

    @property
    def precision(self):
        return _percent(self.num_matched, self.num_test)

    @property
    def recall(self):
        return _percent(self.num_matched, self.num_gold)

    @property
    def f1(self):
        return _percent(2 * self.num_matched, self.num_gold + self.num_test)

    @property
    def exact_match(self):
        return _percent(self.num_exact, self.num_sentences)

    @property
    def tag_accuracy(self):
        return _percent(self.num_right_tags, self.num_words)


@dataclasses.dataclass(frozen=True)
class ParsevalReport(ParsevalScores):
    """Scores of all sentences, and of those of at most 40 words."""

    up_to_40: ParsevalScores = ParsevalScores()

    @property
    def scores(self):
        names = ("f1", "precision", "recall", "exact_match", "tag_accuracy")
        found = {name: getattr(self, name) for name in names}
        return {**found, "f1_40": self.up_to_40.f1}

    @property
    def text(self):
        """A small table, and a line that says by what rules it was made."""
        lines = [f"{'':<12}{'all':>10}{f'<= {CUT_OFF} words':>14}"]
        for name, attribute in ROWS.items():
            values = [getattr(s, attribute) for s in (self, self.up_to_40)]
            cells = [v if isinstance(v, int) else f"{v:.2f}" for v in values]
            lines.append(f"{name:<12}{cells[0]:>10}{cells[1]:>14}")
        return "\n".join([*lines, SIGNATURE])


def parseval(gold, test):
    """Scores parses against gold trees, as EVALB does with COLLINS.prm.

    A bracket is a label and the words it spans; brackets are matched as
    multisets. `TOP`, the brackets of tags, punctuation and what it leaves
    empty do not count; ADVP equals PRT; labels end at "-" or "=". Tag accuracy
    is over the same words. A sentence is an exact match if all brackets are.

    Where we differ from EVALB:

    - It drops sentences that it cannot compare, which raises F1. Here one that
      was not parsed, or over other words, counts with its gold brackets.
    - It leaves out the words that each tree itself tags as punctuation, and
      drops the sentence where the two disagree. Here the gold tags decide.
    - A sentence of punctuation alone counts as one; EVALB skips it.
    - EVALB cuts a label that begins with "-" to nothing; here it stays whole.

    Args:
        gold: list of `Tree`.
        test: list of `Tree`, as many, or None for a sentence without a parse.

    Returns:
        a `ParsevalReport`.

    Raises:
        ValueError: if there is nothing to score, or the counts differ.

    Example:

    >>> from keras_transformer.trees.tree import parse_tree
    >>> gold = parse_tree("(TOP (S (NP (PRP I)) (VP (VBP agree)) (. .)))")
    >>> test = parse_tree("(TOP (S (NP (PRP I)) (NP (NN agree)) (. .)))")
    >>> report = parseval([gold, gold], [test, None])
    >>> print(report.text)
                       all   <= 40 words
    sentences            2             2
    failed               1             1
    precision        66.67         66.67
    recall           33.33         33.33
    F1               44.44         44.44
    exact match       0.00          0.00
    tag accuracy     25.00         25.00
    parseval|rules:EVALB|prm:COLLINS|failed:counted|cutoff:40
    """
    _check(gold, test)
    found = [_counts(*pair) for pair in zip(gold, test)]
    rows = [row for _, row in found]
    short = [row for length, row in found if length <= CUT_OFF]
    return ParsevalReport(*_sums(rows), ParsevalScores(*_sums(short)))


def write_evalb(gold_path, test_path, gold, test):
    """Writes the two files that EVALB reads, one tree a line.

    With COLLINS.prm EVALB then gives the scores of `parseval`. That takes two
    changes of the parses, since EVALB drops what it cannot compare:

    - A failed sentence becomes its words right under TOP, tagged "*": no
      brackets, and no right tag. `(())` would be skipped.
    - Where the tags of gold tree and parse disagree on whether a word is
      punctuation, the parse gets the gold tag, or its own with a "*" behind.

    What remains different are sentences of punctuation alone, which EVALB
    skips whatever they look like, and failed ones whose gold tree has no
    brackets, which it calls exact matches.

    Args:
        gold_path: the file for the gold trees.
        test_path: the file for the parses.
        gold: list of `Tree`.
        test: list of `Tree` or None, as many.

    Returns:
        list of the line numbers, from 1, at which a tree is larger than EVALB
        holds as it is distributed; its limits must be raised before it is
        compiled, or it may crash or count wrongly.

    Raises:
        ValueError: if there is nothing to write, or the counts differ.
    """
    _check(gold, test)
    too_large = []
    with (
        open(gold_path, "w", encoding="utf-8", newline="\n") as gold_file,
        open(test_path, "w", encoding="utf-8", newline="\n") as test_file,
    ):
        for number, (gold_tree, test_tree) in enumerate(zip(gold, test), 1):
            gold_line = _line(gold_tree)
            test_line = _line(_comparable(gold_tree, test_tree))
            gold_file.write(gold_line + "\n")
            test_file.write(test_line + "\n")
            if not (_fits_evalb(gold_line) and _fits_evalb(test_line)):
                too_large.append(number)
    return too_large


def _check(gold, test):
    if len(gold) != len(test) or not gold:
        raise ValueError(
            "Gold trees and parses must be equally many, and at least one. "
            f"Received: {len(gold)} gold trees and {len(test)} parses. Give "
            "one parse per sentence, None where there is none."
        )


def _percent(part, whole):
    return 100 * part / whole if whole else 0.0


def _sums(rows):
    return [sum(column) for column in zip(*rows)]


def _counts(gold, test):
    """Length of a sentence, and its counts in the order of `ParsevalScores`."""
    leaves, parsed = _leaves(gold), _leaves(test)
    is_counted = [tag not in DELETED for _, tag in leaves]
    num_words = sum(is_counted)
    gold_brackets = _brackets(gold, is_counted)
    num_gold = gold_brackets.total()
    if _is_failed(leaves, parsed):
        return len(leaves), (1, 1, num_gold, 0, 0, 0, num_words, 0)
    test_brackets = _brackets(test, is_counted)
    num_test = test_brackets.total()
    num_matched = (gold_brackets & test_brackets).total()
    is_exact = int(num_matched == num_gold == num_test)
    right_tags = [a == b for a, b in zip(leaves, parsed)]
    num_right_tags = sum(itertools.compress(right_tags, is_counted))
    brackets = (num_gold, num_test, num_matched)
    row = (1, 0, *brackets, is_exact, num_words, num_right_tags)
    return len(leaves), row


def _leaves(tree):
    """Words and their tags without the traces; none if there is no tree."""
    return [
        (word, tag)
        for step, tag, word in (steps(tree) if tree else ())
        if step == "leaf" and tag != TRACE
    ]


def _is_failed(leaves, parsed):
    words = [word for word, _ in leaves]
    return not parsed or words != [word for word, _ in parsed]


def _brackets(tree, is_counted):
    """Multiset of the (label, start, end) that count.

    Positions are between the words that count, of which `is_counted` tells,
    for each word but traces.
    """
    num_before = [0, *itertools.accumulate(is_counted)]
    brackets = collections.Counter()
    starts = []
    num_words = 0
    for step, label, _ in steps(tree):
        if step == "open":
            starts.append(num_before[num_words])
        elif step == "leaf":
            num_words += label != TRACE
        else:
            start, end = starts.pop(), num_before[num_words]
            label = _bare(label)
            if start < end and label not in DELETED:
                brackets[label, start, end] += 1
    return brackets


@functools.cache
def _bare(label):
    """A label as it is compared: NP-SBJ-1 is NP, and PRT is ADVP."""
    if not label.startswith("-"):
        label = re.split("[-=]", label, maxsplit=1)[0]
    return "ADVP" if label == "PRT" else label


def _comparable(gold, test):
    """A parse that EVALB compares with the gold tree as `parseval` does."""
    leaves, parsed = _leaves(gold), _leaves(test)
    if _is_failed(leaves, parsed):
        parsed = [(word, WRONG) for word, _ in leaves]
        test = Tree(ROOT, tuple(Tree(WRONG, (word,)) for word, _ in leaves))
    tags = []
    for (_, gold_tag), (_, tag) in zip(leaves, parsed):
        if gold_tag in DELETED and tag not in DELETED:
            tag = gold_tag
        elif tag in DELETED and gold_tag not in DELETED:
            tag += WRONG
        tags.append(tag)
    return _with_tags(test, tags)


def _with_tags(tree, tags):
    """A tree with other tags, traces apart."""
    tags = iter(tags)
    (tree,) = trees_of(
        (step, next(tags), word)
        if step == "leaf" and label != TRACE
        else (step, label, word)
        for step, label, word in steps(tree)
    )
    return tree


def _line(tree):
    if tree.is_preterminal or tree.label not in ("", ROOT):
        tree = Tree(ROOT, (tree,))
    return str(tree._replace(label=ROOT))


def _fits_evalb(line):
    leaves = re.findall(r"\(([^ ()]+) ([^ ()]+)\)", line)
    return (
        sum(tag not in DELETED for tag, _ in leaves) <= EVALB_MAX_WORDS
        and line.count("(") - len(leaves) <= EVALB_MAX_BRACKETS
        and max(len(word.encode()) for _, word in leaves) <= EVALB_MAX_WORD
        and len(line.encode()) <= EVALB_MAX_LINE
    )
