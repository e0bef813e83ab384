"""The table of all flags.

Name: (how to define it, default, help). A default of None means "not given":
the help then says what happens.
"""

from keras_transformer.bin.decoding_flags import DECODING_FLAGS
from keras_transformer.bin.training_flags import TRAINING_FLAGS

FLAG_TABLE = {**TRAINING_FLAGS, **DECODING_FLAGS}
