"""Compares generation with whole passes of a decoder-only model."""

import itertools

import numpy as np
import pytest
from keras import ops
from layer_checks import randomize
from layer_checks import to_numpy

from keras_transformer import layers
from keras_transformer import masks
from keras_transformer.search.continuation import generate

VOCAB_SIZE = 6
PROMPTS = np.array([[5, 2, 3], [4, 0, 0]])
NEIGHBOURHOOD = pytest.param({"neighbourhood_size": 4}, marks=pytest.mark.slow)


class LanguageModel:
    """A small decoder-only model with random weights."""

    def __init__(self, **options):
        self.embedding = layers.SharedEmbedding(VOCAB_SIZE, 8)
        self.positions = layers.SinusoidalPositionalEncoding()
        self.encoder = layers.Encoder(
            num_layers=2,
            d_model=8,
            num_heads=2,
            d_ff=16,
            **{"causal": True, **options},
        )
        self.embedding.build()
        self.encoder.build((None, None, 8))
        randomize(self.embedding)
        randomize(self.encoder)

    def model(self, ids):
        x = self.positions(self.embedding(ids))
        x = self.encoder(x, masks.padding_mask(ids))
        return self.embedding(x, reverse=True)

    def step(self, ids, position, cache):
        x = self.positions(
            self.embedding(ids),
            start=position,
            positions=ops.zeros_like(ids),
        )
        x, cache = self.encoder.step(x, cache, position)
        return self.embedding(x, reverse=True), cache

    def generate(self, prompts=PROMPTS, **options):
        return generate(self.step, self.encoder.init_cache, prompts, **options)

    def next_log_probs(self, ids):
        """Returns the log-probabilities of the ids after a list of ids."""
        logits = self.model(np.array([ids]))[0, -1]
        return to_numpy(ops.log_softmax(logits))

    def score(self, ids):
        """Returns the log-probability of all ids after the first one."""
        return sum(
            self.next_log_probs(ids[:i])[ids[i]] for i in range(1, len(ids))
        )


@pytest.fixture(scope="module", params=[{}, NEIGHBOURHOOD])
def language_model(request):
    return LanguageModel(**request.param)


class GenerateTest:
    def test_beam_of_one_takes_the_likeliest_id_at_each_position(
        self, language_model
    ):
        sequences, _ = language_model.generate(beam_size=1, extra_length=4)
        assert sequences.shape == (2, 1, 7)
        for prompt, sequence in zip(PROMPTS, sequences[:, 0]):
            ids = [int(i) for i in prompt if i]
            length = len(ids) + 4
            while len(ids) < length and ids[-1] != 1:
                log_probs = language_model.next_log_probs(ids)
                ids.append(1 + int(log_probs[1:].argmax()))
            np.testing.assert_array_equal(sequence[: len(ids)], ids)
            assert not sequence[len(ids) :].any()

    def test_wide_beam_finds_what_enumeration_finds(self, language_model):
        sequences, scores = language_model.generate(
            [[5, 2]], beam_size=30, alpha=0.0, extra_length=2
        )
        words = range(1, VOCAB_SIZE)
        endings = [(1,)] + [
            pair for pair in itertools.product(words, words) if pair[0] != 1
        ]
        best = max(
            ([5, 2, *ending] for ending in endings), key=language_model.score
        )
        np.testing.assert_array_equal(sequences[0, 0, : len(best)], best)
        assert abs(scores[0, 0] - language_model.score(best)) < 1e-4

    def test_samples_follow_from_the_seed(self, language_model):
        options = {"temperature": 1.0, "num_hypotheses": 8, "extra_length": 4}
        first, _ = language_model.generate(**options, seed=1)
        again, _ = language_model.generate(**options, seed=1)
        other, _ = language_model.generate(**options, seed=2)
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()
        assert len(np.unique(first[0], axis=0)) > 1
        np.testing.assert_array_equal(
            first[:, :, 0], np.repeat(PROMPTS[:, :1], 8, axis=1)
        )

    @pytest.mark.slow
    def test_rows_and_seeds_share_no_samples(self, language_model):
        options = {"temperature": 1.0, "num_hypotheses": 8, "extra_length": 4}
        prompts = [[5, 2, 3]] * 4
        samples = np.concatenate(
            [
                language_model.generate(prompts, seed=seed, **options)[0]
                for seed in (0, 1, 2**32)
            ]
        )
        assert len(np.unique(samples, axis=0)) == len(samples) == 12

    def test_a_row_does_not_depend_on_the_number_of_rows(self, language_model):
        options = {"temperature": 1.0, "num_hypotheses": 3, "seed": 3}
        together, _ = language_model.generate([[5, 2]] * 3, **options)
        alone, _ = language_model.generate([[5, 2]], **options)
        np.testing.assert_array_equal(together[:1], alone)

    def test_columns_of_padding_change_nothing(self, language_model):
        prompts = np.pad(PROMPTS, [(0, 0), (0, 3)])
        padded = language_model.generate(prompts, extra_length=1)
        for ours, expected in zip(
            padded, language_model.generate(extra_length=1)
        ):
            np.testing.assert_array_equal(ours, expected)

    def test_a_negative_seed_is_an_error(self, language_model):
        with pytest.raises(ValueError, match="`seed` must be .*seed=-1"):
            language_model.generate(temperature=1.0, seed=-1)

    @pytest.mark.parametrize(
        "prompts", [[5, 2], [[0, 5]], [[5, 1]], [[]], [[5.0]]]
    )
    def test_other_prompts_are_errors(self, language_model, prompts):
        with pytest.raises(ValueError, match="`prompts` must be integers"):
            language_model.generate(prompts)

    def test_options_of_translation_are_errors(self, language_model):
        with pytest.raises(ValueError, match="Received: mbr_samples"):
            language_model.generate(mbr_samples=4)

    def test_an_encoder_that_sees_the_future_is_an_error(self):
        with pytest.raises(ValueError, match="causal=True"):
            LanguageModel(causal=False).generate()
