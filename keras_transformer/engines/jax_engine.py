"""The engine of JAX, for one device or all devices of the machine."""

import contextlib

import jax
import keras
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec

from keras_transformer.data.prefetch import prefetch
from keras_transformer.engines.engine import Engine
from keras_transformer.engines.engine import ModelTooLarge
from keras_transformer.engines.engine import OutOfMemory
from keras_transformer.engines.engine import select_devices
from keras_transformer.engines.memory import machine_bytes
from keras_transformer.engines.memory import process_peak_bytes
from keras_transformer.engines.objective import SUMS
from keras_transformer.engines.objective import objective
from keras_transformer.metrics import compute_token_sums

AXIS = "batch"  # the name that `DataParallel` gives to the axis
EVERYWHERE = PartitionSpec()
BY_ROW = PartitionSpec(AXIS)
BY_REPLICA = PartitionSpec(None, AXIS)  # the axis after that of the rounds


class JaxEngine(Engine):
    """Computes updates with JAX, on `num_devices` or with 0 on all devices.

    Every device holds all weights (`keras.distribution.DataParallel`), and an
    update is one compiled function. Each device sums the gradients of its
    rounds; the sums of all devices are added once. Later processes reuse the
    compiled functions in `cache_dir`, if one is given.

    After an update only the engine holds the newest values, and the memory of
    the variables has been reused. Call `synchronise` before you read the
    variables of the model or the optimizer.
    """

    def __init__(
        self, hparams, precision="float32", num_devices=0, cache_dir=None
    ):
        if cache_dir is not None:
            jax.config.update("jax_compilation_cache_dir", cache_dir)
        self.distribution = keras.distribution.DataParallel(
            devices=select_devices(
                keras.distribution.list_devices(), num_devices, "JAX"
            )
        )
        super().__init__(
            hparams, precision, self.distribution.num_model_replicas
        )
        self.mesh = self.distribution.device_mesh.backend_mesh
        self._tried = set()
        self._state = None

    def build(self, vocab_size, input_vocab_size=None):
        try:
            with self.distribution.scope():
                self._make_model_and_optimizer(vocab_size, input_vocab_size)
        except jax.errors.JaxRuntimeError as error:
            _raise_unless_memory(error)
            raise ModelTooLarge(self.hparams) from error
        self._gradients = self._on_each_device(
            self._add_rounds, [EVERYWHERE] * 3 + [BY_REPLICA]
        )
        self._update = jax.jit(
            self._apply_update,
            # The update reuses the memory of the old weights and moments.
            donate_argnums=0,
            out_shardings=NamedSharding(self.mesh, EVERYWHERE),
        )
        self._evaluate = jax.jit(
            self._on_each_device(
                self._token_sums, [EVERYWHERE] * 2 + [BY_ROW] * 2
            )
        )
        self.reload()

    def feed(self, batches, start=0):
        numbers = range(start, len(batches))
        return prefetch(batches[number] for number in numbers)

    def update(self, batch, stop=False):
        parts = {name: batch[name] for name in self.parts}
        shapes = tuple(part.shape for part in parts.values())
        parts = self._put(parts, BY_REPLICA)
        try:
            self._state, figures = self._update(
                self._state, self._fixed, parts, batch["num_tokens"]
            )
            # Updates run asynchronously. Waiting for the first one of each
            # shape raises the error of missing memory here.
            if shapes not in self._tried:
                jax.block_until_ready(figures)
                self._tried.add(shapes)
        except jax.errors.JaxRuntimeError as error:
            _raise_unless_memory(error)
            raise OutOfMemory(self.hparams.batch_tokens) from error
        # JAX trains on one machine, so nobody else can ask to stop.
        return {**figures, "stop": float(stop)}

    def evaluate(self, inputs, targets):
        # All devices need the same number of rows. Empty rows add nothing to
        # the sums.
        missing = -len(inputs) % self.num_replicas
        inputs, targets = (
            np.pad(ids, [(0, missing), (0, 0)]) for ids in (inputs, targets)
        )
        return self._evaluate(self._state[0], self._fixed, inputs, targets)

    def synchronise(self):
        for variables, values in zip(self._variables(), self._state):
            for variable, value in zip(variables, values, strict=True):
                variable.assign(value)

    def reload(self):
        state, fixed = self._variables(), self.model.non_trainable_variables
        self._state, self._fixed = self._put(
            jax.tree.map(lambda variable: variable.value, (state, fixed)),
            EVERYWHERE,
        )

    def device_name(self):
        return self.mesh.devices[0].device_kind

    def peak_bytes(self):
        statistics = self.mesh.devices[0].memory_stats() or {}
        return statistics.get("peak_bytes_in_use") or process_peak_bytes()

    def memory_bytes(self):
        statistics = self.mesh.devices[0].memory_stats() or {}
        return statistics.get("bytes_limit") or machine_bytes()

    def start_profile(self, directory):
        jax.profiler.start_trace(directory)

    def stop_profile(self):
        jax.profiler.stop_trace()

    def _variables(self):
        return self.model.trainable_variables, self.optimizer.variables

    def _put(self, arrays, spec):
        return jax.device_put(arrays, NamedSharding(self.mesh, spec))

    def _on_each_device(self, function, in_specs):
        """Makes each device run a function on its part of the arguments."""
        return jax.shard_map(
            function,
            mesh=self.mesh,
            in_specs=tuple(in_specs),
            out_specs=EVERYWHERE,
            # With the check, JAX would sum the gradients of each round over the
            # devices. `_add_rounds` sums them once.
            check_vma=False,
        )

    def _apply_update(self, state, fixed, parts, num_tokens):
        weights, moments = state
        scale = self._loss_scale(moments)
        sums, gradients = self._gradients(
            weights, fixed, scale / num_tokens, parts
        )
        squares = [jnp.sum(jnp.square(gradient)) for gradient in gradients]
        norm = jnp.sqrt(sum(squares)) / scale  # without the scale of the loss
        state = self.optimizer.stateless_apply(moments, gradients, weights)
        return state, {**sums, "gradient_norm": norm}

    def _loss_scale(self, moments):
        if self.precision != "float16":
            return 1.0
        # The optimizer reads its scale from a variable, which a pure function
        # replaces by an argument.
        mapping = list(zip(self.optimizer.variables, moments))
        with keras.StatelessScope(state_mapping=mapping):
            return self.optimizer.scale_loss(1.0)

    def _add_rounds(self, weights, fixed, factor, parts):
        """Adds up figures and gradients of the rounds and the devices."""
        # From (num_rounds, 1, rows, ...) to (num_rounds, rows, ...).
        mine = jax.tree.map(lambda part: part[:, 0], parts)
        loss_and_gradients = jax.value_and_grad(self._part_loss, has_aux=True)

        def add(sums, part):
            (_, figures), gradients = loss_and_gradients(
                weights, fixed, factor, part
            )
            return jax.tree.map(jnp.add, sums, (figures, gradients)), None

        zeros = (
            {name: jnp.zeros(()) for name in SUMS},
            jax.tree.map(jnp.zeros_like, weights),
        )
        is_one = len(mine["seeds"]) == 1  # one round needs no loop
        sums, _ = lax.scan(add, zeros, mine, unroll=is_one)
        return lax.psum(sums, AXIS)

    @contextlib.contextmanager
    def _model_with(self, weights, fixed):
        """Gives these values to the variables of the model in a context."""
        variables = (
            self.model.trainable_variables + self.model.non_trainable_variables
        )
        mapping = list(zip(variables, [*weights, *fixed], strict=True))
        with keras.StatelessScope(state_mapping=mapping):
            yield self.model

    def _part_loss(self, weights, fixed, factor, part):
        with self._model_with(weights, fixed) as model:
            loss, sums = objective(
                model,
                self.hparams.training,
                part["inputs"],
                part["targets"],
                part["seeds"],
                part["targets"].size,
                part.get("links"),
            )
        return loss * factor, sums

    def _token_sums(self, weights, fixed, inputs, targets):
        with self._model_with(weights, fixed) as model:
            logits = model(
                {"inputs": inputs, "targets": targets}, training=False
            )
            return lax.psum(compute_token_sums(targets, logits), AXIS)


def _raise_unless_memory(error):
    # JAX has one class for all errors of a device.
    if "RESOURCE_EXHAUSTED" not in str(error):
        raise error
