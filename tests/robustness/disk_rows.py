"""Disks that are full, and places where nothing can be written."""

from damage import links
from damage import writes
from rows import row

TEXTS = (
    "--vocab_size=400 --train_source={texts}/train.en "
    "--train_target={texts}/train.de --dev_source={texts}/dev.en "
    "--dev_target={texts}/dev.de"
)
GENERATE = "kt-datagen --problem=translate_files " + TEXTS + " --data_dir="
COPY = "kt-datagen --problem=copy --data_dir="
AVERAGE = "kt-avg-checkpoints --output_dir={run} --num_last_checkpoints=2 "
AVERAGE += "--noevaluate"
EXPORT = "kt-exporter --output_dir={run} --format=ctranslate2"
PLOT = "kt-plot --output_dir={run} --picture="
START = (
    "kt-trainer --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2 --output_dir="
)
DECODE = "kt-decoder --output_dir={run} --decode_from_file={texts}/dev.en "
DECODE += "--decode_to_file="
CLEAN = "kt-clean --source={texts}/train.en --target={texts}/train.de "
CLEAN += "--rules= --clean_source={box}/a --clean_target={box}/b"
# `ulimit -f` counts in KiB in bash.
SMALL = {"limits": "ulimit -f 1;", "says": "disk", "cpu_seconds": 60}
MIDDLE = {"limits": "ulimit -f 40;", "says": "disk", "cpu_seconds": 60}
ROWS = [
    row(GENERATE + "{box}/d", **SMALL),
    row(CLEAN, **SMALL),
    row(COPY + "{box}/d", **SMALL),
    row(COPY + "{box}/d", **MIDDLE, before="Trained"),
    row(AVERAGE, **SMALL),
    row(AVERAGE, **MIDDLE),
    row(EXPORT, **SMALL),
    row(EXPORT, **MIDDLE),
    row(PLOT + "{box}/a.png", **SMALL),
    row(PLOT + "{box}/a.svg", **SMALL),
    row(PLOT + "{run}/learning_curve.png", **SMALL),
    row(DECODE + "{box}/out", **SMALL),
    row("kt-exporter --output_dir={run}", **MIDDLE),
    row(
        "kt-attention --output_dir={run} --text=a --html={box}/a",
        **SMALL,
        prints="a",
    ),
    row(
        "kt-attention --output_dir={run} --text=a --picture={box}/a.png",
        **SMALL,
        prints="a",
    ),
    row(START + "{box}/new", **SMALL),
    row(GENERATE + "/proc/d", says="/proc/d"),
    row(GENERATE + "/sys/d", says="/sys/d"),
    row(GENERATE + "/dev/null/d", says="/dev/null"),
    row(COPY + "{texts}/dev.en", says="dev.en"),
    row(COPY + "{box}/d", links("{box}/d", "d"), says="/d"),
    row(COPY + "{box}/d/copy", writes("{box}/d", b""), says="/d"),
    row(COPY + f"{'d' * 300}", says="too long"),
    row(COPY + "{box}/d", writes("{box}/d/copy", b"x"), says="d/copy"),
    row(AVERAGE + " --averaged_dir=/sys/a", says="/sys/a"),
    row(AVERAGE + " --averaged_dir=/dev/null", says="is not a directory"),
    row(AVERAGE + " --averaged_dir={run}/vocab.model/a", says="vocab.model"),
    row(AVERAGE + f" --averaged_dir={'a' * 300}", says="too long"),
    row(AVERAGE, writes("{run}/averaged", b"mine"), says="averaged"),
    row(EXPORT + " --export_dir=/sys/e", says="/sys/e"),
    row(EXPORT + " --export_dir=/dev/null", says="/dev/null"),
    row(EXPORT + f" --export_dir={'e' * 300}", says="too long"),
    row(EXPORT, writes("{run}/export_ctranslate2", b"mine"), says="export"),
    row(EXPORT, writes("{run}/export_ctranslate2/mine", b"mine")),
    row(PLOT + "/sys/a.png", says="/sys/a.png"),
    row(PLOT + "/dev/full.png/a.png", says="/dev/full.png"),
    row(PLOT + f"{'p' * 300}.png", says="too long"),
    row(PLOT + "{texts}/dev.en/a.png", says="dev.en"),
    row(PLOT + "{box}/a.png", links("{box}/a.png.kt-incomplete", "/proc/x")),
    row(START + "/sys/new", says="/sys/new"),
    row(START + f"{'r' * 300}", says="too long"),
]
