"""The backend of TensorFlow, for one device, all GPUs or several machines."""

import contextlib

import keras
import numpy as np
import tensorflow as tf
from tensorflow.python.client import device_lib
from tensorflow.python.distribute.values import PerReplicaSpec

from keras_transformer.data.batches.dataset import make_update_dataset
from keras_transformer.data.batches.dataset import make_update_spec
from keras_transformer.errors import UserError
from keras_transformer.files.machine import machine_bytes
from keras_transformer.files.machine import process_peak_bytes
from keras_transformer.training.backends import backend
from keras_transformer.training.backends.cluster import read_cluster
from keras_transformer.training.backends.objective import objective


class TensorflowBackend(backend.Backend):
    """Computes updates with TensorFlow, on several machines with `TF_CONFIG`.

    With 0 devices the backend uses all GPUs of the machine, or the processor if
    there is none. `xla` says whether to compile the forward and backward pass
    with XLA: "on", "off", or "auto", which means only on a GPU.
    """

    def __init__(self, hparams, precision="float32", num_devices=0, xla="auto"):
        self.strategy = make_strategy(num_devices)
        super().__init__(hparams, precision, self.strategy.num_replicas_in_sync)
        if precision == "float16" and self.num_replicas > 1:
            raise UserError(
                "`precision` must be float32 or bfloat16 on several devices. "
                f"Received: precision=float16, {self.num_replicas} devices. "
                "Use bfloat16, or KERAS_BACKEND=jax."
            )
        spec = make_update_spec((), "guidance" in self.parts)
        # XLA compiles for fixed shapes, so only this part uses it. The update
        # around it is traced once for each number of rounds, not each shape.
        self._gradients = tf.function(
            self._part_gradients,
            input_signature=[
                *(spec[name] for name in self.parts),
                spec["num_tokens"],
            ],
            autograph=False,
            jit_compile=xla == "on" or (xla == "auto" and list_gpus() != []),
        )
        self._updates = {}  # the compiled update for each number of rounds
        self._evaluate = tf.function(
            self._compute_token_sums,
            input_signature=[spec["inputs"]] * 2,
            autograph=False,
        )

    def build(self, vocab_size, input_vocab_size=None):
        too_large = backend.ModelTooLarge(self.hparams)
        with self._explain_errors(too_large), self.strategy.scope():
            self._make_model_and_optimizer(vocab_size, input_vocab_size)

    def broadcast_from_chief(self, number):
        if self.num_workers == 1:
            return number
        with self._explain_errors():
            # A variable begins with the chief's value everywhere.
            with self.strategy.scope():
                variable = tf.Variable(number, trainable=False, dtype=tf.int64)
            (value, *_) = self.strategy.experimental_local_results(variable)
            return int(value.numpy())

    def feed(self, batches, start=0):
        # The function makes the dataset of one worker. Its elements go to the
        # worker's replicas in turn. On a GPU they arrive ahead of their update.
        distributed = self.strategy.distribute_datasets_from_function(
            lambda context: make_update_dataset(batches, start)
        )
        iterator = iter(distributed)
        for _ in range(start, len(batches)):
            yield next(iterator)

    def update(self, batch, stop=False, rate=0.0):
        batch = {name: batch[name] for name in (*self.parts, "num_tokens")}
        # The pairs of an epoch decide its number of rounds.
        (seeds, *_) = self.strategy.experimental_local_results(batch["seeds"])
        num_rounds = len(seeds)
        if num_rounds not in self._updates:
            self._updates[num_rounds] = self._compile_update(num_rounds)
        with self._explain_errors():
            signals = np.float32([stop, rate])
            return self._updates[num_rounds](batch, signals)

    @contextlib.contextmanager
    def _explain_errors(self, too_large=None):
        """Raises our errors of memory and of lost workers for TensorFlow's."""
        try:
            yield
        except tf.errors.ResourceExhaustedError as error:
            raise too_large or backend.OutOfMemory(
                self.hparams.batch_tokens
            ) from error
        except LOST_WORKER as error:
            # A single process raises these errors for other reasons.
            if self.num_workers == 1:
                raise
            beginnings = ("Graph execution error", "Detected at node", "  File")
            reasons = (
                line
                for line in error.message.splitlines()
                if line.strip() and not line.startswith(beginnings)
            )
            raise backend.WorkerLost(next(reasons, "")) from error

    def evaluate(self, inputs, targets):
        with self._explain_errors():
            return self._evaluate(inputs, targets)

    def device_name(self):
        gpus = list_gpus()
        if not gpus:
            return ""
        details = tf.config.experimental.get_device_details(gpus[0])
        return details.get("device_name", "")

    def peak_bytes(self):
        if list_gpus():
            return tf.config.experimental.get_memory_info("GPU:0")["peak"]
        return process_peak_bytes()

    def memory_bytes(self):
        if not list_gpus():
            return machine_bytes()
        # `get_memory_info` does not report the limit.
        (limit, *_) = (
            device.memory_limit
            for device in device_lib.list_local_devices()
            if device.device_type == "GPU"
        )
        return limit

    def start_profile(self, directory):
        tf.profiler.experimental.start(directory)

    def stop_profile(self):
        tf.profiler.experimental.stop()

    def _adapt(self, optimizer):
        optimizer = FusedAdam.from_adam(optimizer)
        # Keras would sum the gradients over the replicas. They are summed
        # before, so that their norm is that of the whole batch.
        optimizer._all_reduce_sum_gradients = list
        return optimizer

    def _compile_update(self, num_rounds):
        """Returns the update of `num_rounds`, traced once for any shape."""
        # With one trace for each shape, the optimizations of a graph, and with
        # them the last bit of a weight, would depend on the earlier shapes. A
        # resumed run would then differ from an uninterrupted one.
        batch = make_update_spec((num_rounds,), "guidance" in self.parts)
        signals = tf.TensorSpec([2], tf.float32)
        if self.num_replicas > 1:
            # The strategy passes a value for each local replica.
            batch = tf.nest.map_structure(
                lambda spec: PerReplicaSpec(*[spec] * self.local_replicas),
                batch,
            )
        return tf.function(
            self._run, input_signature=[batch, signals], autograph=False
        )

    def _run(self, batch, signals):
        results = self.strategy.run(self._update_replica, args=(batch, signals))
        return tf.nest.map_structure(
            lambda value: self.strategy.experimental_local_results(value)[0],
            results,
        )

    def _update_replica(self, batch, signals):
        # Each round divides its loss by the tokens of the whole update. So the
        # sum over rounds and replicas is the gradient of the mean loss.
        arrays = [batch[name] for name in self.parts]
        num_tokens, num_rounds = batch["num_tokens"], arrays[0].shape[0]

        def add_round(i, sums):
            part = [array[i] for array in arrays]
            more = self._gradients(*part, num_tokens)
            return i + 1, tf.nest.map_structure(tf.add, sums, more)

        sums = self._gradients(*(array[0] for array in arrays), num_tokens)
        if num_rounds > 1:
            # A loop needs the memory for the activations of one round only, if
            # TensorFlow computes no later round meanwhile.
            _, sums = tf.while_loop(
                lambda i, _: i < num_rounds,
                add_round,
                (1, sums),
                parallel_iterations=1,
            )
        sums, gradients = sums
        if self.num_replicas > 1:
            context = tf.distribute.get_replica_context()
            # `identity`, because `all_reduce` needs tensors with a device.
            sums, signals, gradients = context.all_reduce(
                tf.distribute.ReduceOp.SUM,
                tf.nest.map_structure(tf.identity, (sums, signals, gradients)),
            )
        stop, rate = tf.unstack(signals / self.num_replicas)
        self._use_rate(rate)
        norm = tf.linalg.global_norm(gradients)
        # The gradients still have the scale of the loss.
        if self.precision == "float16":
            norm = norm / self.optimizer.dynamic_scale
        rate = self.optimizer.learning_rate  # of this update
        self.optimizer.apply(gradients, self.model.trainable_variables)
        metrics = {"gradient_norm": norm, "learning_rate": rate, "stop": stop}
        return {**sums, **metrics}

    def _part_gradients(self, *arguments):
        *parts, num_tokens = arguments
        weights = self.model.trainable_variables
        with tf.GradientTape() as tape:
            hparams, size = self.hparams.training, self.positions_at_once
            loss, sums = objective(self.model, hparams, size, *parts)
            loss = loss / num_tokens
            if self.precision == "float16":
                loss = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(loss, [weight.value for weight in weights])
        # The gradient of an embedding can be sparse. Sums need dense gradients.
        return sums, [tf.convert_to_tensor(g) for g in gradients]


