"""Updates on four virtual devices of JAX, in a process of their own."""

import dataclasses
import pathlib
import subprocess
import sys

import backend_updates
import keras
import numpy as np
import pytest
from backend_updates import build_backend
from backend_updates import check_rates
from backend_updates import make_batch
from backend_updates import state_of
from backend_updates import train
from backend_updates import update_once
from processes import environment

from keras_transformer.optimizers import make_schedule
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables
from keras_transformer.training.backends.backend import OutOfMemory
from keras_transformer.training.backends.largest_batch import (
    largest_batch_tokens,
)

BACKEND = keras.backend.backend()
HPARAMS = dataclasses.replace(
    backend_updates.HPARAMS,
    learning_rate=0.3,
    gradient_clip_norm=1.0,
    ema_decay=0.9,
)


def make(num_devices=1, precision="float32", hparams=HPARAMS):
    return build_backend(hparams, num_devices, precision)


def make_from(state, num_devices=1, consistency="none"):
    hparams = dataclasses.replace(HPARAMS, consistency=consistency)
    backend = make(num_devices, hparams=hparams)
    write_variables(state_of(backend), state, "a test")
    backend.reload()
    return backend


@pytest.fixture(scope="module")
def plain():
    backend = make()
    figures = train(backend)
    backend.synchronise()
    return figures, read_variables(state_of(backend))


@pytest.mark.skipif(BACKEND != "jax", reason="needs JAX")
class JaxBackendTest:
    @pytest.mark.parametrize(
        "num_devices, num_rounds", [(2, 1), (4, 1), (1, 2), (1, 4), (2, 2)]
    )
    def test_devices_and_rounds_change_no_update(
        self, plain, num_devices, num_rounds
    ):
        backend = make(num_devices)
        assert backend.num_replicas == backend.local_replicas == num_devices
        figures = train(backend, num_rounds)
        np.testing.assert_allclose(figures, plain[0], rtol=1e-5)

    def test_number_of_rounds_may_change_between_updates(self, plain):
        backend = make(2)
        figures = [
            train(backend, num_rounds, step, step + 1)
            for step, num_rounds in enumerate((1, 4, 2, 1, 4))
        ]
        figures = np.concatenate(figures)  # (num_updates, 2)
        np.testing.assert_allclose(figures, plain[0][:5], rtol=1e-5)

    def test_the_model_learns(self, plain):
        losses = plain[0][:, 0]
        assert losses[-10:].mean() < 0.7 * losses[:10].mean()

    def test_a_decoder_of_another_depth_learns_too(self):
        depths = {"num_layers": 2, "num_decoder_layers": 1}
        backend = make(hparams=dataclasses.replace(HPARAMS, **depths))
        losses = train(backend)[:, 0]
        assert losses[-10:].mean() < 0.7 * losses[:10].mean()

    def test_the_program_grows_in_proportion_to_the_layers(self):
        """Later sub-layers do not compute earlier residual sums again."""
        lengths = []
        for depth in (1, 2, 3):
            backend = make(
                hparams=dataclasses.replace(HPARAMS, num_layers=depth)
            )
            update = backend._update

            def compile_and_update(*arguments):
                program = update.lower(*arguments).compile().as_text()
                lengths.append(program.count("\n"))
                return update(*arguments)

            backend._update = compile_and_update
            backend.update(make_batch())
        one, two, three = lengths
        assert three - two < 1.1 * (two - one)

    @pytest.mark.parametrize("precision", ["bfloat16", "float16"])
    def test_half_precision_learns_too(self, plain, precision):
        figures = train(make(2, precision))
        np.testing.assert_allclose(figures[:, 0], plain[0][:, 0], rtol=0.03)
        norms = figures[:10, 1]  # without the scale of the loss
        np.testing.assert_allclose(norms, plain[0][:10, 1], rtol=0.03)

    def test_overflow_in_float16_changes_no_weight(self):
        backend = make(2, "float16")
        backend.optimizer.dynamic_scale.assign(2.0**100)
        backend.reload()
        before = read_variables(model_variables(backend.model))
        figures = update_once(backend, make_batch(num_replicas=2))
        schedule = make_schedule(backend.hparams)
        np.testing.assert_allclose(figures["learning_rate"], schedule(0))
        backend.synchronise()
        after = read_variables(model_variables(backend.model))
        for name, values in before.items():
            np.testing.assert_array_equal(after[name], values)
        assert float(backend.optimizer.dynamic_scale) == 2.0**99

    def test_updates_continue_from_restored_values(self, plain):
        first = make(2)
        train(first, stop=5)
        first.synchronise()
        state = read_variables(state_of(first))
        expected = train(first, start=5, stop=9)
        figures = train(make_from(state, 2), start=5, stop=9)
        np.testing.assert_array_equal(figures, expected)
        np.testing.assert_allclose(figures, plain[0][5:9], rtol=1e-5)
        # The state is no view of memory that a later update has reused.
        assert int(state["optimizer/iteration"]) == 5

    def test_each_shape_is_compiled_once(self):
        backend = make(2)
        batch = make_batch(0, num_replicas=2)
        stops = [
            update_once(backend, batch, stop)["stop"] for stop in (False, True)
        ]
        assert [float(number) for number in stops] == [0, 1]
        assert backend._update._cache_size() == 1

    @pytest.mark.parametrize("precision", ["float32", "float16"])
    def test_a_rate_by_the_clock_is_that_of_its_update(self, precision):
        hparams = dataclasses.replace(HPARAMS, train_minutes=1.0)
        check_rates(make(2, precision, hparams), make_batch(0, num_replicas=2))

    def test_several_devices_evaluate_the_whole_batch(self):
        ids = make_batch(0)["inputs"][0, 0]
        one, four = make(1), make(4)
        expected = [float(value) for value in one.evaluate(ids, ids)]
        sums = [float(value) for value in four.evaluate(ids, ids)]
        assert sums == pytest.approx(expected, rel=1e-5)
        assert sums[2] == make_batch(0)["num_tokens"]

    @pytest.mark.parametrize("optimizer", ["adamw", "adafactor"])
    def test_other_optimizers_learn(self, optimizer):
        changes = {"optimizer": optimizer, "weight_decay": 0.01}
        hparams = dataclasses.replace(HPARAMS, **changes)
        losses = train(make(2, hparams=hparams))[:, 0]
        assert losses[-10:].mean() < 0.9 * losses[:10].mean()

    def test_more_devices_than_exist_are_an_error(self):
        with pytest.raises(ValueError, match="worker_gpu=9.*JAX sees 4: cpu"):
            make(9)

    def test_error_of_missing_memory_names_the_flags(self):
        backend = make()
        batch = make_batch(0)
        batch["inputs"] = np.ones((1, 1, 7, 2_000_000), "int32")
        with pytest.raises(OutOfMemory, match="batch_tokens=64.*effective"):
            update_once(backend, batch)

    def test_peak_memory_is_known(self):
        backend = make()
        assert 2**20 < backend.peak_bytes() < backend.memory_bytes()

    def test_largest_batch_is_at_most_the_useful_one(self):
        hparams = dataclasses.replace(HPARAMS, max_length=100)
        vocab_sizes = (backend_updates.VOCAB_SIZE,) * 2
        assert (
            100
            <= largest_batch_tokens(
                hparams, vocab_sizes, "float32", max_tokens=5000
            )
            <= 5000
        )


