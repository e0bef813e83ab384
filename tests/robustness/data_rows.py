"""Generated data and exports whose files are damaged or edited."""

from damage import ABSENT
from damage import copies
from damage import makes
from damage import removes
from damage import sets
from damage import truncates
from damage import writes
from record_rows import unreadable
from rows import row

EVALUATE = "kt-evaluate --output_dir={run} --data_dir={data}"
START = (
    "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2"
)
RECORD, HPARAMS = "{run}/run.json", "{run}/hparams.json"
MANIFEST = "{data}/copy/manifest.json"
FAST = "kt-decoder --output_dir={ctranslate2}"
FAST_RECORD = "{ctranslate2}/export.json"
SAVED = "kt-decoder --output_dir={saved_model}"
SAVED_RECORD = "{saved_model}/1/assets.extra/export.json"
D = "{data}/copy/"
BPE = "kt-datagen --problem=translate_ende_wmt_bpe32k --data_dir={box}/d "
BPE += "--tmp_dir={box}/raw"
ROWS = [
    # The data: manifest, ids and offsets.
    *unreadable(EVALUATE, MANIFEST),
    row(EVALUATE, makes(MANIFEST), says="manifest.json"),
    row(EVALUATE, sets(MANIFEST, "splits", 3), says="splits"),
    row(
        f"{EVALUATE} --split=test",
        sets(MANIFEST, "splits.test", ABSENT),
        says="test",
    ),
    row(EVALUATE, sets(MANIFEST, "splits.test.pairs", "x"), says="pairs"),
    row(EVALUATE, removes(D + "test.source.txt"), says="test.source"),
    row(EVALUATE, writes(D + "test.target.txt", b"a\n"), says="test."),
    row(EVALUATE, writes(D + "test.source.txt", b"\xff"), says="UTF-8"),
    row(START, removes(D + "train.source.ids"), says="train.source"),
    row(START, writes(D + "train.source.ids", b""), says="train.source"),
    row(START, truncates(D + "train.source.ids", 0.5), says="train.s"),
    row(START, truncates(D + "train.target.ids", 0.99), says="train.t"),
    row(START, makes(D + "dev.source.ids"), says="dev.source"),
    row(START, writes(D + "dev.target.offsets.npy", b""), says="dev.t"),
    row(
        START,
        writes(D + "dev.source.offsets.npy", b"\x80\x03N."),
        says="dev.source",
    ),
    row(
        START,
        writes(D + "dev.source.offsets.npy", b"\x93NUMPY\x01\0"),
        says="dev.source",
    ),
    row(
        START,
        truncates(D + "train.source.offsets.npy", 0.7),
        says="train.source",
    ),
    row(
        START,
        copies(D + "dev.source.ids", D + "train.source.ids"),
        says="dev.source",
    ),
    row(
        START,
        copies(
            D + "dev.source.offsets.npy",
            D + "train.source.offsets.npy",
        ),
        says="dev.source",
    ),
    row(
        START,
        writes(D + "dev.target.ids", b"\xff\xff" * 1671),
        says="dev.target",
    ),
    row(
        "kt-datagen --problem=copy --data_dir={data}",
        writes(MANIFEST, b"{"),
        says="manifest.json",
    ),
    row(
        "kt-datagen --problem=copy --data_dir={data}",
        writes(MANIFEST, b"[]"),
        says="manifest.json",
    ),
    row(
        "kt-datagen --problem=copy --data_dir={data}",
        makes(MANIFEST),
        says="manifest.json",
    ),
    # The paper's own files.
    row(BPE, says="wmt16_en_de.tar.gz"),
    row(BPE, writes("{box}/raw/vocab.bpe.32000", b"the\n"), says="lacks some"),
    # The record of an export.
    *unreadable(FAST, FAST_RECORD),
    row(FAST, removes(FAST_RECORD), says="export.json"),
    row(FAST, makes(FAST_RECORD), says="export.json"),
    row(FAST, sets(FAST_RECORD, "decode.beam_size", 0), says="beam_size"),
    row(FAST, sets(FAST_RECORD, "decode.beams", 1), says="beams"),
    row(FAST, sets(FAST_RECORD, "decode", None), says="decode"),
    row(FAST, sets(FAST_RECORD, "max_tokens", "x"), says="max_tokens"),
    row(FAST, sets(FAST_RECORD, "shortlist_sha256", 1), says="shortlist_"),
    row(FAST, sets(FAST_RECORD, "shortlist_sha256", "1"), says="vmap.txt"),
    row(FAST, sets(FAST_RECORD, "max_tokens", -1), says="max_tokens"),
    row(FAST + " --checkpoint_step=7", says="checkpoint_step"),
    row(FAST + " --precision=bfloat16", says="--precision"),
    row(SAVED + " --checkpoint_step=best", says="checkpoint_step"),
    row(SAVED + " --precision=float16", says="--precision"),
    row(SAVED + " --prefix_file=a", says="--prefix_file=a"),
    row(SAVED + " --random_seed=3", says="--random_seed=3"),
    row(SAVED + " --tokenized", says="--tokenized"),
    row(SAVED + " --beam_size=7", says="beam_size=7"),
    row(SAVED + " --decode_hparams=num_hypotheses=9", says="num_hyp"),
    row(SAVED, writes(SAVED_RECORD, b"{"), says="export.json"),
    row(SAVED, writes(SAVED_RECORD, b"[]"), says="export.json"),
    row(SAVED, makes(SAVED_RECORD), says="export.json"),
    row(SAVED, sets(SAVED_RECORD, "decode", 1), says="decode"),
    row(SAVED, sets(SAVED_RECORD, "decode.alpha", "x"), says="alpha"),
]
