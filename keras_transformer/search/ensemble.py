"""Several models that search and score as if they were one."""

import math

from keras import ops

from keras_transformer.search.beams import JointState


class Ensemble:
    """Predicts each token with the mean probability of several built models.

    The models read the same beams, so search and scoring accept an ensemble
    instead of a `Transformer`. The models may differ in everything but their
    vocabulary and their precision.

    It takes the arithmetic mean of the probabilities, as fairseq does. This is
    itself a distribution, and enumeration can check the probability of a
    sequence under it. The mean of log-probabilities, which other toolkits use,
    is not: it has to be normalised again, and a single model that excludes a
    token excludes it for all.
    """

    def __init__(self, models):
        self.models = list(models)

    def list_models(self):
        return self.models

    @property
    def variables(self):
        """A list of the variables of all models."""
        return [value for model in self.models for value in model.variables]

    @property
    def compute_dtype(self):
        return self.models[0].compute_dtype

    def decode(self, features):
        """Returns a tuple of the results of `Transformer.decode`."""
        return tuple(model.decode(features) for model in self.models)

    def logits(self, states):
        """Computes log-probabilities, `(batch, length, vocab_size)`, as logits.

        `states` is the tuple that `decode` returns, or the same part of each.
        """
        return _average_log_probs(
            [model.logits(one) for model, one in zip(self.models, states)]
        )

    def encode(self, inputs):
        """Returns a tuple of encoded inputs, and a tuple of padding masks."""
        encoded, masks = zip(*(model.encode(inputs) for model in self.models))
        return encoded, masks

    def init_cache(self, encoded, masks, beam_size, fixed_length=None):
        """Makes the caches of all models; see `Transformer.init_cache`."""
        return JointState(
            tuple(
                model.init_cache(*encoding, beam_size, fixed_length)
                for model, *encoding in zip(self.models, encoded, masks)
            )
        )

    def decode_step(self, ids, position, cache, num_ids=None):
        """Computes log-probabilities instead of a `Transformer`'s logits."""
        # Each model computes all logits, because probabilities need their sum.
        logits, caches = zip(
            *(
                model.decode_step(ids, position, one)
                for model, one in zip(self.models, cache.parts)
            )
        )
        log_probs = _average_log_probs(logits)[:, :, :num_ids]
        return log_probs, JointState(caches)


def _average_log_probs(logits):
    """Returns the logarithm of the models' mean probabilities."""
    log_probs = [
        ops.log_softmax(ops.cast(one, "float32"), axis=-1) for one in logits
    ]
    total = ops.logsumexp(
        ops.stack(log_probs, axis=0), axis=0
    )  # (batch, length, vocab_size)
    return total - math.log(len(log_probs))
