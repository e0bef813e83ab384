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
    f"""
  mode (train|input|decode|layers): Work to time: train, input, decode or
    layers.
  hparams_set (text): Name of the hparams set. --mode=layers and --mode=decode
    with a run need none.
  hparams
  num_passes (count, default 5, maximum 10_000): Number of times to repeat the
    timed work.
  vocabulary (path): SentencePiece model to encode the text with; it must have
    ids for padding and for the end of a sentence. Default: a new model trained
    on the training text, which adds to the start-up time.
{OF_TRAINING}:
  train_source
  train_target
  vocab_size (count, maximum {flags.MAX_VOCAB_SIZE}): Number of subwords of a
    new vocabulary. Default: 8000.
  packed (switch): Put several sentence pairs into a row, as
    --hparams=packed=true does.
{DEVICES}:
  precision
  xla
  worker_gpu
{OF_DECODING}:
  output_dir (path): Directory of a trained run or of a CTranslate2 model.
    Default: none, which uses a model with random weights.
  decode_from_file (path): File to translate, one sentence per line.
  decode_hparams
  batch_size (count, default 32, maximum 100_000): Number of sentences to decode
    together.
  target_length (whole, default 0, maximum {MAX_OUTPUT_TOKENS}): Number of
    tokens of every translation, its end included; 0 lets the model decide.
  sort_by_length (switch, default true): Decode sentences of similar lengths
    together. --nosort_by_length keeps the order of the file.
{OF_LAYERS}:
  report_dir (path): Directory for table1.md, table1.csv and table1.png.
  seconds (count, default 3600): Time limit for all layers together, in seconds.
    Layers that do not fit into it are skipped.
  max_length ({"|".join([str(length) for length in layer_table.LENGTHS])},
    default 4096): Length of the longest sequences (n).
  max_width ({"|".join([str(width) for width in layer_table.WIDTHS])}, default
    1024): Width of the widest layers (d).
  neighbourhood_size (count, default 64, maximum 1_000_000): Positions that
    restricted self-attention sees (r).
"""
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
