"""Environment variables and --usr_dir directories that cannot be used."""

from damage import has
from damage import links
from damage import makes
from damage import writes
from rows import accepted
from rows import row

START = (
    "kt-trainer --output_dir={box}/new --data_dir={data} --problem=copy "
    "--hparams_set=transformer_tiny --train_steps=2"
)
DECODE = "kt-decoder --output_dir={run}"
MINE = "kt-trainer --usr_dir={box}/mine --registry_help"
INIT = "{box}/mine/__init__.py"
CODE = {"traceback": True, "apart": True}
# The example of docs/problems.md, whose pairs are to be filled in.
PROBLEM = """
from keras_transformer.problem import Problem
from keras_transformer.registry import register_problem
@register_problem
class Mine(Problem):
    vocab_size = 300
    def {name}({arguments}):
        return {pairs}
"""
WORKERS = '{"cluster": {"worker": ["localhost:1", "localhost:2"]}, "task": %s}'


def with_problem(
    pairs, says, name="text_pairs", arguments="self, split, tmp_dir", **options
):
    text = PROBLEM.format(pairs=pairs, name=name, arguments=arguments)
    return row(
        "kt-datagen --usr_dir={box}/mine --problem=mine --data_dir={box}/d",
        writes(INIT, text),
        says=says,
        apart=True,
        **options,
    )


def with_variables(command, says="", **variables):
    return row(
        command, says=says, variables=variables, apart=True, cpu_seconds=60
    )


