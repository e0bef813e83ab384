"""The Transformer of "Attention Is All You Need" in one file.

The sections follow Vaswani et al. (2017), https://arxiv.org/abs/1706.03762. The
model is written in `keras.ops`, so it runs on TensorFlow and on JAX; only the
batches need TensorFlow. It is the model of the package `keras_transformer`: a
test proves that equal weights give equal logits, updates and translations.

Train on a toy language, about four minutes on two cores:

    python examples/attention_is_all_you_need.py

Train on your text, one sentence a line, and translate the last 100 lines:

    python examples/attention_is_all_you_need.py --source=a.en --target=a.de
"""

import argparse
import dataclasses
import io
import itertools
import pathlib

import keras
import numpy as np
import sacrebleu
import sentencepiece
import tensorflow as tf
from keras import ops

PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2
MASKED = -1e9  # a score whose exponential is 0


@dataclasses.dataclass(frozen=True)
class Config:
    """The sizes of a model. The defaults are those of base, in table 3."""

    vocab_size: int = 37000  # section 5.1
    num_layers: int = 6  # N
    d_model: int = 512
    num_heads: int = 8  # h; each head has d_k = d_v = d_model / h
    d_ff: int = 2048
    dropout: float = 0.1  # P_drop
    warmup_steps: int = 4000


# Section 3.2.1, scaled dot-product attention.


def attention(queries, keys, values, mask):
    """Computes `softmax(Q K^T / sqrt(d_k)) V`, equation 1, in every head.

    Queries, keys and values are `(batch, num_heads, length, d_k)`. The mask is
    True where a query may attend to a key, and it broadcasts to
    `(batch, num_heads, query_len, key_len)`.
    """
    d_k = keys.shape[-1]
    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) / d_k**0.5
    scores = ops.where(mask, scores, MASKED)
    return ops.matmul(ops.softmax(scores), values)


# Section 3.2.2, multi-head attention.


class MultiHeadAttention(keras.Layer):
    """Attends from `num_heads` learned subspaces at once."""

    def __init__(self, config):
        super().__init__()
        self.num_heads = config.num_heads
        shape = (config.d_model, config.d_model)
        # The matrices of all heads stand side by side.
        self.w_q = self.add_weight(shape, "glorot_uniform", name="w_q")
        self.w_k = self.add_weight(shape, "glorot_uniform", name="w_k")
        self.w_v = self.add_weight(shape, "glorot_uniform", name="w_v")
        self.w_o = self.add_weight(shape, "glorot_uniform", name="w_o")

    def call(self, query, memory, mask):
        heads = attention(
            self.split(ops.matmul(query, self.w_q)),
            self.split(ops.matmul(memory, self.w_k)),
            self.split(ops.matmul(memory, self.w_v)),
            mask,
        )
        # Concat(head_1, ..., head_h) W_O
        heads = ops.transpose(heads, (0, 2, 1, 3))
        return ops.matmul(ops.reshape(heads, ops.shape(query)), self.w_o)

    def split(self, x):
        """Turns `(batch, length, d_model)` into `(batch, h, length, d_k)`."""
        batch, length, d_model = ops.shape(x)
        d_k = d_model // self.num_heads
        x = ops.reshape(x, (batch, length, self.num_heads, d_k))
        return ops.transpose(x, (0, 2, 1, 3))


# Section 3.3, position-wise feed-forward networks.


class FeedForward(keras.Layer):
    """Computes `max(0, x W_1 + b_1) W_2 + b_2`, equation 2."""

    def __init__(self, config):
        super().__init__()
        d_model, d_ff = config.d_model, config.d_ff
        self.w_1 = self.add_weight(
            (d_model, d_ff), "glorot_uniform", name="w_1"
        )
        self.b_1 = self.add_weight((d_ff,), "zeros", name="b_1")
        self.w_2 = self.add_weight(
            (d_ff, d_model), "glorot_uniform", name="w_2"
        )
        self.b_2 = self.add_weight((d_model,), "zeros", name="b_2")

    def call(self, x):
        hidden = ops.relu(ops.matmul(x, self.w_1) + self.b_1)
        return ops.matmul(hidden, self.w_2) + self.b_2


# Section 3.4, embeddings and softmax. One matrix embeds inputs and targets, and
# its transpose computes the logits.


def embed(embeddings, ids):
    """Returns vectors `(batch, length, d_model)`, scaled by `sqrt(d_model)`."""
    return ops.take(embeddings, ids, axis=0) * embeddings.shape[-1] ** 0.5


# Section 3.5, positional encoding.


def positional_encoding(length, d_model):
    """Returns sines and cosines of each position, `(length, d_model)`."""
    positions = ops.cast(ops.arange(length), "float32")
    rates = 10000.0 ** -(ops.arange(0, d_model, 2, dtype="float32") / d_model)
    angles = positions[:, None] * rates  # (length, d_model / 2)
    waves = ops.stack([ops.sin(angles), ops.cos(angles)], axis=-1)
    return ops.reshape(waves, (length, d_model))


