"""Prints precision and recall of cleaning rules on text with known dirt.

    python benchmarks/cleaning_rules.py train.en train.de

Of the pairs, 5 % get tags around both sides, and 10 get the same target.
Precision counts every pair without planted dirt as good.
"""

import random
import sys

from keras_transformer.cleaning.cleaner import Cleaner
from keras_transformer.cleaning.cleaner import CleaningOptions
from keras_transformer.data import text_files

PLANTED = {"markup": "markup", "repeated": "repeated"}  # rule: dirt


def main(source_path, target_path):
    pairs = list(text_files.read_pairs(source_path, target_path))
    kinds = _plant(pairs)
    for rule, kind in PLANTED.items():
        options = CleaningOptions(rules=("duplicate", rule))
        names = [name for _, name in Cleaner(options).judge(pairs)]
        dropped = [k for k, name in zip(kinds, names) if name == rule]
        num_right = dropped.count(kind)
        print(
            f"{rule}: dropped {len(dropped)} of {len(pairs)}, "
            f"precision {num_right / max(len(dropped), 1):.3f}, "
            f"recall {num_right / kinds.count(kind):.3f}"
        )


def _plant(pairs):
    """Makes pairs of a list dirty, and returns the kind of dirt of each."""
    kinds = [None] * len(pairs)
    num_wrapped = len(pairs) // 20
    positions = random.Random(0).sample(range(len(pairs)), num_wrapped + 10)
    repeated = pairs[max(positions[num_wrapped:])][1] + " (see the next page)"
    for position in positions[:num_wrapped]:
        pairs[position] = tuple(
            f"<p class='x'>{side}</p>" for side in pairs[position]
        )
        kinds[position] = "markup"
    for position in positions[num_wrapped:]:
        pairs[position] = pairs[position][0], repeated
        kinds[position] = "repeated"
    return kinds


if __name__ == "__main__":
    main(*sys.argv[1:])
