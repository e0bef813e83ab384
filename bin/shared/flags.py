"""Kinds of flags, the flags that commands share, and rules between flags.

A command defines its flags at the top of its module with `define`, by a table
in the words of its help. A row is a name, in parentheses a kind with its
settings, and the help text. A row with a name alone is the flag of this name in
`SHARED_FLAGS`, and a line that is not indented is the title of a group:

    FLAGS = flags.define(
        '''
    Input and output:
      output_dir
      html (path): Page to write. Default: none.
      format (text|jsonl, default text): Format of the lines.
      seeds (count, default 1, maximum 100): Number of seeds.
      title (text, needs html): Title of the page. Default: none.
    '''
    )

    def main(argv):
        flags.require(FLAGS, "output_dir")
        print(FLAGS.html)

Before `main` begins, `check_needs` refuses a flag without one of those that it
needs. A row names several as `needs html or format=jsonl`.

Each command has its own `FLAGS`, so two commands may use one name for two
things. A flag that a second command takes with the same meaning moves from the
first command's file to `SHARED_FLAGS`.
"""

import functools
import os
import re
import tempfile

from absl import flags

from keras_transformer import errors
from keras_transformer.errors import UserError
from keras_transformer.search import options

MAX_VOCAB_SIZE = 1_000_000
UNGROUPED = "Flags"  # title of the flags without a group
# Earlier names of flags, in every command that has a flag of the new name.
RENAMED = {
    "plot_to_file": "picture",
    "png": "picture",
    "report": "html",
    "runs": "output_dir",
}
EVERYWHERE = ("usr_dir", "registry_help")
EVERYWHERE_TITLE = "Flags of every command"


# The conversions of absl also take "1_000", "0x10", digits of other scripts,
# and NaN, which lies within all bounds.
class _Integer(flags.IntegerParser):
    def convert(self, argument):
        return errors.parse_integer(str(argument))


class _Number(flags.FloatParser):
    def convert(self, argument):
        return errors.parse_number(str(argument))


class _Parser(flags.ArgumentParser):
    """Parses with a function of the text, which may raise a ValueError."""

    def __init__(self, convert):
        self.parse = convert


class FlagError(flags.IllegalFlagValueError, UserError):
    """The value of a flag breaks its rule."""


class _Flag(flags.Flag):
    """A flag whose error states its rule, such as "a path"."""

    def __init__(
        self, name, title, text, rule, parser, default=None, needs="", **more
    ):
        self._rule = rule
        self.title = title  # of the group of flags in the help
        self.needs = needs.split(" or ") if needs else []  # one of these flags
        super().__init__(parser, None, name, default, text, **more)
        self.help = text  # without what absl's MultiFlag adds to it

    def parse(self, argument):
        try:
            super().parse(argument)
        except flags.IllegalFlagValueError as error:
            # Standard error may not be able to encode surrogates.
            shown = str(argument).encode(errors="backslashreplace").decode()
            raise FlagError(
                f"`--{self.name}` must be {self._rule}. Received: "
                f"--{self.name}={errors.shorten(shown)}. Correct the value; "
                "--help explains the flag."
            ) from error


class _RepeatedFlag(_Flag, flags.MultiFlag):
    pass


class _PairsFlag(_Flag):
    """A flag of name=value pairs, which add up if it is repeated."""

    def parse(self, argument):
        super().parse(f"{self.value},{argument}" if self.present else argument)


def _utf8(argument):
    argument.encode()  # raises a ValueError for what is not UTF-8
    return argument


def _split_paths(argument):
    if argument and "" in argument.split(","):
        raise ValueError  # an empty path
    return [os.path.expanduser(path) for path in argument.split(",")]


def _split_counts(argument):
    return list(map(_Integer(1, errors.LARGEST).parse, argument.split(",")))


def _parsed(convert, rule, kind=_Flag, **more):
    return functools.partial(kind, rule=rule, parser=_Parser(convert), **more)


def _bounded(
    name, title, parser=_Integer, minimum=1, maximum=errors.LARGEST, **more
):
    number = "an integer" if parser is _Integer else "a number"
    rule = f"{number} from {minimum:,} to {maximum:,}"
    parser = parser(minimum, maximum)
    return _Flag(name, title, rule=rule, parser=parser, **more)


