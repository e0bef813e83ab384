"""Prepares the measured work: parallel text and a few fixed batches."""

import itertools
import os
import random
import tempfile

import numpy as np
import sentencepiece

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches import packing
from keras_transformer.data.generation import token_arrays
from keras_transformer.data.text import text_files
from keras_transformer.data.vocabulary import subwords
from keras_transformer.errors import UserError

VOCAB_SIZE = 8000
BATCH_TOKENS = 4096  # positions of a batch on either side
LENGTH_STEP = 8  # both sides are padded to a multiple of this
# Padded lengths of nine tenths of the sentences in image captions.
LENGTHS = (16, 24, 32)
# An update of a large model takes seconds, so one length must suffice.
LARGE_MODEL_LENGTHS = (24,)
LARGE_D_MODEL = 512


def load_text(
    source_path, target_path, vocabulary_path=None, vocab_size=VOCAB_SIZE
):
    """Turns parallel text into `TokenPairs`, and counts the token ids.

    The SentencePiece model may have any ids for padding and the end of a
    sentence; they are exchanged with the ids 0 and 1. Without a path, a
    vocabulary of `vocab_size` is trained on the text.
    """
    texts = list(zip(*text_files.read_rows(source_path, target_path)))
    if not texts:
        raise UserError(
            f"{source_path} and {target_path} are empty. Check that these are "
            "the right files."
        )
    # The arrays are mapped into memory, so they outlive the deleted files.
    with tempfile.TemporaryDirectory() as folder:
        if vocabulary_path is None:
            vocabulary_path = os.path.join(folder, "vocabulary.model")
            lines = itertools.chain(*texts)
            subwords.train_subwords(lines, vocab_size, vocabulary_path)
        processor, new_ids = _load_vocabulary(vocabulary_path)
        arrays = []
        for number, lines in enumerate(texts):
            path = os.path.join(folder, str(number))
            with token_arrays.TokenArrayWriter(path, len(new_ids)) as writer:
                for ids in processor.encode(list(lines), add_eos=True):
                    writer.append(new_ids[ids])
            arrays.append(token_arrays.TokenArray(path))
    return token_arrays.TokenPairs(*arrays), len(new_ids)


def read_sentences(path):
    """Returns the sentences of a file, without blank lines."""
    lines = [line for line in text_files.read_lines(path) if line.strip()]
    if not lines:
        raise UserError(
            f"{path} has no sentences. Check that this is the right file."
        )
    return lines


def load_sentences(path, vocabulary_path):
    """Returns a file's sentences as lists of ids, and the vocabulary size."""
    processor, new_ids = _load_vocabulary(vocabulary_path)
    encoded = processor.encode(read_sentences(path), add_eos=True)
    return [new_ids[ids].tolist() for ids in encoded], len(new_ids)


def lengths_for(hparams):
    """Returns the padded lengths of the batches to time a model on."""
    is_large = hparams.d_model >= LARGE_D_MODEL
    return LARGE_MODEL_LENGTHS if is_large else LENGTHS


def plan_lengths(token_pairs, batch_tokens, lengths=LENGTHS, packed=False):
    """Plans one full batch of each length, the same ones in every call.

    The length of a pair is that of its longer side, rounded up to a multiple of
    8. A batch holds consecutive pairs of one length. One batch of each length
    is drawn with a fixed seed. If `packed`, pairs share a longer row.
    """
    pair_lengths = np.stack([side.lengths for side in token_pairs], axis=1)
    batches = _full_batches(pair_lengths, batch_tokens)
    missing = [length for length in lengths if length not in batches]
    if missing:
        raise UserError(
            "The text must fill a batch of sentences of each length. Received: "
            f"{len(pair_lengths):,} pairs, batch_tokens={batch_tokens}, and no "
            f"full batch of {missing[0]} tokens. Lower batch_tokens, or use "
            "more text."
        )
    planned, num_tokens = [], np.zeros(2, np.int64)
    for length in lengths:
        rows = batches[length]
        shape = (len(rows), length, length)
        num_tokens += pair_lengths[rows].sum(axis=0)
        if packed:
            rows, shape = _pack(rows, pair_lengths[rows], batch_tokens)
        planned.append((rows, shape))
    shapes = [shape for _, shape in planned]
    return batch_plan.BatchPlan(planned, shapes, num_tokens, 0)


def _load_vocabulary(path):
    """Returns a SentencePiece processor and our id for each of its ids."""
    with open(path, "rb") as file:
        model_bytes = file.read()
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(model_bytes)
    except RuntimeError as error:
        raise UserError(
            f"SentencePiece cannot read the vocabulary {path}. Use another "
            "file."
        ) from error
    pad_and_end = [processor.pad_id(), processor.eos_id()]
    if min(pad_and_end) < 0:
        raise UserError(
            "A vocabulary must have ids for padding and for the end of a "
            f"sentence. Received: {path} with pad={pad_and_end[0]}, "
            f"end={pad_and_end[1]}. Train it with --pad_id and --eos_id of 0 "
            "or more."
        )
    ids = np.arange(processor.get_piece_size())
    # The model's ids in the order of ours: padding and end come first.
    others = np.delete(ids, pad_and_end)
    old_ids = np.concatenate([pad_and_end, others])  # (vocab_size,)
    return processor, np.argsort(old_ids)


def _full_batches(pair_lengths, batch_tokens):
    """Returns the pair numbers `(batch,)` of a full batch of each length."""
    # Rounds up to the next multiple.
    padded = -(-pair_lengths.max(axis=1) // LENGTH_STEP) * LENGTH_STEP
    batches = []
    for length in np.unique(padded).tolist():
        pairs = np.flatnonzero(padded == length)
        rows = max(1, batch_tokens // length)
        batches += [
            (length, pairs[start : start + rows])
            for start in range(0, len(pairs) - rows + 1, rows)
        ]
    # Neighbouring batches are from the same text; a drawn one is typical.
    random.Random(1).shuffle(batches)
    return dict(reversed(batches))  # keeps the first batch of each length


def _pack(pairs, pair_lengths, batch_tokens):
    """Returns pair numbers `(batch, pairs_per_row)` and the batch's shape."""
    plan = packing.plan_packed(*pair_lengths.T, batch_tokens, shuffle=False)
    # All pairs stay in one batch, even if they need more room when packed.
    indices = np.concatenate(
        [rows for rows, _ in plan]
    )  # (batch, pairs_per_row)
    is_pair = indices != batch_plan.EMPTY_ROW
    indices = np.where(is_pair, pairs[indices], batch_plan.EMPTY_ROW)
    _, input_len, target_len = plan.shapes[0]
    return indices, (len(indices), input_len, target_len)
