"""How to decode: one frozen dataclass, the same in every command."""

import dataclasses

from keras_transformer import fields as checks

MAX_SOURCE_TOKENS = 4096  # attention to more takes gigabytes of memory


@dataclasses.dataclass(frozen=True)
class DecodeOptions:
    """All that decoding can be told, apart from the model and the text.

    A temperature of 0 means beam search. Above 0, `num_hypotheses`
    translations are drawn at random instead, each token from the model's
    distribution sharpened or flattened by the temperature, among the `top_k`
    likeliest tokens and the fewest that together have the probability `top_p`.

    A parsing run finds nothing but well-formed trees over the input's words,
    see `TreeConstraint`, unless it is not to be `constrained`. That option
    changes nothing for a run that translates.

    Raises:
        ValueError: if a value is of the wrong type or out of range.

    Example:

    >>> DecodeOptions(beam_size=8, num_hypotheses=8).alpha
    0.6
    """

    beam_size: int = 4  # hypotheses that stay alive; 1 is greedy
    alpha: float = 0.6  # length penalty ((5 + length) / 6) ** alpha
    num_hypotheses: int = 1  # translations of a sentence, best first
    extra_length: int = 50  # output holds at most input + this many tokens
    min_length: int = 0  # fewest tokens of a translation, without the end
    temperature: float = 0.0  # of sampling; 0 = beam search
    top_k: int = 0  # likeliest tokens to sample from; 0 = all
    top_p: float = 1.0  # probability of the tokens to sample from (nucleus)
    constrained: bool = True  # whether a parsing run finds trees alone

    def __post_init__(self):
        checks.check(self, _RULES)
        if not self.temperature and self.num_hypotheses > self.beam_size:
            raise ValueError(
                "`num_hypotheses` must be at most `beam_size`. Received: "
                f"num_hypotheses={self.num_hypotheses}, beam_size="
                f"{self.beam_size}. Use a larger beam, or a temperature."
            )

    @classmethod
    def of(cls, hparams):
        """Returns the options that a run's `HParams` state."""
        return cls(
            beam_size=hparams.beam_size,
            alpha=hparams.alpha,
            extra_length=hparams.extra_length,
        )

    def replace(self, **changes):
        """Returns these options with changes; None leaves an option as is.

        More hypotheses than beams widen the beam, unless it is given.
        """
        changes = {
            name: value for name, value in changes.items() if value is not None
        }
        if "beam_size" not in changes:
            wanted = changes.get("num_hypotheses", self.num_hypotheses)
            changes["beam_size"] = max(self.beam_size, wanted)
        return dataclasses.replace(self, **changes)


_RULES = (
    (
        "at least 1",
        lambda value: value >= 1,
        ("beam_size", "num_hypotheses"),
    ),
    (
        "at least 0",
        lambda value: value >= 0,
        ("alpha", "extra_length", "min_length", "temperature", "top_k"),
    ),
    (
        "greater than 0 and at most 1",
        lambda value: 0 < value <= 1,
        ("top_p",),
    ),
)


def parse_decode_hparams(text, **flags):
    """Returns the changes that `text` and single flags name, a dictionary.

    Args:
        text: `name=value` pairs with commas between them, as
            `--decode_hparams` takes them; may be empty.
        **flags: options that have a flag of their own, which come first; None
            where that was not given.

    Raises:
        ValueError: if a name is unknown or repeated, or a value is of the
            wrong type.

    Example:

    >>> parse_decode_hparams("temperature=0.8,top_k=10", alpha=None)
    {'temperature': 0.8, 'top_k': 10}
    """
    changes = checks.parse_changes(DecodeOptions, text, "decode_hparams")
    given = {name: value for name, value in flags.items() if value is not None}
    return {**changes, **given}
