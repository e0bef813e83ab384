"""The flags of kt-benchmark, and which of them each of its modes reads."""

from keras_transformer.benchmark import layer_table
from keras_transformer.bin.shared import flags
from keras_transformer.search.options import MAX_OUTPUT_TOKENS

FLAGS = flags.define(
    flags.choice(
        "mode",
        ["train", "input", "decode", "layers"],
        "Work to time: train, input, decode or layers.",
    ),
    flags.text(
        "hparams_set",
        "Name of the hparams set. --mode=layers and --mode=decode with a run "
        "need none.",
    ),
    "hparams",
    flags.count(
        "num_passes",
        "Number of times to repeat the timed work.",
        default=5,
        maximum=10_000,
    ),
    flags.path(
        "vocabulary",
        "SentencePiece model to encode the text with; it must have ids for "
        "padding and for the end of a sentence. Default: a new model trained "
        "on the training text, which adds to the start-up time.",
    ),
    flags.group(
        "Flags of --mode=train and --mode=input",
        "train_source",
        "train_target",
        flags.count(
            "vocab_size",
            "Number of subwords of a new vocabulary. Default: 8000.",
            maximum=flags.MAX_VOCAB_SIZE,
        ),
        flags.switch(
            "packed",
            "Put several sentence pairs into a row, as --hparams=packed=true "
            "does.",
        ),
    ),
    flags.group("Devices", "precision", "xla", "worker_gpu"),
    flags.group(
        "Flags of --mode=decode",
        flags.path(
            "output_dir",
            "Directory of a trained run or of a CTranslate2 model. Default: "
            "none, which uses a model with random weights.",
        ),
        flags.path(
            "decode_from_file", "File to translate, one sentence per line."
        ),
        "decode_hparams",
        flags.count(
            "batch_size",
            "Number of sentences to decode together.",
            default=32,
            maximum=100_000,
        ),
        flags.whole(
            "target_length",
            "Number of tokens of every translation, its end included; 0 lets "
            "the model decide.",
            default=0,
            maximum=MAX_OUTPUT_TOKENS,
        ),
        flags.switch(
            "sort_by_length",
            "Decode sentences of similar lengths together. "
            "--nosort_by_length keeps the order of the file.",
            default=True,
        ),
    ),
    flags.group(
        "Flags of --mode=layers",
        flags.path(
            "report_dir", "Directory for table1.md, table1.csv and table1.png."
        ),
        flags.count(
            "seconds",
            "Time limit for all layers together, in seconds. Layers that it "
            "leaves no time for are skipped.",
            default=3600,
        ),
        flags.choice(
            "max_length",
            [str(length) for length in layer_table.LENGTHS],
            "Length of the longest sequences (n).",
            default="4096",
        ),
        flags.choice(
            "max_width",
            [str(width) for width in layer_table.WIDTHS],
            "Width of the widest layers (d).",
            default="1024",
        ),
        flags.count(
            "neighbourhood_size",
            "Positions that restricted self-attention sees (r).",
            default=64,
            maximum=1_000_000,
        ),
    ),
)
OF_TRAINING = ("train_source", "train_target", "vocab_size", "packed")
OF_DECODING = ("output_dir", "decode_from_file", "decode_hparams")
OF_DECODING += ("batch_size", "target_length", "sort_by_length")
OF_LAYERS = ("report_dir", "seconds", "max_length", "max_width")
OF_LAYERS += ("neighbourhood_size",)
DEVICES = ("precision", "xla", "worker_gpu")
REPLACED_BY_RUN = ("hparams_set", "hparams", "vocabulary")
FIXED_IN_EXPORT = ("precision", "batch_size", "target_length", "sort_by_length")
# The flags that a mode does not read.
UNUSED = {
    "train": (*OF_DECODING, *OF_LAYERS),
    "input": (*OF_DECODING, *OF_LAYERS, *DEVICES),
    "decode": (*OF_TRAINING, *OF_LAYERS, "xla", "worker_gpu"),
    "layers": (
        *(*OF_TRAINING, *OF_DECODING, *DEVICES, *REPLACED_BY_RUN),
        "num_passes",
    ),
}


def check():
    """Refuses flags that would be ignored, since figures would mislead."""
    _refuse(UNUSED[FLAGS.mode], f"--mode={FLAGS.mode}")
    if FLAGS.output_dir:
        _refuse(REPLACED_BY_RUN, "--output_dir")
    if FLAGS.vocabulary:
        _refuse(["vocab_size"], "--vocabulary")


def check_export():
    """Refuses flags that a CTranslate2 model in --output_dir would ignore."""
    _refuse(FIXED_IN_EXPORT, "a CTranslate2 model")


def _refuse(names, other):
    for name in names:
        if FLAGS[name].present:
            raise ValueError(
                f"`--{name}` must not be given with {other}, which does not "
                f"read it. Received: --{name}={FLAGS[name].value}. Leave one "
                "of them out."
            )
