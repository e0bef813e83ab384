"""Registered problems: importing this package imports every one of them."""

from keras_transformer.problems import algorithmic  # noqa: F401
from keras_transformer.problems import parsing  # noqa: F401
from keras_transformer.problems import parsing_files  # noqa: F401
from keras_transformer.problems import tensor2tensor  # noqa: F401
from keras_transformer.problems import toy  # noqa: F401
from keras_transformer.problems import translate_files  # noqa: F401
from keras_transformer.problems import translate_wmt  # noqa: F401
