"""The files config.json and generation_config.json of Marian models."""

import logging
import os

from keras_transformer.errors import UserError
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import read_record
from keras_transformer.formats.imported_run import unsupported
from keras_transformer.hparam import HParams
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
NORM_EPSILON = 1e-5  # PyTorch's; no config states it
MAX_LENGTH = 512  # tokens of an output, as in the models of OPUS-MT
ACTIVATIONS = {"relu": "relu", "gelu": "gelu", "swish": "silu", "silu": "silu"}
_log = logging.getLogger(__name__)
_REMEDY = "Get the files of the model again."

_RATES = ("dropout", "attention_dropout", "activation_dropout")
_RATE = (float, None)
_ID = (WHOLE, None)
# The fields that are read, with their shapes; see `read_record`. Missing fields
# and null have the defaults of transformers' `MarianConfig`.
_READ = {
    "model_type": str,
    **dict.fromkeys(("d_model", "encoder_layers", "decoder_layers"), WHOLE),
    **dict.fromkeys(("encoder_attention_heads", "encoder_ffn_dim"), WHOLE),
    **dict.fromkeys(("decoder_attention_heads", "decoder_ffn_dim"), WHOLE),
    **dict.fromkeys(("vocab_size", "pad_token_id", "eos_token_id"), WHOLE),
    "decoder_start_token_id": WHOLE,
    "decoder_vocab_size?": _ID,
    "max_position_embeddings?": _ID,
    "num_hidden_layers?": _ID,
    "activation_function?": str,
    "scale_embedding?": bool,
    "share_encoder_decoder_embeddings?": bool,
    "tie_word_embeddings?": bool,
    "forced_eos_token_id?": _ID,
    "architectures?": ([str], None),
    **{f"{name}?": _RATE for name in _RATES},
}
_DEFAULTS = {
    "scale_embedding": False,
    "share_encoder_decoder_embeddings": True,
    "tie_word_embeddings": True,
    "activation_function": "gelu",
    "max_position_embeddings": 1024,
    "num_beams": 1,
    "length_penalty": 1.0,  # divides by the length
    **dict.fromkeys(_RATES, 0.0),
}
_SEARCH = {
    "num_beams?": _ID,
    "max_length?": _ID,
    "length_penalty?": _RATE,
    "forced_eos_token_id?": _ID,
    "bad_words_ids?": ([[WHOLE]], None),
}
# Any other value of these fields, if they are set, changes the output in a way
# that we lack. Fields that are not named here change no output, or only
# training and sampling. transformers, too, ignores names that it does not know.
_REQUIRED: dict[str, object] = {
    "is_encoder_decoder": True,
    "static_position_embeddings": True,
    "num_beam_groups": 1,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "guidance_scale": 1.0,
}
_REQUIRED |= dict.fromkeys(
    "do_sample no_repeat_ngram_size encoder_no_repeat_ngram_size min_length "
    "min_new_tokens forced_bos_token_id forced_decoder_ids suppress_tokens "
    "begin_suppress_tokens sequence_bias exponential_decay_length_penalty "
    "force_words_ids constraints stop_strings token_healing penalty_alpha "
    "dola_layers watermarking_config prefix pruned_heads quantization_config "
    "adapters normalize_before normalize_embedding add_final_layer_norm "
    "add_bias_logits do_blenderbot_90_layernorm is_decoder "
    "tie_encoder_decoder".split(),
    None,
)


def read_config(directory):
    """Reads the config of a Marian model, as a dictionary with its defaults.

    Raises a `UserError` if a file is missing or damaged, or if it asks for a
    feature that a model here lacks, which the message names.
    """
    path = os.path.join(directory, CONFIG_FILE)
    # Another architecture has other fields, so its name is compared first.
    kind = read_record(path, {"model_type?": str}, _REMEDY).get("model_type")
    if kind != "marian":
        raise UserError(
            "A model to import must have the architecture marian. Received: "
            f"{path} with model_type={kind!r}. Models of other architectures "
            "cannot be imported."
        )
    config = read_record(path, {**_READ, **_SEARCH}, _REMEDY)
    _check_features(config, path)
    search_path = os.path.join(directory, GENERATION_FILE)
    if os.path.lexists(search_path):
        search = read_record(search_path, _SEARCH, _REMEDY)
        _check_features(search, search_path)
        names = [name.removesuffix("?") for name in _SEARCH]
        config |= {name: search[name] for name in names if name in search}
    stated = {name: config[name] for name in config if config[name] is not None}
    config = {"decoder_vocab_size": config["vocab_size"], **_DEFAULTS, **stated}
    _check_values(config, path)
    return config


def _check_features(config, path):
    for name, expected in _REQUIRED.items():
        value = config.get(name)
        # The values that leave a field without effect.
        is_unset = value is None or not (value or expected)
        if value != expected and not is_unset:
            raise _make_error(path, name, value)