class FusedAdam(keras.optimizers.Adam):
    """Computes the updates of Keras' Adam with TensorFlow's kernel for Adam.

    Keras composes an update of a dozen operations, each of which reads or
    writes all weights. For the base model on two cores this takes 140 ms, and
    55 ms with the kernel.
    """

    @classmethod
    def from_adam(cls, optimizer):
        """Returns the optimizer, or its fused copy if it is Keras' Adam."""
        if type(optimizer) is not keras.optimizers.Adam:
            return optimizer
        return cls.from_config(optimizer.get_config())

    def _backend_update_step(self, gradients, variables, learning_rate):
        # Keras counts an update once done; Adam's bias correction starts at 1.
        step = tf.cast(self.iterations.value + 1, tf.float32)
        # Computed once, not for each of the variables.
        factors = {
            "lr": tf.cast(learning_rate, tf.float32),
            "beta1_power": tf.pow(self.beta_1, step),
            "beta2_power": tf.pow(self.beta_2, step),
            "beta1": tf.constant(self.beta_1, tf.float32),
            "beta2": tf.constant(self.beta_2, tf.float32),
            "epsilon": tf.constant(self.epsilon, tf.float32),
        }
        super()._backend_update_step(gradients, variables, factors)

    def update_step(self, gradient, variable, factors):
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=self._momentums[index].value.handle,
            v=self._velocities[index].value.handle,
            grad=gradient,
            **factors,
        )


