"""Cross-entropy, the divergence of two passes, guided alignment and spans."""

from keras_transformer.losses.cross_entropy import SmoothedCrossEntropy
from keras_transformer.losses.cross_entropy import smoothed_cross_entropy
from keras_transformer.losses.guidance import alignment_loss
from keras_transformer.losses.guidance import span_loss
from keras_transformer.losses.projected import projected_consistency
from keras_transformer.losses.projected import projected_cross_entropy

__all__ = [
    "SmoothedCrossEntropy",
    "alignment_loss",
    "projected_consistency",
    "projected_cross_entropy",
    "smoothed_cross_entropy",
    "span_loss",
]
