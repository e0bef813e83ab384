"""Files of the form of the paper's own corpus, with few sentences."""

import random

from keras_transformer.problems.translate_wmt import TranslateEndeWmtBpe32k

# By frequency, as in the original, with the special pieces of some copies.
SYMBOLS = ["<unk>", "<s>", "</s>", ",", "the", "in", "@-@", "&quot;", "Res@@"]
SYMBOLS += [
    "um@@",
    "ption",
    "sch\u00f6n",
    "@@@@",
    "x\u2028y",
    "\u2581@@",
    "n@@",
]
STEMS = {
    "train": "train.tok.clean.bpe.32000",
    "dev": "newstest2013.tok.bpe.32000",
    "test": "newstest2014.tok.bpe.32000",
}
COUNTS = {"train": 60, "dev": 5, "test": 4}


def make_corpus(directory, monkeypatch):
    """Writes all files; returns the lines by split, (sources, targets)."""
    expected = {split: COUNTS[split] for split in ("dev", "test")}
    monkeypatch.setattr(TranslateEndeWmtBpe32k, "num_pairs", expected)
    rng = random.Random(0)
    lines = {}
    for split, stem in STEMS.items():
        sides = []
        for code in ("en", "de"):
            side = [
                " ".join([*rng.choices(SYMBOLS[3:], k=rng.randint(1, 9)), "in"])
                for _ in range(COUNTS[split])
            ]
            _write(directory / f"{stem}.{code}", side)
            sides.append(side)
        lines[split] = tuple(sides)
    _write(directory / "vocab.bpe.32000", SYMBOLS)
    return lines


def _write(path, lines):
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
