import importlib
import subprocess
import sys

import keras
import numpy as np
import pytest
from processes import environment

from keras_transformer import serialization
from keras_transformer.layers.transformer import Transformer
from keras_transformer.losses import SmoothedCrossEntropy
from keras_transformer.metrics import MaskedAccuracy
from keras_transformer.metrics import Perplexity
from keras_transformer.optimizers import Adafactor
from keras_transformer.schedules import InverseSquareRootSchedule

LOAD = """
import keras
{statement}
model = keras.saving.load_model({path!r})
assert model.compiled
print(float(model.evaluate({features}, {ids}, verbose=0)[0]))
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Returns the path and the loss of a saved model with only our classes."""
    model = Transformer(vocab_size=9, num_layers=1, d_model=8, num_heads=2)
    model.compile(
        optimizer=Adafactor(InverseSquareRootSchedule(8, warmup_steps=10)),
        loss=SmoothedCrossEntropy(0.1),
        metrics=[MaskedAccuracy(), Perplexity()],
        run_eagerly=True,
    )
    ids = np.array([[3, 4, 1]])
    features = {"inputs": ids, "targets": ids}
    model.fit(features, ids, verbose=0)
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model.save(path)
    return path, model.evaluate(features, ids, verbose=0)[0]


class LoadInAFreshProcessTest:
    @pytest.mark.parametrize(
        "statement",
        [
            "import keras_transformer",
            pytest.param(
                "from keras_transformer import masks", marks=pytest.mark.slow
            ),
            pytest.param(
                "import keras_transformer.layers", marks=pytest.mark.slow
            ),
            pytest.param(
                "from keras_transformer.schedules import "
                "InverseSquareRootSchedule",
                marks=pytest.mark.slow,
            ),
        ],
    )
    def test_any_one_import_finds_every_class(self, saved, statement):
        path, expected = saved
        ids = "keras.ops.array([[3, 4, 1]])"
        script = LOAD.format(
            statement=statement,
            path=str(path),
            features=f"{{'inputs': {ids}, 'targets': {ids}}}",
            ids=ids,
        )
        result = subprocess.run(
            [sys.executable, "-c", script],
            env=environment(__file__),
            capture_output=True,
            text=True,
        )
        assert result.returncode == 0, result.stderr[-2000:]
        loss = float(result.stdout.split()[-1])
        assert loss == pytest.approx(expected, rel=1e-4)


class RegistryTest:
    def test_the_list_names_every_class_that_registers_itself(self):
        listed = {
            f"keras_transformer>{name}": getattr(
                importlib.import_module(f"keras_transformer.{module}"), name
            )
            for module, names in serialization.CLASSES.items()
            for name in names.split()
        }
        registered = {
            name: cls
            for name, cls in keras.saving.get_custom_objects().items()
            if name.startswith("keras_transformer>")
        }
        assert registered == listed
