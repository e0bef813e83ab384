import warnings

import keras
import numpy as np
import pytest
from small_transformer import make_transformer

from keras_transformer import layers
from keras_transformer.layers.transformer import Transformer
from keras_transformer.losses import SmoothedCrossEntropy

FEATURES = {"inputs": np.ones((2, 3), int), "targets": np.ones((2, 4), int)}


class MessagesTest:
    @pytest.mark.parametrize(
        ("arguments", "received"),
        [
            (tuple(FEATURES.values()), "Received: "),
            (([*FEATURES.values()],), "Received: list"),
            (({"inputs": FEATURES["inputs"]},), r"{'inputs': \(2, 3\)}"),
            (
                ({**FEATURES, "targets": FEATURES["targets"][0]},),
                r"'targets': \(4,\)",
            ),
        ],
    )
    def test_other_features_are_errors_with_the_way_out(
        self, arguments, received
    ):
        model = make_transformer()
        with pytest.raises(ValueError, match=received) as caught:
            model(*arguments)
        assert 'model({"inputs": inputs, "targets": t' in str(caught.value)

    def test_fit_on_a_list_is_an_error_with_the_way_out(self):
        model = make_transformer()
        model.compile("adam", SmoothedCrossEntropy())
        with pytest.raises(ValueError, match="takes a dictionary"):
            model.fit([*FEATURES.values()], FEATURES["targets"], verbose=0)

    @pytest.mark.parametrize("make", [Transformer, layers.Encoder])
    def test_unknown_arguments_are_named_with_the_class_called(self, make):
        match = f"`activaton` must be an argument of {make.__name__}.* Did you "
        with pytest.raises(ValueError, match=match + "mean: activation"):
            make(3, activaton="gelu")

    def test_missing_arguments_name_the_class(self):
        for layer in (layers.EncoderLayer, layers.DecoderLayer):
            with pytest.raises(TypeError, match=f"{layer.__name__}.*'d_ff'"):
                layer(d_model=8, num_heads=2)

    def test_a_mask_of_keras_is_one_message_with_the_way_out(self):
        embedding = keras.layers.Embedding(11, 8, mask_zero=True)
        ids = keras.Input((None,), dtype="int32")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x = layers.SinusoidalPositionalEncoding()(embedding(ids))
            x = layers.Encoder(1, d_model=8, num_heads=2, d_ff=16)(x)
            keras.Model(ids, keras.layers.GlobalAveragePooling1D()(x))(
                FEATURES["inputs"]
            )
        places = {(str(w.message), w.filename, w.lineno) for w in caught}
        ((text, _, _),) = places  # Python prints one for each place
        assert "padding_mask=masks.padding_mask(ids)" in text
