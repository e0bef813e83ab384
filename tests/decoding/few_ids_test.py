"""CTranslate2 with so few ids that the end is often among the best."""

import dataclasses
import itertools
import random

import pytest

from keras_transformer import load
from keras_transformer import registry
from keras_transformer import train
from keras_transformer.data.generation.corpora import Corpus

pytest.importorskip("ctranslate2")


def make_pairs():
    """Returns pairs such as w2j1, "L W L W L W L W L W L W L W L W L J …"."""
    parts = [
        (f"{letter}{number}", f"L {letter.upper()} " * 4 * number)
        for letter, number in itertools.product("wrjl", (1, 2, 3))
    ] + [
        (f"{letter}{number}", f"{letter.upper()} " * number)
        for letter, number in itertools.product("abcd", (1, 2, 3))
    ]
    pairs = [
        (first[0] + second[0], (first[1] + second[1]).strip())
        for first, second in itertools.product(parts, parts)
    ]
    random.Random(0).shuffle(pairs)
    return pairs


@pytest.mark.slow
def test_long_translations_are_found_despite_many_early_ends(tmp_path):
    pairs = make_pairs()
    corpora = {}
    for split, some in (("train", pairs[60:]), ("dev", pairs[:60])):
        path = tmp_path / f"{split}.tsv"
        path.write_text("".join("\t".join(pair) + "\n" for pair in some))
        corpora[split] = [Corpus((str(path),))]
    problem = registry.get_problem("g2p_files", str(tmp_path / "data"))
    problem.use_files({}, corpora=corpora)
    problem.generate(None)
    hparams = dataclasses.replace(
        registry.get_hparams("transformer_g2p"),
        dropout=0.1,
        max_relative_position=16,
        warmup_steps=100,
        decay_steps=800,
        train_steps=800,
    )
    path = str(tmp_path / "run")
    train(problem, hparams, path, eval_frequency=800)
    texts = [source for source, _ in pairs[:60]]
    ours, theirs = (
        load(path, engine=engine).hypotheses(texts, beam_size=4)
        for engine in ("keras", "ctranslate2")
    )
    ids = [
        (best.ids, other.ids) for (best, *_), (other, *_) in zip(ours, theirs)
    ]
    num_equal = sum(one == other for one, other in ids)
    assert num_equal >= 59
