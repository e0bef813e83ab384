"""Cross-entropy, the divergence of two passes, guided alignment and spans."""

import importlib
import typing

from keras_transformer.losses.cross_entropy import SmoothedCrossEntropy
from keras_transformer.losses.cross_entropy import smoothed_cross_entropy
from keras_transformer.losses.guided_alignment import alignment_loss
from keras_transformer.losses.projected import projected_consistency
from keras_transformer.losses.projected import projected_cross_entropy

if typing.TYPE_CHECKING:  # Editors and type checkers run no `__getattr__`.
    from keras_transformer.parsing.span_classifier import span_loss as span_loss

__all__ = [
    "SmoothedCrossEntropy",
    "alignment_loss",
    "projected_consistency",
    "projected_cross_entropy",
    "smoothed_cross_entropy",
    "span_loss",
]


def __getattr__(name):
    if name != "span_loss":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # Spans belong to parsing, which builds on this package.
    return importlib.import_module(
        "keras_transformer.parsing.span_classifier"
    ).span_loss