SCRIPT = """
import sys
import numpy as np
from backend_updates import train
from backend_updates import update_once
from jax_backend_updates_test import HPARAMS, evaluated, make_from
from keras_transformer.decoding.engines.compiled_search import compile_search
from keras_transformer.search.options import DecodeOptions

backend = make_from(np.load("state.npz"), 4, consistency=sys.argv[1])
figures = train(backend, num_rounds=2)
backend.synchronise()
sums = evaluated(backend)
search = compile_search(backend.model, DecodeOptions.from_hparams(HPARAMS))
ids, _ = search(np.array([[5, 6, 1]], "int32"), np.array([53], "int32"))
np.savez("results.npz", figures=figures, sums=sums, translation=ids[0, 0])
assert "tensorflow" not in sys.modules
"""


def evaluated(backend):
    ids = make_batch(99)["inputs"][0, 0]
    return [float(value) for value in backend.evaluate(ids, ids)]


def start_on_jax(*arguments, cwd=None):
    return subprocess.Popen(
        [sys.executable, *arguments],
        env=environment(
            __file__,
            KERAS_BACKEND="jax",
            XLA_FLAGS="--xla_force_host_platform_device_count=4 "
            "--xla_backend_optimization_level=0",
        ),
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.skipif(BACKEND != "tensorflow", reason="starts tests on JAX")
class BackendsTest:
    @pytest.mark.slow
    def test_the_backend_works_on_jax(self):
        pytest.importorskip("jax")
        folder = pathlib.Path(__file__).parent
        files = [__file__, folder / "consistency_backend_test.py"]
        files.append(folder / "guided_alignment_backend_test.py")
        run = start_on_jax("-m", "pytest", "-q", "--tb=short", *files)
        output = run.communicate()[0]
        assert run.returncode == 0, output[-3000:]

    @pytest.mark.parametrize(
        "consistency",
        [
            "none",
            pytest.param("simcut", marks=pytest.mark.slow),
            pytest.param("r_drop", marks=pytest.mark.slow),
        ],
    )
    def test_jax_trains_like_tensorflow_without_importing_it(
        self, tmp_path, consistency
    ):
        pytest.importorskip("jax")
        hparams = dataclasses.replace(HPARAMS, consistency=consistency)
        backend = make(hparams=hparams)
        np.savez(tmp_path / "state.npz", **read_variables(state_of(backend)))
        run = start_on_jax("-c", SCRIPT, consistency, cwd=tmp_path)
        expected = train(backend)
        output = run.communicate()[0]
        assert run.returncode == 0, output[-3000:]
        results = np.load(tmp_path / "results.npz")
        np.testing.assert_allclose(results["figures"], expected, rtol=1e-4)
        np.testing.assert_allclose(
            results["sums"], evaluated(backend), rtol=1e-4
        )
        assert 1 in results["translation"]  # it ended
