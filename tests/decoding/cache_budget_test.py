"""The budget of a batch follows what a search really holds in memory."""

import keras
import numpy as np
import pytest
from small_transformer import make_transformer

from keras_transformer.decoding.engines.batching import CACHE_POSITIONS
from keras_transformer.decoding.engines.batching import estimate_search_costs
from keras_transformer.decoding.engines.batching import plan_batches
from keras_transformer.decoding.engines.compiled_search import HELD_SHARE
from keras_transformer.decoding.engines.compiled_search import LOGITS_BYTES
from keras_transformer.decoding.engines.compiled_search import Replica
from keras_transformer.decoding.engines.compiled_search import (
    count_position_bytes,
)
from keras_transformer.decoding.engines.compiled_search import (
    count_processor_positions,
)
from keras_transformer.decoding.engines.compiled_search import read_free_bytes
from keras_transformer.search.ensemble import Ensemble
from keras_transformer.search.options import DecodeOptions

SIZES = pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"num_decoder_layers": 1},
        {"d_k": 3, "d_v": 5},
        {"dtype": "mixed_bfloat16"},
    ],
    ids=str,
)


def num_bytes(model, num_sentences, input_len, limit, num_beams):
    """Counts what a search holds of a batch, with the logits of a step."""
    inputs = np.full((num_sentences, input_len), 5, "int32")
    cache = model.init_cache(*model.encode(inputs), num_beams, limit)
    tensors = [part.entries for pair in cache.past for part in pair]
    tensors += [tensor for pair in cache.memory for tensor in pair]
    held = sum(
        np.prod(tensor.shape) * (2 if "16" in str(tensor.dtype) else 4)
        for tensor in tensors
    )
    return held + LOGITS_BYTES * num_sentences * num_beams * model.vocab_size


class PositionBytesTest:
    @SIZES
    @pytest.mark.parametrize("beam_size", [1, 4])
    def test_it_is_what_a_sentence_of_no_length_holds(self, sizes, beam_size):
        """The source is then as long as its translations may be."""
        model = make_transformer(**sizes)
        options = DecodeOptions(beam_size=beam_size, extra_length=6)
        held = num_bytes(model, 3, 7, 7, beam_size)
        expected = held / (3 * 7 * beam_size)
        assert count_position_bytes(model, options) == pytest.approx(expected)

    def test_samples_count_as_beams(self):
        model = make_transformer()
        samples = DecodeOptions(temperature=1.0, num_hypotheses=8, beam_size=1)
        beams = DecodeOptions(beam_size=8)
        assert samples.num_beams == beams.num_beams == 8
        assert count_position_bytes(model, samples) == count_position_bytes(
            model, beams
        )

    def test_models_of_an_ensemble_add_up(self):
        models = [make_transformer(), make_transformer(num_layers=3)]
        options = DecodeOptions()
        assert count_position_bytes(Ensemble(models), options) == pytest.approx(
            sum(count_position_bytes(model, options) for model in models)
        )


def count_cache_positions(model, free_bytes, options):
    replica = Replica(model)
    replica._free_bytes = free_bytes
    return replica.count_cache_positions(options)


class CachePositionsTest:
    @SIZES
    @pytest.mark.parametrize("extra_length", [0, 50])
    def test_no_batch_holds_more_than_its_share(self, sizes, extra_length):
        model = make_transformer(**sizes)
        options = DecodeOptions(extra_length=extra_length, beam_size=3)
        free = 2_000_000
        budget = count_cache_positions(model, free, options)
        lengths = np.random.default_rng(3).integers(1, 60, 40).tolist()
        costs = estimate_search_costs(lengths, options, None)
        batches = list(plan_batches(costs, budget))
        assert 1 < len(batches) < len(lengths)
        for batch in batches:
            longest = max(lengths[i] for i in batch)
            limit = longest + extra_length
            held = num_bytes(model, len(batch), longest, limit, 3)
            assert len(batch) == 1 or held <= HELD_SHARE * free

    def test_it_grows_with_the_memory(self):
        one, two, least = (
            count_cache_positions(make_transformer(), free, DecodeOptions())
            for free in (8e9, 16e9, 1)
        )
        assert two == pytest.approx(2 * one, abs=1) and least == 1

    def test_a_narrow_model_has_more_positions_on_a_processor(self):
        narrow, wide = (make_transformer(d_model=n) for n in (128, 1024))
        assert count_processor_positions(narrow) == 4 * CACHE_POSITIONS
        assert count_processor_positions(wide) == CACHE_POSITIONS
        # The products of the widest model decide.
        both = Ensemble([narrow, wide])
        assert count_processor_positions(both) == CACHE_POSITIONS

    def test_a_processor_has_no_budget_of_its_own(self):
        assert read_free_bytes(None) is None
        device = keras.distribution.list_devices("cpu")[0]
        assert read_free_bytes(device) is None
