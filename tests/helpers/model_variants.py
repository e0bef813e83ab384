"""The models that every exporter of our own graphs writes, by their changes."""

_RELATIVE = {"positional_encoding": "none", "max_relative_position": 2}
VARIANTS = {
    "post": {},
    "marian": {
        "activation": "silu",
        "attention_bias": True,
        "output_bias": True,
        "scale_embeddings": False,
        "decoder_start": "padding",
    },
    "pre": {"norm": "pre", "activation": "gelu", "d_k": 12, "d_v": 10},
    "learned": {"positional_encoding": "learned", "max_length": 9},
    "tensor2tensor": {"positional_encoding": "tensor2tensor"},
    "relative": {**_RELATIVE, "d_k": 3, "d_v": 8},
    "near": {"neighbourhood_size": 4, "norm": "pre"},
    "target_tied": {"tied_embeddings": "target", "num_decoder_layers": 1},
    "untied": {"tied_embeddings": "none"},
}
