"""The backend of JAX, for one device, all devices or several machines."""

import atexit
import contextlib
import os
import sys

import jax
import keras
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental import multihost_utils
from jax.sharding import Mesh
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec

from keras_transformer.data.batches.prefetch import prefetch
from keras_transformer.files.machine import machine_bytes
from keras_transformer.files.machine import process_peak_bytes
from keras_transformer.files.quiet import silence
from keras_transformer.training.backends import backend
from keras_transformer.training.backends.cluster import read_cluster
from keras_transformer.training.backends.objective import SUMS
from keras_transformer.training.backends.objective import objective

AXIS = "batch"  # the name that `DataParallel` gives to the axis
EVERYWHERE = PartitionSpec()
BY_ROW = PartitionSpec(AXIS)
BY_REPLICA = PartitionSpec(None, AXIS)  # the axis after the rounds
SECONDS_TO_ANSWER = 30  # after which a silent worker counts as lost
# JAX has no separate class for a broken connection. These begin its messages,
# or name the library that sums over machines.
_LOST_WORKER = ("ABORTED", "CANCELLED", "DEADLINE_EXCEEDED", "UNAVAILABLE")
_LOST_WORKER += ("Gloo", "NCCL")


class JaxBackend(backend.Backend):
    """Computes updates with JAX, on several machines with `TF_CONFIG`.

    It uses `num_devices`, or with 0 all devices of the machine. Every device
    holds all weights (`keras.distribution.DataParallel`), and an update is one
    compiled function. Each device sums the gradients of its rounds; the sums of
    all devices are added once.

    The variables of the model, and an evaluation, are on the devices of this
    worker alone. The arrays of an update are on the devices of all workers, and
    share their memory with the variables.

    After an update only the backend holds the newest values, and the memory of
    the variables has been reused. Call `synchronise` before you read the
    variables of the model or the optimizer.
    """

    compiles_each_shape = True

    def __init__(self, hparams, precision="float32", num_devices=0):
        cluster = read_cluster()
        devices = [
            f"{device.platform}:{device.id}" for device in connect_workers()
        ]
        if cluster.num_workers == 1:
            devices = backend.select_devices(devices, num_devices, "JAX")
        self.distribution = keras.distribution.DataParallel(devices=devices)
        num_replicas = cluster.num_workers * len(devices)
        super().__init__(hparams, precision, num_replicas)
        self.local_mesh = self.distribution.device_mesh.backend_mesh
        self.mesh = self.local_mesh
        if cluster.num_workers > 1:
            self.mesh = Mesh(np.array(jax.devices()), [AXIS])
        self._tried = set()
        self._state = None

    def build(self, vocab_size, input_vocab_size=None):
        too_large = backend.ModelTooLarge(self.hparams)
        with self._explain_errors(too_large), self.distribution.scope():
            self._make_model_and_optimizer(vocab_size, input_vocab_size)
            if self.num_workers > 1:
                self._take_over_from_chief(self.model.variables)
        self._gradients = self._on_each_device(
            self._add_rounds, self.mesh, [EVERYWHERE] * 3 + [BY_REPLICA]
        )
        self._update = jax.jit(
            self._apply_update,
            # The update reuses the memory of the old weights and moments.
            donate_argnums=0,
            out_shardings=NamedSharding(self.mesh, EVERYWHERE),
            compiler_options=_choose_compiler_options(),
        )
        self._evaluate = jax.jit(
            self._on_each_device(
                self._token_sums,
                self.local_mesh,
                [EVERYWHERE] * 2 + [BY_ROW] * 2,
            )
        )
        self.reload()

    def feed(self, batches, start=0):
        numbers = range(start, len(batches))
        return prefetch(batches[number] for number in numbers)

    def update(self, batch, stop=False, rate=0.0):
        parts = {name: batch[name] for name in self.parts}
        shapes = tuple(part.shape for part in parts.values())
        # Each replica passes on what its worker asks for.
        signals = np.float32([[stop, rate]] * self.local_replicas).T
        sharding = NamedSharding(self.mesh, BY_REPLICA)
        parts, signals = jax.tree.map(
            lambda part: jax.make_array_from_process_local_data(sharding, part),
            (parts, signals),
        )
        with self._explain_errors():
            self._state, metrics = self._update(
                self._state, self._fixed, parts, batch["num_tokens"], signals
            )
            # Updates run asynchronously. Waiting for the first one of each
            # shape raises the error of missing memory here.
            if shapes not in self._tried:
                jax.block_until_ready(metrics)
                self._tried.add(shapes)
        return metrics

    def read_metrics(self, metrics):
        with self._explain_errors():
            return super().read_metrics(metrics)

    def broadcast_from_chief(self, number):
        with self._explain_errors():
            return int(multihost_utils.broadcast_one_to_all(np.int32(number)))

    def wait_for_workers(self):
        # JAX ends all workers if one leaves long before the others.
        self.broadcast_from_chief(0)

    def evaluate(self, inputs, targets):
        # All devices need the same number of rows. Empty rows add nothing to
        # the sums.
        missing = -len(inputs) % self.local_replicas
        inputs, targets = (
            np.pad(ids, [(0, missing), (0, 0)]) for ids in (inputs, targets)
        )
        weights, fixed = self._share(
            (self._state[0], self._fixed), self.local_mesh
        )
        return self._evaluate(weights, fixed, inputs, targets)

    def synchronise(self):
        state = self._share(self._state, self.local_mesh)
        for variables, values in zip(self._variables(), state):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(value)

    def reload(self):
        state, fixed = self._variables(), self.model.non_trainable_variables
        values = jax.device_put(
            jax.tree.map(lambda variable: variable.value, (state, fixed)),
            NamedSharding(self.local_mesh, EVERYWHERE),
        )
        self._state, self._fixed = self._share(values, self.mesh)

    def device_name(self):
        return self.local_mesh.devices[0].device_kind

    def peak_bytes(self):
        statistics = self.local_mesh.devices[0].memory_stats() or {}
        return statistics.get("peak_bytes_in_use") or process_peak_bytes()

    def memory_bytes(self):
        statistics = self.local_mesh.devices[0].memory_stats() or {}
        return statistics.get("bytes_limit") or machine_bytes()

    def start_profile(self, directory):
        jax.profiler.start_trace(directory)

    def stop_profile(self):
        jax.profiler.stop_trace()

    def _variables(self):
        return self.model.trainable_variables, self.optimizer.variables

    def _share(self, arrays, mesh):
        """Returns the arrays on another mesh, without copying them.

        Each device of this worker holds them whole.
        """
        if self.num_workers == 1:
            return arrays
        sharding = NamedSharding(mesh, EVERYWHERE)
        return jax.tree.map(
            lambda array: jax.make_array_from_single_device_arrays(
                array.shape,
                sharding,
                [shard.data for shard in array.addressable_shards],
            ),
            arrays,
        )

    def _take_over_from_chief(self, variables):
        # Unlike machines may round the first weights of a seed differently.
        values = multihost_utils.broadcast_one_to_all(
            [variable.value for variable in variables]
        )
        for variable, value in zip(variables, values):
            variable.assign(value)

    @contextlib.contextmanager
    def _explain_errors(self, too_large=None):
        """Raises our errors of memory and of lost workers for JAX's."""
        try:
            yield
        # JAX has one class for all errors of a device. Gloo's are a ValueError.
        except (jax.errors.JaxRuntimeError, ValueError) as error:
            if "RESOURCE_EXHAUSTED" in str(error):
                raise too_large or backend.OutOfMemory(
                    self.hparams.batch_tokens
                ) from error
            is_lost = any(word in str(error) for word in _LOST_WORKER)
            if self.num_workers == 1 or not is_lost:
                raise
            # On exit, JAX would wait for the lost worker and then abort.
            atexit.register(_end_process)
            raise backend.WorkerLost(str(error)) from error

    def _on_each_device(self, function, mesh, in_specs):
        """Makes each device run a function on its part of the arguments."""
        return jax.shard_map(
            function,
            mesh=mesh,
            in_specs=tuple(in_specs),
            out_specs=EVERYWHERE,
            # With the check, JAX would sum the gradients of each round over the
            # devices. `_add_rounds` sums them once.
            check_vma=False,
        )

    def _apply_update(self, state, fixed, parts, num_tokens, signals):
        weights, moments = state
        stop, rate = jnp.mean(signals, axis=1)
        self._use_rate(rate)
        scale, rate = self._loss_scale_and_rate(moments)
        sums, gradients = self._gradients(
            weights, fixed, scale / num_tokens, parts
        )
        squares = [jnp.sum(jnp.square(gradient)) for gradient in gradients]
        norm = jnp.sqrt(sum(squares)) / scale  # without the scale of the loss
        state = self.optimizer.stateless_apply(moments, gradients, weights)
        metrics = {"gradient_norm": norm, "learning_rate": rate, "stop": stop}
        return state, {**sums, **metrics}

    def _loss_scale_and_rate(self, moments):
        # The optimizer reads them from variables, which a pure function
        # replaces by arguments.
        mapping = list(zip(self.optimizer.variables, moments))
        with keras.StatelessScope(state_mapping=mapping):
            is_scaled = self.precision == "float16"
            scale = self.optimizer.scale_loss(1.0) if is_scaled else 1.0
            return scale, self.optimizer.learning_rate

    def _add_rounds(self, weights, fixed, factor, parts):
        """Adds up metrics and gradients of the rounds and the devices."""
        # From (num_rounds, 1, rows, ...) to (num_rounds, rows, ...).
        mine = jax.tree.map(lambda part: part[:, 0], parts)
        loss_and_gradients = jax.value_and_grad(self._part_loss, has_aux=True)

        def add(sums, part):
            (_, metrics), gradients = loss_and_gradients(
                weights, fixed, factor, part
            )
            return jax.tree.map(jnp.add, sums, (metrics, gradients)), None

        zeros = (
            {name: jnp.zeros(()) for name in SUMS},
            jax.tree.map(jnp.zeros_like, weights),
        )
        is_one = len(mine["seeds"]) == 1  # one round needs no loop
        sums, _ = lax.scan(add, zeros, mine, unroll=is_one)
        return lax.psum(sums, AXIS)

    def _set_values(self, weights, fixed):
        """Returns a scope that gives these values to the model's variables."""
        model, values = self.model, [*weights, *fixed]
        variables = model.trainable_variables + model.non_trainable_variables
        mapping = list(zip(variables, values, strict=True))
        return keras.StatelessScope(state_mapping=mapping)

    def _part_loss(self, weights, fixed, factor, part):
        arrays = [part[name] for name in self.parts]
        with self._set_values(weights, fixed):
            hparams, size = self.hparams.training, part["targets"].size
            loss, sums = objective(self.model, hparams, size, *arrays)
        return loss * factor, sums

    def _token_sums(self, weights, fixed, inputs, targets):
        with self._set_values(weights, fixed):
            return lax.psum(self._compute_token_sums(inputs, targets), AXIS)


def connect_workers():
    """Joins the cluster of `TF_CONFIG`; returns the devices of this process.

    It must come before JAX computes anything.
    """
    cluster = read_cluster()
    if cluster.num_workers > 1 and not jax.distributed.is_initialized():
        jax.distributed.initialize(
            cluster.chief_address,
            cluster.num_workers,
            cluster.worker,
            cluster_detection_method="deactivate",
            heartbeat_timeout_seconds=SECONDS_TO_ANSWER,
            shutdown_timeout_seconds=SECONDS_TO_ANSWER,
        )
        # Gloo reports its connections on standard output, which is for results.
        with silence(1):  # standard output
            multihost_utils.sync_global_devices("start")
    return jax.local_devices()


def _choose_compiler_options():
    # On a processor, XLA would fuse each residual sum with all earlier ones.
    # A deep model then takes twice as long to compile, and its updates are no
    # faster.
    is_processor = jax.default_backend() == "cpu"
    return {"xla_disable_hlo_passes": "fusion"} if is_processor else None


def _end_process():
    sys.stdout.flush()
    os._exit(2)  # the status of a command after a `UserError`
