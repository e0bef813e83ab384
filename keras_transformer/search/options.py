"""The options of decoding, a frozen dataclass that all commands share."""

import dataclasses
import numbers
import typing

from keras_transformer import errors
from keras_transformer.errors import UserError

if typing.TYPE_CHECKING:
    from keras_transformer.hparam import HParams

MAX_SOURCE_TOKENS = 4096  # more of them take gigabytes in attention
MAX_TERM_TOKENS = 32  # of a term of a glossary; memory grows with the cube
MAX_OUTPUT_TOKENS = 10_000  # beyond the length of the source
MAX_HYPOTHESES = 1_000  # of a sentence, in the beam or as samples
MAX_ALPHA = 10  # the penalty of a long output overflows float32 beyond it


@dataclasses.dataclass(frozen=True)
class DecodeOptions:
    """Options of decoding, apart from the model and the text.

    A temperature of 0 means beam search. With a higher temperature,
    `num_hypotheses` translations are drawn at random. Each token comes from the
    model's distribution, which the temperature sharpens or flattens. Only the
    `top_k` likeliest tokens take part, and of them only the fewest that
    together have the probability `top_p`.

    With `mbr_samples`, that many translations are drawn in the same way, from
    the unchanged distribution if no temperature is set. Those that agree best
    with all the others are returned; see `decoding.selection`. A
    `Parser` joins all of them into one tree; see `parsing.consensus`.

    With `constrained`, a parsing run finds only well-formed trees over the
    words of the input; see `TreeConstraint`. A run that translates ignores it.

    Raises:
        UserError: If a value has the wrong type or is out of range.

    Example:

    >>> DecodeOptions(beam_size=8, num_hypotheses=8).alpha
    0.6
    """

    beam_size: int = 4  # hypotheses kept at each step; 1 is greedy search
    alpha: float = 0.6  # length penalty ((5 + length) / 6) ** alpha
    num_hypotheses: int = 1  # translations of a sentence, best first
    extra_length: int = 50  # tokens an output may have more than its input
    min_length: int = 0  # minimum tokens of a translation, without the end
    no_repeat_ngram_size: int = 0  # tokens in a row that occur once; 0 = off
    temperature: float = 0.0  # temperature of sampling; 0 = beam search
    top_k: int = 0  # number of likeliest tokens to sample from; 0 = all
    top_p: float = 1.0  # probability of the nucleus to sample from
    mbr_samples: int = 0  # samples for minimum Bayes risk; 0 = off
    constrained: bool = True  # whether a parsing run finds only trees

    def __post_init__(self):
        errors.check(self, _RULES)
        name, remedy = "mbr_samples", "Draw more samples."
        if not self.is_random:
            name, remedy = "beam_size", "Use a larger beam, or a temperature."
        limit = getattr(self, name)  # 0 if a temperature alone draws samples
        if 0 < limit < self.num_hypotheses:
            raise UserError(
                f"`num_hypotheses` must be at most `{name}`. Received: "
                f"num_hypotheses={self.num_hypotheses}, {name}={limit}. "
                f"{remedy}"
            )

    @classmethod
    def from_hparams(cls, hparams: "HParams") -> typing.Self:
        """Returns the options that a run's `HParams` state."""
        return cls(**dataclasses.asdict(hparams.decoding))

    def replace(self, **changes) -> typing.Self:
        """Returns these options with changes; None leaves one as it is.

        The beam is widened to the number of hypotheses, unless the changes
        include `beam_size`.
        """
        for name in changes:
            errors.find_field(type(self), name, "options")
        changes = {
            name: value for name, value in changes.items() if value is not None
        }
        number = changes.get("num_hypotheses", self.num_hypotheses)
        # A wrong number must not widen the beam, or errors name `beam_size`.
        if isinstance(number, numbers.Integral) and number <= MAX_HYPOTHESES:
            changes.setdefault("beam_size", max(self.beam_size, number))
        return dataclasses.replace(self, **changes)

    @property
    def num_beams(self) -> int:
        """The number of beams of each sentence; each sample is a beam."""
        return self.num_hypotheses if self.temperature else self.beam_size

    @property
    def is_random(self) -> bool:
        """Whether translations are drawn, instead of searched for."""
        return bool(self.temperature or self.mbr_samples)

    def to_search_options(self) -> typing.Self:
        """Returns the options of the search, which draws all `mbr_samples`."""
        if not self.mbr_samples:
            return self
        return dataclasses.replace(
            self,
            mbr_samples=0,
            num_hypotheses=self.mbr_samples,
            temperature=self.temperature or 1.0,
        )


def find_max_tokens(hparams: "HParams") -> int:
    """Returns the largest number of tokens of a text that a model takes."""
    # Learned positions from `max_length` on would share one vector.
    limit = MAX_SOURCE_TOKENS
    is_learned = hparams.positional_encoding == "learned"
    return min(limit, hparams.max_length) if is_learned else limit


_RULES = (
    errors.between(1, MAX_HYPOTHESES, "beam_size", "num_hypotheses"),
    errors.between(0, MAX_ALPHA, "alpha"),
    errors.between(0, MAX_OUTPUT_TOKENS, "extra_length", "min_length"),
    errors.between(0, 100, "no_repeat_ngram_size"),
    errors.between(0, 1_000_000, "top_k"),
    # A lower temperature, or less of the nucleus, is greedy search.
    (
        "0, or from 0.001 to 1,000",
        lambda value: value == 0 or 0.001 <= value <= 1_000,
        ("temperature",),
    ),
    errors.between(1e-6, 1, "top_p"),
    # A single sample has no others to agree with.
    (
        f"0, or from 2 to {MAX_HYPOTHESES:,}",
        lambda value: value == 0 or 2 <= value <= MAX_HYPOTHESES,
        ("mbr_samples",),
    ),
)


def parse_decode_hparams(text, **flags):
    """Returns the changes that `name=value` pairs and single flags ask for.

    None means that a flag is not set. Two values of one option are an error.

    >>> parse_decode_hparams("temperature=0.8,top_k=10", alpha=None)
    {'temperature': 0.8, 'top_k': 10}
    """
    changes = errors.parse_changes(DecodeOptions, text, "decode_hparams")
    flags = {name: value for name, value in flags.items() if value is not None}
    for name, value in flags.items():
        if changes.setdefault(name, value) != value:
            raise UserError(
                f"`{name}` must have one value. Received: --decode_hparams="
                f"{name}={changes[name]} and --{name}={value}. Leave one of "
                "them out."
            )
    errors.check_ranges(DecodeOptions, changes, _RULES)
    return changes
