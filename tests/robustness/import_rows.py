"""Models to import that are damaged, of another kind or of no use here."""

from damage import copies
from damage import flips
from damage import makes
from damage import removes
from damage import sets
from damage import truncates
from damage import writes
from rows import accepted
from rows import row

IMPORT = "kt-import --source={marian} --output_dir="
NEW = IMPORT + "{box}/new"
ADAPTER = "kt-import --source={run}/checkpoints/ckpt-3000.npz --output_dir=new"
CONFIG, WEIGHTS = "{marian}/config.json", "{marian}/model.safetensors"
TABLE, TOKENIZER = "{marian}/vocab.json", "{marian}/tokenizer_config.json"
PICKLE = "{marian}/pytorch_model.bin"
FILES = (
    "config.json",
    "model.safetensors",
    "source.spm",
    "target.spm",
    "tokenizer_config.json",
    "vocab.json",
)
# `ulimit -f` counts in KiB in bash.
SMALL = {"limits": "ulimit -f 1;", "says": "disk"}
MIDDLE = {"limits": "ulimit -f 40;", "says": "disk"}
ROWS = [
    *[row(NEW, removes("{marian}/" + name), says=name) for name in FILES],
    *[row(NEW, truncates("{marian}/" + name, 0), says=name) for name in FILES],
    *[
        row(NEW, truncates("{marian}/" + name, 0.5), says=name)
        for name in FILES
    ],
    *[row(NEW, makes("{marian}/" + name), says=name) for name in FILES],
    accepted(NEW, prints="new", writes=("new", "new/*")),
    row(NEW, flips(WEIGHTS, 0), says="not a complete file"),
    row(NEW, truncates(WEIGHTS, 0.999), says="not a complete file"),
    row(NEW, copies(PICKLE, WEIGHTS), removes(WEIGHTS), says="can run code"),
    row(NEW, sets(CONFIG, "model_type", "bart"), says="'bart'"),
    row(NEW, sets(CONFIG, "model_type", 3), says="model_type"),
    row(NEW, sets(CONFIG, "d_model", 20), says="of shape"),
    row(NEW, sets(CONFIG, "encoder_layers", 10**9), says="`num_layers`"),
    row(NEW, sets(CONFIG, "vocab_size", 9), says="vocab_size=9"),
    row(NEW, sets(CONFIG, "normalize_before", True), says="normalize_before"),
    row(NEW, sets(TABLE, "new", 10**9), says="vocab.json"),
    row(NEW, sets(TABLE, "new", 5), says="vocab.json"),
    row(NEW, sets(TABLE, "new", "a"), says="vocab.json"),
    row(NEW, writes(TABLE, "[]"), says="vocab.json"),
    row(NEW, writes(TOKENIZER, "[]"), says="tokenizer_config.json"),
    row(NEW, writes("{marian}/generation_config.json", "{"), says="generation"),
    row(NEW + " --problem=nonsense", says="nonsense"),
    row("kt-import --output_dir={box}/new", says="--source"),
    row("kt-import --source={marian}", says="--output_dir"),
    row("kt-import --source={box}/gone --output_dir=new", says="gone"),
    row("kt-import --source={run} --output_dir=new", says="config.json"),
    row("kt-import --source={run}/run.json --output_dir=new", says="run.json"),
    row(ADAPTER, says="Add --base=RUN"),
    row(ADAPTER + " --base={run}", says="ckpt-3000.npz, where"),
    row(ADAPTER + " --base={data}", says="`base` must be"),
    row(ADAPTER + " --base={run} --verify", says="--verify"),
    row(NEW + " --base={run}", says="needs adapters"),
    row(IMPORT + "{run}", says="new or empty"),
    row(IMPORT + "{marian}", says="new or empty"),
    row(IMPORT + "{run}/run.json", says="run.json"),
    row(IMPORT + "/proc/new", says="/proc/new"),
    row(IMPORT + "/dev/null/new", says="/dev/null"),
    row(IMPORT + f"{'r' * 300}", says="too long"),
    row(NEW, **SMALL),
    row(NEW, **MIDDLE),
]
