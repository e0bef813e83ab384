"""Shapes that vectors and masks may have, and errors that name these."""

import functools

import numpy as np
import pytest
from layer_checks import random_array
from layer_checks import to_numpy

from keras_transformer import layers
from keras_transformer.layers import SpanClassifier

X = random_array(2, 3, 8)
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 16}
MEMORY = random_array(2, 5, 8)
MASKED = {
    "attention": (lambda: layers.MultiHeadAttention(8, 2), (X, MEMORY)),
    "encoder": (lambda: layers.EncoderLayer(**SIZES), (X,)),
    "near": (lambda: layers.Encoder(1, **SIZES, neighbourhood_size=3), (X,)),
    "decoder": (lambda: layers.Decoder(1, **SIZES), (X, MEMORY)),
}
MAKERS = {name: make for name, (make, _) in MASKED.items()} | {
    "feed_forward": lambda: layers.FeedForward(8, 16),
    "sinusoids": layers.SinusoidalPositionalEncoding,
    "learned": lambda: layers.LearnedPositionalEncoding(7, 8),
    "spans": lambda: SpanClassifier(3),
}
FUSED = (lambda: layers.FusedAttention(8, 2), (X,))
CONVERSIONS = {
    "list": np.ndarray.tolist,
    "integers": lambda mask: 5 * mask.astype("int32"),
    "list_of_integers": lambda mask: mask.astype("int32").tolist(),
}


class InputShapesTest:
    @pytest.mark.parametrize("is_built", [False, True])
    @pytest.mark.parametrize("shape", [(2, 8), (2, 3, 1, 8), (2, 3, 4, 8)])
    @pytest.mark.parametrize("name", MAKERS)
    def test_vectors_of_other_axes_are_refused(self, name, shape, is_built):
        layer = MAKERS[name]()
        others = (MEMORY,) if name == "decoder" else ()
        if is_built:
            layer(X, *others)
        right, received = r"\(batch, length, d_model\)", str(shape)[1:-1]
        with pytest.raises(ValueError, match=f"{right}. Received: .{received}"):
            layer(random_array(*shape), *others)

    @pytest.mark.parametrize("training", [False, True])
    @pytest.mark.parametrize("name", MAKERS)
    def test_the_output_of_no_positions_has_none(self, name, training):
        layer = MAKERS[name]()
        others = (MEMORY,) if name == "decoder" else ()
        if name not in ("sinusoids", "learned"):  # which have no dropout
            layer = functools.partial(layer, training=training)
        expected = (2, 0, 0, 3) if name == "spans" else (2, 0, 8)
        assert layer(X[:, :0], *others).shape == expected

    def test_states_of_other_axes_have_no_logits(self):
        embedding = layers.SharedEmbedding(11, 8)
        embedding.build()
        with pytest.raises(ValueError, match=r"Received: \(3, 8\)"):
            embedding(X[0], reverse=True)

    @pytest.mark.parametrize(
        ("mask", "shape", "right"),
        [
            ("padding_mask", (2, 1, 5), r"\(batch, key_len\)"),
            ("padding_mask", (2, 6), r"\(batch, key_len\)"),
            ("padding_mask", (5,), r"\(batch, key_len\)"),
            ("segments", (2, 3, 3), r"\(batch, query_len\)"),
            ("segments", (3, 3), r"\(batch, query_len\)"),
            ("attention_mask", (2, 1, 3, 3), r"query_len, key_len\)"),
            ("attention_mask", (3,), r"query_len, key_len\)"),
            ("attention_mask", (4, 3, 3), r"query_len, key_len\)"),
            ("attention_mask", (2, 3, 6), r"query_len, key_len\)"),
        ],
    )
    @pytest.mark.parametrize("name", MASKED)
    def test_masks_of_other_axes_are_refused(self, name, mask, shape, right):
        make, inputs = MASKED[name]
        received = str(shape)[1:-1]
        with pytest.raises(
            ValueError, match=f"`{mask}` must.*{right}.*Received: .{received}"
        ):
            make()(*inputs, **{mask: np.ones(shape, bool)})

    @pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
    @pytest.mark.parametrize("name", [*MASKED, "fused"])
    def test_lists_and_numbers_are_masks_too(self, name, convert):
        make, inputs = MASKED.get(name, FUSED)
        layer, length = make(), inputs[-1].shape[1]
        mask = np.arange(length) <= [[1], [0]]
        masks = [{"padding_mask": mask}]
        if len(inputs) == 1:
            pairs = mask[:, None] | np.eye(length, dtype=bool)
            masks += [{"attention_mask": pairs}, {"segments": mask}]
        for options in masks:
            results = [
                to_numpy(layer(*inputs, **{key: change(value)}))
                for key, value in options.items()
                for change in (lambda values: values, convert)
            ]
            np.testing.assert_array_equal(*results)

    @pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
    def test_steps_take_such_masks_as_well(self, convert):
        decoder = layers.Decoder(1, **SIZES, attention=layers.FusedAttention)
        decoder(X, MEMORY)
        mask = np.arange(5) <= [[1], [0]]
        results = []
        for real in (mask, convert(mask)):
            cache = decoder.init_cache(MEMORY, real, 1, fixed_length=3)
            results.append(to_numpy(decoder.step(X[:, :1], cache, 0)[0]))
        np.testing.assert_array_equal(*results)

    def test_segments_of_the_encoded_input_are_checked_too(self):
        make, inputs = MASKED["decoder"]
        segments = np.ones((2, 3), int)
        with pytest.raises(ValueError, match="`encoded_segments` must.*2, 5"):
            make()(*inputs, segments=segments, encoded_segments=segments)
