"""The Transformer of "Attention Is All You Need" on Keras 3 and TensorFlow."""

import os

__version__ = "0.1.0"

# `problems`, `hparams` and `bin` lie inside this folder once installed, beside
# it in a checkout: there the checkout's root joins the package's path.
if not os.path.isdir(os.path.join(__path__[0], "problems")):
    __path__.append(os.path.dirname(os.path.abspath(__path__[0])))
