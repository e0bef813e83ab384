"""Sentence pairs of random lengths for tests of batches."""

import numpy as np
import pytest

from keras_transformer.data.generation.token_arrays import TokenArray
from keras_transformer.data.generation.token_arrays import TokenArrayWriter
from keras_transformer.data.generation.token_arrays import TokenPairs


def random_lengths(num_pairs, seed=0):
    """Returns skewed lengths as of real sentences; the sides correlate."""
    generator = np.random.default_rng(seed)
    inputs = np.exp(generator.normal(2.6, 0.4, num_pairs))
    targets = inputs * np.exp(generator.normal(0.05, 0.2, num_pairs))
    return inputs.astype(int) + 1, targets.astype(int) + 1


def token_pairs(directory, lengths):
    """Writes pairs whose token ids encode the pair and the position."""
    sides = []
    for name, side in zip(("source", "target"), lengths):
        path = str(directory / name)
        with TokenArrayWriter(path, 1 << 30) as writer:
            for pair, length in enumerate(side):
                writer.append(1 + 1000 * pair + np.arange(length))
        sides.append(TokenArray(path))
    return TokenPairs(*sides)


def batches_of(plan):
    """Returns the batches of a plan as values that compare."""
    return [(plan[i][0].tolist(), plan[i][1]) for i in range(len(plan))]


class EveryPlanChecks:
    """Claims about the plans of all cases.

    A subclass sets `make_plan`. Each `case` is `(num_pairs, batch_tokens,
    max_length)`.
    """

    def plan(self, num_pairs, batch_tokens, max_length, **options):
        self.lengths = np.stack(random_lengths(num_pairs))
        return self.make_plan(
            *self.lengths, batch_tokens, max_length, **options
        )

    def test_every_kept_pair_occurs_once(self, case):
        plan = self.plan(*case)
        pairs = np.concatenate([plan[i][0].ravel() for i in range(len(plan))])
        is_kept = self.lengths.max(axis=0) <= (case[2] or np.inf)
        assert sorted(pairs[pairs >= 0]) == np.flatnonzero(is_kept).tolist()
        assert plan.num_dropped == np.sum(~is_kept)

    def test_no_batch_exceeds_the_budget(self, case):
        for rows, input_len, target_len in self.plan(*case).shapes:
            assert rows * max(input_len, target_len) <= case[1]

    def test_a_batch_has_at_most_one_empty_row(self, case):
        plan = self.plan(*case)
        for i in range(len(plan)):
            indices = plan[i][0]
            rows = indices.reshape(len(indices), -1)
            assert np.sum(rows.max(axis=1) < 0) <= 1

    def test_tokens_and_padding_share_agree_with_a_count(self, case):
        plan = self.plan(*case)
        positions, tokens = 0, np.zeros(2)
        for i in range(len(plan)):
            indices, (rows, input_len, target_len) = plan[i]
            positions += rows * (input_len + target_len)
            tokens += self.lengths[:, indices[indices >= 0]].sum(axis=1)
        assert plan.padding_share == pytest.approx(1 - tokens.sum() / positions)
        assert plan.tokens_per_batch == tuple(tokens / len(plan))

    def test_shapes_and_length_are_the_same_in_every_epoch(self, case):
        first = self.plan(*case, epoch=0)
        later = self.plan(*case, epoch=7, seed=3)
        assert first.shapes == later.shapes
        assert len(first) == len(later)
