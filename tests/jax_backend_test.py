"""The maths half on the JAX backend: the same tests, run once more."""

import os
import pathlib
import subprocess
import sys

import keras
import pytest

LAYERS = (
    "masks",
    "dropout",
    "attention",
    "feed_forward",
    "embedding",
    "positional_encoding",
    "residual",
    "encoder",
    "decoder",
)
MODEL = ("transformer", "parameter_count", "losses", "schedules", "metrics")
MODEL += ("optimizers",)


def start_on_jax(names):
    folder = pathlib.Path(__file__).parent
    files = [str(folder / f"{name}_test.py") for name in names]
    # JAX compiles every operation for every shape: that is where time goes.
    flags = "--xla_backend_optimization_level=0"
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", *files],
        env={**os.environ, "KERAS_BACKEND": "jax", "XLA_FLAGS": flags},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="starts the tests on JAX"
)
class JaxBackendTest:
    def test_the_maths_half_passes_on_jax(self):
        pytest.importorskip("jax")
        runs = [start_on_jax(LAYERS), start_on_jax(MODEL)]  # on two cores
        outputs = [run.communicate()[0] for run in runs]
        for run, output in zip(runs, outputs, strict=True):
            assert run.returncode == 0, output[-3000:]
