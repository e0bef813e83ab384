"""Scores parses as EVALB does, and writes the files that EVALB reads."""

import collections
import dataclasses
import functools
import itertools
import re

from keras_transformer.errors import UserError
from keras_transformer.parsing.tree import ROOT
from keras_transformer.parsing.tree import TRACE
from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import find_spans
from keras_transformer.parsing.tree import replace_tags
from keras_transformer.parsing.tree import walk

CUT_OFF = 40  # words of the longest sentence in the second column
# COLLINS.prm deletes the brackets and the words with these labels.
DELETED = frozenset([ROOT, TRACE, ",", ":", "``", "''", "."])
SIGNATURE = f"parseval|rules:EVALB|prm:COLLINS|failed:counted|cutoff:{CUT_OFF}"
ROWS = {
    "sentences": "num_sentences",
    "failed": "num_failed",
    "precision": "precision",
    "recall": "recall",
    "F1": "f1",
    "exact match": "exact_match",
    "tag accuracy": "tag_accuracy",
}


@dataclasses.dataclass
class ParsevalScores:
    """Counts of a set of sentences, and scores from 0 to 100 (0 if empty)."""

    num_sentences: int = 0
    num_failed: int = 0  # sentences without a parse or with other words
    num_gold: int = 0  # brackets of the gold trees
    num_test: int = 0  # brackets of the parses
    num_matched: int = 0  # brackets in both
    num_exact: int = 0  # sentences whose brackets all match
    num_words: int = 0  # words that EVALB counts: no punctuation
    num_right_tags: int = 0

    def __post_init__(self):
        self.precision = _percent(self.num_matched, self.num_test)
        self.recall = _percent(self.num_matched, self.num_gold)
        num_brackets = self.num_gold + self.num_test
        self.f1 = _percent(2 * self.num_matched, num_brackets)
        self.exact_match = _percent(self.num_exact, self.num_sentences)
        self.tag_accuracy = _percent(self.num_right_tags, self.num_words)


@dataclasses.dataclass
class ParsevalReport(ParsevalScores):
    """Scores of all sentences, and of sentences with at most 40 words."""

    up_to_40: ParsevalScores = dataclasses.field(default_factory=ParsevalScores)

    @property
    def scores(self):
        names = ("f1", "precision", "recall", "exact_match", "tag_accuracy")
        scores = {name: getattr(self, name) for name in names}
        return {**scores, "f1_40": self.up_to_40.f1}

    @property
    def text(self):
        """A small table and a line that states the rules behind it."""
        lines = [f"{'':<12}{'all':>10}{f'<= {CUT_OFF} words':>14}"]
        for name, attribute in ROWS.items():
            values = [getattr(s, attribute) for s in (self, self.up_to_40)]
            cells = [v if isinstance(v, int) else f"{v:.2f}" for v in values]
            lines.append(f"{name:<12}{cells[0]:>10}{cells[1]:>14}")
        return "\n".join([*lines, SIGNATURE])

    @property
    def lines(self):
        return self.text.splitlines()


def parseval(gold, test):
    """Scores parses against gold trees as EVALB does with COLLINS.prm.

    A bracket is a label and the words that it spans. Brackets are matched as
    multisets. The brackets of `TOP`, tags and punctuation do not count, nor do
    those that hold only punctuation. ADVP equals PRT, and labels end at "-" or
    "=". Tag accuracy is over the same words. A sentence is an exact match if
    all its brackets match.

    The scores differ from EVALB's as follows:

    - EVALB drops sentences that it cannot compare, which raises F1. Here a
      sentence without a parse, or with a parse of other words, counts with its
      gold brackets.
    - EVALB removes the words that each tree itself tags as punctuation, and
      drops the sentence if the two trees disagree. Here the gold tags decide.
    - EVALB skips sentences that are all punctuation. Here they count.
    - EVALB cuts a label that begins with "-" to nothing. Here it stays whole.

    Args:
        gold: Non-empty list of `Tree`.
        test: List of `Tree` of the same length, None where there is no parse.

    Returns:
        A `ParsevalReport`.

    Raises:
        UserError: If there is nothing to score or the lengths differ.

    Example:

    >>> from keras_transformer.parsing.tree import parse_tree
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
    check_pairs(gold, test)
    counts = [_counts(*pair) for pair in zip(gold, test)]
    rows = [row for _, row in counts]
    short = [row for length, row in counts if length <= CUT_OFF]
    sums, short_sums = ([sum(c) for c in zip(*r)] for r in (rows, short))
    return ParsevalReport(*sums, ParsevalScores(*short_sums))


def find_other_words(gold, test):
    """Returns the numbers, from 1, of parses whose words differ from gold."""
    return [
        number
        for number, (tree, parse) in enumerate(zip(gold, test), 1)
        if parse and is_failed(get_leaves(tree), get_leaves(parse))
    ]


def check_pairs(gold, test):
    """Raises a `UserError` unless there is one parse for each gold tree."""
    if len(gold) != len(test) or not gold:
        raise UserError(
            "There must be as many parses as gold trees, and at least one. "
            f"Received: {len(gold)} gold trees and {len(test)} parses. Give "
            "one parse for each sentence, and None, or a blank line of a file, "
            "where parsing failed."
        )


def _percent(part, whole):
    return 100 * part / whole if whole else 0.0


def _counts(gold, test):
    """Returns a sentence's length and its counts in `ParsevalScores` order."""
    leaves, parsed = get_leaves(gold), get_leaves(test)
    is_counted = [tag not in DELETED for _, tag in leaves]
    num_words = sum(is_counted)
    gold_brackets = _brackets(gold, is_counted)
    num_gold = gold_brackets.total()
    if is_failed(leaves, parsed):
        return len(leaves), (1, 1, num_gold, 0, 0, 0, num_words, 0)
    test_brackets = _brackets(test, is_counted)
    num_test = test_brackets.total()
    # The intersection of multisets counts a repeated bracket as often as both.
    num_matched = (gold_brackets & test_brackets).total()
    is_exact = int(num_matched == num_gold == num_test)
    right_tags = [a == b for a, b in zip(leaves, parsed)]
    num_right_tags = sum(itertools.compress(right_tags, is_counted))
    brackets = (num_gold, num_test, num_matched)
    row = (1, 0, *brackets, is_exact, num_words, num_right_tags)
    return len(leaves), row


