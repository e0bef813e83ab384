"""Hparams sets of the paper's Table 3: base with one change each.

Perplexity and BLEU are the paper's, on newstest2013 en-de without averaging.
The base model has 4.92 and 25.8. Every set is a change of `transformer_base`,
so it has post-norm and none of the dropout that later models add. Tensor2Tensor
builds its sets of these rows on its pre-norm base instead. All sets are frozen.
"""

import dataclasses

from keras_transformer.hparams.transformer import transformer_base
from keras_transformer.registry import register_hparams

# Suffix of the set's name: (perplexity, BLEU, changes of base).
ROWS = {
    "a_h1": (5.29, 24.9, {"num_heads": 1}),
    "a_h4": (5.00, 25.5, {"num_heads": 4}),
    "a_h16": (4.91, 25.8, {"num_heads": 16}),
    "a_h32": (5.01, 25.4, {"num_heads": 32}),
    "b_dk16": (5.16, 25.1, {"d_k": 16}),
    "b_dk32": (5.01, 25.4, {"d_k": 32}),
    "c_n2": (6.11, 23.7, {"num_layers": 2}),
    "c_n4": (5.19, 25.3, {"num_layers": 4}),
    "c_n8": (4.88, 25.5, {"num_layers": 8}),
    # The paper's d_k = d_v = 32 and 128 of these two rows equal d_model / h.
    "c_dm256": (5.75, 24.5, {"d_model": 256}),
    "c_dm1024": (4.66, 26.0, {"d_model": 1024}),
    "c_dff1024": (5.12, 25.4, {"d_ff": 1024}),
    "c_dff4096": (4.75, 26.2, {"d_ff": 4096}),
    "d_dropout0": (5.77, 24.6, {"dropout": 0.0}),
    "d_dropout2": (4.95, 25.5, {"dropout": 0.2}),
    "d_smoothing0": (4.67, 25.3, {"label_smoothing": 0.0}),
    "d_smoothing2": (5.47, 25.7, {"label_smoothing": 0.2}),
    "e_learned": (4.92, 25.7, {"positional_encoding": "learned"}),
}


def _register(suffix, perplexity, bleu, changes):
    def row():
        return dataclasses.replace(transformer_base(), **changes)

    row.__doc__ = (
        f"Table 3 row {suffix[0].upper()}, {changes}: "
        f"perplexity {perplexity:.2f}, BLEU {bleu}."
    )
    register_hparams(f"transformer_table3_{suffix}")(row)


for _suffix, _row in ROWS.items():
    _register(_suffix, *_row)
