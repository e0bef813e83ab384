"""Two commands that write to one place."""

from damage import locks
from rows import row

RESUME = "kt-trainer --output_dir={run} --data_dir={data} --train_steps=16000"
PLOT = "kt-plot --runs={run} --plot_to_file={box}/a.png"
ROWS = [
    row(PLOT, locks("{box}/a.png.incomplete"), says="one process"),
    row(RESUME, beside=RESUME, until="step 3", says="one", writes="run/*"),
]
