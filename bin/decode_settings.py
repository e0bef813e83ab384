"""How the model decodes, as the flags of several commands say it."""

from keras_transformer.bin import flags
from keras_transformer.search.options import DecodeOptions
from keras_transformer.search.options import parse_decode_hparams

FLAGS = flags.FLAGS


def changes():
    """What --decode_hparams, --beam_size and --alpha change, by option."""
    single = {
        name: FLAGS[name].value
        for name in ("beam_size", "alpha")
        if name in FLAGS
    }
    return parse_decode_hparams(FLAGS.decode_hparams, **single)


def options(hparams):
    """The `DecodeOptions` of a run's `HParams`, with these changes."""
    return DecodeOptions.of(hparams).replace(**changes())


def precision():
    """The number format; auto, which is for training, means float32."""
    return "float32" if FLAGS.precision == "auto" else FLAGS.precision
