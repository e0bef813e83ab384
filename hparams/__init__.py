"""Registered hparams sets; each is a recipe that states its differences."""

from keras_transformer.hparams import parsing  # noqa: F401
from keras_transformer.hparams import small  # noqa: F401
from keras_transformer.hparams import table3  # noqa: F401
from keras_transformer.hparams import transformer  # noqa: F401
