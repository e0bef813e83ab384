"""The base class of encoder and decoder: equal layers, one after another."""

from keras_transformer.layers.residual import make_layer_norm
from keras_transformer.layers.sequence_layer import SequenceLayer


class LayerStack(SequenceLayer):
    """Holds `num_layers` equal layers and, with pre-norm, a normalisation.

    Subclasses name the `layer_class` and write `call`.
    """

    layer_class = None

    def __init__(
        self, num_layers, name=None, dtype=None, trainable=True, **options
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        if num_layers < 1:
            raise ValueError(
                "`num_layers` must be at least 1. Received: "
                f"num_layers={num_layers}. Leave the stack out instead."
            )
        self.num_layers = num_layers
        self.stack = [
            self.layer_class(
                **options, dtype=self.dtype_policy, name=f"layer_{i}"
            )
            for i in range(num_layers)
        ]
        # The layers are equal, so the options of one are those of the stack.
        self.options = self.stack[0].options
        # With pre-norm no layer normalises the sum that its residuals make.
        self.final_norm = None
        if self.options["norm"] == "pre":
            self.final_norm = make_layer_norm("final_norm", self.dtype_policy)
        self.freeze_parts(*self.stack, self.final_norm)

    def build(self, input_shape):
        for layer in self.stack:
            layer.build(input_shape)
        if self.final_norm:
            self.final_norm.build(input_shape)

    def finish(self, x):
        """Normalises the output of the last layer if it is pre-norm."""
        return self.final_norm(x) if self.final_norm else x

    def get_config(self):
        return {
            **super().get_config(),
            "num_layers": self.num_layers,
            **self.options,
        }
