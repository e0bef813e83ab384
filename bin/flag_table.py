"""The table of all flags: name, kind, default and help."""

import functools
import os
import tempfile

from absl import flags


class _PathParser(flags.ArgumentParser):
    # The shell leaves the `~` of `--data_dir=~/data` alone.
    def parse(self, argument):
        return os.path.expanduser(argument)


_text = flags.DEFINE_string
_path = functools.partial(flags.DEFINE, _PathParser())
_switch = flags.DEFINE_boolean
_count = functools.partial(flags.DEFINE_integer, lower_bound=1)
_seed = functools.partial(flags.DEFINE_integer, lower_bound=0)
_factor = functools.partial(flags.DEFINE_float, lower_bound=0.0)
_split = functools.partial(
    flags.DEFINE_enum, enum_values=["train", "dev", "test"]
)
_tokenizer = functools.partial(
    flags.DEFINE_enum, enum_values=["13a", "none", "intl", "char", "zh"]
)

# name: (how to define it, default, help). A default of None means "not given":
# the help then says what happens.
FLAG_TABLE = {
    "problem": (
        _text,
        None,
        "Name of the problem; a trailing _rev swaps its languages. Default: "
        "that of output_dir, where it holds a run.",
    ),
    "data_dir": (
        _path,
        None,
        "Directory of the generated data, with one folder for each problem. "
        "Default: that of output_dir, where it holds a run.",
    ),
    "tmp_dir": (
        _path,
        os.path.join(tempfile.gettempdir(), "keras_transformer"),
        "Directory of downloads and of raw text that you place there.",
    ),
    "output_dir": (
        _path,
        None,
        "Directory of the run: its checkpoints, hyper-parameters, vocabulary, "
        "metrics and pictures.",
    ),
    "hparams_set": (
        _text,
        None,
        "Name of the hparams set. Default: the one that output_dir was "
        "trained with.",
    ),
    "hparams": (
        _text,
        "",
        "Changes to the hparams set, such as dropout=0.3,d_ff=1024.",
    ),
    "usr_dir": (
        _path,
        None,
        "Directory with your own problems and hparams sets; its __init__.py "
        "imports them. Default: none.",
    ),
    "registry_help": (
        _switch,
        False,
        "List all problems and hparams sets, then stop.",
    ),
    "generate_data": (
        _switch,
        False,
        "Generate the data first, where data_dir does not hold it yet.",
    ),
    "train_steps": (
        _count,
        None,
        "Updates in all, resumed ones included. Default: that of the hparams "
        "set.",
    ),
    "eval_frequency": (
        _count,
        1000,
        "Updates between two evaluations; each writes a checkpoint.",
    ),
    "keep_checkpoint_max": (
        _count,
        20,
        "Number of newest checkpoints to keep.",
    ),
    "random_seed": (
        _seed,
        None,
        "Seed of initial weights, dropout and the order of the data. Default: "
        "that of output_dir, where it holds a run, or 0.",
    ),
    "decode_from_file": (
        _path,
        None,
        "File to translate, one sentence a line. Default: standard input.",
    ),
    "decode_to_file": (
        _path,
        None,
        "File for the translations, one line for each line of the input. "
        "Default: standard output.",
    ),
    "decode_interactive": (
        _switch,
        False,
        "Translate each line as you type it.",
    ),
    "beam_size": (
        _count,
        None,
        "Hypotheses kept in the beam search. Default: that of the run.",
    ),
    "alpha": (
        _factor,
        None,
        "Exponent of the length penalty. Default: that of the run.",
    ),
    "split": (
        _split,
        "test",
        "Part of the problem's data: train, dev or test.",
    ),
    "hypotheses": (
        _path,
        None,
        "File of translations to score, one a line; goes with references. "
        "Default: none, which decodes the split.",
    ),
    "references": (
        _path,
        None,
        "File of reference translations, one a line; goes with hypotheses. "
        "Default: none, which decodes the split.",
    ),
    "tokenize": (
        _tokenizer,
        "13a",
        "sacreBLEU's tokenizer: 13a, none, intl, char or zh.",
    ),
    "lowercase": (
        _switch,
        False,
        "Score without regard to case.",
    ),
    "checkpoint_step": (
        _count,
        None,
        "Updates after which the checkpoint to use was written. Default: the "
        "newest.",
    ),
    "num_last_checkpoints": (
        _count,
        5,
        "Number of newest checkpoints to average.",
    ),
    "averaged_dir": (
        _path,
        None,
        "Directory for the averaged run. Default: averaged, inside output_dir.",
    ),
    "train_source": (_path, None, "Source side of the training text."),
    "train_target": (_path, None, "Target side of the training text."),
    "dev_source": (_path, None, "Source side of the development text."),
    "dev_target": (_path, None, "Target side of the development text."),
    "test_source": (
        _path,
        None,
        "Source side of the test text. Default: none.",
    ),
    "test_target": (
        _path,
        None,
        "Target side of the test text. Default: none.",
    ),
    "vocab_size": (
        _count,
        None,
        "Number of subwords of the vocabulary that both languages share. "
        "Default: that of the problem.",
    ),
}
