"""The sentence pairs of each epoch of a training."""

from keras_transformer.data.subword_sampling import SubwordSampler


class TrainingPairs:
    """Returns the training pairs of each epoch.

    With `subword_dropout` every epoch has segmentations of its own. Without it
    all epochs have the stored ones.

    Args:
        token_pairs: The stored `TokenPairs`.
        vocabulary: The `Subwords` of the targets; None will do without
            `subword_dropout`.
        hparams: An `HParams`.
        seed: Integer seed of the training run.
        source_vocabulary: The `Subwords` of the sources. Defaults to None,
            which means `vocabulary`.
    """

    def __init__(
        self, token_pairs, vocabulary, hparams, seed, source_vocabulary=None
    ):
        self._stored = token_pairs
        self._max_length = hparams.max_length
        self._sampler = None
        if hparams.subword_dropout:
            self._sampler = SubwordSampler(
                token_pairs,
                vocabulary,
                hparams.subword_dropout,
                seed,
                source_vocabulary,
            )

    def of_epoch(self, epoch, positions):
        """Returns the `TokenPairs` of an epoch.

        Args:
            epoch: Number of the epoch.
            positions: Number of positions per side of an update, which no
                sampled sentence exceeds.
        """
        if self._sampler is None:
            return self._stored
        longest = min(self._max_length, positions)
        return self._sampler.sample(epoch, longest)
