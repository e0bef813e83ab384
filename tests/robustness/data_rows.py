"""Generated data and exports whose files are damaged or edited."""

from damage import ABSENT
from damage import makes
from damage import removes
from damage import sets
from rows import row

RUN = "kt-decoder --output_dir={run}"
EVALUATE = "kt-evaluate --output_dir={run} --data_dir={data}"
START = (
    "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2"
)
RECORD, HPARAMS = "{run}/run.json", "{run}/hparams.json"
METRICS = "{run}/metrics.csv"
EVALUATIONS = "{run}/checkpoints/evaluations.json"
MANIFEST = "{data}/copy/manifest.json"
BEST = RUN + " --checkpoint_step=best"
SLOW = {"cpu_seconds": 60}
FAST = "kt-decoder --output_dir={ctranslate2}"
FAST_RECORD = "{ctranslate2}/export.json"
SAVED = "kt-decoder --output_dir={saved_model}"
SAVED_RECORD = "{saved_model}/1/assets.extra/export.json"
D = "{data}/copy/"
ROWS = [
    # The data: manifest, ids and offsets.
    row(EVALUATE, makes(MANIFEST), says="manifest.json"),
    row(EVALUATE, sets(MANIFEST, "splits.test", ABSENT), says="test"),
    row(EVALUATE, removes(D + "test.source.txt"), says="test.source"),
    row(START, removes(D + "train.source.ids"), says="train.source"),
    row(START, makes(D + "dev.source.ids"), says="dev.source"),
    row(
        "kt-datagen --problem=copy --data_dir={data}",
        makes(MANIFEST),
        says="manifest.json",
    ),
    # The record of an export.
    row(FAST, removes(FAST_RECORD), says="export.json"),
    row(FAST, makes(FAST_RECORD), says="export.json"),
    row(FAST, sets(FAST_RECORD, "decode.beam_size", 0), says="beam_size"),
    row(SAVED, makes(SAVED_RECORD), says="export.json"),
    row(SAVED, sets(SAVED_RECORD, "decode.alpha", "x"), says="alpha"),
]
