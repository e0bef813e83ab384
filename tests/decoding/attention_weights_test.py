"""The attention weights are those that the model computes with."""

import numpy as np
import pytest
from layer_checks import encoder_layer
from layer_checks import feed_forward
from layer_checks import layer_norm
from layer_checks import multi_head_attention
from layer_checks import part
from layer_checks import randomize
from layer_checks import softmax
from layer_checks import sublayer
from layer_checks import to_numpy
from layer_checks import weights_by_path

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.engines.attention import START
from keras_transformer.decoding.engines.attention import compute_attention
from keras_transformer.layers.transformer import Transformer
from keras_transformer.token_ids import END_LABEL

TEXTS = ["the cat sees the dog", "der Hund sieht die Katze"] * 20
SOURCE, TARGET = "the cat sees the dog", "der Hund"
KINDS = ("encoder", "decoder", "cross")


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.model"
    return train_subwords(TEXTS, 300, str(path))


@pytest.fixture(scope="module")
def ids(vocabulary):
    return vocabulary.encode([SOURCE, TARGET])


def make(**options):
    sizes = {"num_layers": 2, "d_model": 8, "num_heads": 2, "d_ff": 16}
    model = Transformer(**{"vocab_size": 300, **sizes, **options})
    model.build()
    randomize(model)
    return model


def weights_of(kernels, query, memory, allowed=True):
    """Returns the softmax of equation 1, (num_heads, query_len, key_len)."""
    heads = zip(
        np.split(query @ kernels["query"], 2, axis=-1),
        np.split(memory @ kernels["key"], 2, axis=-1),
        strict=True,
    )
    scores = [q @ k.T / np.sqrt(k.shape[-1]) for q, k in heads]
    return np.stack([softmax(np.where(allowed, s, -np.inf)) for s in scores])


def recomputed(model, source, target, norm):
    """Computes the weights of all layers with NumPy."""
    kernels = weights_by_path(model)
    matrix = kernels["embedding/embeddings"]
    weights = {kind: [] for kind in KINDS}

    def positions(name, x):
        return x + kernels[f"{name}_positions/positions"][: len(x)]

    def into(layer, name, x):
        """Returns the input of a layer's attention."""
        around = part(layer, f"{name}_residual/norm")
        return layer_norm(around, x) if norm == "pre" else x

    x = positions("input", matrix[source] * np.sqrt(8))
    for i in range(model.encoder.num_layers):
        layer = part(kernels, f"encoder/layer_{i}")
        own = part(layer, "self_attention")
        y = into(layer, "self_attention", x)
        weights["encoder"].append(weights_of(own, y, y))
        x = encoder_layer(layer, 2, norm, x[None])[0]
    if norm == "pre":
        x = layer_norm(part(kernels, "encoder/final_norm"), x)
    encoded = x
    shifted = np.concatenate([np.zeros((1, 8)), matrix[target[:-1]]])
    x = positions("target", shifted * np.sqrt(8))
    past = np.tri(len(target), dtype=bool)

    def attend_to_past(inner, y):
        weights["decoder"].append(weights_of(inner, y, y, past))
        return multi_head_attention(inner, 2, y, y, past)

    def attend_to_encoded(inner, y):
        weights["cross"].append(weights_of(inner, y, encoded))
        return multi_head_attention(inner, 2, y, encoded)

    for i in range(model.decoder.num_layers):
        layer = part(kernels, f"decoder/layer_{i}")
        x = sublayer(layer, "self_attention", norm, attend_to_past, x)
        x = sublayer(layer, "cross_attention", norm, attend_to_encoded, x)
        x = sublayer(layer, "feed_forward", norm, feed_forward, x)
    return {kind: np.stack(layers) for kind, layers in weights.items()}