_whole = functools.partial(_bounded, minimum=0)
_switch = functools.partial(
    _Flag, rule="true or false", parser=flags.BooleanParser(), boolean=True
)
# Functions that make a flag from its name, its title, its text and settings.
_KINDS = {
    "text": _parsed(_utf8, "UTF-8 text"),
    "pairs": _parsed(_utf8, "UTF-8 text", _PairsFlag, default=""),
    # The shell does not expand the `~` of `--data_dir=~/data`.
    "path": _parsed(os.path.expanduser, "a path"),
    "paths": _parsed(_split_paths, "paths separated by commas"),
    "counts": _parsed(_split_counts, "numbers from 1 on, separated by commas"),
    "count": _bounded,
    "whole": _whole,
    "port": functools.partial(_whole, maximum=65535),
    "seed": functools.partial(_whole, maximum=errors.LARGEST_SEED),
    "amount": functools.partial(_whole, parser=_Number),
    "switch": functools.partial(_switch, default=False),
    "optional switch": _switch,
}
_ROW = re.compile(r" +(\w+)(?: \((.+?)\): (.+))?")


def several(convert, rule):
    """Returns a kind of flag that may be repeated: a list of values, or None.

    `convert` parses a value or raises a ValueError; `rule` names what it takes.
    """
    return _parsed(convert, rule, _RepeatedFlag)


def define(*tables, **kinds):
    """Defines the flags of a command as an `absl.flags.FlagValues`.

    The arguments are tables; see the module. The flags of every command are
    added. `kinds` are further kinds, such as `several` returns. At run time,
    the flags' values are attributes of the result.
    """
    values = flags.FlagValues()
    for table in tables:
        title = UNGROUPED
        for line in join_lines(table):
            if line.startswith(" "):
                name, make = _read_row(line, kinds)
                values[name] = make(name, title)
            else:
                title = line.removesuffix(":")
    # A command may list them in one of its groups, as kt-trainer does.
    for name in EVERYWHERE:
        if name not in values:
            values[name] = SHARED_FLAGS[name](name, EVERYWHERE_TITLE)
    return values


def join_lines(table):
    """Returns the rows and titles of a table, each as one line."""
    return re.sub("\n {4,}", " ", table.strip("\n")).split("\n")


def _read_row(line, kinds):
    """Returns a flag's name, and the function that makes it with a title."""
    name, kind, text = _ROW.fullmatch(line).groups()
    if kind is None:
        return name, SHARED_FLAGS[name]
    kind, *settings = kind.split(", ")
    settings = dict(setting.split(" ", 1) for setting in settings)
    for key in settings.keys() & {"minimum", "maximum"}:
        value = settings[key]
        settings[key] = float(value) if "." in value else int(value)
    # The parser of a flag also reads its default.
    if settings.get("default") == '""':
        settings["default"] = ""
    make = _find_kind(kind, kinds)
    return name, functools.partial(make, text=text, **settings)


def _find_kind(kind, kinds):
    """Returns the function that makes a flag of a kind."""
    if "|" in kind:
        values = kind.split("|")
        rule, parser = f"one of {', '.join(values)}", flags.EnumParser(values)
        return functools.partial(_Flag, rule=rule, parser=parser)
    if kind.startswith("count or "):
        word = kind.removeprefix("count or ")
        rule = f"{word}, or an integer from 1 to {errors.LARGEST:,}"
        parse = _Integer(1, errors.LARGEST).parse
        return _parsed(lambda text: text if text == word else parse(text), rule)
    return {**_KINDS, **kinds}[kind]


def group_by_title(values):
    """Returns the flags of a command by the title of their group."""
    titles = {}
    for name in values:
        titles.setdefault(values[name].title, []).append(values[name])
    return titles


def is_changed(values, name):
    """Returns whether a flag has another value than its default."""
    return values[name].value != values[name].default


def require(values, *names, by=None):
    """Raises a `UserError` for the first named flag that has no value.

    If only another flag needs them, `by` is its name.
    """
    beside = f" with `--{by}`" if by else ""
    for name in names:
        # The shell turns `--data_dir=$UNSET` into an empty value.
        if not values[name].value or values[name].value == [""]:
            raise UserError(
                f"`--{name}` must be given{beside}. Received: no --{name}. "
                f"Add --{name}=VALUE: {values[name].help}"
            )


def require_given(values, *names):
    """Raises a `UserError` for a flag that is given without a value.

    A variable that is not set would otherwise switch off what it stands for.
    """
    for name in names:
        if values[name].present and not values[name].value:
            raise UserError(
                f"`--{name}` needs a value. Received: --{name}= without one. "
                "Write the value, or leave the flag out."
            )


