"""Vocabulary files of Tensor2Tensor, as our vocabularies.

Such a file has a subtoken in quotes on each line, in the order of their ids. A
token, which `imported_text` spells, is cut from its beginning into the
longest subtokens. SentencePiece does exactly this with pieces that the user
defines, so the result is an ordinary vocabulary file.

The ids of padding and the end are ours, and the others move up by one, since
Tensor2Tensor has no unknown id.

A file without quotes has lost blanks at the ends of subtokens, and so may have
lines that are empty or equal. As in Tensor2Tensor, the last of equal ones
counts. The others keep their ids, which no text has.
"""

from keras_transformer.data.vocabulary.imported_text import name_blank
from keras_transformer.data.vocabulary.subwords import TENSOR2TENSOR
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.files.reading import file_error
from keras_transformer.files.reading import read_text
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID

_REMEDY = "Name the vocabulary file of the model, vocab.*.subwords."
_RESERVED = (("<pad>", "<pad>_"), ("<EOS>", "<EOS>_"))
_SPECIAL = ("<pad>", "</s>", "<unk>")  # of our ids 0, 1 and 2


def read_tensor2tensor_vocabulary(path):
    """Reads a vocabulary file of Tensor2Tensor's `SubwordTextEncoder`.

    The `Subwords` have the ids of the file, plus 1 from id 2 on. Raises a
    `UserError` for any other file.
    """
    lines = read_text(path, _REMEDY).removesuffix("\n").split("\n")
    subtokens = list(map(_unquote, lines))
    if len(subtokens) < 3 or not all(
        subtoken in names for subtoken, names in zip(subtokens, _RESERVED)
    ):
        raise file_error(
            path, "which does not begin with <pad> and <EOS>", _REMEDY
        )
    places = {subtoken: place for place, subtoken in enumerate(subtokens)}
    for subtoken in (TENSOR2TENSOR, *_SPECIAL):
        if places.get(subtoken, 0) > 1:
            fault = f"where line {places[subtoken] + 1} is {subtoken!r}"
            raise file_error(path, fault, "Only padding may be called so.")
    pieces = {place: subtoken for subtoken, place in places.items() if subtoken}
    return Subwords.from_bytes(_make_model(pieces, len(subtokens)), path)


def _unquote(line):
    """Returns the subtoken of a line, with or without quotes around it.

    >>> _unquote("'the_'"), _unquote("the_"), _unquote("' , _'"), _unquote("'")
    ('the_', 'the_', ' , _', '')
    """
    line = line.rstrip()
    is_quoted = line[:1] == line[-1:] and line[:1] in ("'", '"')
    return line[1:-1] if is_quoted else line


def _make_model(subtokens, count):
    """Returns the contents of a SentencePiece model of subtokens by place."""
    # Imported here because little else needs protobuf.
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto()
    kinds = sentencepiece_model_pb2.ModelProto.SentencePiece
    for text in _SPECIAL:
        kind = kinds.UNKNOWN if text == "<unk>" else kinds.CONTROL
        model.pieces.add(piece=text, score=0.0, type=kind)
    for place in range(len(_RESERVED), count):
        kind = kinds.USER_DEFINED if place in subtokens else kinds.CONTROL
        piece = subtokens.get(place, name_blank(place))
        model.pieces.add(piece=piece, score=0.0, type=kind)
    model.pieces.add(piece=TENSOR2TENSOR, score=0.0, type=kinds.CONTROL)
    # Pieces of the user are neither split nor merged.
    model.trainer_spec.model_type = model.trainer_spec.BPE
    model.trainer_spec.vocab_size = len(model.pieces)
    model.trainer_spec.pad_id = PAD_ID
    model.trainer_spec.eos_id = END_ID
    model.trainer_spec.unk_id = UNKNOWN_ID
    model.trainer_spec.bos_id = -1
    # A space is a character like any other.
    model.normalizer_spec.name = "identity"
    model.normalizer_spec.add_dummy_prefix = False
    model.normalizer_spec.remove_extra_whitespaces = False
    model.normalizer_spec.escape_whitespaces = False
    return model.SerializeToString(deterministic=True)
