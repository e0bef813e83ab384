"""The sets of Tensor2Tensor, against the values of its version 1.15."""

import dataclasses
import typing

import numpy as np
import pytest

from keras_transformer import registry
from keras_transformer.hparam import HParams
from keras_transformer.hparams import tensor2tensor
from keras_transformer.optimizers import make_schedule

# Name, hidden_size, filter_size, num_hidden_layers, num_heads,
# attention_key_channels, batch_size, max_length, layer_preprocess_sequence (`_`
# for none), the dropouts of layers, attention and relu, label_smoothing,
# optimizer_adam_beta2, the kind and the factor of the learning rate, its
# warm-up, and shared_embedding_and_softmax_weights.
THEIRS = """
base_v1         512  2048 6  8  0   4096 256 _ .1 0  0  .1 .98  noam .1 4000  1
base_v2         512  2048 6  8  0   4096 256 n .1 .1 .1 .1 .98  noam .2 8000  1
base_v3         512  2048 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
base_single_gpu 512  2048 6  8  0   1024 256 n .1 .1 .1 .1 .997 flat .1 16000 1
base_multistep8 512  2048 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
big_t2t         1024 4096 6  16 0   2048 256 n .3 .1 .1 .1 .997 root 2  8000  1
big_single_gpu  1024 4096 6  16 0   2048 256 n .1 .1 .1 .1 .997 root 2  16000 1
big_dr1         1024 4096 6  16 0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
big_dr2         1024 4096 6  16 0   4096 256 n .2 .1 .1 .1 .997 root 2  8000  1
big_enfr_t2t    1024 8192 6  16 0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  0
clean           512  2048 6  8  0   4096 0   n 0  0  0  0  .98  noam .2 8000  1
clean_big       1024 4096 6  8  0   4096 0   n 0  0  0  0  .98  noam .2 8000  1
tiny_t2t        128  512  2  4  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
small_t2t       256  1024 2  4  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
test            16   8    2  2  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
l2              512  2048 2  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
l4              512  2048 4  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
l8              512  2048 8  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
l10             512  2048 10 8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
h1              512  2048 6  1  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
h4              512  2048 6  4  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
h16             512  2048 6  16 0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
h32             512  2048 6  32 0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
k128            512  2048 6  8  128 4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
k256            512  2048 6  8  256 4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
ff1024          512  1024 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
ff4096          512  4096 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
hs256           256  2048 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
hs1024          1024 2048 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
dr0             512  2048 6  8  0   4096 256 n 0  .1 .1 .1 .997 root 2  8000  1
dr2             512  2048 6  8  0   4096 256 n .2 .1 .1 .1 .997 root 2  8000  1
ls0             512  2048 6  8  0   4096 256 n .1 .1 .1 0  .997 root 2  8000  1
ls2             512  2048 6  8  0   4096 256 n .1 .1 .1 .2 .997 root 2  8000  1
parsing_base    1024 2048 6  8  0   4096 512 n .2 .2 .1 .1 .997 root 2  16000 0
parsing_big     1024 4096 6  16 0   2048 512 n .1 .1 .1 .1 .997 root 2  4000  1
parsing_ice     512  2048 6  8  0   4096 256 n .1 .1 .1 .1 .997 flat .1 16000 0
relative        512  2048 6  8  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
relative_tiny   128  512  2  4  0   4096 256 n .1 .1 .1 .1 .997 root 2  8000  1
relative_big    1024 4096 6  16 0   2048 256 n .3 .1 .1 .1 .997 root 2  8000  1
tpu             512  2048 6  8  0   2048 64  n .1 .1 .1 .1 .997 tpu  2  10000 1
packed_tpu      512  2048 6  8  0   2048 64  n .1 .1 .1 .1 .997 tpu  2  10000 1
big_tpu         1024 4096 6  16 0   2048 64  n .3 .1 .1 .1 .997 tpu  2  10000 1
big_enfr_tpu    1024 8192 6  8  0   2048 64  n .1 .1 .1 .1 .997 tpu  2  10000 0
clean_big_tpu   1024 4096 6  8  0   2048 64  n 0  0  0  0  .98  tpu  1  10000 1
small_tpu       256  1024 2  4  0   2048 64  n .1 .1 .1 .1 .997 tpu  2  10000 1
tiny_tpu        128  512  2  4  0   2048 64  n .1 .1 .1 .1 .997 tpu  2  10000 1
"""


class Theirs(typing.NamedTuple):
    """A row of the table, with the names of Tensor2Tensor."""

    hidden_size: float
    filter_size: float
    num_hidden_layers: float
    num_heads: float
    attention_key_channels: float
    batch_size: float
    max_length: float
    layer_preprocess_sequence: str
    layer_prepostprocess_dropout: float
    attention_dropout: float
    relu_dropout: float
    label_smoothing: float
    beta2: float
    rate: str
    constant: float
    warmup_steps: float
    shared: float

    def learning_rate(self, step):
        """Returns the product of factors that the set names, from step 1."""
        root = max(step, self.warmup_steps) ** -0.5
        if self.rate == "tpu":  # rsqrt_decay
            return root
        warmup = min(1, step / self.warmup_steps)
        if self.rate == "noam":  # with the constants of the "legacy" schedule
            constant = 5000 * 0.002 * self.constant
        else:
            constant = self.constant
        width = 1 if self.rate == "flat" else self.hidden_size**-0.5
        return constant * warmup * root * width


