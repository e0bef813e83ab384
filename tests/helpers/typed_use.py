"""Uses the public names as a program with types; mypy reads it, nobody runs it.

A wrong use has the error in its comment, which mypy must report.
"""

from collections.abc import Iterator
from typing import Any
from typing import assert_type

import numpy as np

import keras_transformer as kt
from keras_transformer import registry
from keras_transformer.decoding import Glossary
from keras_transformer.decoding import Reranker


@kt.register_problem
class Shout(kt.Problem):
    vocab_size = None
    user_symbols = ("!",)

    def text_pairs(self, split: str, tmp_dir: str) -> Iterator[tuple[str, str]]:
        yield "be quiet", "BE QUIET"


@kt.register_problem("shout_more")
class ShoutMore(Shout):
    splits = ("train", "dev")


@kt.register_hparams
def shouting() -> kt.HParams:
    return kt.HParams(d_model=8)


def translate() -> None:
    model = kt.load(["run", "other"], step="best", reranker=None)
    assert_type(model, kt.Translator)
    assert_type(model(["a"]), list[str])
    assert_type(model(["a"], beam_size=8, glossary=None), list[str])
    assert_type(model(["a"], num_hypotheses=2, top_k=3), list[list[str]])
    assert_type(model(["a"], return_scores=True), tuple[Any, ...])
    assert_type(model.score(["a"], ["b"]), list[float])
    assert_type(kt.Parser.load("parser"), kt.Parser)
    assert_type(Glossary.read("terms").find("a"), list[str])
    for best, *_ in model.hypotheses(["a"]):
        assert_type(best.text, str)
    Reranker(model, weight=0.5)
    model("a")  # type: ignore[call-overload]
    model(["a"], beam=8)  # type: ignore[call-overload]
    kt.load("run", precisions="int8")  # type: ignore[call-arg]


def train(run: kt.RunDirectory) -> None:
    problem = ShoutMore("data", reverse=True)
    assert_type(problem.text_split("dev"), tuple[list[str], list[str]])
    assert_type(registry.get_problem("shout").vocab_size, int | None)
    assert_type(kt.Trainer(problem, run).train(10), dict[str, float])
    assert_type(kt.train(problem, None, "run", train_steps=10), kt.Trainer)
    assert_type(run.hparams.d_model, int)
    kt.Trainer(problem, "run")  # type: ignore[arg-type]


def build() -> None:
    assert_type(shouting().model.head_widths, tuple[int, int])
    model = kt.build_transformer(shouting().model, vocab_size=100)
    assert_type(model, kt.Transformer)
    assert_type(kt.Transformer(100, d_ff=16), kt.Transformer)
    sequences, _ = kt.generate(max, max, [[5]], beam_size=2)
    assert_type(sequences, np.ndarray)
    kt.layers.Encoder(num_layers=2)
    kt.HParams(d_mode=8)  # type: ignore[call-arg]
