"""Sets for constituency parsing (section 6.3 of the paper)."""

import dataclasses

from keras_transformer.hparam import HParams
from keras_transformer.hparams.transformer import transformer_base
from keras_transformer.registry import register_hparams


@register_hparams
def transformer_parsing():
    """The paper's parser: 4 layers of d_model 1024, the rest as base.

    Wall Street Journal, section 23: F1 91.3 trained on 40,000 sentences, 92.7
    with 17 million more (Table 4). Dropout, on residuals and on attention, and
    the learning rate were chosen on section 22 and not published. Here they are
    what Tensor2Tensor's set, which has 6 layers, had then: 0.2 for both, half
    the schedule's rate and a warm-up of 16,000 steps, so a peak of 0.00012.
    Beam 21, alpha 0.3, output of at most the input's length and 300. Frozen.
    """
    return dataclasses.replace(
        transformer_base(),
        num_layers=4,
        d_model=1024,
        dropout=0.2,
        attention_dropout=0.2,
        max_length=512,
        learning_rate=0.5,
        warmup_steps=16000,
        beam_size=21,
        alpha=0.3,
        extra_length=300,
    )


@register_hparams
def transformer_parsing_small():
    """A small parser for thousands of sentences, one GPU or a processor.

    3 + 3 layers of d_model 128 with normalisation before each sub-layer,
    dropout 0.1 on residuals and on attention. Decodes as `transformer_parsing`.
    Made for the lexicalised form and augmented training: docs/parsing.md has
    the figures.
    """
    return dataclasses.replace(
        HParams(),
        num_layers=3,
        d_model=128,
        d_ff=512,
        num_heads=4,
        norm="pre",
        attention_dropout=0.1,
        max_length=512,
        batch_tokens=2048,
        warmup_steps=800,
        train_steps=8000,
        beam_size=21,
        alpha=0.3,
        extra_length=300,
    )
