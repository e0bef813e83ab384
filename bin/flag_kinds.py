"""Kinds of flags: what their values must be."""

import functools
import os

from absl import flags

from keras_transformer.trees.linearization import LINEARIZATIONS


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


text = flags.DEFINE_string
path = functools.partial(flags.DEFINE, _PathParser())
paths = functools.partial(flags.DEFINE, _PathsParser())
step = functools.partial(flags.DEFINE, _StepParser())
switch = flags.DEFINE_boolean
count = functools.partial(flags.DEFINE_integer, lower_bound=1)
whole = functools.partial(flags.DEFINE_integer, lower_bound=0)
amount = functools.partial(flags.DEFINE_float, lower_bound=0.0)
split = functools.partial(
    flags.DEFINE_enum, enum_values=["train", "dev", "test"]
)
tokenizer = functools.partial(
    flags.DEFINE_enum, enum_values=["13a", "none", "intl", "char", "zh"]
)
precision = functools.partial(
    flags.DEFINE_enum,
    enum_values=["auto", "float32", "bfloat16", "float16"],
)
measure = functools.partial(flags.DEFINE_enum, enum_values=["bleu", "f1"])
linearization = functools.partial(flags.DEFINE_enum, enum_values=LINEARIZATIONS)
xla = functools.partial(flags.DEFINE_enum, enum_values=["auto", "on", "off"])
stopping = functools.partial(
    flags.DEFINE_enum, enum_values=["none", "bleu", "f1", "loss"]
)
x_axis = functools.partial(
    flags.DEFINE_enum, enum_values=["step", "seconds", "epoch"]
)
mode = functools.partial(
    flags.DEFINE_enum, enum_values=["train", "input", "decode"]
)
format = functools.partial(
    flags.DEFINE_enum,
    enum_values=["saved_model", "saved_model_ids", "ctranslate2"],
)
quantization = functools.partial(
    flags.DEFINE_enum,
    enum_values=[
        "float32",
        "float16",
        "bfloat16",
        "int16",
        "int8",
        "int8_float32",
        "int8_float16",
        "int8_bfloat16",
    ],
)
protocol = functools.partial(flags.DEFINE_enum, enum_values=["grpc", "rest"])
port = functools.partial(flags.DEFINE_integer, lower_bound=0, upper_bound=65535)
