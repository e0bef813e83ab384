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
SEARCH = ("beam_search", "sampling", "decoding", "translator_options")


def run_on_jax(names):
    folder = pathlib.Path(__file__).parent
    files = [str(folder / f"{name}_test.py") for name in names]
    # JAX compiles every operation for every shape: that is where time goes.
    flags = "--xla_backend_optimization_level=0"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", *files],
        env={**os.environ, "KERAS_BACKEND": "jax", "XLA_FLAGS": flags},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="starts the tests on JAX"
)
class JaxBackendTest:
    @pytest.mark.parametrize("names", [LAYERS, MODEL, SEARCH], ids=" ".join)
    def test_the_maths_half_passes_on_jax(self, names):
        pytest.importorskip("jax")
        outcome = run_on_jax(names)
        assert outcome.returncode == 0, outcome.stdout[-3000:]
