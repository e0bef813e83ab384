"""Kinds of flags, and the flags that two or more commands share.

A command defines its flags at the top of its module with `define`. A string
names a shared flag. A call such as `count` makes a flag of the command's own,
from a name, a default and a help text. `group` puts flags under a title in the
help:

    FLAGS = flags.define(
        "output_dir",
        "checkpoint_step",
        flags.path("png", None, "PNG file to write. Default: none."),
        flags.group("Sampling", flags.whole("seed", 0, "Seed of the sampler.")),
    )

    def main(argv):
        flags.require(FLAGS, "output_dir")
        print(FLAGS.png)

Each command has its own `FLAGS`, so two commands may use one name for two
things. A flag that a second command takes with the same meaning moves from the
first command's file to `SHARED`.
"""

import copy
import os
import tempfile

from absl import flags

from keras_transformer import fields
from keras_transformer.search.options import MAX_ALPHA
from keras_transformer.search.options import MAX_HYPOTHESES

TRUE = ("true", "t", "1")
FALSE = ("false", "f", "0")
UNGROUPED = "Flags"
EVERYWHERE = ("usr_dir", "registry_help")
MAX_VOCAB_SIZE = 1_000_000
EVERYWHERE_TITLE = "Flags of every command"


def text(name, default, description):
    """Returns a flag that takes any text."""
    return _flag(name, default, description, _utf8, "UTF-8 text")


def path(name, default, description):
    """Returns a flag that takes a path, in which `~` is expanded."""
    # The shell does not expand the `~` of `--data_dir=~/data`.
    return _flag(name, default, description, os.path.expanduser, "a path")


def paths(name, default, description):
    """Returns a flag that takes paths separated by commas."""

    def convert(argument):
        return [os.path.expanduser(path) for path in argument.split(",")]

    return _flag(name, default, description, convert, "paths")


def step(name, default, description):
    """Returns a flag that takes the step of a checkpoint, or `best`."""

    def convert(argument):
        return argument if argument == "best" else number(argument)

    number, rule = _integers(1, fields.LARGEST)
    rule = f"best, or the step of a checkpoint, {rule}"
    return _flag(name, default, description, convert, rule)


def count(name, default, description, maximum=fields.LARGEST):
    """Returns a flag that takes an integer of at least 1."""
    return _flag(name, default, description, *_integers(1, maximum))


def whole(name, default, description, maximum=fields.LARGEST):
    """Returns a flag that takes an integer of at least 0."""
    return _flag(name, default, description, *_integers(0, maximum))


def port(name, default, description):
    """Returns a flag that takes the number of a port, or 0 for none."""
    return whole(name, default, description, maximum=65535)


def seed(name, default, description):
    """Returns a flag that takes the seed of a random generator."""
    return whole(name, default, description, maximum=fields.LARGEST_SEED)


def amount(name, default, description, maximum=fields.LARGEST, minimum=0):
    """Returns a flag that takes a number of at least `minimum`."""
    in_range = _in_range(fields.parse_number, "a number", minimum, maximum)
    return _flag(name, default, description, *in_range)


def switch(name, default, description):
    """Returns a flag that is on as `--name` and off as `--noname`."""
    rule = "true or false"
    return _flag(name, default, description, _boolean, rule, boolean=True)


def choice(name, values, default, description):
    """Returns a flag that takes one of `values`."""

    def convert(argument):
        if argument not in values:
            raise ValueError("not a choice")
        return argument

    rule = f"one of {', '.join(values)}"
    return _flag(name, default, description, convert, rule)


def several(name, description, convert, rule):
    """Returns a flag that may be repeated; its value is a list, or None."""
    parser = _Parser(name, convert, rule)
    flag = flags.MultiFlag(parser, None, name, None, description)
    flag.help = description  # without what absl adds to it
    return flag


def _flag(name, default, description, convert, rule, **options):
    parser = _Parser(name, convert, rule)
    return flags.Flag(parser, None, name, default, description, **options)


class _Parser(flags.ArgumentParser):
    """Converts the text of a flag, and states the flag's rule if it cannot."""

    # absl's own parsers state neither the rule nor what to do.
    def __init__(self, name, convert, rule):
        self._name = name
        self._convert = convert
        self._rule = rule

    def parse(self, argument):
        try:
            return self._convert(argument)
        except ValueError as error:
            # An argument that is not UTF-8 contains surrogates, which standard
            # error may not be able to encode.
            shown = str(argument).encode(errors="backslashreplace").decode()
            raise flags.IllegalFlagValueError(
                f"`--{self._name}` must be {self._rule}. Received: "
                f"--{self._name}={fields.shorten(shown)}. Correct the value; "
                "--help explains the flag."
            ) from error


def _utf8(argument):
    argument.encode()  # raises a ValueError for what is not UTF-8
    return argument


def _integers(minimum, maximum):
    return _in_range(fields.parse_integer, "an integer", minimum, maximum)


def _in_range(parse, kind, minimum, maximum):
    """Returns the converter to a number in a range, and the rule in words."""

    def convert(argument):  # absl converts the default as well
        number = parse(str(argument))
        if not minimum <= number <= maximum:
            raise ValueError("out of range")
        return number

    return convert, f"{kind} from {minimum:,} to {maximum:,}"


