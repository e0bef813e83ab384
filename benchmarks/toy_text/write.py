"""Writes the text of the toy problems to `problems/toy_text`.

    PYTHONPATH=.:benchmarks python -m toy_text.write

The text is the same each time, so run this only to change it. Published scores
belong to the text as it is.
"""

import gzip
import itertools
import pathlib

from keras_transformer import problems
from keras_transformer.parsing.tree import Tree
from toy_text.sentences import SentenceWriter
from toy_text.trees import TreeWriter

PLACE = pathlib.Path(problems.__file__).parent / "toy_text"
SEED = 2017


def main():
    for name, text in make_files():
        (PLACE / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def make_files():
    """Yields the name and the text of each file."""
    # Neither sentence of a pair has occurred before.
    pairs = draw_distinct(SentenceWriter(SEED).sentence, list_keys=set)
    sizes = {"train": 25_000, "dev": 500, "test": 500}
    for split, part in divide(pairs, sizes, find_words).items():
        lines = (f"{source}\t{target}\n" for source, target in part)
        yield f"translate_ende_toy.{split}.tsv.gz", "".join(lines)
    trees = draw_distinct(
        TreeWriter(SEED).write, lambda tree: [tuple(tree.words())]
    )
    sizes = {"train": 12_000, "dev": 300, "test": 300}
    for split, part in divide(trees, sizes, Tree.words).items():
        yield f"parsing_toy.{split}.trees.gz", "".join(f"{t}\n" for t in part)


def find_words(pair):
    words = itertools.chain.from_iterable(text.split() for text in pair)
    return {word.strip(".,?") for word in words}


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


if __name__ == "__main__":
    main()
