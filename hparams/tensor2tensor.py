"""Tensor2Tensor's hparams sets of the Transformer for text, by their own names.

The values come from its version 1.15. Where another set of this package has the
name, `transformer_base` is `transformer_base_v3`, and the others end with
`_t2t`. Each set includes the trainer's number of steps and the decoder's extra
length. Its rate is a factor of the paper's schedule, which also divides by
sqrt(d_model). Adafactor's rate begins at its peak there, and rises to it here.
The embedding of the target space, one vector for all, is left out.
"""

from keras_transformer.hparam import HParams
from keras_transformer.hparam import parse_overrides
from keras_transformer.registry import get_hparams
from keras_transformer.registry import register_hparams

_BIG = "d_model=1024,d_ff=4096,num_heads=16"
_TPU = "optimizer=adafactor,learning_rate=1,warmup_steps=10000,max_length=64,"
_TPU += "batch_tokens=2048"
_RELATIVE = "max_relative_position=20,positional_encoding=none"
# A row has a name without "transformer_", the set that it changes, and its
# changes. The rate of base_single_gpu is 0.1 times sqrt(512), since ours has no
# factor of the width. In parsing_base, `learning_rate` has no effect there. The
# rows of the packed problems have 256 positions.
_TABLE = f"""
base_v1 - positional_encoding=tensor2tensor,initializer=glorot,
  batch_tokens=4096,train_steps=250000,extra_length=100
base_v2 base_v1 norm=pre,attention_dropout=0.1,activation_dropout=0.1,
  learning_rate=2,warmup_steps=8000
base_v3 base_v2 adam_beta2=0.997
base_single_gpu base_v3 batch_tokens=1024,learning_rate=2.2627417,
  warmup_steps=16000
base_multistep8 base_v3 effective_batch_tokens={8 * 4096}
big_t2t base_v3 {_BIG},dropout=0.3,batch_tokens=2048
big_single_gpu big_t2t dropout=0.1,warmup_steps=16000
big_enfr_t2t big_dr1 d_ff=8192,tied_embeddings=none
clean base_v2 dropout=0,attention_dropout=0,activation_dropout=0,
  label_smoothing=0,max_length=4096
clean_big clean d_model=1024,d_ff=4096
tiny_t2t base_v3 num_layers=2,d_model=128,d_ff=512,num_heads=4
small_t2t tiny_t2t d_model=256,d_ff=1024
test tiny_t2t d_model=16,d_ff=8,num_heads=2
parsing_base base_v3 d_model=1024,dropout=0.2,attention_dropout=0.2,
  max_length=512,warmup_steps=16000,tied_embeddings=none
parsing_big big_t2t dropout=0.1,max_length=512,warmup_steps=4000
parsing_ice base_single_gpu batch_tokens=4096,tied_embeddings=none
relative base_v3 {_RELATIVE}
relative_tiny relative num_layers=2,d_model=128,d_ff=512,num_heads=4
relative_big big_t2t {_RELATIVE}
tpu base_v3 {_TPU}
packed_tpu tpu max_length=256,packed=true
big_enfr_tpu big_enfr_t2t {_TPU},num_heads=8
clean_big_tpu clean_big {_TPU}
"""
_ROWS = map(str.split, _TABLE.replace(",\n  ", ",").strip().splitlines())
SETS = {name: (parent, changes) for name, parent, changes in _ROWS}
SETS |= {
    **{f"big_dr{n}": ("base_v3", f"{_BIG},dropout={n / 10}") for n in (1, 2)},
    **{f"{n}_tpu": (f"{n}_t2t", _TPU) for n in ("big", "small", "tiny")},
    **{f"l{n}": ("base_v3", f"num_layers={n}") for n in (2, 4, 8, 10)},
    **{f"h{n}": ("base_v3", f"num_heads={n}") for n in (1, 4, 16, 32)},
    **{f"k{n}": ("base_v3", f"d_k={n // 8}") for n in (128, 256)},
    **{f"ff{n}": ("base_v3", f"d_ff={n}") for n in (1024, 4096)},
    **{f"hs{n}": ("base_v3", f"d_model={n}") for n in (256, 1024)},
    **{f"dr{n}": ("base_v3", f"dropout={n / 10}") for n in (0, 2)},
    **{f"ls{n}": ("base_v3", f"label_smoothing={n / 10}") for n in (0, 2)},
}


def _register(name, parent, changes):
    base = f"transformer_{parent}"

    def make():
        others = HParams() if parent == "-" else get_hparams(base)
        return parse_overrides(others, changes)

    theirs = f"transformer_{name}".removesuffix("_t2t")
    recipe = "post-norm" if parent == "-" else f"{base} with {changes}"
    make.__doc__ = f"Tensor2Tensor's {theirs}: {recipe}."
    register_hparams(f"transformer_{name}")(make)


for _name, _row in SETS.items():
    _register(_name, *_row)
