"""Updates with consistency training, by the backend of either backend."""

import dataclasses
import functools

import backend_updates
import keras
import numpy as np
import pytest
from backend_updates import build_backend
from backend_updates import make_batch
from backend_updates import state_of
from backend_updates import train
from backend_updates import update_once

from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables

HPARAMS = dataclasses.replace(backend_updates.HPARAMS, token_cutoff=0.2)
KINDS = pytest.mark.parametrize(
    "kind", ["simcut", pytest.param("r_drop", marks=pytest.mark.slow)]
)


@functools.cache
def built(hparams):
    """Returns a backend and its initial state."""
    backend = build_backend(hparams)
    return backend, read_variables(state_of(backend))


def make(**changes):
    """Returns a backend in its initial state, with its compiled functions."""
    backend, start = built(dataclasses.replace(HPARAMS, **changes))
    write_variables(state_of(backend), start, "a test")
    backend.reload()
    return backend


def figures(backend, num_rounds=1):
    result = update_once(backend, make_batch(3, num_rounds))
    names = ("loss_sum", "consistency_sum", "gradient_norm")
    return [float(result[name]) for name in names]


class ConsistencyTest:
    @pytest.mark.slow
    @KINDS
    def test_accumulation_changes_no_update(self, kind):
        plain = train(make(consistency=kind), stop=20)
        divided = train(make(consistency=kind), 4, stop=20)
        np.testing.assert_allclose(divided, plain, rtol=1e-4)

    @KINDS
    def test_sums_of_rounds_are_those_of_the_batch(self, kind):
        expected = figures(make(consistency=kind))
        divided = figures(make(consistency=kind), 4)
        np.testing.assert_allclose(divided, expected, rtol=1e-5)
        assert expected[1] > 1

    @pytest.mark.slow
    def test_loss_that_is_reported_is_cross_entropy(self):
        plain, simcut = figures(make()), figures(make(consistency="simcut"))
        assert simcut[0] == pytest.approx(plain[0], rel=1e-5)
        assert plain[1] == 0
        assert simcut[2] > 1.1 * plain[2]  # the gradient of both terms

    @pytest.mark.slow
    def test_weight_of_zero_trains_as_without_consistency(self):
        plain = train(make(), stop=5)
        weightless = train(
            make(consistency="simcut", consistency_weight=0), stop=5
        )
        np.testing.assert_allclose(weightless, plain, rtol=1e-4)

    @KINDS
    def test_the_model_learns(self, kind):
        losses = train(make(consistency=kind), stop=100)[:, 0]
        assert losses[-10:].mean() < 0.8 * losses[:10].mean()

    @pytest.mark.slow
    def test_the_weight_brings_the_passes_together(self):
        divergences = []
        for weight in (0, 3):
            backend = make(consistency="simcut", consistency_weight=weight)
            train(backend, stop=200)
            divergences.append(figures(backend)[1])
        assert divergences[1] < 0.5 * divergences[0]

    @pytest.mark.slow
    @pytest.mark.skipif(
        keras.backend.backend() != "jax", reason="needs several devices"
    )
    @pytest.mark.parametrize("kind", ["simcut", "r_drop"])
    def test_several_devices_change_no_update(self, kind):
        plain = train(make(consistency=kind), stop=20)
        hparams = dataclasses.replace(HPARAMS, consistency=kind)
        figures = train(build_backend(hparams, 2), 2, stop=20)
        np.testing.assert_allclose(figures, plain, rtol=1e-4)
