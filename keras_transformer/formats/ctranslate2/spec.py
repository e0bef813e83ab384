"""Lays out a run's weights as a TransformerSpec of CTranslate2."""

import ml_dtypes  # noqa: F401, teaches NumPy the name bfloat16
import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs import common_spec
from ctranslate2.specs import model_spec
from ctranslate2.specs import transformer_spec

from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID
from keras_transformer.token_ids import UNKNOWN_ID

NUM_POSITIONS = 2048  # smallest size of the table; longer texts are refused
ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "silu": common_spec.Activation.SWISH,
}


class RunConverter:
    """Converts the weights of a checkpoint, a dictionary of NumPy arrays.

    The converters of CTranslate2 read the models of other tools. This one needs
    no TensorFlow, Keras or PyTorch. The tokens are the texts of all ids.

    Our decoder starts from a zero vector, or from the embedding of padding.
    CTranslate2 supports the former for Marian and then ignores the start token.
    """

    def __init__(self, config, arrays, source_tokens, target_tokens):
        self.config = config
        self.arrays = arrays
        self.source_tokens = source_tokens
        self.target_tokens = target_tokens
        self.d_k, d_v = config.head_widths
        # CTranslate2 has a single width for queries, keys and values.
        self.head_width = max(self.d_k, d_v)
        self.num_positions = NUM_POSITIONS
        if config.positional_encoding == "learned":
            self.num_positions = max(NUM_POSITIONS, config.max_length)

    def write(self, directory, quantization):
        """Writes the files that CTranslate2 reads into a directory."""
        # A specification is a tree of empty slots. `validate` raises an error
        # if one was not filled, and `optimize` converts the numbers.
        spec = self.make_spec()
        spec.validate()
        spec.optimize(quantization=quantization)
        spec.save(directory)

    def make_spec(self):
        """Returns the `TransformerSpec` with all weights."""
        config = self.config
        options = {
            "pre_norm": config.norm == "pre",
            "activation": ACTIVATIONS[config.activation],
            "relative_position": bool(config.max_relative_position),
        }
        # By default, the heads divide d_model among them.
        if self.head_width * config.num_heads != config.d_model:
            options["head_dim"] = self.head_width
        spec = TransformerSpec(
            transformer_spec.TransformerEncoderSpec(
                config.num_layers, config.num_heads, **options
            ),
            transformer_spec.TransformerDecoderSpec(
                config.decoder_depth,
                config.num_heads,
                # Attention is returned as the mean of all heads of a layer.
                alignment_heads=config.num_heads,
                **options,
            ),
        )
        spec.config.layer_norm_epsilon = config.norm_epsilon
        spec.config.unk_token = self.target_tokens[UNKNOWN_ID]
        spec.config.eos_token = self.target_tokens[END_ID]
        spec.config.bos_token = self.target_tokens[PAD_ID]
        spec.config.decoder_start_token = self.target_tokens[PAD_ID]
        # Callers of plain CTranslate2 need not know that a source has an end.
        spec.config.add_source_eos = True
        spec.register_source_vocabulary(self.source_tokens)
        spec.register_target_vocabulary(self.target_tokens)
        self._fill_embeddings(spec)
        spec.decoder.start_from_zero_embedding = config.decoder_start == "zero"
        self._fill_stack(spec.encoder, "encoder", "input_positions")
        self._fill_stack(spec.decoder, "decoder", "target_positions")
        return spec

    def _fill_embeddings(self, spec):
        """Fills in the one to three matrices of `TokenEmbeddings`."""
        # CTranslate2 has a slot for each use of a matrix. One that the model
        # shares fills several slots, and is stored once.
        shared = self._get_weight("embedding/embeddings")
        inputs, softmax = shared, shared
        if self.config.tied_embeddings != "all":
            inputs = self._get_weight("embedding/input_embeddings")
        if self.config.tied_embeddings == "none":
            softmax = self._get_weight("embedding/softmax_weights")
        spec.encoder.embeddings[0].weight = inputs
        spec.decoder.embeddings.weight = shared
        spec.decoder.projection.weight = softmax
        if self.config.output_bias:
            bias = self._get_weight("embedding/output_bias")
            spec.decoder.projection.bias = bias

    def _fill_stack(self, spec, name, positions):
        # The factor is sqrt(d_model), as in section 3.4 of the paper.
        spec.scale_embeddings = self.config.scale_embeddings
        if not self.config.max_relative_position:
            table = Weight(self._make_positions(positions))
            spec.position_encodings.encodings = table
        for i, layer in enumerate(spec.layer):
            place = f"{name}/layer_{i}"
            self._fill_attention(layer, place, "self_attention")
            if name == "decoder":
                self._fill_attention(layer, place, "cross_attention")
            self._fill_feed_forward(layer.ffn, place)
        # With pre-norm, no layer normalises the output of the last one.
        if self.config.norm == "pre":
            self._fill_norm(spec.layer_norm, f"{name}/final_norm")

    def _fill_attention(self, layer, place, kind):
        name = f"{place}/{kind}"
        # CTranslate2 projects the same vectors in one product. In
        # cross-attention, queries are the decoder's and the rest the encoder's.
        if kind == "self_attention":
            spec = layer.self_attention
            fused = [["query", "key", "value"]]
        else:
            spec = layer.attention
            fused = [["query"], ["key", "value"]]
        for linear, kernels in zip(spec.linear, fused):
            # (num_fused * num_heads * head_width, d_model)
            linear.weight = self._join_heads(name, kernels)
            if self.config.attention_bias:
                biases = [f"{kernel}_bias" for kernel in kernels]
                linear.bias = self._join_heads(name, biases)
        output = self._get_array(f"{name}/output")
        spec.linear[-1].weight = Weight(self._pad_heads(output.T).T)
        if self.config.attention_bias:
            spec.linear[-1].bias = self._get_weight(f"{name}/output_bias")
        # By default, CTranslate2 divides by the root of the padded width.
        spec.queries_scale = np.float32(self.d_k**-0.5)
        self._fill_norm(spec.layer_norm, f"{name}_residual/norm")
        if kind == "self_attention" and self.config.max_relative_position:
            spec.relative_position_keys, spec.relative_position_values = (
                self._pad_table(f"{name}/relative_{part}")
                for part in ("keys", "values")
            )

    def _pad_table(self, name):
        """Pads vectors of distances with zeros to the width of a head."""
        table = self._get_array(name)
        missing = self.head_width - table.shape[1]
        return Weight(np.pad(table, [(0, 0), (0, missing)]))

    def _fill_feed_forward(self, spec, place):
        name = f"{place}/feed_forward"
        # Our kernels are (inputs, outputs), CTranslate2's (outputs, inputs).
        spec.linear_0.weight = Weight(self._get_array(f"{name}/inner").T)
        spec.linear_0.bias = self._get_weight(f"{name}/inner_bias")
        spec.linear_1.weight = Weight(self._get_array(f"{name}/outer").T)
        spec.linear_1.bias = self._get_weight(f"{name}/outer_bias")
        self._fill_norm(spec.layer_norm, f"{name}_residual/norm")

    def _fill_norm(self, spec, name):
        spec.gamma = self._get_weight(f"{name}/gamma")
        spec.beta = self._get_weight(f"{name}/beta")

    def _join_heads(self, name, weights):
        """Returns the kernels, or biases, of an attention, stacked."""
        arrays = (self._get_array(f"{name}/{weight}") for weight in weights)
        return Weight(np.concatenate(list(map(self._pad_heads, arrays))))

    def _pad_heads(self, weight):
        """Transposes a kernel and pads its heads with zeros to one width."""
        # The zeros change neither the scores of keys nor the sum of values.
        # From `(d_model, num_heads * width)` to `(num_heads * head_width,
        # d_model)`. A bias, `(num_heads * width,)`, gets the same zeros.
        num_heads = self.config.num_heads
        width = weight.shape[-1] // num_heads
        # (num_heads, width, d_model), or (num_heads, width)
        weight = weight.T.reshape(num_heads, width, *weight.shape[:-1])
        widths = [(0, 0)] * weight.ndim
        widths[1] = (0, self.head_width - width)
        # (num_heads * head_width, d_model), or (num_heads * head_width,)
        return np.pad(weight, widths).reshape(-1, *weight.shape[2:])

    def _make_positions(self, name):
        kind = self.config.positional_encoding
        if kind != "learned":
            return make_sinusoids(
                self.num_positions, self.config.d_model, kind == "tensor2tensor"
            )
        table = self._get_array(f"{name}/positions")
        # As in our layer, positions from `max_length` on share the last vector.
        missing = self.num_positions - len(table)
        return np.pad(table, [(0, missing), (0, 0)], mode="edge")

    def _get_weight(self, name):
        return Weight(self._get_array(name))

    def _get_array(self, name):
        return self.arrays[f"model/{name}"].astype("float32")


