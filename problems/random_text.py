"""Random examples that do not repeat, divided among the splits of a problem."""

import itertools


def draw_distinct(draw, list_keys):
    """Yields what the function `draw` returns, if it is new.

    It is new if none of the keys that `list_keys` returns for it came before.
    """
    seen = set()
    while True:
        example = draw()
        keys = list_keys(example)
        if seen.isdisjoint(keys):
            seen.update(keys)
            yield example


def divide(examples, sizes, find_words):
    """Returns a dictionary of split to its examples, of which it has `sizes`.

    Dev and test have no word that training lacks, since no model can know it.
    """
    splits = {"train": list(itertools.islice(examples, sizes["train"]))}
    words = set().union(*map(find_words, splits["train"]))
    fitting = (each for each in examples if words.issuperset(find_words(each)))
    for split in ("dev", "test"):
        splits[split] = list(itertools.islice(fitting, sizes[split]))
    return splits
