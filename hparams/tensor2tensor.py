"""Tensor2Tensor's hparams sets of the Transformer for text, by their own names.

The values are those of its version 1.15. Of its sets whose names other sets of
this package have, `transformer_base` is `transformer_base_v3`, and the rest end
with `_t2t`. What the two packages express differently:

- `batch_size` is `batch_tokens`, and eight accumulated batches are as many
  `effective_batch_tokens`.
- A rate `constant * linear_warmup * rsqrt_decay` is a factor of the paper's
  schedule, which also divides by sqrt(d_model).
- `layer_prepostprocess_dropout` is `dropout`, `relu_dropout` is
  `activation_dropout`, and the norms "none" and "dan" are "post".
- `attention_key_channels` counts all heads together, and `d_k` a single one.
- `max_length=0` is the size of a batch.
- The trainer's default number of steps and the decoder's default extra length
  belong to the sets here.

Adafactor's rate begins at its peak there, and rises to it here. The embedding
of the target space is left out, since it is the same vector everywhere.
"""

import dataclasses

from keras_transformer.hparam import HParams
from keras_transformer.registry import hparams_sets
from keras_transformer.registry import register_hparams

_BASE = "base_v3"
_BIG = {"d_model": 1024, "d_ff": 4096, "num_heads": 16}
_BIG_DR1 = {**_BIG, "dropout": 0.1}
_TINY = {"num_layers": 2, "d_model": 128, "d_ff": 512, "num_heads": 4}
_TPU = {
    "optimizer": "adafactor",
    "learning_rate": 1.0,  # of a schedule without d_model: 0.01 at the peak
    "warmup_steps": 10000,
    "max_length": 64,
    "batch_tokens": 2048,
}
_SINGLE_GPU = {
    "batch_tokens": 1024,
    "learning_rate": 0.1 * 512**0.5,  # its rate lacks rsqrt_hidden_size
    "warmup_steps": 16000,
}

