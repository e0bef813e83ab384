"""The maths half on the JAX backend: the same tests, run once more."""

import os
import pathlib
import subprocess
import sys

import keras
import pytest

FOLDER = pathlib.Path(__file__).parent
NAMES = (
    "masks",
    "attention",
    "feed_forward",
    "embedding",
    "positional_encoding",
    "residual",
    "encoder",
    "decoder",
    "transformer",
    "parameter_count",
    "losses",
    "schedules",
    "metrics",
)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="starts the tests on JAX"
)
class JaxBackendTest:
    def test_the_maths_half_passes_on_jax(self):
        pytest.importorskip("jax")
        files = [str(FOLDER / f"{name}_test.py") for name in NAMES]
        outcome = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "--tb=short", *files],
            env={**os.environ, "KERAS_BACKEND": "jax"},
            capture_output=True,
            text=True,
        )
        assert outcome.returncode == 0, outcome.stdout[-3000:]
