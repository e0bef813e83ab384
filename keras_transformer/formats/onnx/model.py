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

from keras_transformer.formats.onnx.stack import FLOAT
from keras_transformer.formats.onnx.stack import INT
from keras_transformer.formats.onnx.stack import PARTS
from keras_transformer.formats.onnx.stack import Stack
from keras_transformer.token_ids import UNKNOWN_ID

FAR = 2**31 - 1  # the end of every axis


def make_encoder(config, arrays, sizes, quantizes=False):
    """Returns the graph from ids of a source to vectors.

    `config` is a `ModelConfig`, `arrays` are the weights of a checkpoint, and
    `sizes` those of the vocabularies of targets and of inputs.
    """
    stack = Stack(config, arrays, "encoder", quantizes)
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


class _Decoder(Stack):
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
