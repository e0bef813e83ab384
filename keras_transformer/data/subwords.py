"""Text to token ids and back, with SentencePiece."""

import hashlib
import io
import re

import sentencepiece

from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID
from keras_transformer.token_ids import WORD_START


class Subwords:
    """Turn text into ids of subwords and ids into text.

    Ids are 0 for padding and 1 for the end of a sentence. Every text can be
    encoded: characters that the vocabulary lacks become bytes, so the
    unknown id 2 is never produced. Decoding gives the text back, except that
    runs of spaces become one space, spaces at the ends go, and `▁`, which
    SentencePiece uses itself, becomes a space.

    Args:
        model_path: path of a SentencePiece model with these ids, such as
            `train_subwords` writes.
    """

    def __init__(self, model_path):
        with open(model_path, "rb") as file:
            self._load(file.read(), model_path)

    @classmethod
    def from_bytes(cls, model_bytes):
        """Make the vocabulary from the contents of a model file."""
        subwords = cls.__new__(cls)
        subwords._load(model_bytes, "model_bytes")
        return subwords

    def _load(self, model_bytes, origin):
        self.model_bytes = model_bytes
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(model_bytes)
        except RuntimeError as error:
            raise ValueError(
                "A vocabulary must be a SentencePiece model. Received: "
                f"{origin}, which SentencePiece cannot read. Name another "
                "file."
            ) from error
        ids = (
            self._processor.pad_id(),
            self._processor.eos_id(),
            self._processor.unk_id(),
        )
        if ids != (PAD_ID, END_ID, UNKNOWN_ID):
            raise ValueError(
                "A vocabulary must have the ids pad=0, end=1, unknown=2. "
                f"Received: {origin} with pad={ids[0]}, end={ids[1]}, "
                f"unknown={ids[2]}. Train it with --pad_id=0 --eos_id=1 "
                "--unk_id=2 --bos_id=-1."
            )

    @property
    def vocab_size(self):
        return self._processor.get_piece_size()

    @property
    def sha256(self):
        """SHA-256 of the model file, in hexadecimal."""
        return hashlib.sha256(self.model_bytes).hexdigest()

    def encode(self, texts):
        """Encode texts on all cores.

        Args:
            texts: list of str.

        Returns:
            List of lists of ids, each ending with the end id.
        """
        return self._processor.encode(list(texts), add_eos=True)

    def decode(self, sequences):
        """Decode sequences of ids up to their end ids, without padding.

        Args:
            sequences: integers `(batch, length)`, or a list of lists of ids.

        Returns:
            List of str.
        """
        sequences = [_ids_before_end(sequence) for sequence in sequences]
        # SentencePiece takes an empty list for one sequence.
        return self._processor.decode(sequences) if sequences else []

    def pieces(self, ids):
        """Return the text of each id, `▁` marking the start of a word."""
        return self._processor.id_to_piece([int(id_) for id_ in ids])


def train_subwords(texts, vocab_size, model_path, symbols=()):
    """Train a byte-pair encoding and write it to a file.

    The text is taken as it is (no Unicode normalisation, no lower case).
    The characters that make up the last 0.01 % of the text get no id of
    their own and are spelled in bytes. The same texts give the same file.

    Args:
        texts: iterable of str, all of which are used; see `sample_evenly`.
        vocab_size: number of ids, including 3 for pad, end and unknown and
            256 for bytes.
        model_path: path of the file to write.
        symbols: words that get one id each, however often they occur. A word
            that begins with one of them begins with its id.

    Returns:
        The vocabulary, a `Subwords`.

    Raises:
        ValueError: if the text is too little, or has too many different
            characters, for a vocabulary of this size.
    """
    model = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            model_type="bpe",
            vocab_size=vocab_size,
            pad_id=PAD_ID,
            eos_id=END_ID,
            unk_id=UNKNOWN_ID,
            bos_id=-1,
            byte_fallback=True,
            normalization_rule_name="identity",
            character_coverage=0.9999,
            max_sentence_length=1 << 16,  # bytes; longer ones are skipped
            user_defined_symbols=[WORD_START + word for word in symbols],
            minloglevel=2,
        )
    except RuntimeError as error:
        raise _vocab_size_error(vocab_size, str(error)) from error
    with open(model_path, "wb") as file:
        file.write(model.getvalue())
    return Subwords.from_bytes(model.getvalue())


def sample_evenly(items, limit):
    """Return every k-th item, with the least k = 1, 2, 4, ... that fits.

    Needs one pass and no knowledge of how many items there are; keeps at
    least half of `limit` where there are as many.

    Example:

    >>> sample_evenly(range(10), 4)
    [0, 4, 8]
    """
    sample, step = [], 1
    for number, item in enumerate(items):
        if number % step:
            continue
        if len(sample) == limit:
            sample, step = sample[::2], 2 * step
            if number % step:
                continue
        sample.append(item)
    return sample


def _ids_before_end(sequence):
    ids = [int(id_) for id_ in sequence]
    if END_ID in ids:
        ids = ids[: ids.index(END_ID)]
    return [id_ for id_ in ids if id_ != PAD_ID]


def _vocab_size_error(vocab_size, message):
    """Say in our words what SentencePiece said about the vocabulary size."""
    received = f"Received: vocab_size={vocab_size}."
    too_high = re.search(r"too high.*<= (\d+)", message)
    too_low = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if too_high:
        return ValueError(
            "`vocab_size` must be no larger than the training text supports. "
            f"{received} Use at most {too_high[1]}, or more text."
        )
    if too_low:
        return ValueError(
            "`vocab_size` must leave room for bytes and characters. "
            f"{received} Use at least {too_low[1]}."
        )
    return ValueError(
        "SentencePiece must be able to train on the text. "
        f"{received} It says: {' '.join(message.split())}"
    )
