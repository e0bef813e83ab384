"""The sentence pairs of each epoch, and the plan of their batches."""

import numpy as np

from keras_transformer.data.batches.batch_plan import make_reference
from keras_transformer.data.text.source_noise import disturb_sources
from keras_transformer.data.vocabulary.subword_sampling import SubwordSampler

# A sentence gets longer by this times the share of merges that are left out,
# relative to its length. Noise hardly changes the length.
GROWTH = 3.0


class Epochs:
    """Makes the pairs of an epoch and plans its batches.

    Both depend only on the run and on the number of the epoch, so a resumed run
    has the same ones. Each epoch may segment the text anew (`subword_dropout`)
    and disturb sources (`source_noise`). Its sentences then have other lengths,
    but the batches of all epochs have the same few shapes, since a compiler
    needs seconds for each. Earlier runs, with the rules 0, choose shapes anew.
    `positions` is the number of positions per side of an update.
    """

    def __init__(self, problem, run, positions, rules):
        self.problem = problem
        self.run = run
        self.seed = run.record["random_seed"]
        self.hparams = hparams = run.hparams
        self.positions = positions
        self._sampler = SubwordSampler(
            problem.token_pairs("train"),
            run.vocabulary,
            hparams.subword_dropout,
            self.seed,
            run.source_vocabulary,
        )
        self._longest = min(hparams.max_length, positions)
        self._reference = None
        if rules and (hparams.subword_dropout or hparams.source_noise):
            self._reference = self._make_reference()
            self._longest = self._reference[-1]

    def plan(self, epoch):
        """Returns the `TokenPairs` and the `BatchPlan` of an epoch."""
        token_pairs = disturb_sources(
            self._sampler.sample(epoch, self._longest),
            self.run.source_vocabulary,
            self.hparams.source_noise,
            self.seed,
            epoch,
            np.ravel(self._longest)[0],
        )
        plan = self.problem.batches(
            "train",
            self.positions,
            self.hparams.max_length,
            self.seed,
            epoch,
            packed=self.hparams.packed,
            token_pairs=token_pairs,
            reference=self._reference,
        )
        return token_pairs, plan

    def _make_reference(self):
        pairs = self.problem.token_pairs("train")
        lengths = np.stack([side.lengths for side in pairs], axis=1)
        return make_reference(
            lengths,
            1 + GROWTH * self.hparams.subword_dropout,
            self._longest,
            self.problem.choose_epoch_pairs("train", self.seed),
        )
