import dataclasses
import tracemalloc

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer.data.subwords import train_subwords
from keras_transformer.runs import variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weight_shapes import weight_shapes
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import read_weights
from keras_transformer.transformer import build_transformer

HPARAMS = hparam.HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)


@pytest.fixture
def run(tmp_path):
    vocabulary = train_subwords(["some words"], 270, str(tmp_path / "vocab"))
    return RunDirectory.create(
        str(tmp_path / "run"),
        {"problem": "copy"},
        HPARAMS,
        vocabulary.model_bytes,
    )


@pytest.fixture
def arrays(run):
    shapes = weight_shapes(HPARAMS, run.vocabulary.vocab_size)
    return {name: np.ones(shape, "float32") for name, shape in shapes.items()}


class WeightShapesTest:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"norm": "pre", "num_layers": 2},
            {"norm": "pre", "num_layers": 2, "num_decoder_layers": 1},
            {"num_layers": 1, "num_decoder_layers": 3},
            {"positional_encoding": "learned", "max_length": 5},
            {"d_k": 3, "d_v": 5},
            {"tied_embeddings": "target"},
            {"tied_embeddings": "none"},
        ],
    )
    def test_they_are_those_of_the_model(self, changes):
        hparams = dataclasses.replace(HPARAMS, **changes)
        input_vocab_size = 11 if hparams.tied_embeddings == "all" else 13
        model = build_transformer(
            hparams, 11, input_vocab_size=input_vocab_size
        )
        named = variables.model_variables(model)
        shapes = {name: tuple(v.shape) for name, v in named.items()}
        assert weight_shapes(hparams, 11, input_vocab_size) == shapes


class CheckCheckpointTest:
    def test_weights_of_the_model_are_accepted(self, run, arrays):
        average = {n.replace("model", "average"): arrays[n] for n in arrays}
        run.checkpoints.save(1, {**arrays, **average, "log/loss": 1.0})
        check_checkpoint(run)

    @pytest.mark.parametrize(
        "name, array",
        [
            ("model/decoder/layer_1/self_attention/key", np.ones((8, 8))),
            ("model/embedding/embeddings", np.ones((271, 8))),
            ("average/embedding/embeddings", np.ones((271, 8))),
            ("average/embedding", np.ones(8)),
            ("model/embedding/embeddings", np.ones((270, 8), "int32")),
        ],
    )
    def test_other_weights_are_refused_by_name(self, run, arrays, name, array):
        path = run.checkpoints.save(1, {**arrays, name: array})
        with pytest.raises(ValueError, match="must fit the model") as caught:
            check_checkpoint(run)
        assert repr(name) in str(caught.value)
        assert path in str(caught.value)

    def test_missing_weight_is_refused(self, run, arrays):
        del arrays["model/embedding/embeddings"]
        run.checkpoints.save(1, arrays)
        with pytest.raises(ValueError, match="embeddings' with shape absent"):
            check_checkpoint(run)

    def test_too_large_weights_are_refused_unread(self, run, arrays):
        name = "model/embedding/embeddings"
        run.checkpoints.save(1, {**arrays, name: np.zeros((2**20, 8))})
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"shape \(1048576, 8\)"):
            check_checkpoint(run)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**21


class ReadWeightsTest:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_weights_that_are_not_finite_are_refused(self, run, arrays, value):
        arrays["model/embedding/embeddings"][3, 4] = value
        run.checkpoints.save(1, arrays)
        with pytest.raises(ValueError, match="finite.*embeddings.*ckpt-1.npz"):
            read_weights(run.checkpoints)
