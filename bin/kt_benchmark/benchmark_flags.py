"""The flags of kt-benchmark, and which of them each of its modes reads."""

from keras_transformer.benchmark import layer_table
from keras_transformer.bin.shared import flags
from keras_transformer.search.options import MAX_OUTPUT_TOKENS

# Titles of groups of flags.
OF_TRAINING = "Flags of --mode=train and --mode=input"
DEVICES = "Devices"
OF_DECODING = "Flags of --mode=decode"
OF_LAYERS = "Flags of --mode=layers"
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
        OF_TRAINING,
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
    flags.group(DEVICES, "precision", "xla", "worker_gpu"),
    flags.group(
        OF_DECODING,
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
        OF_LAYERS,
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
# The modes that read a group of flags, and flags that some of them ignore.
MODES_OF = {
    flags.UNGROUPED: ("train", "input", "decode"),
    OF_TRAINING: ("train", "input"),
    DEVICES: ("train", "decode"),
    OF_DECODING: ("decode",),
    OF_LAYERS: ("layers",),
}
IGNORED_BY_DECODING = ("xla", "worker_gpu")
REPLACED_BY_RUN = ("hparams_set", "hparams", "vocabulary")
FIXED_IN_EXPORT = ("precision", "batch_size", "target_length", "sort_by_length")


def check_flags():
    """Refuses flags that would be ignored, since figures would mislead."""
    mode = FLAGS.mode
    ignored = [
        flag.name
        for title, group in flags.group_by_title(FLAGS).items()
        for flag in group
        if mode not in MODES_OF.get(title, [mode]) and flag.name != "mode"
    ]
    if mode == "decode":
        ignored += IGNORED_BY_DECODING
    flags.refuse(FLAGS, ignored, f"has no effect with --mode={mode}")
    if FLAGS.output_dir:
        place = "has no effect with --output_dir"
        flags.refuse(FLAGS, REPLACED_BY_RUN, place)
    if FLAGS.vocabulary:
        place = "has no effect with --vocabulary"
        flags.refuse(FLAGS, ["vocab_size"], place)
