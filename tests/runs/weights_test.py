import tracemalloc

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer.data.subwords import train_subwords
from keras_transformer.model_config import list_weights
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import read_weights

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
    shapes = list_weights(HPARAMS.model, run.vocabulary.vocab_size)
    return {name: np.ones(shape, "float32") for name, shape in shapes.items()}


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
