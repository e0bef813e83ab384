"""The flags of measure.py, and which of them each of its modes reads."""

from keras_transformer.bin.shared import flags
from keras_transformer.search.options import MAX_OUTPUT_TOKENS
from measurements import layer_table

# Titles of groups of flags.
OF_TRAINING = "Flags of --mode=train and --mode=input"
DEVICES = "Devices"
OF_DECODING = "Flags of --mode=decode"
OF_LAYERS = "Flags of --mode=layers"
FLAGS = flags.define(
    flags.group(
        flags.UNGROUPED,
        mode=flags.choice(
            ["train", "input", "decode", "layers"],
            "Work to time: train, input, decode or layers.",
        ),
        hparams_set=flags.text(
            "Name of the hparams set. --mode=layers and --mode=decode with a "
            "run need none."
        ),
        hparams=flags.SHARED,
        num_passes=flags.count(
            "Number of times to repeat the timed work.",
            default=5,
            maximum=10_000,
        ),
        vocabulary=flags.path(
            "SentencePiece model to encode the text with; it must have ids for "
            "padding and for the end of a sentence. Default: a new model "
            "trained on the training text, which adds to the start-up time."
        ),
    ),
    flags.group(
        OF_TRAINING,
        train_source=flags.SHARED,
        train_target=flags.SHARED,
        vocab_size=flags.count(
            "Number of subwords of a new vocabulary. Default: 8000.",
            maximum=flags.MAX_VOCAB_SIZE,
        ),
        packed=flags.switch(
            "Put several sentence pairs into a row, as --hparams=packed=true "
            "does."
        ),
    ),
    flags.group(
        DEVICES,
        precision=flags.SHARED,
        xla=flags.SHARED,
        worker_gpu=flags.SHARED,
    ),
    flags.group(
        OF_DECODING,
        output_dir=flags.path(
            "Directory of a trained run or of a CTranslate2 model. Default: "
            "none, which uses a model with random weights."
        ),
        decode_from_file=flags.path(
            "File to translate, one sentence per line."
        ),
        decode_hparams=flags.SHARED,
        batch_size=flags.count(
            "Number of sentences to decode together.",
            default=32,
            maximum=100_000,
        ),
        target_length=flags.whole(
            "Number of tokens of every translation, its end included; 0 lets "
            "the model decide.",
            default=0,
            maximum=MAX_OUTPUT_TOKENS,
        ),
        sort_by_length=flags.switch(
            "Decode sentences of similar lengths together. --nosort_by_length "
            "keeps the order of the file.",
            default=True,
        ),
    ),
    flags.group(
        OF_LAYERS,
        report_dir=flags.path(
            "Directory for table1.md, table1.csv and table1.png."
        ),
        seconds=flags.count(
            "Time limit for all layers together, in seconds. Layers that do "
            "not fit into it are skipped.",
            default=3600,
        ),
        max_length=flags.choice(
            [str(length) for length in layer_table.LENGTHS],
            "Length of the longest sequences (n).",
            default="4096",
        ),
        max_width=flags.choice(
            [str(width) for width in layer_table.WIDTHS],
            "Width of the widest layers (d).",
            default="1024",
        ),
        neighbourhood_size=flags.count(
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
    """Refuses flags that would be ignored, because figures would mislead."""
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
