"""Gradients in half precision, and what compiled gradients leave behind."""

import gc
import weakref

import keras
import numpy as np
import pytest
from backend_updates import make_spans
from keras import ops
from layer_checks import PRECISIONS
from layer_checks import gradient
from layer_checks import randomize
from layer_checks import to_numpy
from small_transformer import MARIAN
from small_transformer import make_transformer

from keras_transformer.hparam import HParams
from keras_transformer.losses import smoothed_cross_entropy
from keras_transformer.training.backends.objective import objective

# 8,192 positions, of which sums in bfloat16 would ignore most. Sentences are
# short, since the memory of their spans grows with the square of their length.
IDS = np.random.default_rng(0).integers(2, 11, (2048, 4)).astype("int32")
SPANS = make_spans(IDS, num_labels=3)
MODELS = [
    {**MARIAN, "packed": True, "activation": "silu"},
    {"span_labels": 3, "norm": "pre", "max_relative_position": 1},
]


def compute_gradients(options, precision):
    """Returns the gradient of each trainable variable, by its path."""
    model = make_transformer(
        **options,
        positional_encoding="learned",
        num_layers=1,
        dropout=0.0,
        dtype=precision,
    )
    randomize(model)
    weights = model.trainable_variables
    values = [to_numpy(weight) for weight in weights]
    places = np.cumsum([value.size for value in values])[:-1].tolist()

    def compute_loss(flat):
        parts = [
            ops.reshape(part, value.shape)
            for part, value in zip(ops.split(flat, places), values)
        ]
        with keras.StatelessScope(state_mapping=zip(weights, parts)):
            loss = sum_losses(model)
        return loss / 16  # float16 has no numbers above 65,504

    flat = np.concatenate([np.ravel(value) for value in values])
    parts = np.split(gradient(compute_loss, flat), places)
    return {weight.path: part for weight, part in zip(weights, parts)}


def sum_losses(model):
    """Returns the loss of all positions, of logits or as a training has it."""
    if not hasattr(model, "spans"):
        logits = model({"inputs": IDS, "targets": IDS})
        return ops.sum(smoothed_cross_entropy(IDS, logits))
    seeds = np.zeros(len(IDS), "int32")
    return objective(model, HParams(), IDS.size, IDS, IDS, seeds, SPANS)[0]


class GradientsTest:
    @pytest.mark.parametrize(
        "precision",
        [
            "mixed_bfloat16",
            pytest.param("mixed_float16", marks=pytest.mark.slow),
        ],
    )
    @pytest.mark.parametrize("options", MODELS, ids=["marian", "parser"])
    def test_every_gradient_is_nearly_that_of_float32(self, options, precision):
        expected = compute_gradients(options, "float32")
        gradients = compute_gradients(options, precision)
        off = {}
        for path, values in expected.items():
            # The gradient of a bias of keys is 0, since the softmax ignores it.
            size = max(np.linalg.norm(values), 1e-2)
            off[path] = np.linalg.norm(gradients[path] - values) / size
        # A processor without bfloat16 arithmetic also rounds the products: one
        # had errors of up to 0.037. A sum of 8,192 normal numbers in bfloat16
        # has an error of 0.15.
        assert {path: x for path, x in off.items() if not x < 0.05} == {}


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="needs TensorFlow"
)
class GraphsTest:
    @pytest.mark.slow
    @pytest.mark.parametrize("precision", PRECISIONS)
    def test_a_search_leaves_no_graph_behind(self, precision):
        import tensorflow as tf

        model = make_transformer(**MARIAN, num_layers=1, dtype=precision)

        def step(ids):
            encoded, padding_mask = model.encode(ids)
            cache = model.init_cache(encoded, padding_mask, beam_size=2)
            logits, _ = model.decode_step(ids, 0, cache)
            return logits, model({"inputs": ids, "targets": ids})

        signature = [tf.TensorSpec([None, 2], tf.int32)]
        function = tf.function(step, signature, autograph=False)
        graph = weakref.ref(function.get_concrete_function().graph)
        del function
        gc.collect()
        assert graph() is None