def check_needs(values):
    """Raises a `UserError` for a flag without any of those that it needs."""
    for name in values:
        needs = values[name].needs
        if needs and not any(_is_given(values, other) for other in needs):
            others = " or ".join(f"`--{other}`" for other in needs)
            way_out = f"Add {others}, or remove `--{name}`."
            refuse(values, [name], f"needs {others}", way_out)


def _is_given(values, other):
    name, equals, value = other.partition("=")
    return values[name].value == value if equals else values[name].value


def refuse(values, names, rule, way_out="Remove it."):
    """Raises a `UserError` if a named flag does not have its default value.

    The `rule` says what such a flag needs, like "needs `--document`".
    """
    for name in names:
        if is_changed(values, name):
            raise UserError(
                f"`--{name}` {rule}. Received: {show(values, name)}. {way_out}"
            )


def exclude(values, name, *others):
    """Raises a `UserError` if a flag and one of the others both have values."""
    for other in others:
        if values[name].value and values[other].value:
            raise UserError(
                f"`--{name}` cannot be combined with `--{other}`. Received: "
                f"{show(values, name)} and {show(values, other)}. Remove one "
                "of them."
            )


def show(values, name):
    """Returns a flag as an error quotes it, such as `--beam_size=4`."""
    value = values[name].value
    if isinstance(value, bool):
        return f"--{name}" if value else f"--no{name}"
    if value and isinstance(values[name], _RepeatedFlag):
        return " ".join(f"--{name}={one}" for one in value)
    if isinstance(value, list):
        value = ",".join(map(str, value))
    return f"--{name}={value}"


def find_tmp_dir(values):
    """Returns the value of `tmp_dir`, or its default."""
    # Only commands that use it need a temporary directory of the system.
    return values.tmp_dir or os.path.join(
        tempfile.gettempdir(), "keras_transformer"
    )


_TABLE = f"""
  output_dir (path): Directory of the run: its checkpoints, hyper-parameters,
    vocabulary, metrics and pictures. kt-decoder and kt-evaluate also take the
    runs of an ensemble, separated by commas.
  data_dir (path): Directory of the generated data, with one folder for each
    problem. Default: the data directory of the run in output_dir.
  tmp_dir (path): Directory for downloads, and for raw text that you place
    there. Default: keras_transformer in the system's temporary directory.
  train_source (path): Source side of the training text.
  train_target (path): Target side of the training text.
  source_language (text): Language of the sources in TMX files, such as en.
  target_language (text): Language of the targets in TMX files, such as de.
  hparams (pairs): Changes to the hparams set, such as dropout=0.3,d_ff=1024.
    Several of these flags add up.
  checkpoint_step (count or best): Step of the checkpoint to use, or best for
    the one with the best score on dev. Default: the newest checkpoint.
  beam_size (count, maximum {options.MAX_HYPOTHESES}): Number of hypotheses in
    the beam. Default: the run's beam size.
  alpha (amount, maximum {options.MAX_ALPHA}): Exponent of the length penalty.
    Default: the run's alpha.
  decode_hparams (pairs): Changes to the run's decoding options, such as
    num_hypotheses=4,min_length=2 or temperature=0.8,top_k=10.
  write_scores (switch): Write a tab and its score after each translation.
  glossary (path): File of terms that the translations must obey. Each line is a
    term, a tab and its translation, or a term that stays as it is. Default:
    none.
  host (text, default localhost): Address to listen on; 0.0.0.0 listens on all
    addresses of this machine.
  model_name (text, default translate): Name of the model on the server.
  engine (auto|keras|ctranslate2, default auto): What computes the translations
    of a run: keras, ctranslate2, or auto, which is CTranslate2 on a processor
    if it can do what is asked.
  precision (auto|float32|bfloat16|float16, default auto): Number format to
    compute in: float32, bfloat16, float16 or auto. In training, auto is
    bfloat16 on devices that are fast at it, with weights in float32. In
    decoding, that holds for runs with d_model 512 or more, and auto is float32
    for all others.
  xla (auto|on|off, default auto): Compilation with XLA: on, off, or auto, which
    compiles where that is faster.
  worker_gpu (whole, default 0, maximum 1_000): Number of devices to use on this
    machine; 0 uses all of them.
  usr_dir (path): Directory of your own problems and hparams sets, or several
    with commas between them. Each __init__.py must import what is registered.
    Default: none.
  registry_help (switch): List all problems and hparams sets, then exit.
"""
SHARED_FLAGS = dict(_read_row(line, {}) for line in join_lines(_TABLE))
