"""The encoder and the decoder of a run as graphs of ONNX.

Names of inputs and outputs are those of optimum, which transformers.js knows.
The decoder takes any number of new tokens and the cache of earlier ones. Where
`use_cache_branch` is false, it ignores the cache and projects the output of the
encoder; where it is true, the cache has these keys and values already. Optimum
has a branch for each case. Here one graph serves both: it cuts what a case does
not use to a length of 0, so no weight stands in the file twice.
"""

import numpy as np
from onnx import TensorProto

from keras_transformer.formats.onnx.graph import Graph
from keras_transformer.token_ids import UNKNOWN_ID

MASKED_SCORE = np.float32(-1e9)  # as in `layers.attention`
INT, FLOAT = TensorProto.INT64, TensorProto.FLOAT
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


def make_encoder(config, arrays, sizes, quantizes=False):
    """Returns the graph from ids of a source to vectors.

    `config` is a `ModelConfig`, `arrays` are the weights of a checkpoint, and
    `sizes` those of the vocabularies of targets and of inputs.
    """
    stack = _Stack(config, arrays, "encoder", quantizes)
    is_shared = config.tied_embeddings == "all"
    matrix = "embeddings" if is_shared else "input_embeddings"
    # A tokenizer may have pieces that the model lacks.
    is_known = stack.add("Less", "input_ids", sizes[1])
    ids = stack.add("Where", is_known, "input_ids", UNKNOWN_ID)
    x = stack.embed(f"model/embedding/{matrix}", ids)
    positions = stack.count(x)
    x = stack.add_positions(x, "input", positions)
    hidden = stack.hide("attention_mask")
    if config.neighbourhood_size:
        near = stack.find_near(positions, positions)
        hidden = stack.add("Add", hidden, stack.score_hidden(near))

    def attend(query, name):
        memory = (stack.split(query, name, part) for part in PARTS)
        return stack.attend(query, name, *memory, hidden, [positions] * 2)

    for place in stack.places:
        x = stack.residual(x, f"{place}/self_attention", attend)
        x = stack.residual(x, f"{place}/feed_forward", stack.feed_forward)
    stack.name(stack.finish(x), "last_hidden_state")
    axes = ["batch", "source"]
    return stack.make_model(
        {"input_ids": (INT, axes), "attention_mask": (INT, axes)},
        {"last_hidden_state": (FLOAT, [*axes, config.d_model])},
    )


def make_decoder(config, arrays, quantizes=False):
    """Returns the graph from tokens and a cache to logits and a new cache.

    The first token of a target follows an id that is ignored.
    """
    decoder = _Decoder(config, arrays, "decoder", quantizes)
    decoder.add_all()
    heads = ["batch", config.num_heads]
    pasts, presents = (
        {
            f"{prefix}.{name}": (
                FLOAT,
                [*heads, f"{prefix} {name.split('.')[1]}", "width"],
            )
            for name in decoder.cache
        }
        for prefix in ("past_key_values", "present")
    )
    return decoder.make_model(
        {
            "encoder_attention_mask": (INT, ["batch", "source"]),
            "input_ids": (INT, ["batch", "target"]),
            "encoder_hidden_states": (
                FLOAT,
                ["batch", "source", config.d_model],
            ),
            **pasts,
            "use_cache_branch": (TensorProto.BOOL, [1]),
        },
        {"logits": (FLOAT, ["batch", "target", "vocabulary"]), **presents},
    )


class _Decoder(_Stack):
    """Adds a decoder, which reads a cache and writes the next one."""

    def add_all(self):
        config = self.config
        self._read_cache()
        embeddings = "model/embedding/embeddings"
        x = self.embed(embeddings, "input_ids")
        queries = self.add("Add", self.count(x), self.past_length)
        start = np.zeros((1, 1), "float32")
        if config.decoder_start == "padding":
            start = self.embed(embeddings, [[0]])
        is_first = self.add("Equal", self.add("Unsqueeze", queries, [1]), 0)
        x = self.add("Where", is_first, start, x)
        x = self.add_positions(x, "target", queries)
        length = self.add("Add", self.past_length, self.measure(x))
        self.positions = queries, self.add("Range", 0, length, 1)
        distances = self.subtract(*self.positions)
        visible = self.add("LessOrEqual", distances, 0)
        if config.neighbourhood_size:
            near = self.find_near(*self.positions)
            visible = self.add("And", visible, near)
        self.hidden = {
            "decoder": self.score_hidden(visible),
            "encoder": self.hide("encoder_attention_mask"),
        }
        for number, place in enumerate(self.places):
            x = self.residual(
                x, f"{place}/self_attention", self.remember, number
            )
            x = self.residual(
                x, f"{place}/cross_attention", self.consult, number
            )
            x = self.residual(x, f"{place}/feed_forward", self.feed_forward)
        is_tied = config.tied_embeddings != "none"
        matrix = embeddings if is_tied else "model/embedding/softmax_weights"
        logits = self.multiply(self.finish(x), matrix, transposed=False)
        logits = self.add_bias(logits, "model/embedding/output_bias")
        self.name(logits, "logits")

    def _read_cache(self):
        """Cuts what the first step, or any other one, does not use."""
        is_cached = self.add("Cast", "use_cache_branch", to=INT)
        length = self.add("Mul", is_cached, FAR)
        self.cache = {}
        for number in range(self.config.decoder_depth):
            for kind in ("decoder", "encoder"):
                for part, width in zip(PARTS, self.config.head_widths):
                    name = f"{number}.{kind}.{part}"
                    ends = self.add("Concat", length, [width], axis=0)
                    past = f"past_key_values.{name}"
                    past = self.add("Slice", past, [0, 0], ends, [2, 3])
                    self.cache[name] = past
        length = self.add("Sub", [FAR], length)
        self.encoded = self.add(
            "Slice", "encoder_hidden_states", [0], length, [1]
        )
        shape = self.add("Shape", self.cache["0.decoder.key"], start=2, end=3)
        self.past_length = self.add("Squeeze", shape)

    def remember(self, query, name, number):
        """Attends to all earlier tokens."""
        memory = self._extend(query, name, f"{number}.decoder")
        hidden = self.hidden["decoder"]
        return self.attend(query, name, *memory, hidden, self.positions)

    def consult(self, query, name, number):
        """Attends to the output of the encoder."""
        memory = self._extend(self.encoded, name, f"{number}.encoder")
        return self.attend(query, name, *memory, self.hidden["encoder"])

    def _extend(self, vectors, name, place):
        """Returns keys and values of a cache with those of vectors."""
        for part in PARTS:
            past = self.cache[f"{place}.{part}"]
            new = self.split(vectors, name, part)
            joined = self.add("Concat", past, new, axis=2)
            self.name(joined, f"present.{place}.{part}")
            yield joined
