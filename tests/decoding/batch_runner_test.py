"""Batches that do not fit into memory are halved, and nothing else changes."""

import functools

import keras
import pytest
from keras import ops
from small_translators import HPARAMS
from small_translators import TEXTS

from keras_transformer.decoding.engines.batching import BatchRunner
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.translator import Translator

pytestmark = pytest.mark.skipif(
    keras.backend.backend() not in ("tensorflow", "jax"),
    reason="the errors are those of TensorFlow and JAX",
)
SENTENCES = [text for text in TEXTS if text.strip()]


def allocate_too_much():
    """Asks for more memory than a processor can address."""
    ops.zeros((2**46,))  # TensorFlow waits 10 s for others to free memory


def refuse():
    """Raises at once what `allocate_too_much` raises."""
    if keras.backend.backend() == "jax":
        allocate_too_much()
    import tensorflow as tf

    raise tf.errors.ResourceExhaustedError(None, None, "OOM when allocating")


class SmallDevice:
    """A replica without the memory for more than a few rows."""

    def __init__(self, replica, max_rows, fail=refuse):
        self.max_rows = max_rows
        self.fail = fail
        self.num_rows = []  # of all batches, with those that did not fit
        self.count_cache_positions = replica.count_cache_positions
        self.search = functools.partial(self._limited, replica.search)
        self.get_scorer = functools.partial(self._limited, replica.get_scorer)

    def _limited(self, compiled, *arguments):
        function = compiled(*arguments)

        def call(inputs, *arrays):
            self.num_rows.append(len(inputs))
            if len(inputs) > self.max_rows:
                self.fail()
            return function(inputs, *arrays)

        return call


def on_small_devices(translator, max_rows, num_devices=1, fail=refuse):
    (replica,) = translator.engine.replicas
    devices = [SmallDevice(replica, max_rows, fail) for _ in range(num_devices)]
    engine = KerasEngine(
        translator.engine.model,
        translator.codec.vocabulary,
        HPARAMS,
        num_threads=num_devices,
        replicas=devices,
    )
    return Translator(engine), devices


class TranslatorTest:
    @pytest.mark.parametrize(
        "max_rows", [pytest.param(1, marks=pytest.mark.slow), 3]
    )
    def test_translations_and_scores_are_those_of_a_large_memory(
        self, translator, max_rows
    ):
        small, _ = on_small_devices(translator, max_rows)
        expected = translator(TEXTS, return_scores=True)
        translations, scores = small(TEXTS, return_scores=True)
        assert translations == expected[0]
        assert scores == pytest.approx(expected[1], abs=1e-5)
        expected = translator.score(TEXTS, TEXTS[::-1])
        scores = small.score(TEXTS, TEXTS[::-1])
        # Neighbouring float32 numbers near -194 are 1.5e-5 apart.
        assert scores == pytest.approx(expected, rel=1e-6)

    @pytest.mark.slow
    def test_an_allocation_that_fails_halves_the_batch(self, translator):
        small, (device,) = on_small_devices(
            translator, 3, fail=allocate_too_much
        )
        assert small(TEXTS) == translator(TEXTS)
        assert max(device.num_rows) > 3

    def test_later_batches_fit_at_once(self, translator, caplog):
        small, (device,) = on_small_devices(translator, 2)
        texts = ["a dog runs"] * 5
        small(texts)
        assert device.num_rows == [5, 2, 3, 1, 2]
        small(texts)
        assert device.num_rows[5:] == [2, 2, 1]
        messages = [record.getMessage() for record in caplog.records]
        about = [line for line in messages if "not fit into memory" in line]
        assert len(about) == 2

    def test_two_devices_find_what_one_finds(self, translator):
        texts = SENTENCES * 4
        small, devices = on_small_devices(translator, 3, num_devices=2)
        assert small(texts) == translator(texts)
        assert all(device.num_rows for device in devices)

    def test_a_sentence_that_does_not_fit_is_named(self, translator):
        small, _ = on_small_devices(translator, 0)
        message = (
            "Out of memory.*one of [0-9]+ tokens, 'the man reads a very.*Use a"
        )
        with pytest.raises(ValueError, match=message):
            small(TEXTS)
        with pytest.raises(ValueError, match=message):
            small.score(TEXTS, TEXTS)


class BatchRunnerTest:
    @pytest.mark.parametrize("num_threads", [1, 2, 3])
    @pytest.mark.parametrize("memory", [4, 5, 9, 30, 100])
    def test_every_sentence_has_its_own_result(self, memory, num_threads):
        """Runs sentences whose cost is known on a device that counts it."""
        costs = [3, 1, 4, 0, 1, 2, 4, 3, 2, 4]

        def square(batch):
            most = max(costs[i] for i in batch)
            if len(batch) * most > memory:
                refuse()
            return [i**2 for i in batch]

        runner = BatchRunner(num_threads)
        for _ in range(2):
            found = {}
            for batch, results in runner.run(
                [square], costs, 100, describe=str
            ):
                found |= dict(zip(batch, results, strict=True))
            costly = [i for i, cost in enumerate(costs) if cost]
            assert found == {i: i**2 for i in costly}

    def test_other_errors_are_not_caught(self):
        def fail(batch):
            raise KeyError("key")

        with pytest.raises(KeyError):
            list(BatchRunner(1).run([fail], [1, 1], 9, str))
