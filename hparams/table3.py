"""Hparams sets of the paper's Table 3: base with one change each.

Every set is a change of `transformer_base`, so it has post-norm and none of the
dropout that later models add. Tensor2Tensor builds its sets of these rows on
its pre-norm base instead. All sets are frozen. The rows "base" and "big" are
the sets `transformer_base` and `transformer_big`.
"""

import dataclasses

from keras_transformer.hparams.transformer import transformer_base
from keras_transformer.registry import register_hparams


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of Table 3: its change of base, and the paper's scores.

    Perplexity and BLEU are on newstest2013 en-de, of one checkpoint, not an
    average. The paper omits the count of parameters where it equals base's.
    """

    perplexity: float  # per token of the authors' vocabulary
    bleu: float
    millions: int  # of parameters
    changes: dict | None = None  # of base; None for a set of another module


ROWS = {
    "base": Row(4.92, 25.8, 65),
    "a_h1": Row(5.29, 24.9, 65, {"num_heads": 1}),
    "a_h4": Row(5.00, 25.5, 65, {"num_heads": 4}),
    "a_h16": Row(4.91, 25.8, 65, {"num_heads": 16}),
    "a_h32": Row(5.01, 25.4, 65, {"num_heads": 32}),
    # Smaller keys; the values keep the width d_model / h.
    "b_dk16": Row(5.16, 25.1, 58, {"d_k": 16}),
    "b_dk32": Row(5.01, 25.4, 60, {"d_k": 32}),
    "c_n2": Row(6.11, 23.7, 36, {"num_layers": 2}),
    "c_n4": Row(5.19, 25.3, 50, {"num_layers": 4}),
    "c_n8": Row(4.88, 25.5, 80, {"num_layers": 8}),
    # The paper's d_k = d_v = 32 and 128 of these two rows equal d_model / h.
    "c_dm256": Row(5.75, 24.5, 28, {"d_model": 256}),
    "c_dm1024": Row(4.66, 26.0, 168, {"d_model": 1024}),
    "c_dff1024": Row(5.12, 25.4, 53, {"d_ff": 1024}),
    "c_dff4096": Row(4.75, 26.2, 90, {"d_ff": 4096}),
    "d_dropout0": Row(5.77, 24.6, 65, {"dropout": 0.0}),
    "d_dropout2": Row(4.95, 25.5, 65, {"dropout": 0.2}),
    "d_smoothing0": Row(4.67, 25.3, 65, {"label_smoothing": 0.0}),
    "d_smoothing2": Row(5.47, 25.7, 65, {"label_smoothing": 0.2}),
    "e_learned": Row(4.92, 25.7, 65, {"positional_encoding": "learned"}),
    "big": Row(4.33, 26.4, 213),
}


def hparams_set(name):
    """Returns the name of the hparams set of a row.

    >>> hparams_set("big"), hparams_set("a_h1")
    ('transformer_big', 'transformer_table3_a_h1')
    """
    group = "table3_" if ROWS[name].changes else ""
    return f"transformer_{group}{name}"


def _register(name, row):
    def make():
        return dataclasses.replace(transformer_base(), **row.changes)

    ((field, value),) = row.changes.items()
    make.__doc__ = (
        f"Table 3 row {name[0].upper()}, {field}={value}: perplexity "
        f"{row.perplexity:.2f}, BLEU {row.bleu}, {row.millions}M."
    )
    register_hparams(hparams_set(name))(make)


for _name, _row in ROWS.items():
    if _row.changes:
        _register(_name, _row)
