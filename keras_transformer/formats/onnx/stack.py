"""The parts that encoder and decoder share, as operations of ONNX."""

import numpy as np
from onnx import TensorProto

from keras_transformer.formats.onnx.graph import Graph

MASKED_SCORE = np.float32(-1e9)  # as in `layers.attention`
INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT
PARTS = ("key", "value")


class Stack:
    """Adds the parts of the encoder or the decoder to a graph."""

    def __init__(self, config, arrays, name, quantizes):
        self.config = config
        self.graph = Graph(arrays, quantizes)
        self.name = f"model/{name}"
        depths = {"encoder": config.num_layers, "decoder": config.decoder_depth}
        self.places = [f"{self.name}/layer_{i}" for i in range(depths[name])]

    def embed(self, name, ids):
        x = self.graph.embed(name, ids)
        if not self.config.scale_embeddings:
            return x
        return self.graph.add("Mul", x, np.float32(self.config.d_model**0.5))

    def measure(self, x):
        """Returns the length of `(batch, length, d_model)`, a scalar."""
        return self.graph.add(
            "Squeeze", self.graph.add("Shape", x, start=1, end=2)
        )

    def count(self, x):
        """Returns the numbers from 0 to the length of `x`."""
        return self.graph.add("Range", 0, self.measure(x), 1)

    def add_positions(self, x, side, positions):
        kind, graph = self.config.positional_encoding, self.graph
        if kind == "none":
            return x
        if kind == "learned":
            last = self.config.max_length - 1
            positions = graph.add("Min", positions, last)
            table = graph.weight(f"model/{side}_positions/positions")
            vectors = graph.add("Gather", table, positions)
            return graph.add("Add", x, vectors)
        # As in `SinusoidalPositionalEncoding`: sines and cosines alternate, or
        # all sines come first.
        width, is_other = self.config.d_model, kind == "tensor2tensor"
        divisor = np.float32(max(1, width - 2) if is_other else width)
        pairs = np.arange(0, width, 2, dtype="float32")
        scale = np.power(np.float32(10000), -pairs / divisor)
        scale = np.tile(scale, 2) if is_other else np.repeat(scale, 2)
        places = np.arange(width)
        is_sine = places < width // 2 if is_other else places % 2 == 0
        numbers = graph.add("Cast", positions, to=FLOAT)
        numbers = graph.add("Unsqueeze", numbers, [1])
        angles = graph.add("Mul", numbers, scale)
        waves = graph.add("Sin", angles), graph.add("Cos", angles)
        return graph.add("Add", x, graph.add("Where", is_sine, *waves))

    def hide(self, mask):
        """Returns scores of a padding mask, `(batch, 1, 1, key_len)`."""
        mask = self.graph.add("Cast", mask, to=TensorProto.BOOL)
        return self.score_hidden(self.graph.add("Unsqueeze", mask, [1, 2]))

    def score_hidden(self, visible):
        return self.graph.add("Where", visible, np.float32(0), MASKED_SCORE)

    def subtract(self, queries, keys):
        """Returns the distances from queries to keys, `(queries, keys)`."""
        queries = self.graph.add("Unsqueeze", queries, [1])
        return self.graph.add("Sub", keys, queries)

    def find_near(self, queries, keys):
        """Returns which keys are in the neighbourhoods of queries."""
        size = self.config.neighbourhood_size
        distances = self.subtract(queries, keys)
        return self.graph.add(
            "And",
            self.graph.add("GreaterOrEqual", distances, -(size // 2)),
            self.graph.add("LessOrEqual", distances, (size - 1) // 2),
        )

    def residual(self, x, name, sublayer, *arguments):
        norm, is_pre = f"{name}_residual/norm", self.config.norm == "pre"
        entered = self.normalise(x, norm) if is_pre else x
        x = self.graph.add("Add", x, sublayer(entered, name, *arguments))
        return x if is_pre else self.normalise(x, norm)

    def normalise(self, x, name):
        weights = (self.graph.weight(f"{name}/{n}") for n in ("gamma", "beta"))
        epsilon = self.config.norm_epsilon
        return self.graph.add(
            "LayerNormalization", x, *weights, axis=-1, epsilon=epsilon
        )

    def finish(self, x):
        is_pre = self.config.norm == "pre"
        return self.normalise(x, f"{self.name}/final_norm") if is_pre else x

    def feed_forward(self, x, name):
        hidden = self.project(x, f"{name}/inner")
        activation = self.config.activation
        if activation == "relu":
            hidden = self.graph.add("Relu", hidden)
        elif activation == "silu":
            gate = self.graph.add("Sigmoid", hidden)
            hidden = self.graph.add("Mul", hidden, gate)
        else:  # gelu; this opset has no operation for it
            share = self.graph.add("Mul", hidden, np.float32(0.5**0.5))
            share = self.graph.add("Erf", share)
            share = self.graph.add("Add", share, np.float32(1))
            half = self.graph.add("Mul", hidden, np.float32(0.5))
            hidden = self.graph.add("Mul", half, share)
        return self.project(hidden, f"{name}/outer")

    def project(self, x, name):
        return self.add_bias(self.graph.multiply(x, name), f"{name}_bias")

    def add_bias(self, x, name):
        if not self.graph.has(name):
            return x
        return self.graph.add("Add", x, self.graph.weight(name))

    def split(self, x, name, part):
        """Projects vectors to heads, `(batch, num_heads, length, width)`."""
        x = self.project(x, f"{name}/{part}")
        index = 1 if part == "value" else 0
        width = self.config.head_widths[index]
        shape = self.graph.add("Shape", x, start=0, end=2)
        heads = [self.config.num_heads, width]
        shape = self.graph.add("Concat", shape, heads, axis=0)
        # A length of 0 is meant as it is.
        x = self.graph.add("Reshape", x, shape, allowzero=1)
        return self.graph.add("Transpose", x, perm=[0, 2, 1, 3])

    def attend(self, query, name, keys, values, hidden, positions=None):
        """Attends to keys and values, section 3.2.2 of the paper.

        With `positions` of queries and keys, it adds the vectors of distances
        of a model that has them.
        """
        graph, config = self.graph, self.config
        queries = self.split(query, name, "query")
        scale = np.float32(config.head_widths[0] ** -0.5)
        queries = graph.add("Mul", queries, scale)
        transposed = graph.add("Transpose", keys, perm=[0, 1, 3, 2])
        scores = graph.add("MatMul", queries, transposed)
        is_relative = config.max_relative_position and positions
        if is_relative:
            limit = config.max_relative_position
            rows = self.subtract(*positions)
            rows = graph.add("Max", rows, -limit)
            rows = graph.add("Add", graph.add("Min", rows, limit), limit)
            tables = [
                graph.add("Gather", graph.weight(f"{name}/relative_{p}"), rows)
                for p in ("keys", "values")
            ]  # both (query_len, key_len, width)
            products = graph.add(
                "Einsum", queries, tables[0], equation="bhqd,qkd->bhqk"
            )
            scores = graph.add("Add", scores, products)
        scores = graph.add("Add", scores, hidden)
        weights = graph.add("Softmax", scores, axis=-1)
        heads = graph.add("MatMul", weights, values)
        if is_relative:
            sums = graph.add(
                "Einsum", weights, tables[1], equation="bhqk,qkd->bhqd"
            )
            heads = graph.add("Add", heads, sums)
        heads = graph.add("Transpose", heads, perm=[0, 2, 1, 3])
        width = config.num_heads * config.head_widths[1]
        heads = graph.add("Reshape", heads, [0, 0, width])
        return self.project(heads, f"{name}/output")
