"""The work that is timed: parallel text as token arrays and a few batches."""

import itertools
import os
import random
import tempfile

import numpy as np
import sentencepiece

from keras_transformer.data import batch_plan
from keras_transformer.data import packing
from keras_transformer.data import subwords
from keras_transformer.data import text_files
from keras_transformer.data.token_arrays import TokenArray
from keras_transformer.data.token_arrays import TokenArrayWriter
from keras_transformer.data.token_arrays import TokenPairs

VOCAB_SIZE = 8000
BATCH_TOKENS = 4096  # source positions, and target positions, of a batch
LENGTH_STEP = 8  # both sides are padded to a multiple of it
# Nine tenths of the sentences of image captions have one of these lengths.
LENGTHS = (16, 24, 32)
# Where an update takes seconds, the middle one is enough.
LARGE_MODEL_LENGTHS = (24,)
LARGE_D_MODEL = 512


def load_text(
    source_path, target_path, vocabulary_path=None, vocab_size=VOCAB_SIZE
):
    """Turn parallel text into token arrays.

    Args:
        source_path, target_path: files of one sentence a line.
        vocabulary_path: a SentencePiece model with any numbers of its own for
            padding and the end of a sentence. They change places with others,
            to be 0 and 1. None trains a vocabulary on the text.
        vocab_size: size of the vocabulary to train.

    Returns:
        `TokenPairs`, and the number of token ids.

    Raises:
        ValueError: if the vocabulary lacks one of the two ids.
    """
    texts = list(zip(*text_files.read_pairs(source_path, target_path)))
    if not texts:
        raise ValueError(
            "The text must have at least one line. Received: "
            f"{source_path} and {target_path}, which are empty. Check that "
            "these are the right files."
        )
    # What is mapped into memory outlives the names of the files.
    with tempfile.TemporaryDirectory() as folder:
        if vocabulary_path is None:
            vocabulary_path = os.path.join(folder, "vocabulary.model")
            lines = itertools.chain(*texts)
            subwords.train_subwords(lines, vocab_size, vocabulary_path)
        processor, new_ids = _load_vocabulary(vocabulary_path)
        arrays = []
        for number, lines in enumerate(texts):
            path = os.path.join(folder, str(number))
            with TokenArrayWriter(path, len(new_ids)) as writer:
                for ids in processor.encode(list(lines), add_eos=True):
                    writer.append(new_ids[ids])
            arrays.append(TokenArray(path))
    return TokenPairs(*arrays), len(new_ids)


def read_sentences(path):
    """Read the sentences of a file, without blank lines.

    Raises:
        ValueError: if there are none.
    """
    lines = [line for line in text_files.read_lines(path) if line.strip()]
    if not lines:
        raise ValueError(
            "The text must have at least one sentence. Received: "
            f"{path}, which has none. Check that this is the right file."
        )
    return lines


def load_sentences(path, vocabulary_path):
    """Turn a file's sentences into lists of ids, and count the ids.

    Args:
        path, vocabulary_path: see `load_text`.
    """
    processor, new_ids = _load_vocabulary(vocabulary_path)
    encoded = processor.encode(read_sentences(path), add_eos=True)
    return [new_ids[ids].tolist() for ids in encoded], len(new_ids)


def lengths_for(hparams):
    """Return the padded lengths of the batches to time a model on."""
    is_large = hparams.d_model >= LARGE_D_MODEL
    return LARGE_MODEL_LENGTHS if is_large else LENGTHS


def fixed_plan(token_pairs, batch_tokens, lengths=LENGTHS, packed=False):
    """Plan one full batch of each of a few lengths, always the same ones.

    Batches are of consecutive pairs whose longer side, rounded up to a multiple
    of 8, has the length; which of a length's batches it is was drawn once.

    Args:
        token_pairs: `TokenPairs`.
        batch_tokens: most source, and most target, positions of a batch.
        lengths: multiples of 8.
        packed: whether the pairs of a batch share rows, longer ones.

    Returns:
        A `BatchPlan`.

    Raises:
        ValueError: if the text has no full batch of a length.
    """
    pair_lengths = np.stack([side.lengths for side in token_pairs], axis=1)
    batches = _full_batches(pair_lengths, batch_tokens)
    missing = [length for length in lengths if length not in batches]
    if missing:
        raise ValueError(
            "The text must fill a batch of sentences of each length. Received: "
            f"{len(pair_lengths):,} pairs, batch_tokens={batch_tokens}, and no "
            f"full batch of {missing[0]} tokens. Lower batch_tokens, or use "
            "more text."
        )
    buckets, shapes, num_tokens = [], [], 0
    for length in lengths:
        rows = batches[length]
        shape = (len(rows), length, length)
        num_tokens += int(pair_lengths[rows].sum())
        if packed:
            rows, shape = _pack(rows, pair_lengths[rows], batch_tokens)
        buckets.append(rows[None])  # one batch
        shapes.append(shape)
    order = [(bucket, 0) for bucket in range(len(buckets))]
    return batch_plan.BatchPlan(buckets, shapes, order, num_tokens, 0)


def _load_vocabulary(path):
    """A SentencePiece processor, and our id for each of its ids."""
    with open(path, "rb") as file:
        model_bytes = file.read()
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model_bytes)
    except RuntimeError as error:
        raise ValueError(
            "A vocabulary must be a SentencePiece model. Received: "
            f"{path}, which SentencePiece cannot read. Name another file."
        ) from error
    pad_and_end = [processor.pad_id(), processor.eos_id()]
    if min(pad_and_end) < 0:
        raise ValueError(
            "A vocabulary must have ids for padding and for the end of a "
            f"sentence. Received: {path} with pad={pad_and_end[0]}, "
            f"end={pad_and_end[1]}. Train it with --pad_id and --eos_id of 0 "
            "or more."
        )
    ids = np.arange(processor.get_piece_size())
    old_ids = np.concatenate([pad_and_end, np.delete(ids, pad_and_end)])
    return processor, np.argsort(old_ids)


def _full_batches(pair_lengths, batch_tokens):
    """Pair numbers `(rows,)` of one full batch for each length there is."""
    padded = -(-pair_lengths.max(axis=1) // LENGTH_STEP) * LENGTH_STEP
    batches = []
    for length in np.unique(padded).tolist():
        pairs = np.flatnonzero(padded == length)
        rows = max(1, batch_tokens // length)
        batches += [
            (length, pairs[start : start + rows])
            for start in range(0, len(pairs) - rows + 1, rows)
        ]
    random.Random(1).shuffle(batches)
    return dict(reversed(batches))  # the first of each length


def _pack(pairs, pair_lengths, batch_tokens):
    """Pair numbers `(rows, pairs_per_row)`, and the shape of the batch."""
    plan = packing.plan_packed(*pair_lengths.T, batch_tokens, shuffle=False)
    # All in one batch, even if they should need more room than unpacked.
    indices = np.concatenate([rows for rows, _ in plan])
    is_pair = indices != batch_plan.EMPTY_ROW
    indices = np.where(is_pair, pairs[indices], batch_plan.EMPTY_ROW)
    _, input_len, target_len = plan.shapes[0]
    return indices, (len(indices), input_len, target_len)
