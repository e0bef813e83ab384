"""A vocabulary of given symbols, for text that is byte-pair encoded already.

In such text, `@@` at the end of a symbol joins it to the next one, as in
`Res@@ um@@ ption of the session`.
"""

import tempfile

from keras_transformer.data.text.normalization import write_rules
from keras_transformer.data.text.text_files import read_lines
from keras_transformer.data.vocabulary import subwords
from keras_transformer.errors import UserError
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import WORD_START

JOINT = "@@ "
_SPECIAL = {"<unk>", "<s>", "</s>"}
# SentencePiece takes `▁` for a space. In a symbol this character, which Unicode
# leaves to private use, stands for it.
_STAND_IN = "\U0010fffd"


def join_symbols(text):
    """Returns text without its byte-pair encoding.

    >>> join_symbols("Res@@ um@@ ption of the session")
    'Resumption of the session'
    """
    return text.replace(JOINT, "")


def read_symbols(path):
    """Reads the symbols of subword-nmt's list, without special pieces."""
    symbols = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line or " " in line or line in symbols:
            raise _not_symbols(f"{path}, line {number}, with {line[:40]!r}")
        symbols[line] = number
    symbols = [symbol for symbol in symbols if symbol not in _SPECIAL]
    if not symbols:
        raise _not_symbols(f"{path} without any")
    return symbols


def _not_symbols(received):
    return UserError(
        "A list of symbols must have one on each line, each once. Received: "
        f"{received}. Restore the file from a copy."
    )


def write_symbols(symbols, model_path):
    """Writes a vocabulary that gives each symbol an id, in their order.

    It encodes symbols with spaces between them. A run of other words becomes
    one unknown id. Decoding removes the encoding. Whatever reads the file as a
    SentencePiece model, such as an exported model, does the same.
    """
    model = _model_without_symbols()
    for symbol in symbols:
        piece = WORD_START + symbol.replace(WORD_START, _STAND_IN)
        model.pieces.add(piece=piece, score=0.0)
    model.trainer_spec.vocab_size = len(model.pieces)
    model_bytes = model.SerializeToString(deterministic=True)
    return subwords.save(model_bytes, model_path)


def _model_without_symbols():
    """Returns a model of whole words with nothing but padding, end, unknown."""
    with tempfile.TemporaryDirectory() as directory:
        encoding = {WORD_START: _STAND_IN}
        decoding = {_STAND_IN: WORD_START, JOINT: ""}
        model_bytes = subwords.train_model(
            ["a"],  # it needs some text
            FIRST_SYMBOL_ID + 1,
            model_type="word",
            normalization_rule_tsv=write_rules(directory, "encode", encoding),
            denormalization_rule_tsv=write_rules(directory, "decode", decoding),
        )
    model = subwords.Subwords.from_bytes(model_bytes).parse_model()
    del model.pieces[FIRST_SYMBOL_ID:]
    return model
