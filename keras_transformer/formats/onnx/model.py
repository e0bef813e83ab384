"""The encoder and the decoder of a run as graphs of ONNX.

Inputs and outputs have the names of optimum, which transformers.js knows. The
decoder takes any number of new tokens and the cache of earlier ones. Where
`use_cache_branch` is false, it ignores the cache and projects the output of the
encoder; where it is true, the cache has these keys and values already. Optimum
has a branch for each case. Here one graph serves both: it cuts what a case does
not use to a length of 0, so no weight stands in the file twice.
"""

import numpy as np
from onnx import TensorProto

from keras_transformer.formats.onnx.graph import FLOAT
from keras_transformer.formats.onnx.graph import Graph
from keras_transformer.token_ids import UNKNOWN_ID

MASKED_SCORE = -1e9  # as in `layers.attention`
INT, BOOL = TensorProto.INT64, TensorProto.BOOL
PARTS = ("key", "value")
FAR = 2**31 - 1  # the end of every axis


class _Stack(Graph):
    """The parts that encoder and decoder share."""

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
        return self.add("Mul", x, self.config.d_model**0.5)

    def measure(self, x, axis=1):
        """Returns the length of an axis, a scalar."""
        shape = self.add("Shape", x, start=axis, end=axis + 1)
        return self.add("Squeeze", shape)

    def add_positions(self, x, side, positions):
        kind = self.config.positional_encoding
        if kind == "none":
            return x
        if kind == "learned":
            last = self.config.max_length - 1
            positions = self.add("Min", positions, last)
            table = self.weight(f"model/{side}_positions/positions")
            return self.add("Add", x, self.add("Gather", table, positions))
        # The same as in `SinusoidalPositionalEncoding`.
        width, is_split = self.config.d_model, kind == "tensor2tensor"
        pairs = np.arange(0, width, 2, dtype="float32")
        divisor = np.float32(max(1, width - 2) if is_split else width)
        scale = np.power(np.float32(10000), -pairs / divisor)
        numbers = self.add("Cast", positions, to=FLOAT)
        angles = self.add("Mul", self.add("Unsqueeze", numbers, [1]), scale)
        axis = 1 if is_split else 2
        waves = [
            self.add("Unsqueeze", self.add(wave, angles), [axis])
            for wave in ("Sin", "Cos")
        ]
        # (length, d_model / 2, 2), or (length, 2, d_model / 2)
        table = self.add("Concat", *waves, axis=axis)
        table = self.add("Reshape", table, [0, width])  # (length, d_model)
        return self.add("Add", x, table)

    def hide_padding(self, mask):
        """Returns scores of a padding mask, `(batch, 1, 1, key_len)`."""
        mask = self.add("Cast", mask, to=BOOL)
        return self.hide(self.add("Unsqueeze", mask, [1, 2]))

    def hide(self, visible):
        return self.add("Where", visible, 0.0, MASKED_SCORE)

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
            hidden = self.add("Mul", hidden, self.add("Sigmoid", hidden))
        else:  # gelu; this opset has no operation for it
            share = self.add("Erf", self.add("Mul", hidden, 0.5**0.5))
            half = self.add("Mul", hidden, 0.5)
            hidden = self.add("Mul", half, self.add("Add", share, 1.0))
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
        width = self.config.head_widths[part == "value"]
        # The first two sizes stay.
        x = self.add("Reshape", x, [0, 0, self.config.num_heads, width])
        return self.add("Transpose", x, perm=[0, 2, 1, 3])

    def attend(self, query, name, keys, values, hidden, positions=None):
        """Attends to keys and values, section 3.2.2 of the paper.

        With `positions` of queries and keys, it adds the vectors of distances
        of a model that has them.
        """
        config = self.config
        queries = self.split(query, name, "query")
        queries = self.add("Mul", queries, config.head_widths[0] ** -0.5)
        transposed = self.add("Transpose", keys, perm=[0, 1, 3, 2])
        scores = self.add("MatMul", queries, transposed)
        limit = config.max_relative_position if positions else 0
        if limit:
            rows = self.add("Max", self.subtract(*positions), -limit)
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
        if limit:
            sums = self.add(
                "Einsum", weights, tables[1], equation="bhqk,qkd->bhqd"
            )
            heads = self.add("Add", heads, sums)
        heads = self.add("Transpose", heads, perm=[0, 2, 1, 3])
        width = config.num_heads * config.head_widths[1]
        heads = self.add("Reshape", heads, [0, 0, width])
        return self.project(heads, f"{name}/output")