class AttentionOfTest:
    @pytest.mark.parametrize(
        "norm, decoder_depth",
        [
            ("post", 1),
            ("pre", 2),
            pytest.param("post", 2, marks=pytest.mark.slow),
            pytest.param("pre", 1, marks=pytest.mark.slow),
        ],
    )
    def test_weights_are_those_that_the_model_used(
        self, vocabulary, ids, norm, decoder_depth
    ):
        model = make(
            norm=norm,
            positional_encoding="learned",
            num_decoder_layers=decoder_depth,
        )
        attention = compute_attention(model, [vocabulary] * 2, *ids)
        expected = recomputed(model, *map(np.array, ids), norm)
        for kind in KINDS:
            array = getattr(attention, kind)
            assert array.dtype == np.float32
            np.testing.assert_allclose(array, expected[kind], atol=1e-4)

    def test_each_row_sums_to_one_and_none_sees_the_future(
        self, vocabulary, ids
    ):
        attention = compute_attention(make(), [vocabulary] * 2, *ids)
        source, target = map(len, ids)
        for kind, shape in (
            ("encoder", (2, 2, source, source)),
            ("decoder", (2, 2, target, target)),
            ("cross", (2, 2, target, source)),
        ):
            array = getattr(attention, kind)
            assert array.shape == shape
            np.testing.assert_allclose(array.sum(-1), 1.0, atol=1e-6)
        assert not np.any(np.triu(attention.decoder, 1))

    def test_dropout_is_off(self, vocabulary, ids):
        model = make(dropout=0.5, attention_dropout=0.5)
        first, second = (
            compute_attention(model, [vocabulary] * 2, *ids).cross
            for _ in range(2)
        )
        np.testing.assert_array_equal(first, second)


class LabelsTest:
    def test_pieces_spell_the_sentence_and_the_end_comes_last(
        self, vocabulary, ids
    ):
        attention = compute_attention(make(), [vocabulary] * 2, *ids)
        for tokens, text in (
            (attention.source_tokens, SOURCE),
            (attention.target_tokens, TARGET),
        ):
            *pieces, end = tokens
            assert "".join(pieces).replace("▁", " ").strip() == text
            assert end == END_LABEL

    def test_the_decoder_reads_what_comes_before_each_token(
        self, vocabulary, ids
    ):
        """A key's label is the token whose vector is read at its position.

        So key i of the decoder is not target token i, but the one before.
        """
        model = make()
        attention = compute_attention(model, [vocabulary] * 2, *ids)
        queries, keys, _ = attention.select("decoder")
        assert queries == attention.target_tokens
        assert keys == [START, *queries[:-1]]
        changed = list(ids[1])
        changed[1] = 1 + ids[1][1]
        other = compute_attention(model, [vocabulary] * 2, ids[0], changed)
        differs = np.any(attention.decoder != other.decoder, axis=(0, 1, 3))
        assert keys[2] == queries[1]
        np.testing.assert_array_equal(differs, np.arange(len(keys)) >= 2)

    def test_each_kind_has_its_labels(self, vocabulary, ids):
        attention = compute_attention(make(), [vocabulary] * 2, *ids)
        for kind in KINDS:
            queries, keys, weights = attention.select(kind)
            assert weights.shape[2:] == (len(queries), len(keys))
            assert weights is getattr(attention, kind)
        assert attention.select("encoder")[0] == attention.select("encoder")[1]
        assert attention.select("cross")[:2] == attention[1::-1]

    def test_the_weights_are_those_of_decoding(self, vocabulary, ids):
        """The weights are those of the run that gives the target's logits."""
        model = make()
        features = {
            "inputs": np.array([ids[0]]),
            "targets": np.array([ids[1]]),
        }
        _, weights = model(features, return_weights=True)
        attention = compute_attention(model, [vocabulary] * 2, *ids)
        for kind in KINDS:
            np.testing.assert_array_equal(
                getattr(attention, kind),
                np.stack([to_numpy(layer)[0] for layer in weights[kind]]),
            )
