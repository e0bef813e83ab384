import dataclasses

import pytest

from keras_transformer.hparam import HParams
from keras_transformer.hparams import table3
from keras_transformer.registry import get_hparams
from keras_transformer.runs.model import build_transformer

TINY = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)


def build(hparams):
    return build_transformer(hparams.model, vocab_size=11)


def count_params(vocab_size, hparams):
    """Returns the number of weights by the paper's formulas."""
    d_model, d_ff = hparams.d_model, hparams.d_ff
    width = hparams.num_heads * (hparams.d_k or d_model // hparams.num_heads)
    values = hparams.num_heads * (hparams.d_v or d_model // hparams.num_heads)
    attention = 2 * d_model * (width + values)  # no biases
    feed_forward = 2 * d_model * d_ff + d_ff + d_model
    norm = 2 * d_model
    encoder = attention + feed_forward + 2 * norm
    decoder = 2 * attention + feed_forward + 3 * norm
    layers = hparams.num_layers * encoder + hparams.decoder_depth * decoder
    return vocab_size * d_model + layers


class ParameterCountTest:
    """Compares our models with the parameter counts of the paper.

    Section 5.1 of Vaswani et al. (2017) speaks of "about 37000 tokens", and
    table 3 of 65M (base) and 213M parameters (big). Without the shared matrix,
    base has 44.1M weights and big 176.3M. Only the size of the vocabulary can
    explain the rest. At 41,100 tokens base has 65.1M weights, and the other
    rows of table 3 agree to the million, as the last test shows. At 37,000
    tokens base has 63.0M weights and big 214.2M, 0.5 % more than in the paper.
    The row with 2 layers is the furthest from the paper there: 33.6M, not 36M.
    Big would have 213M at 35,900 tokens, so no single vocabulary gives both
    counts of the paper.
    """

    @pytest.mark.parametrize(
        "changes",
        [
            {},
            {"num_layers": 3},
            {"num_layers": 3, "num_decoder_layers": 1},
            {"num_layers": 1, "num_decoder_layers": 2},
            {"d_k": 3},
            {"d_k": 3, "d_v": 5},
            {"d_ff": 5},
        ],
    )
    def test_the_formula_equals_the_count_of_a_built_model(self, changes):
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

    def test_untied_matrices_come_on_top(self):
        for tied, num_further in (("target", 1), ("none", 2)):
            hparams = dataclasses.replace(TINY, tied_embeddings=tied)
            count = count_params(11, TINY) + num_further * 11 * 8
            assert build(hparams).count_params() == count

    def test_12_and_1_layers_have_fewer_weights_than_6_and_6(self):
        deep = count_params(37000, get_hparams("transformer_deep_shallow"))
        base = count_params(37000, get_hparams("transformer_base"))
        encoder_layer = 4 * 512**2 + 2 * 512 * 2048 + 2048 + 512 + 4 * 512
        cross_attention = 4 * 512**2 + 2 * 512
        # Six encoder layers more, and five decoder layers fewer.
        assert deep - base == encoder_layer - 5 * cross_attention

    def test_base_and_big_agree_with_the_paper(self):
        base = count_params(37000, get_hparams("transformer_base"))
        big = count_params(37000, get_hparams("transformer_big"))
        assert base == 63_045_632
        assert big == 214_171_648
        assert abs(base / 65e6 - 1) < 0.031
        assert abs(big / 213e6 - 1) < 0.006

    @pytest.mark.parametrize("name", table3.ROWS)
    def test_table_3_agrees_within_7_percent_at_37000_tokens(self, name):
        count = count_params(37000, get_hparams(table3.hparams_set(name)))
        assert abs(count / 1e6 / table3.ROWS[name].millions - 1) < 0.07

    @pytest.mark.parametrize("name", [n for n in table3.ROWS if n != "big"])
    def test_table_3_agrees_to_the_million_at_41100_tokens(self, name):
        count = count_params(41100, get_hparams(table3.hparams_set(name)))
        assert round(count / 1e6) == table3.ROWS[name].millions
