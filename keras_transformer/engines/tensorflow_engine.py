"""The engine of TensorFlow, for one device, all GPUs or several machines."""

import numpy as np
import tensorflow as tf
from tensorflow.python.client import device_lib

from keras_transformer.engines.cluster import read_cluster
from keras_transformer.engines.engine import Engine
from keras_transformer.engines.errors import ModelTooLarge
from keras_transformer.engines.errors import OutOfMemory
from keras_transformer.engines.errors import WorkerLost
from keras_transformer.engines.fused_adam import FusedAdam
from keras_transformer.engines.memory import machine_bytes
from keras_transformer.engines.memory import process_peak_bytes
from keras_transformer.engines.objective import objective
from keras_transformer.engines.tensorflow_devices import LOST_WORKER
from keras_transformer.engines.tensorflow_devices import first_reason
from keras_transformer.engines.tensorflow_devices import list_gpus
from keras_transformer.engines.tensorflow_devices import make_strategy
from keras_transformer.metrics import compute_token_sums

IDS = tf.TensorSpec((None, None), tf.int32)
# One part of each array that an update reads in parts.
SPECS = {
    "inputs": IDS,
    "targets": IDS,
    "seeds": tf.TensorSpec((None,), tf.int32),
    "links": tf.TensorSpec((None, None, None), tf.bool),
}


