import dataclasses
import functools
import itertools

import keras
import numpy as np
import pytest

from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2 import (
    conversion as ctranslate2_conversion,
)
from keras_transformer.formats.exported import check_understood
from keras_transformer.formats.html import writer as html
from keras_transformer.formats.marian import writer as marian
from keras_transformer.model_config import TRAINING_ONLY
from keras_transformer.model_config import ModelConfig
from keras_transformer.model_config import list_weights
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables

EXPORTERS = ctranslate2_conversion, html, marian
TINY = ModelConfig(num_layers=1, d_model=8, num_heads=2, d_ff=16, max_length=5)
DIFFERENT = {
    "num_layers": 2,
    "d_model": 12,
    "d_ff": 5,
    "num_heads": 4,
    "d_k": 3,
    "d_v": 5,
    "num_decoder_layers": 3,
    "dropout": 0.3,
    "attention_dropout": 0.3,
    "activation_dropout": 0.3,
    "norm": "pre",
    "norm_epsilon": 1e-5,
    "activation": "gelu",
    "attention_bias": True,
    "positional_encoding": "learned",
    "neighbourhood_size": 3,
    "max_relative_position": 2,
    "tied_embeddings": "none",
    "scale_embeddings": False,
    "output_bias": True,
    "decoder_start": "padding",
    "initializer": "tensor2tensor",
    "max_length": 7,
    "span_labels": 3,
    "packed": True,
    "fused_attention": True,
}


IDS = np.array([[5, 7, 3, 9, 4, 1], [5, 1, 0, 0, 0, 0]], "int32")


def build_random(config):
    """Returns a model with random weights."""
    keras.utils.set_random_seed(1)
    model = build_transformer(config, 11)
    generator = np.random.default_rng(0)
    model.set_weights(
        [generator.normal(0, 0.1, w.shape) for w in model.get_weights()]
    )
    return model


def compute_logits(model):
    """Returns the logits at the real tokens of `IDS`."""
    logits = model({"inputs": IDS, "targets": IDS})
    return keras.ops.convert_to_numpy(logits)[IDS > 0]


@functools.cache
def logits_of(config):
    return compute_logits(build_random(config))


@dataclasses.dataclass(frozen=True)
class LaterConfig(ModelConfig):
    """A config with a field that nobody knows, which adds no weights."""

    gate: str = "none"


class ListWeightsTest:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            *({name: value} for name, value in DIFFERENT.items()),
            {"tied_embeddings": "target"},
            {"norm": "pre", "num_layers": 2, "num_decoder_layers": 1},
            {"num_heads": 3, "d_k": 2, "d_v": 1},
            DIFFERENT,
        ],
        ids=lambda changes: ",".join(changes) or "none",
    )
    def test_they_are_the_variables_of_the_model(self, changes):
        config = dataclasses.replace(TINY, **changes)
        input_vocab_size = 11 if config.tied_embeddings == "all" else 13
        model = build_transformer(config, 11, input_vocab_size=input_vocab_size)
        shapes = {
            name: tuple(variable.shape)
            for name, variable in model_variables(model).items()
        }
        assert list_weights(config, 11, input_vocab_size) == shapes

    def test_the_examples_change_every_field(self):
        names = {field.name for field in dataclasses.fields(ModelConfig)}
        assert set(DIFFERENT) == names
        assert all(getattr(TINY, n) != v for n, v in DIFFERENT.items())


class ArchitectureTest:
    def test_it_is_every_field_but_those_of_the_training(self):
        learned = dataclasses.replace(TINY, positional_encoding="learned")
        assert learned.architecture.keys() == DIFFERENT.keys() - {
            *TRAINING_ONLY
        }
        assert "max_length" not in TINY.architecture

    def test_a_size_that_is_the_default_is_the_same_when_stated(self):
        d_k, d_v = TINY.head_widths
        stated = dataclasses.replace(
            TINY, num_decoder_layers=1, d_k=d_k, d_v=d_v
        )
        assert stated.architecture == TINY.architecture

    def test_a_later_field_belongs_to_it(self):
        assert LaterConfig(gate="sigmoid").architecture != (
            LaterConfig().architecture
        )


class FieldTest:
    @pytest.mark.parametrize("name", DIFFERENT)
    def test_it_changes_weights_or_logits_unless_it_trains_alone(self, name):
        """No part may accept a field and then forget it."""
        config = dataclasses.replace(TINY, **{name: DIFFERENT[name]})
        has_same_weights = list_weights(config, 11) == list_weights(TINY, 11)
        is_same = has_same_weights and np.allclose(
            logits_of(config), logits_of(TINY), atol=1e-6
        )
        assert is_same == (name in (*TRAINING_ONLY, "max_length"))

    def test_the_search_and_the_loss_obey_every_field(self):
        """They compute the logits in their own ways."""
        model = build_random(dataclasses.replace(TINY, **DIFFERENT))
        expected = compute_logits(model)
        cache = model.init_cache(*model.encode(IDS), beam_size=1)
        steps = []
        for i in range(IDS.shape[1]):
            before = IDS[:, max(0, i - 1), None]
            logits, cache = model.decode_step(before, np.int32(i), cache)
            steps.append(keras.ops.convert_to_numpy(logits)[:, 0])
        searched = np.stack(steps, axis=1)[IDS > 0]
        np.testing.assert_allclose(searched, expected, rtol=0, atol=1e-5)
        states = model.decode({"inputs": IDS, "targets": IDS})
        rows, matrix = map(
            keras.ops.convert_to_numpy, model.embedding.factors(states)
        )
        learned = (rows @ matrix.T)[IDS > 0]
        np.testing.assert_allclose(learned, expected, rtol=0, atol=1e-5)


class LaterFieldTest:
    """No part may overlook a field of a model that it does not know."""

    @pytest.mark.parametrize("exporter", EXPORTERS)
    def test_an_exporter_refuses_it_unless_it_has_its_default(self, exporter):
        arguments = exporter.UNDERSTOOD, "in an export", "Use the run."
        check_understood(LaterConfig(), *arguments)
        with pytest.raises(
            UserError, match="^`gate` must be 'none' in an export. Rec.*"
        ):
            check_understood(LaterConfig(gate="sigmoid"), *arguments)

    @pytest.mark.parametrize(
        "name, value",
        [("norm", "rms"), ("positional_encoding", "rotary")]
        + [("tied_embeddings", "source"), ("neighbourhood_size", 3)],
    )
    def test_ctranslate2_refuses_later_values_of_a_field(self, name, value):
        config = dataclasses.replace(TINY)
        object.__setattr__(config, name, value)  # no check knows it yet
        with pytest.raises(UserError, match=f"Received: {name}={value!r}"):
            check_understood(
                config, ctranslate2_conversion.UNDERSTOOD, "there", "No."
            )

    def test_the_model_takes_no_field_that_it_does_not_know(self):
        with pytest.raises(ValueError, match="`gate` must be an argument"):
            build_transformer(LaterConfig(), 11)


def test_exporters_understand_what_changes_a_training_alone():
    for exporter, name in itertools.product(EXPORTERS, TRAINING_ONLY):
        config = dataclasses.replace(TINY, **{name: DIFFERENT[name]})
        check_understood(config, exporter.UNDERSTOOD, "there", "No.")
