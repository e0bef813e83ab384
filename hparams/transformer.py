"""The paper's models, and the pre-norm variant that came after it."""

import dataclasses

from keras_transformer.hparam import HParams
from keras_transformer.registry import register_hparams


@register_hparams
def transformer_base():
    """The base model of Vaswani et al. (2017), Table 3 row "base", 65M.

    Newstest2013 en-de: perplexity 4.92, BLEU 25.8; newstest2014: en-de 27.3,
    en-fr 38.1 (tokenised, compounds split, last 5 checkpoints averaged).
    100,000 steps of about 25,000 source and 25,000 target tokens (section 5.1):
    where that is too much for the device, `--hparams=batch_tokens=4096`.
    Frozen.
    """
    return dataclasses.replace(
        HParams(), batch_tokens=25000, train_steps=100000
    )


@register_hparams
def transformer_big():
    """The big model, Table 3 row "big", 213M; dropout 0.3, 300,000 steps.

    Newstest2013 en-de: perplexity 4.33, BLEU 26.4; newstest2014: en-de 28.4
    (tokenised, compounds split, last 20 checkpoints averaged). Frozen.
    """
    return dataclasses.replace(
        transformer_base(),
        d_model=1024,
        d_ff=4096,
        num_heads=16,
        dropout=0.3,
        train_steps=300000,
    )


@register_hparams
def transformer_big_enfr():
    """The big model for English-French: dropout 0.1 (section 6.1).

    Newstest2014 en-fr: BLEU 41.8 in Table 2. Tensor2Tensor's set of this name
    also widens d_ff to 8192, which the paper does not. Frozen.
    """
    return dataclasses.replace(transformer_big(), dropout=0.1)


@register_hparams
def transformer_prenorm_base():
    """Base dimensions with normalisation before each sub-layer.

    Trains more steadily than post-norm, and with more layers. The changes are
    those of Tensor2Tensor's `transformer_base_v3`: dropout on attention weights
    and activations as well, beta2 0.997, twice the learning-rate factor and a
    warm-up twice as long. Tensor2Tensor reports "about 28" BLEU on newstest2014
    en-de after 300,000 steps on 8 devices of 4,096 tokens; batch and steps
    here are those of `transformer_base`. Frozen.
    """
    return dataclasses.replace(
        transformer_base(),
        norm="pre",
        attention_dropout=0.1,
        activation_dropout=0.1,
        adam_beta2=0.997,
        learning_rate=2.0,
        warmup_steps=8000,
    )
