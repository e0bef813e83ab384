"""`model.fit` on two devices of `tf.distribute` learns as on one."""

import json
import subprocess
import sys

import keras
import pytest
from processes import environment

SCRIPT = """
import json
from keras_transformer.bin.shared.backend import load_backend

load_backend()

import keras
import numpy as np
import tensorflow as tf

cpus = tf.config.list_physical_devices("CPU")
devices = [tf.config.LogicalDeviceConfiguration()] * 2
tf.config.set_logical_device_configuration(cpus[0], devices)

from keras_transformer.losses import SmoothedCrossEntropy

ids = np.random.default_rng(0).integers(1, 20, (8, 5))
results = []
for strategy in (
    tf.distribute.get_strategy(),
    tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]),
):
    with strategy.scope():
        keras.utils.set_random_seed(1)
        layers = [keras.layers.Embedding(20, 8), keras.layers.Dense(20)]
        model = keras.Sequential(layers)
        optimizer = keras.optimizers.SGD(1.0)
        # To compile with XLA would take most of the time.
        model.compile(optimizer, SmoothedCrossEntropy(), jit_compile=False)
    history = model.fit(ids, ids, epochs=3, verbose=0, shuffle=False)
    results.append(history.history["loss"])
print(json.dumps(results))
"""


@pytest.mark.slow  # updates of several devices are compared anyway
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="needs tf.distribute"
)
def test_two_devices_have_the_losses_of_one():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment(__file__),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    one, two = json.loads(done.stdout.splitlines()[-1])
    assert one == pytest.approx(two, rel=1e-5)
    assert one[-1] < one[0]
