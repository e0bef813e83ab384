import numpy as np
import pytest

from keras_transformer.hparam import HParams
from keras_transformer.runs.model import build_transformer
from keras_transformer.training.backends.cost import count_training_flops

VOCAB_SIZE = 10


def flops(hparams, *lengths):
    return count_training_flops(
        hparams.model, VOCAB_SIZE, lengths, hparams.passes_per_update
    )


class TrainingFlopsTest:
    @pytest.mark.parametrize("widths", [{}, {"d_k": 3, "d_v": 5}])
    @pytest.mark.parametrize("depths", [(2, 2), (3, 1), (1, 2)])
    def test_each_weight_matrix_counts_once_for_a_pair_of_tokens(
        self, widths, depths
    ):
        hparams = HParams(
            num_layers=depths[0],
            num_decoder_layers=depths[1],
            d_model=8,
            d_ff=12,
            num_heads=2,
            **widths,
        )
        model = build_transformer(hparams.model, VOCAB_SIZE)
        matrices = sum(
            int(np.prod(weight.shape))
            for weight in model.weights
            if len(weight.shape) > 1
        )
        d_k, d_v = widths.get("d_k", 4), widths.get("d_v", 4)
        # One query and one key in one attention of each encoder layer, and in
        # two of each decoder layer.
        attention = (depths[0] + 2 * depths[1]) * 2 * (d_k + d_v)
        assert flops(hparams, (1, 1)) == 6 * (matrices + attention)

    def test_it_agrees_with_a_count_by_hand(self):
        hparams = HParams(num_layers=1, d_model=4, d_ff=8, num_heads=2)
        source, target = 5, 7
        encoder = 4 * 4 * 4 + 2 * 4 * 8  # weights for each source token
        decoder = 6 * 4 * 4 + 2 * 4 * 8 + 4 * VOCAB_SIZE
        keys_and_values = 2 * 4 * 4  # of cross-attention, for source tokens
        pairs = source**2 + target**2 + source * target
        products = source * (encoder + keys_and_values) + target * decoder
        products += pairs * 4 * 2  # queries with keys, weights with values
        assert flops(hparams, (source, target)) == 6 * products

    def test_the_encoder_costs_nothing_for_target_tokens(self):
        options = {"d_model": 4, "d_ff": 8, "num_heads": 2}
        shallow = HParams(num_layers=1, num_decoder_layers=1, **options)
        deep = HParams(num_layers=3, num_decoder_layers=1, **options)
        added = [
            flops(deep, (5, length)) - flops(shallow, (5, length))
            for length in (1, 9)
        ]
        assert added[0] == added[1] > 0

    def test_pairs_of_sentences_add_up(self):
        hparams = HParams(num_layers=1, d_model=4, d_ff=8, num_heads=2)
        apart = flops(hparams, (3, 4)) + flops(hparams, (6, 2))
        assert flops(hparams, (3, 4), (6, 2)) == apart

    def test_a_neighbourhood_bounds_the_keys_of_self_attention(self):
        near, everywhere = (
            HParams(
                num_layers=1,
                d_model=4,
                d_ff=8,
                num_heads=2,
                neighbourhood_size=size,
            )
            for size in (3, 0)
        )
        saved = flops(everywhere, (10, 2)) - flops(near, (10, 2))
        assert saved == 6 * (10 * (10 - 3)) * 4 * 2

    @pytest.mark.parametrize("consistency", ["simcut", "r_drop"])
    def test_consistency_counts_two_passes(self, consistency):
        once, twice = (
            HParams(consistency=kind) for kind in ("none", consistency)
        )
        assert flops(twice, (5, 7)) == 2 * flops(once, (5, 7))

    def test_large_updates_do_not_overflow(self):
        hparams = HParams(num_layers=6, d_model=1024, d_ff=4096, num_heads=16)
        lengths = np.full((1000, 2), 25_000, np.int32)
        one = count_training_flops(hparams.model, 37_000, lengths[:1])
        assert (
            count_training_flops(hparams.model, 37_000, lengths) == 1000 * one
        )
