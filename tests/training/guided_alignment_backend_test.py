"""Updates guided by word alignments or by spans, by either backend."""

import dataclasses
import functools

import backend_updates
import keras
import numpy as np
import pytest
from backend_updates import build_backend
from backend_updates import make_batch
from backend_updates import make_spans
from backend_updates import state_of
from backend_updates import update_once

from keras_transformer.runs.model import read_variables
from keras_transformer.runs.model import write_variables

HPARAMS = dataclasses.replace(backend_updates.HPARAMS, guided_alignment=0.5)
SPANS = {"guided_alignment": 0.0, "span_labels": 3}
ON_JAX = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="TensorFlow has one device"
)


@functools.cache
def built(hparams, num_devices):
    """Returns a backend and its initial state."""
    backend = build_backend(hparams, num_devices)
    return backend, read_variables(state_of(backend))


def make(num_devices=1, **changes):
    """Returns a backend in its initial state, with its compiled functions."""
    hparams = dataclasses.replace(HPARAMS, **changes)
    backend, start = built(hparams, num_devices)
    write_variables(state_of(backend), start, "a test")
    backend.reload()
    return backend


def batch_with_links(number, num_rounds=1, num_replicas=1):
    """Links every token of a row to itself."""
    batch = make_batch(number, num_rounds, num_replicas)
    ids = batch["inputs"]
    same = np.eye(ids.shape[-1], dtype="int32")
    return {**batch, "guidance": same * (ids > 1)[..., None]}


def batch_with_spans(number, num_rounds=1, num_replicas=1):
    batch = make_batch(number, num_rounds, num_replicas)
    return {**batch, "guidance": make_spans(batch["inputs"], num_labels=3)}


def without_spans(number):
    batch = batch_with_spans(number)
    return {**batch, "guidance": np.full_like(batch["guidance"], -1)}


def train(backend, num_rounds=1, num_updates=10):
    is_by_spans = backend.hparams.span_labels
    make_guided = batch_with_spans if is_by_spans else batch_with_links
    figures = []
    for number in range(num_updates):
        replicas = backend.num_replicas
        batch = make_guided(number, num_rounds, replicas)
        result = update_once(backend, batch)
        names = "loss_sum", "gradient_norm"
        figures.append([float(result[name]) for name in names])
    return np.array(figures)


class GuidedAlignmentTest:
    @pytest.mark.slow
    def test_accumulation_changes_no_update(self):
        divided = train(make(), num_rounds=4)
        np.testing.assert_allclose(divided, train(make()), rtol=1e-4)

    @ON_JAX
    def test_devices_change_no_update(self):
        expected = train(make())
        np.testing.assert_allclose(train(make(2)), expected, rtol=1e-4)
        np.testing.assert_allclose(train(make(2), 2), expected, rtol=1e-4)

    @pytest.mark.slow
    def test_the_loss_is_reported_without_guidance_but_has_another_slope(self):
        plain, guided = (
            train(make(guided_alignment=weight), num_updates=1)[0]
            for weight in (0.0, 0.5)
        )
        assert guided[0] == pytest.approx(plain[0], rel=1e-5)
        assert abs(guided[1] - plain[1]) > 1e-3

    def test_with_weight_0_links_change_no_bit(self):
        states = []
        for batch in (make_batch(1), batch_with_links(1)):
            backend = make(guided_alignment=0.0)
            update_once(backend, batch)
            backend.synchronise()
            states.append(
                {name: np.array(v) for name, v in state_of(backend).items()}
            )
        for name, value in states[0].items():
            np.testing.assert_array_equal(value, states[1][name])


class SpanGuidanceTest:
    @pytest.mark.slow
    def test_accumulation_changes_no_update(self):
        # With 7 rows in 4 rounds, the last round has an empty row.
        divided, whole = (
            train(make(**SPANS), num_rounds, num_updates=3)
            for num_rounds in (4, 1)
        )
        np.testing.assert_allclose(divided, whole, rtol=1e-4)

    @ON_JAX
    def test_devices_change_no_update(self):
        expected = train(make(**SPANS))
        divided = train(make(2, **SPANS), num_rounds=2)
        np.testing.assert_allclose(divided, expected, rtol=1e-4)

    def test_other_spans_have_the_same_loss_and_another_slope(self):
        batches = batch_with_spans(0), without_spans(0)
        results = [update_once(make(**SPANS), batch) for batch in batches]
        losses, norms = (
            [float(result[name]) for result in results]
            for name in ("loss_sum", "gradient_norm")
        )
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)
        assert abs(norms[0] - norms[1]) > 1e-3

    def test_the_classifier_and_the_encoder_learn_from_them(self):
        states = []
        for guided in (batch_with_spans, without_spans):
            backend = make(**SPANS)
            update_once(backend, guided(0))
            backend.synchronise()
            states.append(read_variables(state_of(backend)))
        changed = {
            name
            for name, value in states[0].items()
            if name.startswith("model/")
            and not np.allclose(value, states[1][name], atol=1e-6)
        }
        assert any(name.startswith("model/spans/") for name in changed)
        assert any(name.startswith("model/encoder/") for name in changed)
        # The first update of the decoder does not see the spans.
        assert not any(name.startswith("model/decoder/") for name in changed)
