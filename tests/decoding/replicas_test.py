"""Several devices decode side by side what one of them decodes."""

import json
import subprocess
import sys
import threading
import time

import keras
import pytest
from processes import environment
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_vocabulary

from keras_transformer.decoding.engines.batching import BatchRunner
from keras_transformer.decoding.translator import Translator

# Prints what two devices find, and the devices that held the results.
SCRIPT = """
import json
import sys
import keras

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf

    cpus = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpus[0], devices)

from keras_transformer.decoding.translator import Translator

path, texts = sys.argv[1], json.loads(sys.argv[2])
to_numpy, devices = keras.ops.convert_to_numpy, set()

def noting(tensor):
    devices.add(str(tensor.device)[-5:].lower())
    return to_numpy(tensor)

translator = Translator.load(path, engine="keras")
weights = [
    str(replica.model.variables[0].value.device)[-5:].lower()
    for replica in translator.engine.replicas
]
keras.ops.convert_to_numpy = noting
translations, scores = translator(texts, return_scores=True)
given = translator.score(texts, translations)
print(json.dumps([weights, sorted(devices), translations, scores, given]))
"""


class ReplicasTest:
    @pytest.mark.slow
    @pytest.mark.skipif(
        keras.backend.backend() not in ("tensorflow", "jax"),
        reason="no devices to divide a processor into",
    )
    def test_two_devices_find_what_one_finds(self, tmp_path):
        run = make_run(tmp_path / "run", make_vocabulary(tmp_path / "model"))
        flag = "--xla_force_host_platform_device_count=2"
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, run.path, json.dumps(TEXTS)],
            env=environment(__file__, XLA_FLAGS=flag),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        results = json.loads(done.stdout)
        weights, devices, translations, scores, given = results
        assert weights == devices == ["cpu:0", "cpu:1"]
        translator = Translator.load(run.path, engine="keras")
        assert len(translator.engine.replicas) == 1
        expected, expected_scores = translator(TEXTS, return_scores=True)
        assert translations == expected
        assert scores == pytest.approx(expected_scores, abs=1e-5)
        expected_scores = translator.score(TEXTS, translations)
        assert given == pytest.approx(expected_scores, abs=1e-3)


class SharedOutTest:
    @pytest.mark.parametrize("num_threads", [1, 2, 4, 6])
    def test_no_worker_has_more_than_its_share(self, num_threads):
        lock, busy, most = threading.Lock(), {"a": 0, "b": 0}, {"a": 0, "b": 0}

        def make_worker(name):
            def work(batch):
                (item,) = batch
                with lock:
                    busy[name] += 1
                    most[name] = max(most[name], busy[name])
                time.sleep(0.001 * (item % 3))
                with lock:
                    busy[name] -= 1
                return [name]

            return work

        results = list(
            BatchRunner(num_threads).run(
                list(map(make_worker, "ab")),
                costs=[1] * 30,
                budget=1,
                describe=str,
            )
        )
        assert [item for (item,), _ in results] == list(range(30))
        workers = {worker for _, (worker,) in results}
        assert workers == ({"a"} if num_threads == 1 else {"a", "b"})
        assert max(most.values()) <= -(-num_threads // 2)

    def test_an_error_reaches_the_caller(self):
        def fail(batch):
            raise ValueError(f"item {batch[0]}")

        for num_threads in (1, 2):
            runner = BatchRunner(num_threads)
            with pytest.raises(ValueError, match="item 0"):
                list(runner.run([fail, fail], [1, 1], 1, str))