def _boolean(argument):
    truth = str(argument).lower()
    if truth not in TRUE + FALSE:
        raise ValueError("neither true nor false")
    return truth in TRUE


def group(title, *items):
    """Returns shared and own flags under a title, for `define`."""
    return title, items


def define(*items):
    """Defines the flags of a command.

    Args:
        *items: Names of shared flags, flags of the command's own, and groups
            of either.

    Returns:
        An `absl.flags.FlagValues` of these flags and of those that every
        command has. Once the command has started, the flags' values are its
        attributes.
    """
    values = flags.FlagValues()
    for item in items:
        if isinstance(item, tuple):
            _add(values, *item)
        else:
            _add(values, UNGROUPED, [item])
    # A command may list them in a group of its own, as kt-trainer does.
    missing = [name for name in EVERYWHERE if name not in values]
    _add(values, EVERYWHERE_TITLE, missing)
    return values


def _add(values, title, items):
    for item in items:
        # The copy keeps the values of two commands in one process apart.
        flag = copy.deepcopy(SHARED[item]) if isinstance(item, str) else item
        # absl lists flags by the module that defines them. The title of the
        # group takes the module's place, so that the help lists by title.
        flags.DEFINE_flag(flag, values, module_name=title)


def is_changed(values, name):
    """Returns whether a flag has another value than its default."""
    return values[name].value != values[name].default


def require(values, *names, by=None):
    """Raises a `ValueError` for the first named flag that has no value.

    If they are only needed by another flag, `by` is its name.
    """
    beside = f" with `--{by}`" if by else ""
    for name in names:
        # The shell turns `--data_dir=$UNSET` into an empty value.
        if not values[name].value or values[name].value == [""]:
            raise ValueError(
                f"`--{name}` must be given{beside}. Received: no --{name}. "
                f"Add --{name}=VALUE: {values[name].help}"
            )


SHARED = {
    flag.name: flag
    for flag in (
        path(
            "output_dir",
            None,
            "Directory of the run: its checkpoints, hyper-parameters, "
            "vocabulary, metrics and pictures. kt-decoder and kt-evaluate also "
            "take the runs of an ensemble, separated by commas.",
        ),
        # Without a default: kt-trainer and kt-evaluate use the run's own value.
        path(
            "data_dir",
            None,
            "Directory of the generated data, with one folder for each "
            "problem. Default: the data directory of the run in output_dir.",
        ),
        path(
            "tmp_dir",
            os.path.join(tempfile.gettempdir(), "keras_transformer"),
            "Directory for downloads, and for raw text that you place there.",
        ),
        path("train_source", None, "Source side of the training text."),
        path("train_target", None, "Target side of the training text."),
        text(
            "source_language",
            None,
            "Language of the sources in TMX files, such as en.",
        ),
        text(
            "target_language",
            None,
            "Language of the targets in TMX files, such as de.",
        ),
        text(
            "hparams",
            "",
            "Changes to the hparams set, such as dropout=0.3,d_ff=1024.",
        ),
        step(
            "checkpoint_step",
            None,
            "Step of the checkpoint to use, or best for the one with the best "
            "score on dev. Default: the newest checkpoint.",
        ),
        count(
            "beam_size",
            None,
            "Number of hypotheses in the beam. Default: the run's beam size.",
            maximum=MAX_HYPOTHESES,
        ),
        amount(
            "alpha",
            None,
            "Exponent of the length penalty. Default: the run's alpha.",
            maximum=MAX_ALPHA,
        ),
        text(
            "decode_hparams",
            "",
            "Changes to the run's decoding options, such as "
            "num_hypotheses=4,min_length=2 or temperature=0.8,top_k=10.",
        ),
        switch(
            "write_scores",
            False,
            "Write a tab and its score after each translation.",
        ),
        path(
            "glossary",
            None,
            "File of terms that the translations must obey. Each line is a "
            "term, a tab and its translation, or a term that stays as it is. "
            "Default: none.",
        ),
        text("model_name", "translate", "Name of the model on the server."),
        choice(
            "precision",
            ["auto", "float32", "bfloat16", "float16"],
            "auto",
            "Number format to compute in: float32, bfloat16, float16 or auto. "
            "In training, auto is bfloat16 on devices that are fast at it, "
            "with weights in float32. In decoding, that holds for runs whose "
            "d_model is 512 or more, and auto is float32 for all others.",
        ),
        choice(
            "xla",
            ["auto", "on", "off"],
            "auto",
            "Compilation with XLA: on, off, or auto, which compiles where "
            "that is faster.",
        ),
        whole(
            "worker_gpu",
            0,
            "Number of devices to use on this machine; 0 uses all of them.",
            maximum=1_000,
        ),
        path(
            "usr_dir",
            None,
            "Directory of your own problems and hparams sets. Its "
            "__init__.py must import them. Default: none.",
        ),
        switch(
            "registry_help",
            False,
            "List all problems and hparams sets, then exit.",
        ),
    )
}