def read(row):
    name, *cells = row.split()
    return name, Theirs(
        *(cell if cell[-1] > "9" else float(cell) for cell in cells)
    )


ROWS = dict(map(read, THEIRS.strip().splitlines()))
by_set = pytest.mark.parametrize("name", ROWS)
PACKED_LENGTH = 256  # of the packed problems, which ignore max_length


def ours(name):
    return registry.get_hparams(f"transformer_{name}")


class Tensor2TensorSetsTest:
    def test_the_table_has_all_sets(self):
        assert set(ROWS) == set(tensor2tensor.SETS)

    @by_set
    def test_every_field_has_their_value(self, name):
        theirs = ROWS[name]
        max_length = theirs.max_length or theirs.batch_size
        is_packed = name == "packed_tpu"
        is_relative = name.startswith("relative")
        fields = {
            "d_model": theirs.hidden_size,
            "d_ff": theirs.filter_size,
            "num_layers": theirs.num_hidden_layers,
            "num_heads": theirs.num_heads,
            "d_k": theirs.attention_key_channels / theirs.num_heads,
            "batch_tokens": theirs.batch_size,
            "max_length": PACKED_LENGTH if is_packed else max_length,
            "packed": is_packed,
            "norm": "pre"
            if theirs.layer_preprocess_sequence == "n"
            else "post",
            "dropout": theirs.layer_prepostprocess_dropout,
            "attention_dropout": theirs.attention_dropout,
            "activation_dropout": theirs.relu_dropout,
            "label_smoothing": theirs.label_smoothing,
            "adam_beta2": theirs.beta2,
            "optimizer": "adafactor" if theirs.rate == "tpu" else "adam",
            "warmup_steps": theirs.warmup_steps,
            "tied_embeddings": "all" if theirs.shared else "none",
            "positional_encoding": "none" if is_relative else "tensor2tensor",
            "max_relative_position": 20 * is_relative,
            "initializer": "glorot",
            "effective_batch_tokens": 8 * 4096 * (name == "base_multistep8"),
            "train_steps": 250_000,
            "extra_length": 100,
            # Those in which no set differs from our defaults.
            "norm_epsilon": 1e-6,
            "adam_beta1": 0.9,
            "adam_epsilon": 1e-9,
            "weight_decay": 0,
            "gradient_clip_norm": 0,
            "beam_size": 4,
            "alpha": 0.6,
        }
        # The rate is the subject of the next test.
        rate = {"learning_rate": ours(name).learning_rate}
        expected = {**dataclasses.asdict(HParams()), **fields, **rate}
        assert dataclasses.asdict(ours(name)) == expected

    @by_set
    def test_the_learning_rate_is_theirs(self, name):
        theirs = ROWS[name]
        schedule = make_schedule(ours(name))
        # Adafactor's rate rises to its peak here, and begins there elsewhere.
        first = theirs.warmup_steps if theirs.rate == "tpu" else 1
        for step in (first, theirs.warmup_steps, 3 * theirs.warmup_steps):
            rate = float(np.asarray(schedule(step - 1)))
            assert rate == pytest.approx(theirs.learning_rate(step), rel=1e-5)

    @pytest.mark.parametrize(
        "name", ["base", "big", "big_enfr", "tiny", "small"]
    )
    def test_a_name_with_other_values_leads_to_theirs(self, name):
        other = "base_v3" if name == "base" else f"{name}_t2t"
        summary = registry.hparams_sets.get(f"transformer_{name}").__doc__
        assert f"Tensor2Tensor's is transformer_{other}." in summary
        assert other in ROWS

    @pytest.mark.parametrize(
        "name, reason",
        [
            ("imagetransformer_base", "is for images, which this package"),
            ("img2img_transformer2d_tiny", "is for images"),
            ("transformer_cifar10_memory_v0", "is for memory of"),
            ("next_frame_basic_stochastic", "is for video and games"),
            ("rlmb_base", "is for video and games"),
            ("transformer_librispeech_tpu_v1", "is for speech"),
            ("attention_lm_moe_base", "is for mixtures of experts or vector"),
            ("transformer_base_vq_ada_32ex_packed", "vector quantisation"),
            ("transformer_tall_pretrain_lm", "is for language models"),
            ("transformer_tpu_1b", "is for a billion weights on TPUs"),
            ("universal_transformer_base", "is for other models"),
        ],
    )
    def test_what_is_left_out_is_refused_with_the_reason(self, name, reason):
        with pytest.raises(ValueError) as error:
            registry.get_hparams(name)
        message = str(error.value)
        assert message.startswith(f"Tensor2Tensor's hparams_set '{name}' ")
        assert reason in message

    def test_no_set_of_ours_looks_like_one_that_is_left_out(self):
        sets = registry.hparams_sets
        assert not [name for name in sets.names() if sets.find_refusal(name)]
        assert not sets.find_refusal("transformer_bas")