def make_encoder(config, arrays, quantizes=False):
    """Returns the graph from ids of a source to vectors.

    `config` is a `ModelConfig`, and `arrays` are the weights of a checkpoint.
    """
    stack = _Stack(config, arrays, "encoder", quantizes)
    is_shared = config.tied_embeddings == "all"
    matrix = "embeddings" if is_shared else "input_embeddings"
    matrix = f"model/embedding/{matrix}"
    axes = ["batch", "source"]
    ids = stack.add_input("input_ids", INT, axes)
    hidden = stack.hide_padding(stack.add_input("attention_mask", INT, axes))
    # A tokenizer may have pieces that the model lacks.
    is_known = stack.add("Less", ids, len(arrays[matrix]))
    ids = stack.add("Where", is_known, ids, UNKNOWN_ID)
    x = stack.embed(matrix, ids)
    positions = stack.add("Range", 0, stack.measure(x), 1)
    x = stack.add_positions(x, "input", positions)
    if config.neighbourhood_size:
        near = stack.find_near(positions, positions)
        hidden = stack.add("Add", hidden, stack.hide(near))

    def attend(query, name):
        memory = (stack.split(query, name, part) for part in PARTS)
        return stack.attend(query, name, *memory, hidden, [positions] * 2)

    for place in stack.places:
        x = stack.residual(x, f"{place}/self_attention", attend)
        x = stack.residual(x, f"{place}/feed_forward", stack.feed_forward)
    x = stack.finish(x)
    stack.add_output("last_hidden_state", x, [*axes, config.d_model])
    return stack.make_model()


def make_decoder(config, arrays, quantizes=False):
    """Returns the graph from tokens and a cache to logits and a new cache.

    The first token of a target follows an id that is ignored.
    """
    return _Decoder(config, arrays, "decoder", quantizes).make()


class _Decoder(_Stack):
    """Makes a decoder, which reads a cache and writes the next one."""

    def make(self):
        config, embeddings = self.config, "model/embedding/embeddings"
        source = ["batch", "source"]
        mask = self.add_input("encoder_attention_mask", INT, source)
        x = self.embed(
            embeddings, self.add_input("input_ids", INT, ["batch", "target"])
        )
        encoded = self.add_input(
            "encoder_hidden_states", FLOAT, [*source, config.d_model]
        )
        self._read_cache(encoded)
        start = self.measure(self.cache["0.decoder.key"], 2)
        length = self.add("Add", start, self.measure(x))
        self.positions = [
            self.add("Range", first, length, 1) for first in (start, 0)
        ]
        first = np.zeros((1, 1), "float32")
        if config.decoder_start == "padding":
            first = self.embed(embeddings, [[0]])
        numbers = self.add("Unsqueeze", self.positions[0], [1])
        x = self.add("Where", self.add("Equal", numbers, 0), first, x)
        x = self.add_positions(x, "target", self.positions[0])
        visible = self.add("LessOrEqual", self.subtract(*self.positions), 0)
        if config.neighbourhood_size:
            near = self.find_near(*self.positions)
            visible = self.add("And", visible, near)
        self.hidden = self.hide(visible), self.hide_padding(mask)
        for number, place in enumerate(self.places):
            for kind, attend in (
                ("self_attention", self.remember),
                ("cross_attention", self.consult),
            ):
                x = self.residual(x, f"{place}/{kind}", attend, number)
            x = self.residual(x, f"{place}/feed_forward", self.feed_forward)
        is_tied = config.tied_embeddings != "none"
        matrix = embeddings if is_tied else "model/embedding/softmax_weights"
        logits = self.multiply(self.finish(x), matrix, transposed=False)
        logits = self.add_bias(logits, "model/embedding/output_bias")
        self.add_output("logits", logits, ["batch", "target", "vocabulary"])
        for name, present in self.cache.items():
            axes = self._list_axes("present", name)
            self.add_output(f"present.{name}", present, axes)
        return self.make_model()

    def _list_axes(self, prefix, name):
        kind = name.split(".")[1]
        return ["batch", self.config.num_heads, f"{prefix} {kind}", "width"]

    def _read_cache(self, encoded):
        """Cuts what the first step, or any other one, does not use."""
        self.cache = {}  # of names such as 0.decoder.key
        uses_cache = self.add_input("use_cache_branch", BOOL, [1])
        length = self.add("Mul", self.add("Cast", uses_cache, to=INT), FAR)
        for number in range(self.config.decoder_depth):
            for kind in ("decoder", "encoder"):
                for part, width in zip(PARTS, self.config.head_widths):
                    name = f"{number}.{kind}.{part}"
                    axes = self._list_axes("past_key_values", name)
                    past = f"past_key_values.{name}"
                    past = self.add_input(past, FLOAT, axes)
                    ends = self.add("Concat", length, [width], axis=0)
                    past = self.add("Slice", past, [0, 0], ends, [2, 3])
                    self.cache[name] = past
        length = self.add("Sub", [FAR], length)
        self.encoded = self.add("Slice", encoded, [0], length, [1])

    def remember(self, query, name, number):
        """Attends to all earlier tokens."""
        memory = self._extend(query, name, f"{number}.decoder")
        return self.attend(query, name, *memory, self.hidden[0], self.positions)

    def consult(self, query, name, number):
        """Attends to the output of the encoder."""
        memory = self._extend(self.encoded, name, f"{number}.encoder")
        return self.attend(query, name, *memory, self.hidden[1])

    def _extend(self, vectors, name, place):
        """Adds keys and values of vectors to a cache; returns both."""
        for part in PARTS:
            past = self.cache[f"{place}.{part}"]
            new = self.split(vectors, name, part)
            present = self.add("Concat", past, new, axis=2)
            self.cache[f"{place}.{part}"] = present
            yield present