def _check_values(config, path):
    pairs = {
        "decoder_ffn_dim": "encoder_ffn_dim",
        "decoder_attention_heads": "encoder_attention_heads",
        "num_hidden_layers": "encoder_layers",
    }
    if config["share_encoder_decoder_embeddings"]:
        pairs["decoder_vocab_size"] = "vocab_size"
    for name, other in pairs.items():
        value = config.get(name, config[other])
        if value != config[other]:
            raise _make_error(path, name, value, f"{other}={config[other]}")
    shared = "share_encoder_decoder_embeddings"
    if config[shared] and not config["tie_word_embeddings"]:
        raise _make_error(path, "tie_word_embeddings", False, f"{shared}=true")
    allowed = {
        "activation_function": ACTIVATIONS,
        "architectures": (None, [], ["MarianMTModel"]),
        "forced_eos_token_id": (None, config["eos_token_id"]),
    }
    for name, values in allowed.items():
        if config.get(name) not in values:
            raise _make_error(path, name, config[name])


def check_bad_words(config, never_written, directory):
    """Refuses words that are forbidden and that the search could write.

    `never_written` are ids that the search here does not write either.
    """
    start = config["decoder_start_token_id"]
    for word in config.get("bad_words_ids", []):
        # A word of several ids may begin with the start of every output.
        first = [] if word[:1] == [start] and word[1:] else word[:1]
        if never_written.isdisjoint([*first, *word[1:]]):
            path = os.path.join(directory, CONFIG_FILE)
            raise _make_error(path, "bad_words_ids", config["bad_words_ids"])


def _make_error(path, name, value, beside=None):
    fault = "stands for a feature that is missing"
    if beside:
        fault = f"does not go with {beside}"
    return unsupported(path, f"where {name}={value!r:.60} {fault} here")


def make_hparams(config, decoder_start):
    """Returns the `HParams` of a model with a config of `read_config`."""
    is_shared = config["share_encoder_decoder_embeddings"]
    untied = "target" if config["tie_word_embeddings"] else "none"
    depths = config["encoder_layers"], config["decoder_layers"]
    return HParams(
        num_layers=depths[0],
        num_decoder_layers=0 if depths[0] == depths[1] else depths[1],
        d_model=config["d_model"],
        d_ff=config["encoder_ffn_dim"],
        num_heads=config["encoder_attention_heads"],
        **{name: config[name] for name in _RATES},
        norm="post",
        norm_epsilon=NORM_EPSILON,
        activation=ACTIVATIONS[config["activation_function"]],
        attention_bias=True,
        tied_embeddings="all" if is_shared else untied,
        scale_embeddings=config["scale_embedding"],
        output_bias=True,
        decoder_start=decoder_start,
        beam_size=config["num_beams"] or 1,
        alpha=min(max(config["length_penalty"], 0), 10),
    )


def make_configs(hparams, vocabularies, options, imported):
    """Returns the contents of both files for a run, a dictionary by name.

    The `DecodeOptions` are those of the search. `imported` is what a run
    records about the model that it was imported from.
    """
    if options.extra_length != DecodeOptions.extra_length:
        _log.warning(
            "The files cannot state extra_length=%d. There, every translation "
            "may have up to %d tokens.",
            options.extra_length,
            MAX_LENGTH,
        )
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    names["silu"] = "swish"  # the older name, which every version knows
    sources, targets = (side.original_ids.tolist() for side in vocabularies)
    start, end = targets[PAD_ID], targets[END_ID]
    sides = ("encoder", "decoder")
    depths = dict(zip(sides, (hparams.num_layers, hparams.decoder_depth)))
    search = {
        "pad_token_id": sources[PAD_ID],
        "eos_token_id": end,
        "decoder_start_token_id": start,
        "forced_eos_token_id": end,
    }
    config = {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "is_encoder_decoder": True,
        "d_model": hparams.d_model,
        **{f"{side}_layers": depths[side] for side in sides},
        **{f"{side}_ffn_dim": hparams.d_ff for side in sides},
        **{f"{side}_attention_heads": hparams.num_heads for side in sides},
        "activation_function": names[hparams.activation],
        **{name: getattr(hparams, name) for name in _RATES},
        "scale_embedding": hparams.scale_embeddings,
        "share_encoder_decoder_embeddings": hparams.tied_embeddings == "all",
        "tie_word_embeddings": hparams.tied_embeddings != "none",
        "vocab_size": vocabularies.sources.vocab_size,
        "decoder_vocab_size": vocabularies.targets.vocab_size,
        "max_position_embeddings": imported.get(
            "max_position_embeddings", MAX_LENGTH
        ),
        "torch_dtype": imported.get("dtype", "float32"),
        **search,
    }
    search |= {
        "bad_words_ids": [[start]],
        "num_beams": options.beam_size,
        "num_return_sequences": options.num_hypotheses,
        "max_length": MAX_LENGTH,
        "length_penalty": options.alpha,
    }
    return {CONFIG_FILE: config, GENERATION_FILE: search}
