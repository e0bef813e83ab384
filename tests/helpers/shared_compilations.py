"""Compiled searches and updates that the tests of a process share.

To compile a search or an update takes one to three seconds of processor time,
and hundreds of tests load or train a model that has the architecture of an
earlier one. Only the compiled functions are shared. A model is still built and
filled as in a process of its own, and what it computes stays the same.
"""

import json

import numpy as np

from keras_transformer.bin.shared import command
from keras_transformer.data.vocabularies import Vocabularies
from keras_transformer.decoding.engines.compiled_search import Replica
from keras_transformer.search.ensemble import Ensemble
from keras_transformer.search.options import DecodeOptions
from keras_transformer.transformer import Transformer

# The most recent ones; each holds some megabytes of graphs.
MAX_SEARCHES, MAX_ENGINES = 60, 8


def share_searches(patch):
    """Makes models with equal weights share what searches and scores.

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
        for entry in compiled:
            # Tests change weights, so they are compared at each call.
            if entry[0] == key and have_equal_weights(entry[1], replica.model):
                break
        else:
            function = compile_function(replica, *arguments, **named)
            entry = key, replica.model, function
            compiled.append(entry)
            del compiled[:-MAX_SEARCHES]
        return entry[2]

    return compile_or_reuse


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
        # Imported here because the engine needs TensorFlow.
        from keras_transformer.engines.tensorflow_engine import TensorflowEngine

        self._free, self._busy = [], []  # pairs of a key and an engine
        build = TensorflowEngine.build

        def build_or_reuse(engine, *sizes):
            build(engine, *sizes)
            if type(engine) is TensorflowEngine and engine.num_replicas == 1:
                jit_compile = engine._gradients._jit_compile
                key = (engine.hparams, engine.precision, jit_compile, sizes)
                self._reuse(key, engine)

        call_main = command._call

        def call_and_release(*arguments):
            num_busy = len(self._busy)
            try:
                return call_main(*arguments)
            finally:
                self.release(num_busy)

        patch.setattr(TensorflowEngine, "build", build_or_reuse)
        patch.setattr(command, "_call", call_and_release)

    def release(self, start=0):
        """Frees the engines in use, from the number `start` on."""
        self._free += self._busy[start:]
        del self._busy[start:], self._free[:-MAX_ENGINES]

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
    return model.models if isinstance(model, Ensemble) else [model]


def describe(model):
    """Returns the architecture of a model, or None for one of a test."""
    models = list_models(model)
    if any(type(one) is not Transformer for one in models):
        return None
    return json.dumps([one.get_config() for one in models], default=str)


def have_equal_weights(one, other):
    """Compares models of the same architecture."""
    return one is other or all(
        np.array_equal(weight, twin)
        for model, equal in zip(list_models(one), list_models(other))
        for weight, twin in zip(model.weights, equal.weights, strict=True)
    )
