"""Label-smoothed cross-entropy, from logits or from the decoder's states."""

from keras_transformer.losses.cross_entropy import SmoothedCrossEntropy
from keras_transformer.losses.cross_entropy import smoothed_cross_entropy
from keras_transformer.losses.projected import projected_cross_entropy

__all__ = [
    "SmoothedCrossEntropy",
    "projected_cross_entropy",
    "smoothed_cross_entropy",
]
