"""A model of ONNX computes the same numbers as its run."""

import dataclasses

import keras
import numpy as np
import pytest
from layer_checks import to_numpy
from model_variants import VARIANTS

from keras_transformer.hparam import HParams
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables

onnxruntime = pytest.importorskip("onnxruntime")
onnx_model = pytest.importorskip("keras_transformer.formats.onnx.model")

HPARAMS = HParams(num_layers=2, d_model=16, d_ff=24, num_heads=2)
SIZES = 270, 290  # of targets and of sources that have another vocabulary


@pytest.fixture(scope="module", params=VARIANTS)
def model(request):
    """A model of Keras with clear preferences, its hparams and its weights."""
    hparams = dataclasses.replace(HPARAMS, **VARIANTS[request.param])
    keras.utils.set_random_seed(1)
    is_shared = hparams.tied_embeddings == "all"
    sizes = SIZES[:1] * 2 if is_shared else SIZES
    model = build_transformer(
        hparams.model, sizes[0], input_vocab_size=sizes[1]
    )
    generator = np.random.default_rng(0)
    for weight in model.weights:
        noise = 0.1 * generator.standard_normal(weight.shape)
        weight.assign(weight + noise)
    arrays = read_variables(model_variables(model))
    return model, hparams.model, arrays, sizes


def decode(config, arrays, inputs, shifted, quantizes):
    """Returns logits, decoded one by one and then several at once."""
    encoder, decoder = (
        onnxruntime.InferenceSession(graph.SerializeToString())
        for graph in (
            onnx_model.make_encoder(config, arrays, quantizes),
            onnx_model.make_decoder(config, arrays, quantizes),
        )
    )
    mask = (inputs != 0).astype("int64")
    (encoded,) = encoder.run(
        None, {"input_ids": inputs, "attention_mask": mask}
    )
    # Some callers begin with a cache of one position that means nothing.
    width = max(config.head_widths)
    past = {
        each.name: np.ones((len(inputs), config.num_heads, 1, width), "float32")
        for each in decoder.get_inputs()
        if each.name.startswith("past")
    }
    names = [each.name for each in decoder.get_outputs()]
    logits = []
    for ids in np.split(shifted, [1, 2, 3, 4, 5, 6], axis=1):
        features = {
            "encoder_attention_mask": mask,
            "encoder_hidden_states": encoded,
            "input_ids": ids,
            "use_cache_branch": np.array([bool(logits)]),
        }
        outputs = dict(zip(names, decoder.run(None, {**features, **past})))
        logits.append(outputs["logits"])
        past = {
            name: outputs[name.replace("past_key_values", "present")]
            for name in past
        }
    return np.concatenate(logits, axis=1)


class OnnxModelTest:
    @pytest.mark.parametrize("quantizes", [False, True])
    def test_logits_of_each_step_are_those_of_keras(self, model, quantizes):
        model, config, arrays, sizes = model
        generator = np.random.default_rng(0)
        inputs = generator.integers(3, sizes[1], (3, 11))
        inputs[0, 5], inputs[0, 6:] = 1, 0
        targets = generator.integers(3, sizes[0], (3, 13))
        shifted = np.insert(targets[:, :-1], 0, 0, axis=1)
        expected = to_numpy(model({"inputs": inputs, "targets": targets}))
        logits = decode(config, arrays, inputs, shifted, quantizes)
        tolerance = 0.15 if quantizes else 1e-5
        np.testing.assert_allclose(logits, expected, atol=tolerance)

    def test_an_id_after_the_vocabulary_is_unknown(self, model):
        _, config, arrays, sizes = model
        graph = onnx_model.make_encoder(config, arrays)
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        other, unknown = (
            session.run(None, {"input_ids": ids, "attention_mask": ids})
            for ids in (np.array([[sizes[1] + 5, 1]]), np.array([[2, 1]]))
        )
        np.testing.assert_array_equal(other, unknown)
