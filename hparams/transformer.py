"""Hparams sets of the paper's models, and of a deep and a pre-norm variant."""

import dataclasses

from keras_transformer.hparam import HParams
from keras_transformer.registry import register_hparams


@register_hparams
def transformer_base():
    """The paper's base, post-norm; Tensor2Tensor's is transformer_base_v3.

    The model of Vaswani et al. (2017), Table 3 row "base", 65M. They report
    perplexity 4.92 and BLEU 25.8 on newstest2013 en-de, and on newstest2014
    BLEU 27.3 for en-de and 38.1 for en-fr (tokenised, compounds split, last 5
    checkpoints averaged). Training takes 100,000 steps of about 25,000 source
    and 25,000 target tokens (section 5.1). A device takes 4,096 positions at
    once. Weights start as in the authors' code. Frozen.
    """
    # The dimensions of base are the defaults.
    return HParams(
        initializer="tensor2tensor",
        batch_tokens=4096,
        effective_batch_tokens=25000,
        train_steps=100000,
    )


@register_hparams
def transformer_big():
    """The paper's big, post-norm; Tensor2Tensor's is transformer_big_t2t.

    Table 3 row "big", 213M; dropout 0.3, 300,000 steps. The paper reports
    perplexity 4.33 and BLEU 26.4 on newstest2013 en-de, and BLEU 28.4 on
    newstest2014 en-de (tokenised, compounds split, last 20 checkpoints
    averaged). Frozen.
    """
    return dataclasses.replace(
        transformer_base(),
        d_model=1024,
        d_ff=4096,
        num_heads=16,
        dropout=0.3,  # Table 3; 0.1 for English-French
        train_steps=300000,
    )


@register_hparams
def transformer_big_enfr():
    """Big with dropout 0.1; Tensor2Tensor's is transformer_big_enfr_t2t.

    The model of section 6.1 for English-French. The paper reports BLEU 41.8 on
    newstest2014 en-fr (Table 2). Tensor2Tensor also widens d_ff to 8192, unlike
    the paper. Frozen.
    """
    return dataclasses.replace(transformer_big(), dropout=0.1)


@register_hparams
def transformer_deep_shallow():
    """A deep encoder and a decoder of one layer: 12 + 1, the widths of base.

    Kasai et al. (2021), "Deep Encoder, Shallow Decoder: Reevaluating
    Non-autoregressive Machine Translation", find that such a model translates
    about as well as one with 6 + 6 layers and decodes faster. The decoder runs
    once for each token, and the encoder once for all tokens together.
    Everything else is as in `transformer_base`. No score is published for it.
    Frozen.
    """
    return dataclasses.replace(
        transformer_base(), num_layers=12, num_decoder_layers=1
    )


@register_hparams
def transformer_prenorm_base():
    """Pre-norm: transformer_base_v3 with transformer_base's batch and steps.

    Normalisation before each sub-layer trains more steadily than post-norm,
    even with more layers. Positions, initial weights and `extra_length` are as
    in `transformer_base`, too. Of base_v3, Tensor2Tensor reports "about 28"
    BLEU on newstest2014 en-de after 300,000 steps on 8 devices of 4,096 tokens.
    Frozen.
    """
    return dataclasses.replace(
        transformer_base(),
        norm="pre",
        attention_dropout=0.1,
        activation_dropout=0.1,
        adam_beta2=0.997,  # 0.98 in section 5.3
        learning_rate=2.0,  # factor of the paper's schedule, which has 1
        warmup_steps=8000,  # 4,000 in section 5.3
    )


@register_hparams
def transformer_parsing():
    """The paper's parser: 4 layers of d_model 1024, otherwise as base.

    On section 23 of the Wall Street Journal the paper reports F1 91.3 after
    training on 40,000 sentences, and 92.7 with 17 million more (Table 4). The
    authors chose the learning rate and the dropout on residuals and attention
    on section 22 and did not publish them. Here they come from Tensor2Tensor's
    set of the time, which has 6 layers: 0.2 for both dropouts, half the
    schedule's rate and a warm-up of 16,000 steps, so the rate peaks at 0.00012.
    Decoding uses beam 21 and alpha 0.3, and the output may be 300 longer than
    the input. Frozen.
    """
    return dataclasses.replace(
        transformer_base(),
        num_layers=4,  # section 6.3
        d_model=1024,  # section 6.3
        dropout=0.2,
        attention_dropout=0.2,
        max_length=512,
        learning_rate=0.5,
        warmup_steps=16000,
        beam_size=21,  # section 6.3, as the next two lines
        alpha=0.3,
        extra_length=300,
    )
