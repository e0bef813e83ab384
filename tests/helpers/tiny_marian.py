"""Small Marian models of random weights, and their logits by NumPy."""

import json

import numpy as np
from layer_checks import attention
from layer_checks import feed_forward
from marian_examples import ENGLISH
from marian_examples import GERMAN
from marian_examples import train_sentencepiece
from marian_examples import write_marian_example

from keras_transformer.formats.marian import weights as marian_weights
from keras_transformer.formats.marian.tensor_files import write_arrays

WIDTH, INNER, HEADS = 16, 24, 4
MODELS = [train_sentencepiece(texts * 9, 60) for texts in (ENGLISH, GERMAN)]


def write_tiny_marian(directory, **changes):
    """Writes a model with the config of `MarianConfig`, changed; returns both.

    The result is the config and the arrays by their names in transformers. An
    entry `is_started` of the changes gives padding a vector.
    """
    is_started = changes.pop("is_started", False)
    is_shared = changes.get("share_encoder_decoder_embeddings", True)
    directory.mkdir(exist_ok=True)
    write_marian_example(directory, MODELS, separate=not is_shared)
    tables = ["vocab.json", "vocab.json" if is_shared else "target_vocab.json"]
    tables = [json.loads((directory / name).read_text()) for name in tables]
    padding = tables[0]["<pad>"]
    config = {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": WIDTH,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "encoder_ffn_dim": INNER,
        "decoder_ffn_dim": INNER,
        "encoder_attention_heads": HEADS,
        "decoder_attention_heads": HEADS,
        "activation_function": "swish",
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "vocab_size": len(tables[0]),
        "decoder_vocab_size": len(tables[1]),
        "max_position_embeddings": 512,
        "pad_token_id": padding,
        "eos_token_id": 0,
        "forced_eos_token_id": 0,
        "decoder_start_token_id": tables[1]["<pad>"],
        **changes,
    }
    (directory / "config.json").write_text(json.dumps(config))
    arrays = make_arrays(config, is_started)
    write_arrays(str(directory / "model.safetensors"), arrays)
    return config, arrays


def make_arrays(config, is_started=False):
    """Returns random arrays of a model by their names in transformers."""
    generator = np.random.default_rng(0)
    width, inner = config["d_model"], config["encoder_ffn_dim"]
    sizes = config["decoder_vocab_size"], config["vocab_size"]
    shapes = {"final_logits_bias": (1, sizes[0])}
    if config["share_encoder_decoder_embeddings"]:
        shapes[marian_weights.SHARED] = (sizes[1], width)
    else:
        shapes[marian_weights.INPUTS] = (sizes[1], width)
        shapes[marian_weights.TARGETS] = (sizes[0], width)
    if not config["tie_word_embeddings"]:
        shapes[marian_weights.SOFTMAX] = (sizes[0], width)
    for side in ("encoder", "decoder"):
        attentions = ["self_attn", *["encoder_attn"] * (side == "decoder")]
        for number in range(config[f"{side}_layers"]):
            layer = f"model.{side}.layers.{number}."
            linear = {"fc1": (inner, width), "fc2": (width, inner)}
            for name in attentions:
                for part in ("q", "k", "v", "out"):
                    linear[f"{name}.{part}_proj"] = (width, width)
            for name, shape in linear.items():
                shapes[f"{layer}{name}.weight"] = shape
                shapes[f"{layer}{name}.bias"] = shape[:1]
            for name in (*attentions, "final"):
                norm = "final" if name == "final" else name
                for weight in ("weight", "bias"):
                    key = f"{layer}{norm}_layer_norm.{weight}"
                    shapes[key] = (width,)
    arrays = {}
    for name, shape in shapes.items():
        scale = 0.3 if len(shape) == 1 else shape[-1] ** -0.5
        values = generator.normal(size=shape) * scale
        if name.endswith("norm.weight"):
            values = values + 1
        arrays[name] = values.astype("float32")
    for name in (marian_weights.SHARED, marian_weights.TARGETS):
        if name in arrays and not is_started:
            # As in genuine models, the decoder starts from a zero vector.
            arrays[name][config["decoder_start_token_id"]] = 0
    return arrays


def compute_logits(config, arrays, inputs, targets):
    """Returns the logits `(target_len, vocab_size)` of one pair of ids."""
    shared = arrays.get(marian_weights.SHARED)
    encoder = arrays.get(marian_weights.INPUTS, shared)
    decoder = arrays.get(marian_weights.TARGETS, shared)
    scale = config["d_model"] ** 0.5 if config["scale_embedding"] else 1
    activation = config["activation_function"].replace("swish", "silu")

    def embed(matrix, ids):
        table = marian_weights.make_positions(len(ids), config["d_model"])
        return matrix[ids] * scale + table

    def project(x, name):
        return x @ arrays[f"{name}.weight"].T + arrays[f"{name}.bias"]

    def attend(x, memory, name, allowed=True):
        queries, keys, values = (
            np.stack(np.split(project(y, f"{name}.{part}_proj"), HEADS, -1))
            for y, part in ((x, "q"), (memory, "k"), (memory, "v"))
        )
        heads = attention(queries, keys, values, allowed)
        heads = np.concatenate(list(heads), axis=-1)
        return norm(x + project(heads, f"{name}.out_proj"), name)

    def norm(x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
        weights = (arrays[f"{name}_layer_norm.{w}"] for w in ("weight", "bias"))
        gamma, beta = weights
        return x * gamma + beta

    def feed(x, layer):
        kernels = {
            "inner": arrays[f"{layer}fc1.weight"].T,
            "inner_bias": arrays[f"{layer}fc1.bias"],
            "outer": arrays[f"{layer}fc2.weight"].T,
            "outer_bias": arrays[f"{layer}fc2.bias"],
        }
        return norm(x + feed_forward(kernels, x, activation), f"{layer}final")

    x = embed(encoder, inputs)
    for number in range(config["encoder_layers"]):
        layer = f"model.encoder.layers.{number}."
        x = feed(attend(x, x, f"{layer}self_attn"), layer)
    y = embed(decoder, [config["decoder_start_token_id"], *targets[:-1]])
    past = np.tri(len(targets), dtype=bool)
    for number in range(config["decoder_layers"]):
        layer = f"model.decoder.layers.{number}."
        y = attend(y, y, f"{layer}self_attn", past)
        y = feed(attend(y, x, f"{layer}encoder_attn"), layer)
    softmax = arrays.get(marian_weights.SOFTMAX, decoder)
    return y @ softmax.T + arrays["final_logits_bias"]
