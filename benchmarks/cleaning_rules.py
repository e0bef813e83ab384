"""Prints precision and recall of cleaning rules on text with known dirt.

    python benchmarks/cleaning_rules.py train.en train.de

Of the pairs, 5 % each have the target of the next line, their sides exchanged,
their source as target, or tags around both sides, and 10 have the same target.
Precision counts every pair without planted dirt as good, and any dirt as bad.
"""

import random
import sys

from keras_transformer.data.cleaning.cleaner import Cleaner
from keras_transformer.data.cleaning.cleaner import CleaningOptions
from keras_transformer.data.text import text_files

RULES = ("markup", "wrong_side", "alignment")
KINDS = ("shifted", "exchanged", "copied", "tagged", "repeated")


def main(source_path, target_path):
    pairs = list(text_files.read_rows(source_path, target_path))
    dirty, kinds = plant(pairs)
    print("| Rule | good pairs lost | precision |", " | ".join(KINDS), "|")
    for rule in RULES:
        options = CleaningOptions(rules=("duplicate", rule))
        names = [name for _, name in Cleaner(options).judge(dirty)]
        dropped = [k for k, name in zip(kinds, names) if name == rule]
        num_lost = dropped.count(None)
        precision = 1 - num_lost / max(len(dropped), 1)
        recalls = [f"{dropped.count(k) / kinds.count(k):.3f}" for k in KINDS]
        lost = f"{100 * num_lost / kinds.count(None):.3f} %"
        print(f"| `{rule}` | {lost} | {precision:.3f} |", " | ".join(recalls))


def plant(pairs):
    """Returns the pairs with dirt in them, and the kind of each or None."""
    dirty, kinds = list(pairs), [None] * len(pairs)
    share = len(pairs) // 20
    positions = random.Random(0).sample(range(len(pairs) - 1), 4 * share + 10)
    repeated = pairs[-1][1] + " (see the next page)"
    for number, position in enumerate(positions):
        kind = KINDS[number // share if number < 4 * share else -1]
        source, target = pairs[position]
        dirty[position] = {
            "shifted": (source, pairs[position + 1][1]),
            "exchanged": (target, source),
            "copied": (source, source),
            "tagged": (f"<p class='x'>{source}</p>", f"<p>{target}</p>"),
            "repeated": (source, repeated),
        }[kind]
        kinds[position] = kind
    return dirty, kinds


if __name__ == "__main__":
    main(*sys.argv[1:])