class TensorflowEngine(Engine):
    """Computes updates with TensorFlow.

    The engine uses all GPUs of the machine, or the processor if there is none.
    With the environment variable `TF_CONFIG` it uses several machines.

    Args:
        hparams: `HParams` of the model and its training.
        precision: "float32", "bfloat16" or "float16". Defaults to "float32".
        num_devices: Number of devices to use; 0 means all. Defaults to 0.
        xla: Whether to compile the forward and backward pass with XLA: "on",
            "off", or "auto", which means only on a GPU. Defaults to "auto".
    """

    def __init__(self, hparams, precision="float32", num_devices=0, xla="auto"):
        self.strategy = make_strategy(num_devices)
        num_replicas = self.strategy.num_replicas_in_sync
        super().__init__(hparams, precision, num_replicas, *read_cluster())
        if precision == "float16" and self.num_replicas > 1:
            raise ValueError(
                "`precision` must be float32 or bfloat16 on several devices. "
                f"Received: precision=float16, {self.num_replicas} devices. "
                "Use bfloat16, or KERAS_BACKEND=jax."
            )
        # XLA compiles for fixed shapes, so only this part uses it. The update
        # around it is traced once for each number of rounds, not each shape.
        self._gradients = tf.function(
            self._part_gradients,
            input_signature=[
                *(SPECS[name] for name in self.parts),
                tf.TensorSpec((), tf.float32),
            ],
            autograph=False,
            jit_compile=xla == "on" or (xla == "auto" and list_gpus() != []),
        )
        self._updates = {}  # the compiled update for each number of rounds
        self._evaluate = tf.function(
            self._token_sums, input_signature=[IDS] * 2, autograph=False
        )

    def build(self, vocab_size, input_vocab_size=None):
        try:
            with self.strategy.scope():
                self._make_model_and_optimizer(vocab_size, input_vocab_size)
        except tf.errors.ResourceExhaustedError as error:
            raise ModelTooLarge(self.hparams) from error
        except LOST_WORKER as error:
            raise self._lost(error) from error

    def of_chief(self, number):
        if self.num_workers == 1:
            return number
        try:
            # A variable begins with the chief's value everywhere.
            with self.strategy.scope():
                variable = tf.Variable(number, trainable=False, dtype=tf.int64)
            (value, *_) = self.strategy.experimental_local_results(variable)
            return int(value.numpy())
        except LOST_WORKER as error:
            raise self._lost(error) from error

    def update(self, batch, stop=False):
        # One (num_rounds, rows, ...) array of each kind for each local replica.
        parts = [
            tuple(batch[name][:, replica] for name in self.parts)
            for replica in range(self.local_replicas)
        ]
        # The pairs of an epoch decide on its number of rounds.
        num_rounds = len(batch["seeds"])
        if num_rounds not in self._updates:
            self._updates[num_rounds] = self._compiled_update(num_rounds)
        update = self._updates[num_rounds]
        try:
            return update(parts, batch["num_tokens"], np.float32(stop))
        except tf.errors.ResourceExhaustedError as error:
            raise OutOfMemory(self.hparams.batch_tokens) from error
        except LOST_WORKER as error:
            raise self._lost(error) from error

    def _lost(self, error):
        """Returns what to raise in the place of an error of `LOST_WORKER`."""
        # A single process raises these errors for other reasons.
        if self.num_workers == 1:
            return error
        return WorkerLost(first_reason(error))

    def evaluate(self, inputs, targets):
        try:
            return self._evaluate(inputs, targets)
        except tf.errors.ResourceExhaustedError as error:
            raise OutOfMemory(self.hparams.batch_tokens) from error

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
        optimizer = FusedAdam.instead_of(optimizer)
        # Keras would sum the gradients over the replicas. They are summed
        # before, so that their norm is that of the whole batch.
        optimizer._all_reduce_sum_gradients = list
        return optimizer

    def _compiled_update(self, num_rounds):
        """Returns the update for a number of rounds, traced once for any shape.

        With one trace for each shape, the optimizations of a graph, and with
        them the last bit of a weight, would depend on the earlier shapes. A
        resumed run would then differ from an uninterrupted one.
        """
        part = tuple(
            tf.TensorSpec((num_rounds, *SPECS[name].shape), SPECS[name].dtype)
            for name in self.parts
        )
        scalar = tf.TensorSpec((), tf.float32)
        return tf.function(
            self._run,
            input_signature=[[part] * self.local_replicas, scalar, scalar],
            autograph=False,
        )

    def _run(self, parts, num_tokens, stop):
        """Updates on all replicas; the first one of a worker asks to stop."""
        # The sum over all replicas then counts each worker once.
        asks = [stop, *[tf.zeros_like(stop)] * (len(parts) - 1)]
        arguments = [(*part, num_tokens, ask) for part, ask in zip(parts, asks)]
        results = self.strategy.run(
            self._update_replica, args=self._distributed(arguments)
        )
        return tf.nest.map_structure(
            lambda value: self.strategy.experimental_local_results(value)[0],
            results,
        )

    def _distributed(self, arguments):
        """Distributes the arguments of each local replica to its device."""
        if self.num_replicas == 1:
            return arguments[0]
        first = self.first_replica
        return [
            self.strategy.experimental_distribute_values_from_function(
                lambda context, values=values: values[
                    context.replica_id_in_sync_group - first
                ]
            )
            for values in zip(*arguments)
        ]

    def _update_replica(self, *arguments):
        *part, num_tokens, stop = arguments
        sums, gradients = self._accumulate(part, num_tokens)
        if self.num_replicas > 1:
            context = tf.distribute.get_replica_context()
            # `identity`, because `all_reduce` needs tensors with a device.
            sums, stop, gradients = context.all_reduce(
                tf.distribute.ReduceOp.SUM,
                tf.nest.map_structure(tf.identity, (sums, stop, gradients)),
            )
        norm = tf.linalg.global_norm(gradients)
        # The gradients still have the scale of the loss.
        if self.precision == "float16":
            norm = norm / self.optimizer.dynamic_scale
        self.optimizer.apply(gradients, self.model.trainable_variables)
        return {**sums, "gradient_norm": norm, "stop": stop}

    def _accumulate(self, part, num_tokens):
        """Adds up figures and gradients of the rounds, the first axis."""

        def of_round(i):
            return self._gradients(*(array[i] for array in part), num_tokens)

        num_rounds = part[0].shape[0]
        sums = of_round(0)
        if num_rounds == 1:
            return sums

        def add(i, sums):
            return i + 1, tf.nest.map_structure(tf.add, sums, of_round(i))

        # A loop needs the memory for the activations of one round only.
        return tf.while_loop(lambda i, sums: i < num_rounds, add, (1, sums))[1]

    def _part_gradients(self, *arguments):
        inputs, targets, seeds, *links, num_tokens = arguments
        weights = self.model.trainable_variables
        with tf.GradientTape() as tape:
            loss, sums = objective(
                self.model,
                self.hparams.training,
                inputs,
                targets,
                seeds,
                self.positions_at_once(),
                *links,
            )
            loss = loss / num_tokens
            if self.precision == "float16":
                loss = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(loss, [weight.value for weight in weights])
        # The gradient of an embedding can be sparse. Sums need dense gradients.
        return sums, [tf.convert_to_tensor(g) for g in gradients]

    def _token_sums(self, inputs, targets):
        logits = self.model(
            {"inputs": inputs, "targets": targets}, training=False
        )
        return compute_token_sums(targets, logits)
