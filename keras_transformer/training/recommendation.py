"""Recommends hparams sets by the number of pairs; see docs/which_recipe.md."""

import typing

FEW_PAIRS = 500_000  # for a model as wide as base
MANY_PAIRS = 2_000_000  # for a narrower one
WIDE = 512  # d_model of base


class Recipe(typing.NamedTuple):
    """An hparams set and changes of it, for at most `max_pairs` of training."""

    max_pairs: float
    hparams_set: str
    hparams: str = ""

    def flags(self):
        """Returns the flags of kt-trainer."""
        flags = f"--hparams_set={self.hparams_set}"
        return f"{flags} --hparams={self.hparams}" if self.hparams else flags


RECIPES = (
    Recipe(
        20_000,
        "transformer_low_resource",
        "consistency=r_drop,dropout=0.2,batch_tokens=1024",
    ),
    Recipe(60_000, "transformer_low_resource"),
    Recipe(MANY_PAIRS, "transformer_low_resource", "dropout=0.1"),
    Recipe(float("inf"), "transformer_base"),
)


def recommend(num_pairs, d_model):
    """Returns a message that recommends another set, or None if this one fits.

    Args:
        num_pairs: Number of training pairs.
        d_model: Width of the model that is to be trained.

    Example:

    >>> print(recommend(29000, 512))
    29,000 pairs are few for a model of d_model 512. Consider \
--hparams_set=transformer_low_resource; see docs/which_recipe.md.
    >>> recommend(29000, 256)
    """
    if d_model >= WIDE and num_pairs < FEW_PAIRS:
        amount = "few"
    elif d_model < WIDE and num_pairs > MANY_PAIRS:
        amount = "many"
    else:
        return None
    recipe = next(r for r in RECIPES if num_pairs <= r.max_pairs)
    return (
        f"{num_pairs:,} pairs are {amount} for a model of d_model {d_model}. "
        f"Consider {recipe.flags()}; see docs/which_recipe.md."
    )
