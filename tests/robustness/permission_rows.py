"""Files and directories whose permissions do not let the user in."""

from damage import allows
from damage import has
from damage import writes
from rows import row

READ, CLOSED = 0o500, 0  # the owner may read, or may do nothing
TEXTS = (
    "--vocab_size=400 --train_source={texts}/train.en "
    "--train_target={texts}/train.de --dev_source={texts}/dev.en "
    "--dev_target={texts}/dev.de"
)
GENERATE = "kt-datagen --problem=translate_files " + TEXTS + " --data_dir="
AVERAGE = "kt-avg-checkpoints --output_dir={run} --num_last_checkpoints=2 "
AVERAGE += "--noevaluate"
CLEAN = "kt-clean --source={texts}/dev.en --target={texts}/dev.de "
CLEAN += "--clean_source={texts}/a --clean_target={box}/b"
START = (
    "kt-trainer --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2 --output_dir="
)
RESUME = "kt-trainer --output_dir={run} --data_dir={data} --train_steps=16000"
EVALUATE = "kt-evaluate --output_dir={averaged} --data_dir={data}"
DECODE = "kt-decoder --output_dir={run} --decode_from_file={texts}/dev.en "
DECODE += "--decode_to_file={texts}/"
MINE = "kt-trainer --usr_dir={box}/mine --registry_help"
INIT = "{box}/mine/__init__.py"
NEWEST = "{run}/checkpoints/ckpt-3000.npz"


def refused(command, path, mode, *damages, says=()):
    """Returns a row of a path with permissions that rule the command out."""
    return row(command, *damages, allows(path, mode), says=says, user=True)


ROWS = [
    # Directories and files that may only be read.
    refused(GENERATE + "{texts}/d", "{texts}", READ, says="texts may not be"),
    refused("kt-datagen --problem=copy --data_dir={data}", "{data}/copy", READ),
    refused(DECODE + "out", "{texts}", READ, says="whose directory may not"),
    refused(DECODE + "dev.de", "{texts}/dev.de", READ, says="only be read"),
    refused(CLEAN, "{texts}", READ, says="`--clean_source`"),
    refused(AVERAGE, "{run}", READ, says="/run may not be written to"),
    refused("kt-exporter --output_dir={run}", "{run}", READ, says="export_dir"),
    refused(RESUME, "{run}", READ, says="/run may not be written to"),
    refused(
        START + "{texts}/new", "{texts}", READ, has("{texts}"), says="/new"
    ),
    refused(EVALUATE, "{averaged}", READ, says="averaged may not be"),
    refused(
        "kt-plot --output_dir={run} --picture={run}/a.png",
        "{run}",
        READ,
        says="`--picture`",
    ),
    refused(
        "kt-sweep --problem=copy --data_dir={data} --table=3 --scale=tiny "
        "--output_dir={run}/sweep",
        "{run}",
        READ,
        says="`--output_dir`",
    ),
    # Those that may not even be read are not the same as absent ones.
    refused(
        GENERATE + "{box}/d", "{texts}/train.de", CLOSED, says="Permission"
    ),
    refused(GENERATE + "{box}/d", "{texts}", CLOSED, says="Permission"),
    refused(START + "{box}/new", "{data}", CLOSED, says="Permission"),
    refused(EVALUATE, "{data}/copy", CLOSED, says="Permission"),
    refused(
        START + "{box}/new",
        "{data}/copy/train.source.ids",
        CLOSED,
        says="train.source.ids",
    ),
    refused(
        "kt-decoder --output_dir={run}", "{run}", CLOSED, says="Permission"
    ),
    refused(
        "kt-decoder --output_dir={run}",
        "{run}/checkpoints",
        CLOSED,
        says="checkpoints",
    ),
    refused(
        "kt-decoder --output_dir={run}",
        "{run}/vocab.model",
        CLOSED,
        says="Permission",
    ),
    refused(
        "kt-serve --export_dir={saved_model}",
        "{saved_model}/1",
        CLOSED,
        says="Permission",
    ),
    # A good checkpoint is not called damaged.
    *(
        refused(command, NEWEST, CLOSED, says="cannot be read (Permission")
        for command in ("kt-decoder --output_dir={run}", AVERAGE)
    ),
    refused(
        "kt-decoder --output_dir={saved_model}",
        "{saved_model}/1/variables/variables.index",
        CLOSED,
        says="cannot be read (Permission",
    ),
    refused(MINE, INIT, CLOSED, writes(INIT, b""), says="__init__.py"),
]
