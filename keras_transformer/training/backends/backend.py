"""The common part of the backends of TensorFlow and JAX."""

import abc
import math

import keras

from keras_transformer.errors import UserError
from keras_transformer.metrics import compute_token_sums
from keras_transformer.optimizers import make_optimizer
from keras_transformer.runs.model import POLICIES
from keras_transformer.runs.model import build_transformer
from keras_transformer.training.backends.cluster import read_cluster

# The arrays of a batch that are divided among rounds and replicas.
PARTS = ("inputs", "targets", "seeds")


class Backend(abc.ABC):
    """Makes a model and its optimizer, and updates the model on batches.

    `TensorflowBackend` and `JaxBackend` define the abstract methods. An update
    is the same on any number of devices: losses and gradients are summed over
    all replicas and divided by the number of target tokens of the whole batch.
    `num_replicas` counts the devices of all workers of the `Cluster`.
    """

    compiles_each_shape = False  # whether each shape of a batch is compiled

    def __init__(self, hparams, precision, num_replicas):
        cluster = read_cluster()
        self.hparams = hparams
        self.precision = precision
        self.num_replicas = num_replicas
        self.num_workers = cluster.num_workers
        self.is_chief = cluster.worker == 0
        self.local_replicas = num_replicas // cluster.num_workers
        self.first_replica = cluster.worker * self.local_replicas
        # The names of the arrays of a batch that an update reads in parts.
        is_guided = hparams.guided_alignment or hparams.span_labels
        self.parts = (*PARTS, "guidance") if is_guided else PARTS
        # About how many positions per side a replica takes at once: its share
        # of an update, and at most `batch_tokens`. It depends on nothing but
        # the hyper-parameters and the number of replicas, so a resumed run
        # computes in the same chunks.
        update = hparams.effective_batch_tokens or hparams.batch_tokens
        share = math.ceil(update / num_replicas)
        self.positions_at_once = min(hparams.batch_tokens, share)
        self.model = None
        self.optimizer = None

    @abc.abstractmethod
    def build(self, vocab_size, input_vocab_size=None):
        """Makes the model and the optimizer on all devices.

        Raises `ModelTooLarge` if they do not fit into the memory of a device.
        """

    @abc.abstractmethod
    def feed(self, batches, start=0):
        """Yields the batches of an epoch, made ahead of their updates.

        The first one is the batch of the number `start` of an `UpdateBatches`.
        """

    @abc.abstractmethod
    def update(self, batch, stop=False, rate=0.0):
        """Updates the weights with the gradient of a batch that `feed` yields.

        With the hparam `train_minutes`, the learning rate is the mean `rate` of
        all workers. Returns the metrics of the update, which may not be
        computed yet; `read_metrics` waits for them.

        Raises `WorkerLost` if a worker no longer answers, and `OutOfMemory` if
        the batch does not fit into memory. With JAX the weights are then lost:
        call `build` again, or assign values and call `reload`.
        """

    def read_metrics(self, metrics):
        """Waits for an update; returns its metrics, floats by name.

        They are the `SUMS` of the objective, `gradient_norm`, `learning_rate`,
        and `stop`, the share of the workers that ask to stop. The norm is not
        finite if float16 overflowed; the optimizer skips such an update, and
        its schedule waits. Raises `WorkerLost`.
        """
        return {name: float(value) for name, value in metrics.items()}

    @abc.abstractmethod
    def evaluate(self, inputs, targets):
        """Returns the three `compute_token_sums` of a batch, without an update.

        The ids have the shapes `(batch, input_len)` and `(batch, target_len)`
        and are padded with 0. Each worker computes its own.
        """

    @abc.abstractmethod
    def device_name(self):
        """Returns the driver's name of the first device.

        On a processor it is "cpu" with JAX, and "" with TensorFlow.
        """

    @abc.abstractmethod
    def peak_bytes(self):
        """Returns the peak use of memory, of a device or of this process."""

    @abc.abstractmethod
    def memory_bytes(self):
        """Returns the memory of a device, or else of the machine."""

    @abc.abstractmethod
    def start_profile(self, directory):
        """Starts to record what the devices do, for TensorBoard."""

    @abc.abstractmethod
    def stop_profile(self):
        """Ends the recording."""

    def broadcast_from_chief(self, number):
        """Returns the integer that the chief passes, on each worker."""
        return number

    def wait_for_workers(self):
        """Waits until all workers have called this."""

    def synchronise(self):
        """Gives the newest values to the variables of model and optimizer."""

    def reload(self):
        """Takes over the values that were assigned to the variables."""

    def _make_model_and_optimizer(self, vocab_size, input_vocab_size):
        self.model = build_transformer(
            self.hparams.model,
            vocab_size,
            POLICIES[self.precision],
            input_vocab_size,
        )
        if self.hparams.lora_rank:
            self.model.enable_lora(
                self.hparams.lora_rank, self.hparams.lora_alpha or None
            )
        self.optimizer = self._adapt(make_optimizer(self.hparams))
        # Without a larger loss, small gradients would be 0 in float16.
        if self.precision == "float16":
            self.optimizer = keras.optimizers.LossScaleOptimizer(self.optimizer)
        self.optimizer.build(self.model.trainable_variables)

    def _compute_token_sums(self, inputs, targets):
        features = {"inputs": inputs, "targets": targets}
        logits = self.model(features, training=False)
        return compute_token_sums(targets, logits)

    def _use_rate(self, rate):
        """Makes the update that is being compiled use a rate by the clock."""
        if self.hparams.train_minutes:
            self.optimizer.learning_rate = lambda: rate

    def _adapt(self, optimizer):
        """Returns the optimizer that the backend uses in place of Keras'."""
        return optimizer


def select_devices(devices, num_devices, backend):
    """Returns the names of the first `num_devices` devices, or of all for 0."""
    if num_devices > len(devices):
        raise UserError(
            "`worker_gpu` must be at most the number of devices. Received: "
            f"worker_gpu={num_devices}, and {backend} sees {len(devices)}: "
            f"{', '.join(devices)}. Use 0 for all of them."
        )
    return devices[: num_devices or None]


class OutOfMemory(UserError):
    """A batch does not fit into the memory of a device."""

    def __init__(self, batch_tokens):
        super().__init__(
            f"Out of memory on a device with batch_tokens={batch_tokens}. "
            "Lower it with --batch_tokens, or use --batch_tokens=auto. With "
            "--effective_batch_tokens the update remains the same."
        )


class ModelTooLarge(UserError):
    """A model does not fit into the memory of a device."""

    def __init__(self, hparams):
        super().__init__(
            "Out of memory: a device has no room for the model and its "
            f"optimizer with d_model={hparams.d_model}, d_ff={hparams.d_ff}, "
            f"num_layers={hparams.num_layers}, "
            f"num_decoder_layers={hparams.decoder_depth}, "
            f"max_length={hparams.max_length}, optimizer={hparams.optimizer}. "
            "Lower one of the sizes, or use optimizer=adafactor."
        )


class WorkerLost(UserError):
    """Another machine of the training run no longer answers."""

    def __init__(self, reason):
        super().__init__(
            "Another worker no longer answers"
            f"{': ' + reason.splitlines()[0] if reason else ''}. Start all "
            "workers again with the same command. They continue from the "
            "newest checkpoint."
        )