def get_leaves(tree):
    """Returns the words and tags of a tree without traces; [] if it is None."""
    return [
        (word, tag)
        for step, tag, word in (walk(tree) if tree else ())
        if step == "leaf" and tag != TRACE
    ]


def is_failed(leaves, parsed):
    """Returns whether a parse lacks words, or its words differ from gold."""
    words = [word for word, _ in leaves]
    return not parsed or words != [word for word, _ in parsed]


def _brackets(tree, is_counted):
    """Returns the multiset of the (label, start, end) that count."""
    # Brackets that differ only in their punctuation are the same for EVALB.
    # So punctuation takes no position, and neither do traces, which are not in
    # `is_counted`. Position i is the number of counted words before word i.
    counted = iter(is_counted)
    is_placed = [tag != TRACE and next(counted) for tag in tree.tags()]
    num_before = [0, *itertools.accumulate(is_placed)]
    brackets = collections.Counter()
    for label, start, end in find_spans(tree):
        label, start, end = _bare(label), num_before[start], num_before[end]
        if start < end and label not in DELETED:
            brackets[label, start, end] += 1
    return brackets


@functools.cache
def _bare(label):
    """Returns a label as it is compared: NP-SBJ-1 is NP and PRT is ADVP."""
    if not label.startswith("-"):
        label = re.split("[-=]", label, maxsplit=1)[0]
    return "ADVP" if label == "PRT" else label


# Sizes of the arrays in EVALB as distributed, which it does not check.
EVALB_MAX_WORDS = EVALB_MAX_BRACKETS = 200
EVALB_MAX_WORD = 99  # bytes
EVALB_MAX_LINE = 4998  # bytes
WRONG = "*"  # suffix of tags in EVALB's files that must count as wrong


def write_evalb(gold_file, test_file, gold, test):
    """Writes to the two open files that EVALB reads, one tree on each line.

    EVALB with COLLINS.prm then gives the scores of `parseval`. Two changes to
    the parses are needed because EVALB drops sentences that it cannot compare:

    - A failed sentence becomes its words right below TOP, all tagged "*": it
      has no brackets and no right tag. EVALB would skip `(())`.
    - Where gold tree and parse disagree on whether a word is punctuation, the
      parse gets the gold tag, or its tag followed by "*".

    EVALB still skips sentences that are all punctuation, and calls a failed
    sentence an exact match if its gold tree has no brackets.

    Returns the line numbers, from 1, of trees that exceed the limits of EVALB
    as distributed. It may crash or count wrongly if compiled with them.
    """
    check_pairs(gold, test)
    too_large = []
    for number, (gold_tree, test_tree) in enumerate(zip(gold, test), 1):
        gold_line = _write_line(gold_tree)
        test_line = _write_line(_make_comparable(gold_tree, test_tree))
        gold_file.write(gold_line + "\n")
        test_file.write(test_line + "\n")
        if not (_fits_evalb(gold_line) and _fits_evalb(test_line)):
            too_large.append(number)
    return too_large


def _make_comparable(gold, test):
    """Returns a parse that EVALB compares with `gold` as `parseval` does."""
    leaves, parsed = get_leaves(gold), get_leaves(test)
    # EVALB skips an empty tree, so a failed parse becomes a flat one.
    if is_failed(leaves, parsed):
        parsed = [(word, WRONG) for word, _ in leaves]
        test = Tree(ROOT, tuple(Tree(WRONG, (word,)) for word, _ in leaves))
    tags = []
    for (_, gold_tag), (_, tag) in zip(leaves, parsed):
        if gold_tag in DELETED and tag not in DELETED:
            tag = gold_tag
        elif tag in DELETED and gold_tag not in DELETED:
            tag += WRONG
        tags.append(tag)
    # Traces, which are not words, stay as they are.
    remaining = iter(tags)
    return replace_tags(
        test, [tag if tag == TRACE else next(remaining) for tag in test.tags()]
    )


def _write_line(tree):
    # EVALB expects TOP at the root of every tree.
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
