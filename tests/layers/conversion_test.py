"""Models of our layers run in other runtimes, and on faulty batches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import layers
from keras_transformer import masks
from keras_transformer.model_config import ModelConfig
from keras_transformer.runs.model import build_transformer

IDS = np.array([[5, 6, 7, 0, 0], [0, 0, 0, 0, 0], [9, 8, 7, 6, 1]], "int32")
# The second row is padding alone, whose outputs mean nothing.
ROWS = [0, 2]
RAGGED = [[5, 6, 7], [4]]


def make_encoder(**options):
    ids = keras.Input((None,), dtype="int32")
    mask = masks.padding_mask(ids)
    x = layers.SharedEmbedding(vocab_size=100, d_model=32)(ids)
    x = layers.SinusoidalPositionalEncoding()(x)
    x = layers.Encoder(
        num_layers=1, d_model=32, num_heads=4, d_ff=64, **options
    )(x, padding_mask=mask)
    return keras.Model(ids, masks.average_tokens(x, mask))


def make_decoder():
    inputs, targets = (keras.Input((None,), dtype="int32") for _ in range(2))
    embedding = layers.SharedEmbedding(vocab_size=100, d_model=32)
    encoded = layers.Encoder(num_layers=1, d_model=32, num_heads=4, d_ff=64)(
        embedding(inputs), padding_mask=masks.padding_mask(inputs)
    )
    x = layers.Decoder(num_layers=1, d_model=32, num_heads=4, d_ff=64)(
        embedding(targets), encoded, padding_mask=masks.padding_mask(inputs)
    )
    return keras.Model([inputs, targets], embedding(x, reverse=True))


def make_packed():
    ids = keras.Input((None,), dtype="int32")
    segments = masks.segment_numbers(ids)
    mask = masks.visible_mask(masks.padding_mask(ids), segments, segments)
    x = layers.SharedEmbedding(vocab_size=100, d_model=32)(ids)
    x = layers.MultiHeadAttention(d_model=32, num_heads=4)(
        x, x, attention_mask=mask
    )
    return keras.Model(ids, x)


MODELS = {
    "encoder": make_encoder,
    "causal": lambda: make_encoder(causal=True),
    "neighbourhood": lambda: make_encoder(neighbourhood_size=3),
    "relative": lambda: make_encoder(max_relative_position=3),
    "decoder": make_decoder,
    "packed": make_packed,
}
QUICK = ("neighbourhood", "decoder", "packed")
EACH_MODEL = pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            make, id=name, marks=() if name in QUICK else pytest.mark.slow
        )
        for name, make in MODELS.items()
    ],
)


def arrays_for(model):
    return IDS if len(model.inputs) == 1 else [IDS] * len(model.inputs)


class ConversionTest:
    @EACH_MODEL
    def test_litert_gives_the_same(self, make):
        model = make()
        expected = model(arrays_for(model)).numpy()
        converter = tf.lite.TFLiteConverter.from_keras_model(model)
        interpreter = tf.lite.Interpreter(model_content=converter.convert())
        inputs = interpreter.get_input_details()
        for each in inputs:
            interpreter.resize_tensor_input(each["index"], IDS.shape)
        interpreter.allocate_tensors()
        for each in inputs:
            interpreter.set_tensor(each["index"], IDS)
        interpreter.invoke()
        (output,) = interpreter.get_output_details()
        found = interpreter.get_tensor(output["index"])
        np.testing.assert_allclose(found[ROWS], expected[ROWS], atol=1e-5)

    @EACH_MODEL
    def test_onnx_gives_the_same(self, make, tmp_path):
        pytest.importorskip("tf2onnx")
        onnxruntime = pytest.importorskip("onnxruntime")
        model = make()
        # Keras exports to ONNX only what was called before.
        expected = model(arrays_for(model)).numpy()
        path = str(tmp_path / "model.onnx")
        model.export(path, format="onnx", verbose=False)
        session = onnxruntime.InferenceSession(path)
        feeds = {each.name: IDS for each in session.get_inputs()}
        (found,) = session.run(None, feeds)
        np.testing.assert_allclose(found[ROWS], expected[ROWS], atol=1e-5)


class FaultyBatchTest:
    @pytest.mark.slow
    def test_a_row_of_padding_is_zeros_and_trains(self):
        model = make_encoder()
        assert not model(IDS).numpy()[1].any()
        model.compile("adam", "mse", jit_compile=False)
        history = model.fit(IDS, np.ones((3, 32)), epochs=2, verbose=0)
        assert np.isfinite(history.history["loss"]).all()
        for weights in model.get_weights():
            assert np.isfinite(weights).all()

    def test_a_ragged_batch_is_an_error_with_a_way_out(self):
        ragged = tf.ragged.constant(RAGGED, dtype=tf.int32)
        vectors = tf.ragged.constant([[[1.0] * 32] * 2, [[1.0] * 32]])
        transformer = build_transformer(
            ModelConfig(num_layers=1, d_model=32, num_heads=4, d_ff=64), 50
        )
        for call in (
            lambda: masks.padding_mask(ragged),
            lambda: make_encoder()(ragged),
            lambda: make_encoder().predict(ragged, verbose=0),
            lambda: transformer({"inputs": ragged, "targets": ragged}),
            lambda: layers.FeedForward(d_model=32, d_ff=64)(vectors),
        ):
            with pytest.raises(ValueError, match=r"Pass x.to_tensor\(\)"):
                call()
        np.testing.assert_allclose(
            make_encoder()(ragged.to_tensor()).shape, (2, 32)
        )
