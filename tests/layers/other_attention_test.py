import keras
import numpy as np
import pytest
from keras import ops
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer.layers import Decoder
from keras_transformer.layers import DecoderLayer
from keras_transformer.layers import Encoder
from keras_transformer.layers import EncoderLayer
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.transformer import Transformer
from keras_transformer.losses import SmoothedCrossEntropy

X = random_array(2, 4, 8)
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 16}


@keras.saving.register_keras_serializable("tests")
class MeanAttention(keras.layers.Layer):
    """Attends to all allowed positions alike, whatever the query."""

    def __init__(self, d_model, num_heads, attention_dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.values = keras.layers.Dense(d_model, name="values")

    def build(self, query_shape, memory_shape=None):
        self.values.build(query_shape)

    def call(self, query, memory=None, attention_mask=None, training=None):
        memory = query if memory is None else memory
        weights = ops.ones_like(query[:, :, :1] * memory[:, None, :, 0])
        if attention_mask is not None:
            weights = weights * ops.cast(attention_mask, weights.dtype)
        total = ops.sum(weights, axis=-1, keepdims=True)
        return ops.matmul(weights / total, self.values(memory))


@keras.saving.register_keras_serializable("tests")
class CosineAttention(MultiHeadAttention):
    """Compares queries and keys by their angle alone."""

    def compute_attention(self, queries, keys, values, *args, **kwargs):
        return super().compute_attention(
            ops.normalize(queries), ops.normalize(keys), values, *args, **kwargs
        )


class OtherAttentionTest:
    @pytest.mark.parametrize("attention", [MeanAttention, CosineAttention])
    @pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer])
    def test_a_layer_attends_by_the_given_class(self, make, attention):
        layer = make(**SIZES, attention=attention)
        for sublayer in attention_sublayers(layer):
            assert type(sublayer) is attention
            assert sublayer.name.endswith("attention")

    @pytest.mark.parametrize(
        "attention",
        [pytest.param(MeanAttention, marks=pytest.mark.slow), CosineAttention],
    )
    def test_stacks_save_and_load_it(self, attention, tmp_path):
        inputs = keras.Input((None, 8))
        options = {**SIZES, "attention": attention}
        encoder = Encoder(num_layers=2, name="encoder", **options)
        decoder = Decoder(num_layers=1, **options)
        model = keras.Model(inputs, decoder(inputs, encoder(inputs)))
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        assert loaded.get_layer("encoder").get_config()["attention"] == (
            f"tests>{attention.__name__}"
        )
        np.testing.assert_array_equal(to_numpy(loaded(X)), to_numpy(model(X)))

    @pytest.mark.slow
    @pytest.mark.parametrize("attention", [CosineAttention, MeanAttention])
    def test_a_whole_model_trains_saves_and_loads(self, attention, tmp_path):
        model = Transformer(
            vocab_size=11, num_layers=1, **SIZES, attention=attention
        )
        model.compile(
            optimizer=keras.optimizers.Adam(0.01),
            loss=SmoothedCrossEntropy(),
            run_eagerly=keras.backend.backend() == "tensorflow",
        )
        ids = np.random.default_rng(0).integers(2, 11, (8, 5))
        features = {"inputs": ids, "targets": ids}
        losses = model.fit(features, ids, epochs=12, verbose=0).history["loss"]
        assert losses[-1] < 0.9 * losses[0]
        model.save(tmp_path / "model.keras")
        loaded = keras.saving.load_model(tmp_path / "model.keras")
        np.testing.assert_array_equal(
            to_numpy(loaded(features)), to_numpy(model(features))
        )

    def test_derived_attention_decodes_step_by_step(self):
        model = Transformer(
            vocab_size=11, num_layers=1, **SIZES, attention=CosineAttention
        )
        inputs, targets = np.array([[3, 4, 1]]), np.array([[5, 6]])
        expected = to_numpy(model({"inputs": inputs, "targets": targets}))
        cache = model.init_cache(*model.encode(inputs), 1)
        for i in range(2):
            ids = ops.convert_to_tensor(targets[:, None, max(0, i - 1)])
            logits, cache = model.decode_step(ids, i, cache)
            np.testing.assert_allclose(
                to_numpy(logits)[0, 0], expected[0, i], atol=1e-5
            )

    def test_derived_attention_can_be_restricted(self):
        options = {**SIZES, "attention": CosineAttention}
        layer = EncoderLayer(**options, neighbourhood_size=3)
        expected, _ = layer(X, return_weights=True)
        np.testing.assert_allclose(
            to_numpy(layer(X)), to_numpy(expected), atol=1e-5
        )

    def test_a_class_unknown_to_keras_is_an_error_with_the_way_out(self):
        class Unregistered(MultiHeadAttention):
            pass

        for attention in (Unregistered, "tests>NoSuchAttention"):
            with pytest.raises(ValueError, match="register_keras_serial"):
                EncoderLayer(**SIZES, attention=attention)


def attention_sublayers(layer):
    yield layer.self_attention
    if isinstance(layer, DecoderLayer):
        yield layer.cross_attention
