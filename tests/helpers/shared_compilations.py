"""Compiled searches and updates that the tests of a process share.

To compile a search or an update takes one to three seconds of processor time,
and hundreds of tests load or train a model that has the architecture of an
earlier one. Only the compiled functions are shared. A model is still built and
filled as in a process of its own, and what it computes stays the same.
"""

import dataclasses
import functools
import gc
import json
import threading

import numpy as np

from keras_transformer.bin.shared import command
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.engines.compiled_search import Replica
from keras_transformer.layers.transformer import Transformer
from keras_transformer.parsing.parsing_transformer import ParsingTransformer
from keras_transformer.search.options import DecodeOptions

# The most recent ones; a search holds 40 MiB of graphs.
MAX_SEARCHES, MAX_ENGINES = 6, 3
MAX_FORGOTTEN = 12  # custom gradients, until a collection frees their graphs
# Hyper-parameters that no compiled update or evaluation depends on.
UNCOMPILED = {
    "beam_size": 4,
    "alpha": 0.6,
    "extra_length": 50,
    "train_steps": 1,
}
ARCHITECTURES = (Transformer, ParsingTransformer)
ONE_CALL = threading.RLock()


def share_searches(patch):
    """Makes models of the same architecture share what searches and scores.

    Args:
        patch: A `pytest.MonkeyPatch`.
    """
    for name in ("search", "get_scorer"):
        patch.setattr(Replica, name, share(getattr(Replica, name)))


def share(compile_function):
    """Returns a method of `Replica` that compiles less often than another."""
    compiled = []  # triples of a key, a model and its function

    def compile_or_reuse(replica, *arguments, **named):
        architecture = describe(replica.model)
        if not architecture:
            return compile_function(replica, *arguments, **named)
        settings = [*map(simplify, arguments), named]
        key = (architecture, replica._device, settings)
        with ONE_CALL:
            for entry in compiled:
                if entry[0] == key:
                    compiled.remove(entry)
                    break
            else:
                function = compile_function(replica, *arguments, **named)
                entry = (key, replica.model, function)
            compiled.append(entry)
            del compiled[:-MAX_SEARCHES]
        _, owner, function = entry
        return functools.partial(call_for, replica.model, owner, function)

    return compile_or_reuse


def call_for(model, owner, function, *arrays, **named):
    """Calls a function that was compiled for a model of equal architecture.

    Meanwhile its owner has the weights that the model has at this call.
    """
    with ONE_CALL:
        if model is owner:
            return function(*arrays, **named)
        own, values = read_weights(owner), read_weights(model)
        assign(owner, values)
        try:
            return function(*arrays, **named)
        finally:
            assign(owner, own)


def read_weights(model):
    return [np.array(w) for one in list_models(model) for w in one.weights]


def assign(model, values):
    weights = [weight for one in list_models(model) for weight in one.weights]
    for weight, value in zip(weights, values, strict=True):
        weight.assign(value)


def simplify(argument):
    """Returns what of an argument decides on the compiled function."""
    if isinstance(argument, DecodeOptions):
        return argument.replace(extra_length=0)
    if isinstance(argument, Vocabularies):
        # A vocabulary of a test has no hash, and its class has one content.
        return [getattr(one, "sha256", type(one)) for one in argument]
    return argument


class EngineSharing:
    """Lets engines of the same hyper-parameters share their compilations.

    An engine is free for another one when the command or the test that made it
    has ended.

    Args:
        patch: A `pytest.MonkeyPatch`.
    """

    def __init__(self, patch):
        self._num_forgotten = 0
        # Imported here because the engine needs TensorFlow.
        from keras_transformer.training.backends.tensorflow_backend import (
            TensorflowBackend,
        )

        self._free, self._busy = [], []  # pairs of a key and an engine
        build = TensorflowBackend.build

        def build_or_reuse(engine, *sizes):
            build(engine, *sizes)
            if type(engine) is TensorflowBackend and engine.num_replicas == 1:
                jit_compile = engine._gradients._jit_compile
                hparams = dataclasses.replace(engine.hparams, **UNCOMPILED)
                key = (hparams, engine.precision, jit_compile, sizes)
                self._reuse(key, engine)

        call_main = command._call

        def call_and_release(*arguments):
            num_busy = len(self._busy)
            try:
                return call_main(*arguments)
            finally:
                self.release(num_busy)

        patch.setattr(TensorflowBackend, "build", build_or_reuse)
        patch.setattr(command, "_call", call_and_release)

    def release(self, start=0):
        """Frees the engines in use, from the number `start` on."""
        self._free += self._busy[start:]
        del self._busy[start:], self._free[:-MAX_ENGINES]

    def forget_gradients(self):
        """Lets the memory of graphs be freed that no test uses any more.

        TensorFlow keeps the gradient of each custom gradient that it traces
        until the process ends, and with it the graph of an update. A graph that
        was differentiated needs it no longer.
        """
        from tensorflow.python.framework import ops

        gradients = ops.gradient_registry._registry
        for name in list(gradients):
            if name.startswith("CustomGradient-"):
                del gradients[name]
                self._num_forgotten += 1
        if self._num_forgotten > MAX_FORGOTTEN:
            self._num_forgotten = 0
            gc.collect()

    def _reuse(self, key, engine):
        for entry in self._free:
            if entry[0] == key:
                self._free.remove(entry)
                adopt(engine, entry[1])
                break
        self._busy.append((key, engine))


def adopt(engine, earlier):
    """Gives an engine the model and the functions of an earlier one.

    The variables get the values that those of the new engine have.
    """
    for part in ("model", "optimizer"):
        ours, theirs = getattr(engine, part), getattr(earlier, part)
        for own, other in zip(ours.variables, theirs.variables, strict=True):
            other.assign(own)
    for name in ("model", "optimizer", "_gradients", "_updates", "_evaluate"):
        setattr(engine, name, getattr(earlier, name))


def list_models(model):
    return model.list_models() if hasattr(model, "list_models") else [model]


def describe(model):
    """Returns the architecture of a model, or None for one of a test."""
    models = list_models(model)
    if any(type(one) not in ARCHITECTURES for one in models):
        return None
    classes = [type(one).__name__ for one in models]
    # A model may occur twice in an ensemble.
    places = [models.index(one) for one in models]
    configs = [one.get_config() for one in models]
    return json.dumps([places, classes, configs], default=str)