# TensorFlow raises one of these at once if another worker is killed, and after
# 10 seconds if it does not answer.
LOST_WORKER = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.UnavailableError,
)


def list_gpus():
    """Lists the GPUs of this machine that TensorFlow sees."""
    return tf.config.list_physical_devices("GPU")


def make_strategy(num_devices):
    """Makes the strategy that distributes updates over the devices.

    It uses `num_devices` of them, or all for 0.
    """
    gpus = list_gpus()
    for gpu in gpus:
        # Otherwise TensorFlow reserves the whole memory of each GPU.
        tf.config.experimental.set_memory_growth(gpu, True)
    if read_cluster().num_workers > 1:
        # At a lower level TensorFlow logs a line for each operation.
        tf.get_logger().setLevel("WARNING")
        # By itself TensorFlow would sum gradients of GPUs by gRPC.
        experimental = tf.distribute.experimental
        kinds = experimental.CommunicationImplementation
        return tf.distribute.MultiWorkerMirroredStrategy(
            communication_options=experimental.CommunicationOptions(
                implementation=kinds.NCCL if gpus else kinds.AUTO
            )
        )
    # Logical devices, so that tests can divide a processor into several.
    devices = [
        device.name
        for kind in ("GPU", "CPU")
        for device in tf.config.list_logical_devices(kind)
        if kind == "GPU" or not gpus
    ]
    devices = backend.select_devices(devices, num_devices, "TensorFlow")
    if len(devices) == 1:
        return tf.distribute.get_strategy()
    return tf.distribute.MirroredStrategy(devices)
