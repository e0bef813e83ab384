"""Tests that the paper in one file is the model of the package."""

import importlib.util
import pathlib

import keras
import numpy as np
import pytest

from keras_transformer.layers.transformer import Transformer
from keras_transformer.losses import SmoothedCrossEntropy
from keras_transformer.schedules import InverseSquareRootSchedule
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

PATH = "examples/attention_is_all_you_need.py"
WARMUP_STEPS = 1000
SIZES = {
    "vocab_size": 12,
    "num_layers": 2,
    "d_model": 32,
    "num_heads": 4,
    "d_ff": 64,
    "dropout": 0.0,
}


def load_example():
    path = pathlib.Path(__file__).parent.parent / PATH
    spec = importlib.util.spec_from_file_location("paper", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


paper = load_example()


def make_reversals(num_rows, seed):
    """Returns random sentences of 2 to 6 ids, and the same ids reversed."""
    random = np.random.default_rng(seed)
    inputs = np.zeros((num_rows, 7), "int32")
    targets = np.zeros((num_rows, 7), "int32")
    for source, target in zip(inputs, targets):
        length = random.integers(2, 7)
        source[:length] = random.integers(3, SIZES["vocab_size"], length)
        target[:length] = source[:length][::-1]
        source[length] = target[length] = END_ID
    return {"inputs": inputs, "targets": targets}


@pytest.fixture(scope="module")
def trained():
    """Returns both models, equal at first, and their losses of 100 updates."""
    keras.utils.set_random_seed(0)
    example = paper.compile_model(
        paper.Config(**SIZES, warmup_steps=WARMUP_STEPS)
    )
    model = Transformer(**SIZES)
    schedule = InverseSquareRootSchedule(SIZES["d_model"], WARMUP_STEPS)
    adam = keras.optimizers.Adam(schedule, beta_2=0.98, epsilon=1e-9)
    model.compile(adam, SmoothedCrossEntropy(label_smoothing=0.1))
    if keras.backend.backend() == "tensorflow":
        # To compile with XLA takes longer than these updates.
        example.jit_compile = model.jit_compile = False
    first = make_reversals(4, seed=0)
    model(first)
    example(first)
    example.set_weights(model.get_weights())
    before = [np.array(m(first)) for m in (example, model)]
    losses = []
    for seed in range(100):
        batch = make_reversals(32, seed)
        losses.append(
            [
                m.train_on_batch(batch, batch["targets"])
                for m in (example, model)
            ]
        )
    return example, model, before, np.array(losses)


class PaperInOneFileTest:
    def test_file_is_short_and_uses_no_layer_of_the_package(self):
        text = pathlib.Path(paper.__file__).read_text("utf-8")
        assert len(text.splitlines()) <= 400
        imported = [line for line in text.splitlines() if "import" in line]
        ours = [line for line in imported if "keras_transformer" in line]
        assert [line.split()[-1] for line in ours] == ["TranslateEndeToy"]

    @pytest.mark.slow
    def test_equal_weights_give_equal_logits(self, trained):
        *_, (example, model), _ = trained
        np.testing.assert_allclose(example, model, rtol=1e-6, atol=1e-6)

    def test_equal_batches_give_equal_losses(self, trained):
        *_, losses = trained
        np.testing.assert_allclose(losses[:, 0], losses[:, 1], rtol=1e-4)
        assert losses[-1, 0] < 0.8 * losses[0, 0]

    @pytest.mark.parametrize("alpha", [0.0, 0.6])
    def test_equal_weights_give_equal_translations(self, trained, alpha):
        example, model, *_ = trained
        model.set_weights(example.get_weights())
        inputs = make_reversals(12, seed=1000)["inputs"]
        lengths = np.count_nonzero(inputs, axis=1)
        options = DecodeOptions(alpha=alpha)
        limits = lengths + options.extra_length
        expected = find_hypotheses(
            model, options, inputs, limits, fixed_length=int(limits.max())
        )
        expected = np.array(expected.sequences)[:, 0].tolist()
        for row, length, best in zip(inputs, lengths, expected):
            found = paper.beam_search(
                example, row[:length].tolist(), alpha=alpha
            )
            assert found == [id for id in best if id]

    def test_batches_hold_whole_pairs_within_the_budget(self):
        pairs = paper.read_pairs(None, None)[:200]
        tokenizer = paper.train_tokenizer(pairs, 300)
        waiting = {
            tuple(tuple(tokenizer.encode(text, add_eos=True)) for text in pair)
            for pair in pairs
        }
        batches = paper.make_batches(tokenizer, pairs, batch_tokens=512)
        # Pairs wait in their buckets for others, so it takes a few epochs.
        for features, targets in batches.take(200):
            sides = features["inputs"].numpy(), targets.numpy()
            assert all(side.size <= 512 for side in sides)
            waiting -= {
                tuple(tuple(ids[ids > 0].tolist()) for ids in pair)
                for pair in zip(*sides)
            }
        assert not waiting