# Name without "transformer_": the set that it changes, and its changes.
SETS: dict[str, tuple[str | None, dict]] = {
    "base_v1": (None, {}),
    "base_v2": (
        "base_v1",
        {
            "norm": "pre",
            "attention_dropout": 0.1,
            "activation_dropout": 0.1,
            "learning_rate": 2.0,
            "warmup_steps": 8000,
        },
    ),
    "base_v3": ("base_v2", {"adam_beta2": 0.997}),
    "base_single_gpu": (_BASE, _SINGLE_GPU),
    "base_multistep8": (_BASE, {"effective_batch_tokens": 8 * 4096}),
    "big_t2t": (_BASE, {**_BIG, "dropout": 0.3, "batch_tokens": 2048}),
    "big_single_gpu": ("big_t2t", {"dropout": 0.1, "warmup_steps": 16000}),
    "big_dr1": (_BASE, _BIG_DR1),
    "big_dr2": (_BASE, {**_BIG, "dropout": 0.2}),
    "big_enfr_t2t": ("big_dr1", {"d_ff": 8192, "tied_embeddings": "none"}),
    "clean": (
        "base_v2",
        {
            "dropout": 0.0,
            "attention_dropout": 0.0,
            "activation_dropout": 0.0,
            "label_smoothing": 0.0,
            "max_length": 4096,
        },
    ),
    "clean_big": ("clean", {"d_model": 1024, "d_ff": 4096}),
    "tiny_t2t": (_BASE, _TINY),
    "small_t2t": (_BASE, {**_TINY, "d_model": 256, "d_ff": 1024}),
    "test": (_BASE, {**_TINY, "d_model": 16, "d_ff": 8, "num_heads": 2}),
    **{f"l{n}": (_BASE, {"num_layers": n}) for n in (2, 4, 8, 10)},
    **{f"h{n}": (_BASE, {"num_heads": n}) for n in (1, 4, 16, 32)},
    **{f"k{n}": (_BASE, {"d_k": n // 8}) for n in (128, 256)},
    **{f"ff{n}": (_BASE, {"d_ff": n}) for n in (1024, 4096)},
    **{f"hs{n}": (_BASE, {"d_model": n}) for n in (256, 1024)},
    **{f"dr{n}": (_BASE, {"dropout": n / 10}) for n in (0, 2)},
    **{f"ls{n}": (_BASE, {"label_smoothing": n / 10}) for n in (0, 2)},
    # Its learning_rate of 0.05 has no effect there.
    "parsing_base": (
        _BASE,
        {
            "d_model": 1024,
            "dropout": 0.2,
            "attention_dropout": 0.2,
            "max_length": 512,
            "warmup_steps": 16000,
            "tied_embeddings": "none",
        },
    ),
    "parsing_big": (
        "big_t2t",
        {"dropout": 0.1, "max_length": 512, "warmup_steps": 4000},
    ),
    "parsing_ice": (
        "base_single_gpu",
        {"batch_tokens": 4096, "tied_embeddings": "none"},
    ),
    "tpu": (_BASE, _TPU),
    # Packed problems have rows of 256.
    "packed_tpu": ("tpu", {"max_length": 256, "packed": True}),
    "big_tpu": ("big_t2t", _TPU),
    "big_enfr_tpu": ("big_enfr_t2t", {**_TPU, "num_heads": 8}),
    "clean_big_tpu": ("clean_big", _TPU),
    "small_tpu": ("small_t2t", _TPU),
    "tiny_tpu": ("tiny_t2t", _TPU),
}

# What Tensor2Tensor's other sets are for, and a pattern of their names.
_LEFT_OUT = {
    "a billion weights on TPUs": "transformer_tpu_1b",
    "a memory of earlier text or pixels": ".*_memory_.*",
    "images": "(mtf_)?(image_?transformer|img2img|resnet|vqa|xception|revnet_|"
    "autoencoder|shake_?shake|glow|cycle_gan|sliced_gan).*|mtf_image_.*|"
    ".*_(cifar|imagenet).*",
    "video and games": "(next_frame|frame_glow|rlm[bf]|ppo|dqn|planner)_.*",
    "speech": "transformer_(librispeech|common_voice).*|lstm_asr_.*",
    "mixtures of experts or vector quantisation": ".*moe.*|.*_vq.*|"
    "transformer_(topk|ae|nat)_.*|(wmt|iwslt)_(affine|diag|base).*",
    "language models": "(attention_lm|super_lm|lmx|mqp_lm1b|mtr_lm)_.*|"
    "transformer_(ada_lm|tall|lm_tpu|wikitext|symshard_lm|prepend).*",
    "time series": "transformer_timeseries.*",
    "other models": "(adaptive_)?universal_transformer_.*|(evolved_transformer|"
    "lstm|bytenet|slicenet|aligned|mtf|mtr|mqp|neural)_.*|transformer_(aux|"
    "revnet|sketch|symshard|parameter|supervised|tpu_with_conv).*|"
    "transformer_(base|big|tiny)_bs[0-9]+",
    "other tests of speed and precision": "transformer_(mlperf_tpu|cubbitt|"
    "tpu_bf16_activation|fairseq_fp16_activation_big|teeny)",
}
for _purpose, _pattern in _LEFT_OUT.items():
    hparams_sets.refuse(
        _pattern, f"is for {_purpose}, which this package does not do"
    )
hparams_sets.refuse(
    "transformer_relative(_tiny|_big)?",
    "needs relative positions, which this package does not have",
)


def make_set(name):
    """Returns the `HParams` of one of `SETS`."""
    parent, changes = SETS[name]
    if parent:
        return dataclasses.replace(make_set(parent), **changes)
    return HParams(
        positional_encoding="tensor2tensor",
        initializer="tensor2tensor",
        batch_tokens=4096,
        train_steps=250_000,
        extra_length=100,
    )


def _register(name, parent, changes):
    def make():
        return make_set(name)

    values = ", ".join(f"{field}={value}" for field, value in changes.items())
    theirs = f"transformer_{name.removesuffix('_t2t')}"
    make.__doc__ = f"Tensor2Tensor's {theirs}: " + (
        f"transformer_{parent} with {values}."
        if parent
        else "the paper's base, with post-norm."
    )
    register_hparams(f"transformer_{name}")(make)


for _name, _row in SETS.items():
    _register(_name, *_row)
