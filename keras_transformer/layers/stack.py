"""What encoder and decoder have in common: layers one upon another."""

import keras

from keras_transformer.layers.residual import layer_norm


class LayerStack(keras.layers.Layer):
    """Holds `num_layers` equal layers, and with pre-norm a normalisation.

    Subclasses name the `layer_class` and write `call`.
    """

    layer_class = None

    def __init__(
        self, num_layers, name=None, dtype=None, trainable=True, **options
    ):
        super().__init__(name=name, dtype=dtype, trainable=trainable)
        self.num_layers = num_layers
        self.options = options
        self.stack = [
            self.layer_class(
                **options, dtype=self.dtype_policy, name=f"layer_{i}"
            )
            for i in range(num_layers)
        ]
        self.final_norm = None
        if options.get("norm") == "pre":
            self.final_norm = layer_norm("final_norm", self.dtype_policy)

    def build(self, x_shape):
        for layer in self.stack:
            layer.build(x_shape)
        if self.final_norm:
            self.final_norm.build(x_shape)

    def finish(self, x):
        """Normalises the output of the last layer, if it is pre-norm."""
        return self.final_norm(x) if self.final_norm else x

    def get_config(self):
        return {
            **super().get_config(),
            "num_layers": self.num_layers,
            **self.options,
        }
