"""The table of all flags: name, kind, default and help."""

import functools
import os
import tempfile

from absl import flags


class _PathParser(flags.ArgumentParser):
    # The shell leaves the `~` of `--data_dir=~/data` alone.
    def parse(self, argument):
        return os.path.expanduser(argument)


class _PathsParser(flags.ArgumentParser):
    def parse(self, argument):
        return [os.path.expanduser(path) for path in argument.split(",")]


class _StepParser(flags.ArgumentParser):
    def parse(self, argument):
        if argument == "best":
            return argument
        if argument.isdecimal() and int(argument):
            return int(argument)
        raise ValueError("must be a number of updates, or best")


_text = flags.DEFINE_string
_path = functools.partial(flags.DEFINE, _PathParser())
_paths = functools.partial(flags.DEFINE, _PathsParser())
_step = functools.partial(flags.DEFINE, _StepParser())
_switch = flags.DEFINE_boolean
_count = functools.partial(flags.DEFINE_integer, lower_bound=1)
_whole = functools.partial(flags.DEFINE_integer, lower_bound=0)
_amount = functools.partial(flags.DEFINE_float, lower_bound=0.0)
_split = functools.partial(
    flags.DEFINE_enum, enum_values=["train", "dev", "test"]
)
_tokenizer = functools.partial(
    flags.DEFINE_enum, enum_values=["13a", "none", "intl", "char", "zh"]
)
_precision = functools.partial(
    flags.DEFINE_enum,
    enum_values=["auto", "float32", "bfloat16", "float16"],
)
_xla = functools.partial(flags.DEFINE_enum, enum_values=["auto", "on", "off"])
_stopping = functools.partial(
    flags.DEFINE_enum, enum_values=["none", "bleu", "loss"]
)
_x_axis = functools.partial(
    flags.DEFINE_enum, enum_values=["step", "seconds", "epoch"]
)
_mode = functools.partial(flags.DEFINE_enum, enum_values=["train", "input"])

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
    "keep_checkpoint_every_n_hours": (
        _amount,
        0.0,
        "Hours of training after which another checkpoint is kept for good; 0 "
        "keeps none.",
    ),
    "save_checkpoints_secs": (
        _amount,
        600.0,
        "Most seconds between two checkpoints, where evaluations are rarer.",
    ),
    "early_stopping_metric": (
        _stopping,
        "none",
        "What must get better for the training to go on: none, bleu or loss, "
        "on dev.",
    ),
    "early_stopping_patience": (
        _count,
        10,
        "Evaluations without a better early_stopping_metric that end the "
        "training.",
    ),
    "warm_start_from": (
        _path,
        None,
        "Directory of a run whose weights a new run begins with; it must have "
        "the same vocabulary. Default: none.",
    ),
    "batch_tokens": (
        _text,
        None,
        "Most positions per side that a device takes at once: a number, or "
        "auto for the most that fits into its memory. Default: that of the "
        "hparams.",
    ),
    "effective_batch_tokens": (
        _whole,
        None,
        "Most positions per side in an update, on any number of devices; "
        "gradients are summed over as many rounds as that takes. 0 means "
        "batch_tokens. Default: that of the hparams.",
    ),
    "precision": (
        _precision,
        "auto",
        "Numbers to compute with: float32, bfloat16, float16 or auto, which "
        "is bfloat16 where the device is fast at it. Weights stay in float32.",
    ),
    "xla": (
        _xla,
        "auto",
        "Compilation with XLA: on, off or auto, which is where it pays.",
    ),
    "worker_gpu": (
        _whole,
        0,
        "Number of devices to use on this machine; 0 means all.",
    ),
    "profile_steps": (
        _text,
        None,
        "First and last update to profile for TensorBoard, such as 10,20. "
        "Default: none.",
    ),
    "random_seed": (
        _whole,
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
        _amount,
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
        _step,
        None,
        "Updates after which the checkpoint to use was written, or best for "
        "the one with the best score on dev. Default: the newest.",
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
    "runs": (
        _paths,
        None,
        "Directories of the runs to draw, with commas between them.",
    ),
    "metric": (
        _text,
        "dev_bleu",
        "Column of metrics.csv to draw.",
    ),
    "x_axis": (
        _x_axis,
        "step",
        "What to draw it against: step, seconds of training, or epoch.",
    ),
    "plot_to_file": (
        _path,
        None,
        "Picture to write, a .png, .pdf or .svg file.",
    ),
    "mode": (_mode, None, "What to time: train or input."),
    "vocabulary": (
        _path,
        None,
        "SentencePiece model to encode the text with. Default: one is trained "
        "on it, of 8,000 subwords if vocab_size does not say otherwise.",
    ),
    "packed": (
        _switch,
        False,
        "Put several sentence pairs into a row, as --hparams=packed=true.",
    ),
    "num_passes": (
        _count,
        5,
        "Times that the work is done for the figures.",
    ),
}
