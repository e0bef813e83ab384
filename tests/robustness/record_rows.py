"""Runs whose own files are damaged, edited or of another kind."""

from damage import ABSENT
from damage import copies
from damage import grows
from damage import has
from damage import links
from damage import makes
from damage import removes
from damage import sets
from damage import truncates
from damage import writes
from rows import row

RUN = "kt-decoder --output_dir={run}"
AVERAGE = "kt-avg-checkpoints --output_dir={run} --num_last_checkpoints=2 "
AVERAGE += "--noevaluate"
EXPORT = "kt-exporter --output_dir={run} --format=ctranslate2"
EVALUATE = "kt-evaluate --output_dir={run} --data_dir={data}"
RESUME = "kt-trainer --output_dir={run} --data_dir={data} --train_steps=16000"
SWEEP = "kt-sweep --output_dir={box}/s --data_dir={data} --problem=copy "
SWEEP += "--hparams_sets=transformer_tiny"
SWEEP_RECORD = b"""{"problem": "copy", "hparams_sets": "transformer_tiny",
    "scale": "none", "hparams": "", "random_seed": 0, "precision": "auto"}"""
PLOT = "kt-plot --output_dir={run} --picture={box}/plot.png"
DEEP = "[" * 100_000
RECORD, HPARAMS = "{run}/run.json", "{run}/hparams.json"
METRICS = "{run}/metrics.csv"
EVALUATIONS = "{run}/checkpoints/evaluations.json"
TIMED = "{run}/checkpoints/timed.json"
TIMED_AVERAGE = AVERAGE + " --checkpoints=timed"
BEST = RUN + " --checkpoint_step=best"
SLOW = {"cpu_seconds": 60}
NO_JSON = [
    b"",
    b" \n",
    b"{",
    b"{}",
    b"[]",
    b"null",
    b"7",
    b'"problem"',
    b"\xff\xfe{\0}\0",
    b"\x80\x03}q\0.",
    b"PK\x03\x04",
    DEEP.encode(),
    b'{"a":' * 50_000,
    b"9" * 5000,
    b"NaN",
]


def unreadable(command, path, but=None):
    """Returns rows with a file that is not the JSON of an object."""
    name = path.split("/")[-1]
    return [
        row(command, writes(path, content), says=name)
        for content in NO_JSON
        if content != but
    ]


