"""Opens a model in any directory that the commands write."""

from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.translator import Translator


def load(path, step=None, precision="float32", tokenized=False):
    """Opens a run or an exported model as a translator or a parser.

    Args:
        path: Directory that kt-trainer, kt-avg-checkpoints or kt-exporter
            wrote: a run, a SavedModel or a CTranslate2 model.
        step: Integer step of a run's checkpoint, or "best". Defaults to the
            newest.
        precision: "float32", "bfloat16" or "float16", the precision that a
            run's model computes in. An exported model has its own. Defaults to
            "float32".
        tokenized: Whether a parser takes words with spaces between them
            instead of raw text. Defaults to False.

    Returns:
        A `Parser` if the model was trained to parse. Otherwise a `Translator`,
        `SavedModelTranslator` or `CTranslate2Translator`, which are called
        alike.

    Raises:
        ValueError: If the directory holds no model that can be loaded, or if
            `tokenized` is True for a model that translates.

    Example:

        model = load("runs/ende")
        model(["A dog is running."])  # ["Ein Hund läuft."]
    """
    translator = Translator.load(path, step, precision)
    # `Parser` raises the error if the model cannot parse.
    if tokenized or translator.linearization:
        return Parser(translator, tokenized)
    return translator