# Section 3.1, the encoder and decoder stacks. Section 5.4 adds the dropout.


class Residual(keras.Layer):
    """Computes `LayerNorm(x + Dropout(Sublayer(x)))`."""

    def __init__(self, config):
        super().__init__()
        self.norm = keras.layers.LayerNormalization(epsilon=1e-6)
        self.dropout = keras.layers.Dropout(config.dropout)

    def call(self, x, output):
        return self.norm(x + self.dropout(output))


class EncoderLayer(keras.Layer):
    """Self-attention over the inputs, then a feed-forward network."""

    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = [Residual(config) for _ in range(2)]

    def call(self, x, mask):
        x = self.residuals[0](x, self.attention(x, x, mask))
        return self.residuals[1](x, self.feed_forward(x))


class DecoderLayer(keras.Layer):
    """Self-attention, attention to the encoded inputs, feed-forward."""

    def __init__(self, config):
        super().__init__()
        self.self_attention = MultiHeadAttention(config)
        self.cross_attention = MultiHeadAttention(config)
        self.feed_forward = FeedForward(config)
        self.residuals = [Residual(config) for _ in range(3)]

    def call(self, y, encoded, causal_mask, mask):
        y = self.residuals[0](y, self.self_attention(y, y, causal_mask))
        y = self.residuals[1](y, self.cross_attention(y, encoded, mask))
        return self.residuals[2](y, self.feed_forward(y))


class Transformer(keras.Model):
    """Maps `inputs` and the `targets` so far to logits of the next target.

    Both are integer ids `(batch, length)`, padded with 0. The logits are
    `(batch, target_len, vocab_size)`.
    """

    def __init__(self, config):
        super().__init__()
        shape = (config.vocab_size, config.d_model)
        start = keras.initializers.RandomNormal(stddev=config.d_model**-0.5)
        self.embeddings = self.add_weight(shape, start, name="embeddings")
        self.dropout = keras.layers.Dropout(config.dropout)
        self.encoder = [EncoderLayer(config) for _ in range(config.num_layers)]
        self.decoder = [DecoderLayer(config) for _ in range(config.num_layers)]

    def call(self, features):
        inputs, targets = features["inputs"], features["targets"]
        # Section 3.2.3: a query attends to real tokens, and in the decoder only
        # to those up to its position.
        mask = ops.not_equal(inputs, PAD_ID)[:, None, None, :]
        positions = ops.arange(ops.shape(targets)[1])
        causal_mask = positions[:, None] >= positions
        x = self.add_positions(embed(self.embeddings, inputs))
        for layer in self.encoder:
            x = layer(x, mask)
        # "The output embeddings are offset by one position": each position sees
        # the targets before it, and the first one sees a zero vector.
        y = embed(self.embeddings, targets)
        y = self.add_positions(ops.pad(y[:, :-1], ((0, 0), (1, 0), (0, 0))))
        for layer in self.decoder:
            y = layer(y, x, causal_mask, mask)
        return ops.matmul(y, ops.transpose(self.embeddings))

    def add_positions(self, x):
        _, length, d_model = ops.shape(x)
        return self.dropout(x + positional_encoding(length, d_model))


# Section 5.1, training data and batching. Both languages share a byte-pair
# encoding, and pairs of about the same length are batched together.


def train_tokenizer(pairs, vocab_size):
    """Learns a shared byte-pair encoding of the texts."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=itertools.chain.from_iterable(pairs),
        model_writer=model,
        vocab_size=vocab_size,
        model_type="bpe",
        pad_id=PAD_ID,
        eos_id=END_ID,
        unk_id=UNKNOWN_ID,
        bos_id=-1,
        minloglevel=2,
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


def make_batches(tokenizer, pairs, batch_tokens=2048):
    """Returns a `tf.data.Dataset` of padded batches that never ends.

    The longest sentence of a batch, times the number of its pairs, is at most
    `batch_tokens`.
    """
    sides = (tokenizer.encode(list(side), add_eos=True) for side in zip(*pairs))
    ids = list(zip(*sides))
    spec = (tf.TensorSpec((None,), tf.int32),) * 2
    dataset = tf.data.Dataset.from_generator(lambda: ids, output_signature=spec)
    dataset = dataset.cache().shuffle(len(ids)).repeat()
    limits = [8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256]
    dataset = dataset.bucket_by_sequence_length(
        lambda x, y: tf.maximum(tf.size(x), tf.size(y)),
        [limit + 1 for limit in limits],  # a boundary excludes its length
        [batch_tokens // limit for limit in limits] + [1],
    )
    dataset = dataset.map(lambda x, y: ({"inputs": x, "targets": y}, y))
    return dataset.prefetch(tf.data.AUTOTUNE)


# Section 5.3, the optimizer.


class Schedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises for `warmup_steps`, then falls as `step^-0.5`: equation 3."""

    def __init__(self, config):
        self.config = config

    def __call__(self, step):
        step = ops.cast(step, "float32") + 1.0
        rising = step * self.config.warmup_steps**-1.5
        return self.config.d_model**-0.5 * ops.minimum(ops.rsqrt(step), rising)