ROWS = [
    with_variables(START, "TF_CONFIG", TF_CONFIG="{"),
    with_variables(START, "TF_CONFIG", TF_CONFIG="[]"),
    with_variables(START, "TF_CONFIG", TF_CONFIG="7"),
    with_variables(START, "TF_CONFIG", TF_CONFIG='{"cluster": []}'),
    with_variables(START, "TF_CONFIG", TF_CONFIG="[" * 100_000),
    with_variables(START, "TF_CONFIG", TF_CONFIG=WORKERS % "{}"),
    with_variables(START, "TF_CONFIG", TF_CONFIG=WORKERS % "null"),
    with_variables(
        START, "TF_CONFIG", TF_CONFIG=WORKERS % '{"type": "worker", "index": 2}'
    ),
    with_variables(
        START,
        "TF_CONFIG",
        TF_CONFIG=WORKERS % '{"type": "worker", "index": -1}',
    ),
    with_variables(
        START,
        "TF_CONFIG",
        TF_CONFIG=WORKERS % '{"type": "worker", "index": ""}',
    ),
    with_variables(
        START, "TF_CONFIG", TF_CONFIG=WORKERS % '{"type": "boss", "index": 0}'
    ),
    with_variables(START, "KERAS_BACKEND", KERAS_BACKEND="nope"),
    with_variables(START, "KERAS_BACKEND", KERAS_BACKEND="torch"),
    with_variables(START, "KERAS_BACKEND", KERAS_BACKEND="TensorFlow"),
    with_variables(DECODE, "KERAS_BACKEND", KERAS_BACKEND="nope"),
    with_variables(DECODE, "KERAS_BACKEND", KERAS_BACKEND="../x"),
    with_variables(
        "kt-exporter --output_dir={run}", "KERAS_BACKEND", KERAS_BACKEND="x"
    ),
    with_variables(
        "kt-exporter --output_dir={run}", "KERAS_BACKEND", KERAS_BACKEND="jax"
    ),
    with_variables(
        "kt-evaluate --output_dir={averaged} --data_dir={data}",
        "KERAS_BACKEND",
        KERAS_BACKEND="mxnet",
    ),
    with_variables(
        "kt-attention --output_dir={run} --text=a --html=a.html",
        "KERAS_BACKEND",
        KERAS_BACKEND="cntk",
    ),
    accepted(
        "kt-evaluate --hypotheses={texts}/dev.de --references={texts}/dev.de",
        variables={"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        prints="BLEU",
        apart=True,
    ),
    accepted(
        "kt-evaluate --hypotheses={texts}/dev.de --references={texts}/dev.de",
        variables={"LC_ALL": "no_such.locale", "HOME": "/nowhere"},
        prints="BLEU",
        apart=True,
    ),
    row(
        "kt-decoder --output_dir=grün",
        variables={"LC_ALL": "C", "PYTHONUTF8": "0"},
        says="output_dir",
        apart=True,
    ),
    row("kt-decoder --output_dir=~/run", variables={"HOME": "/nowhere"}),
    row("kt-decoder --output_dir=~/run", variables={"HOME": ""}, says="run"),
    row(
        "kt-decoder --output_dir={run} --beam_size=x",
        variables={"COLUMNS": "x"},
    ),
    accepted("kt-trainer --help", variables={"COLUMNS": "0"}, prints="Trains"),
    # A directory with the user's own problems.
    row("kt-trainer --usr_dir={box}/gone", says="usr_dir"),
    row("kt-trainer --usr_dir={run}", says="__init__.py"),
    row("kt-trainer --usr_dir={run}/run.json", says="usr_dir"),
    row("kt-trainer --usr_dir=/dev/null", says="usr_dir"),
    row(MINE, makes(INIT), says="__init__.py"),
    row(MINE, has("{box}"), links("{box}/mine", "mine"), says="usr_dir"),
    row(
        "kt-trainer --usr_dir={box}/json --registry_help",
        writes("{box}/json/__init__.py", b""),
        says="name of another",
    ),
    row(MINE, writes(INIT, b"1 / 0"), says="ZeroDivisionError", **CODE),
    row(MINE, writes(INIT, b"import no_such"), says="no_such", **CODE),
    row(MINE, writes(INIT, b"def f(:"), says="SyntaxError", **CODE),
    row(MINE, writes(INIT, b"import sys; sys.exit(0)"), says="usr_dir", **CODE),
    row(MINE, writes(INIT, b"raise SystemExit"), says="usr_dir", **CODE),
    row(MINE, writes(INIT, b"raise SystemExit('bye')"), says="usr_dir", **CODE),
    row(MINE, writes(INIT, b"raise ValueError('mine')"), says="mine", **CODE),
    row(MINE, writes(INIT, b"open('no/such')"), says="no/such", **CODE),
    row(MINE, writes(INIT, b"\xff\xfe"), says="usr_dir", **CODE),
    row(MINE, writes(INIT, b"a\0b"), says="usr_dir", **CODE),
    row(
        MINE,
        writes(
            INIT,
            "from keras_transformer.registry import register_hparams\n"
            "@register_hparams\ndef transformer_tiny(): pass\n",
        ),
        says="transformer_tiny",
        **CODE,
    ),
    row(
        "kt-trainer --usr_dir={box}/mine --output_dir={box}/new "
        "--data_dir={data} --problem=copy --hparams_set=mine",
        writes(
            INIT,
            "from keras_transformer.registry import register_hparams\n"
            "@register_hparams\ndef mine(): pass\n",
        ),
        says="hparams_set='mine'",
        apart=True,
    ),
    with_problem("None", "pairs of str. Received: None from problem=mine"),
    with_problem("[]", "no pairs of non-empty"),
    with_problem("['a b', 'c d']", "Received: 'a b' from"),
    with_problem("[('a', 'b', 'c')]", "Received: ('a', 'b', 'c') from"),
    with_problem("[(1, 2)]", "Received: (1, 2) from"),
    with_problem("[(b'a', b'b')]", "Received: (b'a', b'b') from"),
    with_problem("[('a', None)]", "Received: ('a', None) from"),
    with_problem("[]", "does not define `text_pairs`", name="pairs"),
    with_problem(
        "[]",
        "Mine.text_pairs(self, split)",
        arguments="self, split",
        traceback=True,
    ),
    row(
        "kt-datagen --usr_dir={box}/mine --problem=mine --data_dir={box}/d",
        writes(
            INIT,
            "from keras_transformer.registry import register_problem\n"
            "@register_problem\nclass Mine: pass\n",
        ),
        says="problem='mine'",
        apart=True,
    ),
]
