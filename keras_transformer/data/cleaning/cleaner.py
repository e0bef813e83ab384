"""Parallel text without the pairs that some rule drops, and its report."""

import dataclasses
import functools
import itertools
import random

from keras_transformer.data.cleaning import rules
from keras_transformer.data.cleaning.rules import PairRule
from keras_transformer.data.cleaning.rules import make_side_rule
from keras_transformer.errors import UserError
from keras_transformer.errors import did_you_mean
from keras_transformer.errors import shorten

# Rules that look at duplicates hash many pairs in one call.
_PAIRS_AT_ONCE = 10_000
# Some rules learn from this many pairs first, which memory holds meanwhile.
_PAIRS_TO_LEARN = 50_000

# In the order in which a pair meets them: cheap ones first, and only a pair
# that passed all others makes a later one its duplicate.
RULES = (
    *("empty", "too_long", "length_ratio", "identical", "encoding", "markup"),
    *("wrong_side", "alignment", "duplicate", "near_duplicate"),
)
# A rule is on by default, in `kt-datagen --clean` too, unless it is left out.
DEFAULT_RULES = tuple(name for name in RULES if name != "near_duplicate")


@dataclasses.dataclass(frozen=True)
class CleaningOptions:
    """Which rules a `Cleaner` applies, and their limits.

    `script`, `language` and `held_out` apply if their options are set.
    """

    rules: tuple = DEFAULT_RULES  # names from `RULES`
    max_length: int = 1000  # characters of the longest side
    max_ratio: float = 4.0  # characters of one side for each of the other
    source_scripts: frozenset | None = None  # from `rules.SCRIPTS`
    target_scripts: frozenset | None = None
    source_language: str | None = None  # a code such as "en"
    target_language: str | None = None
    held_out: tuple = ()  # sentences of dev and test

    def __post_init__(self):
        for name in self.rules:
            if name not in RULES:
                raise UserError(
                    f"`rules` must be names of rules. Received: {name!r}. "
                    f"{did_you_mean(name, RULES)}Use some of: "
                    f"{', '.join(RULES)}. The rules script, language and "
                    "held_out follow from their options."
                )
        if self.max_ratio < 1:
            raise UserError(
                "`max_ratio` must be at least 1. Received: max_ratio="
                f"{self.max_ratio}. Use a ratio such as 4, since the longer "
                "side is compared with the shorter one."
            )


class Cleaner:
    """Drops the pairs that break a rule, and counts them in its `report`.

    A cleaner remembers the pairs it has seen, so each corpus needs a new one.

    >>> cleaner = Cleaner()
    >>> pairs = [("Yes.", "Ja."), ("No.", ""), ("Yes.", "Ja.")]
    >>> list(cleaner.filter_pairs(pairs))
    [('Yes.', 'Ja.')]
    >>> cleaner.report.dropped["duplicate"]
    1
    """

    def __init__(self, options=None):
        self._rules = _make_rules(options or CleaningOptions())
        self._learners = [r for r in self._rules if hasattr(r, "learn")]
        self.report = Report([rule.name for rule in self._rules])

    def filter_pairs(self, pairs):
        """Yields the pairs of an iterable that no rule drops."""
        for pair, name in self.judge(pairs):
            if name is None:
                yield pair

    def judge(self, pairs):
        """Yields each pair with the name of the rule that drops it, or None."""
        pairs = iter(pairs)
        if self._learners:
            first = list(itertools.islice(pairs, _PAIRS_TO_LEARN))
            for rule in self._learners:
                rule.learn(first)
            pairs = itertools.chain(first, pairs)
        while chunk := list(itertools.islice(pairs, _PAIRS_AT_ONCE)):
            names = self._find_rules(chunk)
            self.report.num_read += len(chunk)
            for pair, name in zip(chunk, names):
                if name is not None:
                    self.report.add(pair, name)
                yield pair, name

    def _find_rules(self, pairs):
        names = [None] * len(pairs)
        left = range(len(pairs))  # positions of the pairs that passed so far
        for rule in self._rules:
            drops = rule.find_drops([pairs[position] for position in left])
            for position in itertools.compress(left, drops):
                names[position] = rule.name
            left = [position for position in left if names[position] is None]
        return names


def _make_rules(options):
    """Returns the rules of some options, in the order of `RULES`."""
    is_uneven = functools.partial(rules.is_uneven, max_ratio=options.max_ratio)
    pair_rules = [
        make_side_rule("empty", rules.is_empty),
        make_side_rule("too_long", lambda text: len(text) > options.max_length),
        PairRule("length_ratio", is_uneven),
        PairRule("identical", rules.is_identical),
        make_side_rule("encoding", rules.is_broken),
        make_side_rule("markup", rules.has_markup),
    ]
    pair_rules = [rule for rule in pair_rules if rule.name in options.rules]
    scripts = options.source_scripts, options.target_scripts
    if any(scripts):
        is_other = map(rules.drop_other_scripts, scripts)
        pair_rules.append(make_side_rule("script", *is_other))
    codes = options.source_language, options.target_language
    if any(codes):
        is_wrong = rules.drop_wrong_language(*codes)
        pair_rules.append(make_side_rule("language", *is_wrong))
    if options.held_out:
        is_held_out = rules.drop_held_out(options.held_out)
        pair_rules.append(make_side_rule("held_out", is_held_out))
    # Imported here because it imports NumPy, which would slow --help down.
    from keras_transformer.data.cleaning import alignment

    others = [
        alignment.WrongSideRule(),
        alignment.AlignmentRule(),
        alignment.DuplicateRule("duplicate", str),
        alignment.DuplicateRule("near_duplicate", rules.normal_form),
    ]
    return pair_rules + [rule for rule in others if rule.name in options.rules]


NUM_SAMPLES = 5


class Report:
    """Counts pairs, and keeps some of those that each rule dropped.

    `dropped`, the number of pairs, and `samples`, at most five of them, are
    dictionaries by the name of a rule. The same text gives the same samples.
    """

    def __init__(self, names):
        self.num_read = 0
        self.dropped = dict.fromkeys(names, 0)
        self.samples = {name: [] for name in names}
        self._random = random.Random(0)

    @property
    def num_kept(self):
        return self.num_read - sum(self.dropped.values())

    def add(self, pair, name):
        self.dropped[name] += 1
        samples = self.samples[name]
        if len(samples) < NUM_SAMPLES:
            samples.append(pair)
            return
        # Reservoir sampling: every pair so far stays with equal probability.
        position = self._random.randrange(self.dropped[name])
        if position < NUM_SAMPLES:
            samples[position] = pair

    def lines(self):
        """Yields the lines of the table, with the samples of each rule.

        >>> report = Report(["empty", "duplicate"])
        >>> report.num_read = 4
        >>> report.add(("", "Ja."), "empty")
        >>> print("\\n".join(report.lines()))
        rule                  pairs     share
        empty                     1  25.000 %
            '' | 'Ja.'
        duplicate                 0   0.000 %
        kept                      3  75.000 %
        read                      4
        """
        yield f"{'rule':<14}{'pairs':>13}{'share':>10}"
        for name, number in self.dropped.items():
            yield self._line(name, number)
            for source, target in self.samples[name]:
                # `repr` sends no control character to the terminal.
                yield f"    {shorten(source)!r} | {shorten(target)!r}"
        yield self._line("kept", self.num_kept)
        yield f"{'read':<14}{self.num_read:>13,}"

    def _line(self, name, number):
        share = 100 * number / max(self.num_read, 1)
        return f"{name:<14}{number:>13,}{share:>8.3f} %"