# Section 5.4, regularization. Dropout is in the model, label smoothing here.


def smoothed_cross_entropy(targets, logits, label_smoothing=0.1):
    """Returns the mean loss of a batch's real tokens.

    The label of each is `(1 - eps) onehot + eps / vocab_size`.
    """
    log_probs = ops.log_softmax(ops.cast(logits, "float32"))
    indices = ops.expand_dims(ops.cast(targets, "int32"), -1)
    gold = ops.take_along_axis(log_probs, indices, axis=-1)[:, :, 0]
    losses = -(1 - label_smoothing) * gold
    losses = losses - label_smoothing * ops.mean(log_probs, axis=-1)
    real = ops.cast(ops.not_equal(targets, PAD_ID), losses.dtype)
    return ops.sum(losses * real) / ops.sum(real)


def compile_model(config):
    """Makes a model with the optimizer and the loss of section 5."""
    model = Transformer(config)
    adam = keras.optimizers.Adam(Schedule(config), beta_2=0.98, epsilon=1e-9)
    model.compile(adam, smoothed_cross_entropy)
    return model


# Section 6.1, beam search with a length penalty.


def beam_search(model, ids, beam_size=4, alpha=0.6, extra_length=50):
    """Returns the ids of the best translation of a sentence's ids.

    The score of a hypothesis is its log-probability divided by `penalty`, and
    it has at most `extra_length` ids more than its input.
    """
    limit = len(ids) + extra_length
    inputs = np.tile(pad(np.array([ids])), (beam_size, 1))
    beams = np.zeros((beam_size, 0), "int32")
    # All beams are empty at first, so only one of them counts.
    log_probs = np.where(np.arange(beam_size) == 0, 0.0, -np.inf)
    best, best_score = [END_ID], -np.inf
    for length in range(1, limit + 1):
        # The id after the beams is not known yet, and changes nothing before.
        features = {"inputs": inputs, "targets": pad(beams, length)}
        logits = model.predict_on_batch(features)[:, length - 1]
        totals = log_probs[:, None] + np.array(ops.log_softmax(logits))
        totals[:, [PAD_ID, UNKNOWN_ID]] = -np.inf  # are never written
        # One extension of each beam can end, so enough others remain.
        order = np.argsort(-totals, axis=None, kind="stable")[: 2 * beam_size]
        parents, new_ids = np.unravel_index(order, totals.shape)
        candidates = np.column_stack([beams[parents], new_ids])
        totals = totals[parents, new_ids]
        ended = new_ids == END_ID
        if ended.any():
            score = totals[ended][0] / penalty(length, alpha)
            if score > best_score:
                best, best_score = candidates[ended][0].tolist(), score
        beams = candidates[~ended][:beam_size]
        log_probs = totals[~ended][:beam_size]
        # A log-probability only falls and the penalty only grows.
        if best_score >= log_probs[0] / penalty(limit, alpha):
            break
    return best


def penalty(length, alpha):
    """Favours longer translations, equation 14 of Wu et al. (2016)."""
    return ((5 + length) / 6) ** alpha


def pad(ids, min_length=0):
    """Fills up rows to a multiple of 16, which saves compilations."""
    length = -(-max(ids.shape[1], min_length) // 16) * 16
    return np.pad(ids, ((0, 0), (0, length - ids.shape[1])))


# The rest reads text, trains and translates.


def read_pairs(source, target):
    """Reads two files with a sentence a line, or the toy language."""
    if source:
        sides = (pathlib.Path(p).read_text("utf-8") for p in (source, target))
        sides = (side.rstrip("\n").split("\n") for side in sides)
        return list(zip(*sides, strict=True))
    from keras_transformer.problems.toy import TranslateEndeToy

    return list(TranslateEndeToy().text_pairs("train", None))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--source", help="File of sentences, one a line.")
    parser.add_argument("--target", help="File of their translations.")
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--vocab_size", type=int, default=1500)
    flags = parser.parse_args()

    pairs = read_pairs(flags.source, flags.target)
    pairs, test = pairs[:-100], pairs[-100:]
    tokenizer = train_tokenizer(pairs, flags.vocab_size)
    # The sizes of base need days on a processor; these need minutes.
    vocab_size = tokenizer.get_piece_size()
    model = compile_model(Config(vocab_size, 4, 128, 4, 256, warmup_steps=1000))
    batches = make_batches(tokenizer, pairs)
    model.fit(batches, steps_per_epoch=100, epochs=flags.updates // 100)

    sources, references = map(list, zip(*test))
    ids = tokenizer.encode(sources, add_eos=True)
    best = [beam_search(model, sentence) for sentence in ids]
    translations = tokenizer.decode([sentence[:-1] for sentence in best])
    for source, translation in zip(sources[:5], translations):
        print(f"{source}\n  {translation}")
    print(sacrebleu.corpus_bleu(translations, [references]))


if __name__ == "__main__":
    main()
