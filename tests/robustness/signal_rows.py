"""Signals during the start, the wait for input, and the work."""

import signal

from rows import row

ASK = "kt-decoder --output_dir={run} --decode_interactive"
RESUME = (
    "kt-trainer --output_dir={run} --data_dir={data} --train_steps=1000000 "
    "--eval_frequency=100000"
)
COPY = "kt-datagen --problem=copy --data_dir={box}/d"
SERVE = "kt-serve --export_dir={saved_model} --port=0 --rest_api_port=18765"
INT, TERM = signal.SIGINT, signal.SIGTERM
SLOW = {"cpu_seconds": 90}
STOPPED = {"writes": ("run/*",), "prints": "step", "says": "is kept. The same"}
# An input that stays open.
WAITS = {"shell": "< <(sleep 30)", **SLOW}


def stopped(command, number, moment, **options):
    """Returns a row of a command that a signal ends, without a message."""
    return row(command, status=128 + number, signal=(number, moment), **options)


ROWS = [
    stopped(COPY, INT, "Trained a vocabulary"),
    stopped(COPY, TERM, "Trained a vocabulary"),
    stopped(ASK, INT, "Type one sentence", **WAITS),
    stopped(ASK, TERM, "Type one sentence", **WAITS),
    stopped(RESUME, INT, "step 3,", **STOPPED, **SLOW),
    stopped(RESUME, TERM, "step 3,", **STOPPED, **SLOW),
    row(SERVE, status=0, signal=(INT, "Serving"), **SLOW),
    row(SERVE, status=0, signal=(TERM, "Serving"), **SLOW),
]
