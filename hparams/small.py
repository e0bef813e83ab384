"""Hparams sets for small data and small machines."""

import dataclasses

from keras_transformer.hparam import HParams
from keras_transformer.registry import register_hparams


@register_hparams
def transformer_small():
    """A small post-norm model; Tensor2Tensor's is transformer_small_t2t.

    A model half as wide as base, for about 100,000 pairs on one GPU or CPU: 2 +
    2 layers of d_model 256 and d_ff 1024 with 4 heads. These are
    Tensor2Tensor's dimensions of this name, but with the paper's post-norm and
    a dropout of 0.2 against over-fitting. The learning rate peaks at 0.0014,
    at step 2,000. No score is published for it. To tune a model, start here and
    change one field at a time.
    """
    return HParams(
        num_layers=2,
        d_model=256,
        d_ff=1024,
        num_heads=4,
        initializer="small_branch_ends",
        dropout=0.2,  # against over-fitting; 0.1 in base
        warmup_steps=2000,
        train_steps=30000,
    )


@register_hparams
def transformer_low_resource():
    """`transformer_small` as it was tuned for 10,000 to 150,000 pairs.

    Batches are small, so that a pass through few pairs has many updates. The
    dropout of 0.3 was chosen for 30,000 pairs, and `dropout=0.1` for 100,000,
    where more dropout, twice or half the learning rate, and batches of 4,096
    are worse after half an hour. With 10,000 pairs,
    `consistency=r_drop,dropout=0.2,batch_tokens=1024` gains 3 BLEU in the same
    time. The length penalty favours longer translations than in the other sets.

    The recipes are in docs/small_corpora.md and docs/multi30k.md: average the
    last five checkpoints, and choose `--alpha` on dev. Test BLEU is 39.3 from
    the 29,000 raw pairs of Multi30k, 41.2 to 41.8 with translations of them,
    and 48.1 to 49.1 from the 112,049 pairs of Tatoeba.
    """
    return dataclasses.replace(
        transformer_small(),
        dropout=0.3,
        batch_tokens=2048,
        train_steps=10000,
        alpha=1.4,
    )


@register_hparams
def transformer_tiny():
    """A model for Multi30k, post-norm; Tensor2Tensor's is transformer_tiny_t2t.

    The published Transformer-Tiny, 2.6M with a 10,000 BPE. Wu et al. (2021),
    "Good for Misconceived Reasons: An Empirical Revisiting on the Need for
    Visual Context in Multimodal Machine Translation", report BLEU 41.02 for
    en-de on test_2016 (lower-cased tokens, beam 5, average of the last 10
    epochs). Their model has 4 + 4 layers and dropout 0.3; they train at most
    8,000 updates on 29,000 pairs. They use two GPUs with 4,096 tokens each and
    a learning rate that peaks at 0.005 after 2,000 updates. This set is for one
    small device: 2,048 tokens and the paper's schedule with a warm-up of 1,000,
    so the rate peaks at 0.0028.
    """
    return HParams(
        num_layers=4,
        d_model=128,
        d_ff=256,
        num_heads=4,
        initializer="small_branch_ends",
        dropout=0.3,
        batch_tokens=2048,  # a quarter of the authors' 2 x 4,096
        warmup_steps=1000,
        train_steps=16000,
    )


@register_hparams
def transformer_tiny_fast():
    """`transformer_tiny` for 5,000 updates instead of 16,000.

    It has dropout 0.2, and the learning rate falls to 0 along half a cosine, so
    averaging checkpoints is unnecessary. docs/speedrun.md has the recipe and
    its scores.
    """
    return dataclasses.replace(
        transformer_tiny(),
        dropout=0.2,
        peak_learning_rate=0.004,
        warmup_steps=400,
        decay_steps=5000,
        train_steps=5000,
    )


@register_hparams
def transformer_deep_shallow_tiny():
    """A deep encoder and a decoder of one layer: 6 + 1, otherwise tiny.

    The small twin of `transformer_deep_shallow`, for one small device. Widths,
    dropout and schedule are as in `transformer_tiny`. No score is published.
    """
    return dataclasses.replace(
        transformer_tiny(), num_layers=6, num_decoder_layers=1
    )


@register_hparams
def transformer_parsing_small():
    """A small parser for thousands of sentences and one GPU or CPU.

    It has 3 + 3 layers of d_model 128, normalisation before each sub-layer, and
    dropout 0.1 on residuals and attention. A classifier of spans, with room for
    64 labels, learns along with the decoder. The learning rate falls to 0 along
    half a cosine, so averaging checkpoints is unnecessary; for another number
    of updates, set `decay_steps` to it. The set decodes like
    `transformer_parsing`.
    It is made for in-order trees and augmented training;
    docs/parsing_results.md reports its scores.
    """
    return HParams(
        num_layers=3,
        d_model=128,
        d_ff=512,
        num_heads=4,
        norm="pre",
        attention_dropout=0.1,
        initializer="small_branch_ends",
        max_length=512,
        span_labels=64,
        batch_tokens=2048,
        peak_learning_rate=0.003,
        warmup_steps=800,
        decay_steps=7000,
        train_steps=7000,
        beam_size=21,
        alpha=0.3,
        extra_length=300,
    )


@register_hparams
def transformer_g2p():
    """A small model of pronunciations, for 1,000 to 30,000 words.

    It has 3 + 3 layers of d_model 128 with normalisation before each sub-layer.
    Self-attention learns distances of up to 8 symbols instead of positions,
    which few words teach sooner. Source and target have separate vocabularies,
    as in `g2p_files`. The learning rate falls to 0 along half a cosine; for
    another number of updates, such as 2,000 for a thousand words, set
    `decay_steps` to it. The recipe and its scores are in docs/results.md.
    """
    return HParams(
        num_layers=3,
        d_model=128,
        d_ff=512,
        num_heads=4,
        norm="pre",
        positional_encoding="none",
        max_relative_position=8,
        tied_embeddings="target",
        initializer="small_branch_ends",
        dropout=0.3,
        batch_tokens=2048,
        peak_learning_rate=0.003,
        warmup_steps=300,
        decay_steps=5000,
        train_steps=5000,
    )
