"""Registered hparams sets. Each one states its differences from another."""

from keras_transformer.hparams import small  # noqa: F401
from keras_transformer.hparams import table3  # noqa: F401
from keras_transformer.hparams import tensor2tensor  # noqa: F401
from keras_transformer.hparams import transformer  # noqa: F401
