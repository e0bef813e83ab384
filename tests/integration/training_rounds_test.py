"""Training in epochs with different numbers of rounds."""

import pytest
from runs import differences
from runs import train

from keras_transformer.training.backends.tensorflow_backend import (
    TensorflowBackend,
)

# With `subword_dropout` the epochs have other lengths. Their updates take 12,
# 10, 12, 12, ... rounds.
TINY = {"d_model": 16, "d_ff": 32, "num_heads": 2, "extra_length": 4}
TINY |= {"effective_batch_tokens": 16384, "batch_tokens": 2048}
TINY |= {"subword_dropout": 0.3}


class RoundsCounter(TensorflowBackend):
    """Records the number of rounds of each update."""

    def update(self, batch, *signals):
        self.rounds = [*getattr(self, "rounds", []), len(batch["seeds"])]
        return super().update(batch, *signals)


class RoundsTest:
    @pytest.mark.slow
    def test_training_continues_with_another_number_of_rounds(self, make_run):
        run = make_run(**TINY)
        trainer, _ = train(run, 11, RoundsCounter(run.hparams))
        assert trainer.backend.rounds == [12] * 10 + [10]

    @pytest.mark.slow
    def test_resumed_run_equals_an_uninterrupted_one(self, make_run):
        whole, resumed = (make_run(**TINY) for _ in range(2))
        train(whole, 33)
        for step in (13, 27, 33):
            train(resumed, step)
        # A training also logs where it stops.
        assert set(differences(resumed, whole)) <= {"metrics.csv"}
