"""Runs the tests of the maths half once more on the JAX backend."""

import os
import pathlib
import subprocess
import sys

import keras
import pytest

# The backends differ most in these; the rest takes minutes. A test of the
# translator searches on JAX as well, with caches.
QUICK = ("masks", "attention::FormulaTest", "attention::AttentionMaskTest")
QUICK += ("positional_encoding::LearnedPositionalEncodingTest",)
LAYERS = (
    "attention",
    "beams",
    "dropout",
    "feed_forward",
    "embedding",
    "embedding_tokens",
    "positional_encoding",
)
LAYERS += ("residual", "encoder", "decoder", "sampling")
LAYERS += ("other_attention", "layers_page", "lora_layer")
LAYERS += ("fused_attention", "quantization", "span_classifier")
MODEL = ("transformer", "transformer_cache", "transformer_in_keras")
MODEL += ("parameter_count", "cross_entropy", "projected", "metrics")
MODEL += ("optimizers", "decoding", "translator_options", "beam_search")
MODEL += ("continuation", "transformer_messages")
MODEL += ("lexical_constraint",)
MODEL += (
    "tree_constraint",
    "in_order_constraint",
    "lexicalised_constraint",
    "score_targets",
)
MODEL += ("ensemble", "ensembles", "schedules", "consistency", "objective")
MODEL += ("guided_alignment", "span_loss", "gradients")


def run_on_jax(names):
    folder = pathlib.Path(__file__).parent
    tests = []
    for name in names:
        module, *classes = name.split("::")
        path = str(next(folder.rglob(f"{module}_test.py")))
        tests.append("::".join([path, *classes]))
    # Most of the time goes into compiling: JAX compiles every operation for
    # every shape.
    flags = "--xla_backend_optimization_level=0"
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", *tests],
        env={**os.environ, "KERAS_BACKEND": "jax", "XLA_FLAGS": flags},
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="starts the tests on JAX"
)
class JaxBackendTest:
    def test_the_core_of_the_maths_half_passes_on_jax(self):
        check_on_jax(QUICK)

    @pytest.mark.slow
    @pytest.mark.parametrize("names", [LAYERS, MODEL], ids=" ".join)
    def test_the_rest_of_the_maths_half_passes_on_jax(self, names):
        check_on_jax(names)


def check_on_jax(names):
    pytest.importorskip("jax")
    outcome = run_on_jax(names)
    assert outcome.returncode == 0, outcome.stdout[-3000:]
