import dataclasses

import pytest

from keras_transformer.hparam import HParams
from keras_transformer.registry import get_hparams
from keras_transformer.transformer import build_transformer

TINY = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)


def build(hparams):
    return build_transformer(hparams, vocab_size=11)


def count_params(vocab_size, hparams):
    """The number of weights by the paper's formulas, none of them made."""
    d_model, d_ff = hparams.d_model, hparams.d_ff
    width = hparams.num_heads * (hparams.d_k or d_model // hparams.num_heads)
    values = hparams.num_heads * (hparams.d_v or d_model // hparams.num_heads)
    attention = 2 * d_model * (width + values)  # no biases
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    return vocab_size * d_model + hparams.num_layers * (encoder + decoder)


class ParameterCountTest:
    """Section 5.1 says "about 37000 tokens", table 3 65M and 213M parameters.

    Outside of the shared matrix base has 44.1M weights and big 176.3M, so only
    the size of the vocabulary is left to explain the remainder. The other rows
    of table 3 say what it was: all agree to the million at 41,100 tokens, where
    base has 65.1M (last test). At 37,000 tokens base lacks 4,100 vectors of 512
    and has 63.0M. Big has 214.2M, 0.5 % above the paper's 213M, which it would
    have at 35,900 tokens: no one vocabulary gives both of the paper's figures.
    """

    @pytest.mark.parametrize(
        "changes",
        [{}, {"num_layers": 3}, {"d_k": 3}, {"d_k": 3, "d_v": 5}, {"d_ff": 5}],
    )
    def test_the_formula_counts_what_is_built(self, changes):
        hparams = dataclasses.replace(TINY, **changes)
        assert build(hparams).count_params() == count_params(11, hparams)

    def test_learned_positions_and_the_final_norms_come_on_top(self):
        learned = dataclasses.replace(
            TINY, positional_encoding="learned", max_length=7
        )
        pre = dataclasses.replace(TINY, norm="pre")
        plain = count_params(11, TINY)
        assert build(learned).count_params() == plain + 2 * 7 * 8
        assert build(pre).count_params() == plain + 2 * 2 * 8

    def test_base_and_big_agree_with_the_paper(self):
        base = count_params(37000, get_hparams("transformer_base"))
        big = count_params(37000, get_hparams("transformer_big"))
        assert base == 63_045_632
        assert big == 214_171_648
        assert abs(base / 65e6 - 1) < 0.031
        assert abs(big / 213e6 - 1) < 0.006

    @pytest.mark.parametrize(
        "row,millions",
        [
            ("base", 65),
            ("table3_b_dk16", 58),
            ("table3_b_dk32", 60),
            ("table3_c_n2", 36),
            ("table3_c_n4", 50),
            ("table3_c_n8", 80),
            ("table3_c_dm256", 28),
            ("table3_c_dm1024", 168),
            ("table3_c_dff1024", 53),
            ("table3_c_dff4096", 90),
        ],
    )
    def test_table_3_agrees_to_the_million_at_41100_tokens(self, row, millions):
        hparams = get_hparams(f"transformer_{row}")
        assert round(count_params(41100, hparams) / 1e6) == millions
