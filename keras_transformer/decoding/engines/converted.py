"""Models of CTranslate2 that are made from the checkpoints of runs."""

import contextlib
import sys

from keras_transformer.runs.weights import read_weights


def convert_run(run, step, directory, quantization="float32"):
    """Writes a checkpoint into an empty directory as a CTranslate2 model.

    The files are those of CTranslate2 and the vocabularies, from which our
    reader needs to cut text into subwords. Neither TensorFlow nor Keras is
    needed. Returns the number of tokens of the longest text that the model
    takes.
    """
    with _hide_torch():
        from keras_transformer.decoding.engines import ctranslate2_spec

    sides = run.source_vocabulary, run.vocabulary
    converter = ctranslate2_spec.RunConverter(
        run.hparams.model,
        read_weights(run.checkpoints, step),
        *(side.all_pieces() for side in sides),
    )
    converter.write(directory, quantization)
    run.vocabularies.write(directory)
    return converter.num_positions


@contextlib.contextmanager
def _hide_torch():
    """Makes PyTorch appear not to be installed, unless it is loaded.

    The specifications of CTranslate2 import it, which takes seconds, for the
    weights of other converters. These find it later, because the modules that
    did without it are forgotten. None in `sys.modules` is Python's documented
    way to make an import fail.
    """
    if "torch" in sys.modules or "ctranslate2.specs" in sys.modules:
        yield
        return
    import ctranslate2

    sys.modules["torch"] = None
    try:
        yield
    finally:
        del sys.modules["torch"]
        for name in [
            n for n in sys.modules if n.startswith("ctranslate2.spec")
        ]:
            del sys.modules[name]
        vars(ctranslate2).pop("specs", None)
