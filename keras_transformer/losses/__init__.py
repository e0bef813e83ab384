"""Cross-entropy, the divergence of two passes, and guided alignment."""

from keras_transformer.losses.cross_entropy import SmoothedCrossEntropy
from keras_transformer.losses.cross_entropy import smoothed_cross_entropy
from keras_transformer.losses.guided_alignment import alignment_loss
from keras_transformer.losses.projected import projected_consistency
from keras_transformer.losses.projected import projected_cross_entropy

__all__ = [
    "SmoothedCrossEntropy",
    "alignment_loss",
    "projected_consistency",
    "projected_cross_entropy",
    "smoothed_cross_entropy",
]
