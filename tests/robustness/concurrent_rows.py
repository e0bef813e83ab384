"""Two commands that write to one place."""

from damage import has
from damage import locks
from damage import makes
from damage import writes
from rows import row

RESUME = "kt-trainer --output_dir={run} --data_dir={data} --train_steps=16000"
DECODE = "kt-decoder --output_dir={run} --decode_from_file={box}/in "
DECODE += "--decode_to_file={box}/out"
PLOT = "kt-plot --output_dir={run} --picture={box}/a.png"
CLEAN = "kt-clean --source={texts}/dev.en --target={texts}/dev.de "
CLEAN += "--clean_source={box}/a --clean_target={box}/b"
SLOW = {"cpu_seconds": 60}
AVERAGE = "kt-avg-checkpoints --output_dir={run} --num_last_checkpoints=2 "
AVERAGE += "--noevaluate"
EXPORT = "kt-exporter --output_dir={run} --format=ctranslate2 "
EXPORT += "--export_dir={box}/e"
ROWS = [
    row(
        AVERAGE,
        makes("{run}/averaged"),
        locks("{run}/averaged"),
        says="Another process",
    ),
    row(
        EXPORT,
        makes("{box}/e"),
        locks("{box}/e"),
        says="Another process",
    ),
    row(
        RESUME,
        has("{data}"),
        locks("{run}"),
        says="Another process",
    ),
    row(CLEAN, locks("{box}/b.kt-incomplete"), says="Another process"),
    row(PLOT, locks("{box}/a.png.kt-incomplete"), says="Another process"),
    row(
        DECODE,
        writes("{box}/in", b"a\n"),
        locks("{box}/out.partial"),
        says="Another process",
        **SLOW,
    ),
    row(
        RESUME,
        beside=RESUME,
        until="step 3",
        says="Another process",
        writes="run/*",
        cpu_seconds=60,
    ),
]