ROWS = [
    # run.json.
    *unreadable(RUN, RECORD),
    row(RUN, makes(RECORD), says="run.json"),
    row(RUN, links(RECORD, RECORD), says="run.json"),
    row(RUN, grows(RECORD, 2**33), says="run.json"),
    row(RUN, truncates(RECORD, 0.5), says="run.json"),
    row(RUN, sets(RECORD, "problem", ABSENT), says="problem"),
    row(RUN, sets(RECORD, "problem", 7), says="problem"),
    row(RUN, sets(RECORD, "problem", None), says="problem"),
    row(EVALUATE, sets(RECORD, "problem", "nope"), says="nope"),
    row(EVALUATE, sets(RECORD, "problem", "../.."), says="../.."),
    row(EVALUATE, sets(RECORD, "problem", "\ud800"), says="problem"),
    row(EVALUATE, sets(RECORD, "problem", ["copy"]), says="problem"),
    row(EVALUATE, sets(RECORD, "data", {"splits": 3}), says="run.json", **SLOW),
    row("kt-evaluate --output_dir={run}", sets(RECORD, "data_dir", ABSENT)),
    row("kt-evaluate --output_dir={run}", sets(RECORD, "data_dir", 3)),
    row("kt-evaluate --output_dir={run}", sets(RECORD, "data_dir", "a\0")),
    row(RESUME, sets(RECORD, "random_seed", "x"), says="random_seed"),
    row(RESUME, sets(RECORD, "precision", "float8"), says="precision", **SLOW),
    row(RESUME, sets(RECORD, "hparams_set", 3), says="hparams_set"),
    row(RESUME, sets(RECORD, "vocabulary_sha256", "00"), says="vocabulary"),
    row(
        RESUME,
        sets(RECORD, "corpus_weights", ["a.tsv:3"]),
        says=("`corpus_weights` must not", "Give kt-datagen the earlier"),
    ),
    row(RESUME, sets(RECORD, "corpus_weights", 3), says="corpus_weights"),
    row(RUN, sets(RECORD, "averaged_steps", "all"), says="averaged_steps"),
    # hparams.json.
    *unreadable(RUN, HPARAMS, but=b"{}"),
    row(RUN, removes(HPARAMS), says="hparams.json"),
    row(RUN, makes(HPARAMS), says="hparams.json"),
    row(RUN, sets(HPARAMS, "d_model", "16"), says="d_model"),
    row(RUN, sets(HPARAMS, "d_model", 0), says="d_model"),
    row(RUN, sets(HPARAMS, "d_model", 10**30), says="d_model"),
    row(RUN, sets(HPARAMS, "d_model", 16.5), says="d_model"),
    row(RUN, sets(HPARAMS, "d_model", True), says="d_model"),
    row(RUN, sets(HPARAMS, "d_model", [16]), says="d_model"),
    row(RUN, sets(HPARAMS, "alpha", float("nan")), says="alpha"),
    row(RUN, sets(HPARAMS, "alpha", float("inf")), says="alpha"),
    row(RUN, sets(HPARAMS, "norm", "mid"), says="norm"),
    row(RUN, sets(HPARAMS, "heads", 2), says="heads"),
    row(RUN, sets(HPARAMS, "beam_size", 10**9), says="beam_size"),
    row(
        RUN, sets(HPARAMS, "d_model", 32), stdin=b"a", says="ckpt-3000", **SLOW
    ),
    row(RUN, sets(HPARAMS, "num_layers", 2), stdin=b"a", **SLOW),
    row(RUN, sets(HPARAMS, "num_layers", 10**9), says="num_layers"),
    row(RUN, sets(HPARAMS, "d_ff", 10**9), stdin=b"a", **SLOW),
    # evaluations.json.
    *unreadable(BEST, EVALUATIONS, but=b"[]"),
    row(BEST, removes(EVALUATIONS), says="score on dev"),
    row(BEST, writes(EVALUATIONS, b"[]"), says="score on dev"),
    row(BEST, makes(EVALUATIONS), says="evaluations.json"),
    row(BEST, sets(EVALUATIONS, "0.step", "x"), says="step"),
    row(BEST, sets(EVALUATIONS, "0.score", "good"), says="score"),
    row(BEST, sets(EVALUATIONS, "1", 7), says="evaluations.json"),
    row(AVERAGE, writes(EVALUATIONS, b"{"), says="evaluations.json"),
    # timed.json.
    *unreadable(TIMED_AVERAGE, TIMED, but=b"[]"),
    row(TIMED_AVERAGE, writes(TIMED, b"[3000, 1500]"), says="ascend"),
    row(TIMED_AVERAGE, says="0 timed checkpoints"),
    row(RESUME, writes(TIMED, b"{"), has("{data}"), says="timed.json"),
    # metrics.csv.
    row(PLOT, removes(METRICS), says="metrics.csv"),
    row(PLOT, makes(METRICS), says="metrics.csv"),
    row(PLOT, writes(METRICS, b""), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"\xff\xfe\0"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"step,dev_bleu\n1,x\n"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"step,dev_bleu\n1\n"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"step,dev_bleu\n1,2,3\n"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"step,dev_bleu\nx,1\n"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"step,dev_bleu\n"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"dev_bleu\n1\n"), says="metrics.csv"),
    row(PLOT, writes(METRICS, b'step,dev_bleu\n"1,2\n' * 9), says="metrics"),
    row(PLOT, writes(METRICS, b"\0" * 4096), says="metrics.csv"),
    row(PLOT, writes(METRICS, b"a" * 200_000), says="metrics.csv"),
    row(PLOT, grows(METRICS, 2**33), says="metrics.csv"),
    # The estimate of quality that kt-evaluate fitted.
    row(
        "kt-decoder --output_dir={run} --format=jsonl",
        writes("{run}/quality.json", b"[]"),
        says="kt-evaluate --calibrate",
    ),
    # The scores that kt-evaluate recorded.
    row(EXPORT, writes("{run}/scores/test.json", b"[1]"), says="test.json"),
    row(EXPORT, writes("{run}/scores/test.json", b'{"scores":{"a":"b"}}')),
    # A sweep, and the run of one of its rows.
    row(SWEEP, writes("{box}/s/sweep.json", b"[1]"), says="sweep.json"),
    row(
        SWEEP,
        writes("{box}/s/sweep.json", b'{"scale": "tiny"}'),
        says="no --problem",
    ),
    row(
        SWEEP,
        copies("{box}/s/transformer_tiny", "{run}"),
        says="must not hold a run of yours",
    ),
    row(
        SWEEP,
        writes("{box}/s/sweep.json", SWEEP_RECORD),
        copies("{box}/s/transformer_tiny", "{run}"),
        writes("{box}/s/transformer_tiny/hparams.json", b"{"),
        says="hparams.json",
    ),
]
