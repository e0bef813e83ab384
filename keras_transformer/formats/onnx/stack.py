"""The parts that encoder and decoder share, as operations of ONNX."""

import numpy as np
from onnx import TensorProto

from keras_transformer.formats.onnx.graph import Graph

MASKED_SCORE = np.float32(-1e9)  # as in `layers.attention`
INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT
PARTS = ("key", "value")


class Stack(Graph):
    """A graph of the encoder or the decoder."""

    def __init__(self, config, arrays, side, quantizes):
        super().__init__(arrays, quantizes)
        self.config = config
        self.side = f"model/{side}"
        depths = {"encoder": config.num_layers, "decoder": config.decoder_depth}
        self.places = [f"{self.side}/layer_{i}" for i in range(depths[side])]

    def embed(self, name, ids):
        x = self.gather(name, ids)
        if not self.config.scale_embeddings:
            return x
        return self.add("Mul", x, np.float32(self.config.d_model**0.5))

    def measure(self, x):
        """Returns the length of `(batch, length, d_model)`, a scalar."""
        return self.add("Squeeze", self.add("Shape", x, start=1, end=2))

    def count(self, x):
        """Returns the numbers from 0 to the length of `x`."""
        return self.add("Range", 0, self.measure(x), 1)

    def add_positions(self, x, side, positions):
        kind = self.config.positional_encoding
        if kind == "none":
            return x
        if kind == "learned":
            last = self.config.max_length - 1
            positions = self.add("Min", positions, last)
            table = self.weight(f"model/{side}_positions/positions")
            vectors = self.add("Gather", table, positions)
            return self.add("Add", x, vectors)
        # As in `SinusoidalPositionalEncoding`: sines and cosines alternate, or
        # all sines come first.
        width, is_other = self.config.d_model, kind == "tensor2tensor"
        divisor = np.float32(max(1, width - 2) if is_other else width)
        pairs = np.arange(0, width, 2, dtype="float32")
        scale = np.power(np.float32(10000), -pairs / divisor)
        scale = np.tile(scale, 2) if is_other else np.repeat(scale, 2)
        places = np.arange(width)
        is_sine = places < width // 2 if is_other else places % 2 == 0
        numbers = self.add("Cast", positions, to=FLOAT)
        numbers = self.add("Unsqueeze", numbers, [1])
        angles = self.add("Mul", numbers, scale)
        waves = self.add("Sin", angles), self.add("Cos", angles)
        return self.add("Add", x, self.add("Where", is_sine, *waves))

    def hide(self, mask):
        """Returns scores of a padding mask, `(batch, 1, 1, key_len)`."""
        mask = self.add("Cast", mask, to=TensorProto.BOOL)
        return self.score_hidden(self.add("Unsqueeze", mask, [1, 2]))

    def score_hidden(self, visible):
        return self.add("Where", visible, np.float32(0), MASKED_SCORE)

    def subtract(self, queries, keys):
        """Returns the distances from queries to keys, `(queries, keys)`."""
        queries = self.add("Unsqueeze", queries, [1])
        return self.add("Sub", keys, queries)

    def find_near(self, queries, keys):
        """Returns which keys are in the neighbourhoods of queries."""
        size = self.config.neighbourhood_size
        distances = self.subtract(queries, keys)
        return self.add(
            "And",
            self.add("GreaterOrEqual", distances, -(size // 2)),
            self.add("LessOrEqual", distances, (size - 1) // 2),
        )

    def residual(self, x, name, sublayer, *arguments):
        norm, is_pre = f"{name}_residual/norm", self.config.norm == "pre"
        entered = self.normalise(x, norm) if is_pre else x
        x = self.add("Add", x, sublayer(entered, name, *arguments))
        return x if is_pre else self.normalise(x, norm)

    def normalise(self, x, name):
        weights = (self.weight(f"{name}/{n}") for n in ("gamma", "beta"))
        epsilon = self.config.norm_epsilon
        return self.add(
            "LayerNormalization", x, *weights, axis=-1, epsilon=epsilon
        )

    def finish(self, x):
        is_pre = self.config.norm == "pre"
        return self.normalise(x, f"{self.side}/final_norm") if is_pre else x

    def feed_forward(self, x, name):
        hidden = self.project(x, f"{name}/inner")
        activation = self.config.activation
        if activation == "relu":
            hidden = self.add("Relu", hidden)
        elif activation == "silu":
            gate = self.add("Sigmoid", hidden)
            hidden = self.add("Mul", hidden, gate)
        else:  # gelu; this opset has no operation for it
            share = self.add("Mul", hidden, np.float32(0.5**0.5))
            share = self.add("Erf", share)
            share = self.add("Add", share, np.float32(1))
            half = self.add("Mul", hidden, np.float32(0.5))
            hidden = self.add("Mul", half, share)
        return self.project(hidden, f"{name}/outer")

    def project(self, x, name):
        return self.add_bias(self.multiply(x, name), f"{name}_bias")

    def add_bias(self, x, name):
        if name not in self.arrays:
            return x
        return self.add("Add", x, self.weight(name))

    def split(self, x, name, part):
        """Projects vectors to heads, `(batch, num_heads, length, width)`."""
        x = self.project(x, f"{name}/{part}")
        index = 1 if part == "value" else 0
        width = self.config.head_widths[index]
        shape = self.add("Shape", x, start=0, end=2)
        heads = [self.config.num_heads, width]
        shape = self.add("Concat", shape, heads, axis=0)
        # A length of 0 is meant as it is.
        x = self.add("Reshape", x, shape, allowzero=1)
        return self.add("Transpose", x, perm=[0, 2, 1, 3])

    def attend(self, query, name, keys, values, hidden, positions=None):
        """Attends to keys and values, section 3.2.2 of the paper.

        With `positions` of queries and keys, it adds the vectors of distances
        of a model that has them.
        """
        config = self.config
        queries = self.split(query, name, "query")
        scale = np.float32(config.head_widths[0] ** -0.5)
        queries = self.add("Mul", queries, scale)
        transposed = self.add("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self.add("MatMul", queries, transposed)
        is_relative = config.max_relative_position and positions
        if is_relative:
            limit = config.max_relative_position
            rows = self.subtract(*positions)
            rows = self.add("Max", rows, -limit)
            rows = self.add("Add", self.add("Min", rows, limit), limit)
            tables = [
                self.add("Gather", self.weight(f"{name}/relative_{p}"), rows)
                for p in ("keys", "values")
            ]  # both (query_len, key_len, width)
            products = self.add(
                "Einsum", queries, tables[0], equation="bhqd,qkd->bhqk"
            )
            scores = self.add("Add", scores, products)
        scores = self.add("Add", scores, hidden)
        weights = self.add("Softmax", scores, axis=-1)
        heads = self.add("MatMul", weights, values)
        if is_relative:
            sums = self.add(
                "Einsum", weights, tables[1], equation="bhqk,qkd->bhqd"
            )
            heads = self.add("Add", heads, sums)
        heads = self.add("Transpose", heads, perm=[0, 2, 1, 3])
        width = config.num_heads * config.head_widths[1]
        heads = self.add("Reshape", heads, [0, 0, width])
        return self.project(heads, f"{name}/output")
