"""Recommends hparams sets by the number of pairs; see docs/which_recipe.md."""

import math

FEW_PAIRS = 500_000  # for a model as wide as base
MANY_PAIRS = 2_000_000  # for a narrower one
WIDE = 512  # d_model of base
# The flags of kt-trainer for at most this many pairs of training.
RECIPES = {
    20_000: (
        "--hparams_set=transformer_low_resource "
        "--hparams=consistency=r_drop,dropout=0.2,batch_tokens=1024"
    ),
    60_000: "--hparams_set=transformer_low_resource",
    MANY_PAIRS: "--hparams_set=transformer_low_resource --hparams=dropout=0.1",
    math.inf: "--hparams_set=transformer_base",
}


def recommend(num_pairs, d_model):
    """Returns a message that recommends another set, or None if this one fits.

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
    flags = next(RECIPES[limit] for limit in RECIPES if num_pairs <= limit)
    return (
        f"{num_pairs:,} pairs are {amount} for a model of d_model {d_model}. "
        f"Consider {flags}; see docs/which_recipe.md."
    )