class Weight(model_spec.NumpyVariable):
    """A float32 array that can be converted to bfloat16 without PyTorch.

    >>> weight = Weight(np.array([1.0, 1.00390625], "float32")).to("bfloat16")
    >>> weight.dtype, weight.shape, weight.num_bytes()
    ('bfloat16', (2,), 4)
    """

    def __init__(self, array):
        super().__init__(np.array(array, "float32", order="C"))

    @property
    def dtype(self):
        # CTranslate2 reads its bits as integers.
        name = super().dtype
        return "bfloat16" if name == "uint16" else name

    def _to(self, dtype):
        if dtype != "bfloat16":
            return super()._to(dtype)
        self.array = self.array.astype("bfloat16").view("uint16")
        return self


def make_sinusoids(length, d_model, tensor2tensor=False):
    """Computes the table that `SinusoidalPositionalEncoding` adds.

    Float32 of shape `(length, d_model)`; section 3.5 of Vaswani et al. (2017).

    >>> make_sinusoids(1, 4)
    array([[0., 1., 0., 1.]], dtype=float32)
    """
    # In float32 throughout, as in the layer, so that both tables agree.
    pairs = np.arange(0, d_model, 2, dtype="float32")
    divisor = np.float32(max(1, d_model - 2) if tensor2tensor else d_model)
    scale = np.power(np.float32(10000), -pairs / divisor)
    angles = np.arange(length, dtype="float32")[:, None] * scale
    # Sines and cosines alternate, (length, d_model / 2, 2), unless all sines
    # come first, (length, 2, d_model / 2).
    axis = 1 if tensor2tensor else 2
    waves = np.stack([np.sin(angles), np.cos(angles)], axis=axis)
    return waves.reshape(length, d_model)
