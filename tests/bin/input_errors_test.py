"""Commands refuse bad input before they load a backend, which takes seconds."""

import json
import pathlib
import subprocess
import sys

import pytest
from processes import environment

FIXTURES = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
RUN = f"--output_dir={FIXTURES}/run"
TRAINER = (
    "trainer --problem=copy --hparams_set=transformer_tiny --data_dir=none "
    "--output_dir=new"
)
MANY = "--beam_size=2 --decode_hparams=num_hypotheses=4"

INPUT_ERRORS = f"""
{TRAINER}
{TRAINER} --hparams=d_model=4000000
{TRAINER} --hparams_set=nope
{TRAINER} --profile_steps=5,1_0
{TRAINER} --batch_tokens=many
KERAS_BACKEND=nope {TRAINER} --generate_data
TF_CONFIG=[1] {TRAINER} --generate_data
trainer {RUN} --random_seed=4294967296
trainer {RUN} --problem=nope
decoder {RUN} --checkpoint_step=7 --decode_from_file=text
decoder {RUN} --decode_from_file=none
decoder {RUN} --decode_from_file=text {MANY}
decoder {RUN} --decode_from_file=text --tokenized
decoder {RUN} --decode_from_file=text --prefix_file=long
decoder {RUN} --decode_from_file=text --format=jsonl
decoder {RUN} --decode_from_file=text --prefix_file=empty
decoder {RUN} --prefix_file=-
decoder {RUN} --decode_from_file=text --decode_to_file=no/such/file
decoder {RUN} --decode_from_file=text --decode_hparams=temperature=1e9
decoder {RUN} --target_language=fr
decoder {RUN} --rerank_by={FIXTURES}/run --decode_from_file=none
decoder --output_dir=none --decode_from_file=text
KERAS_BACKEND=nope decoder {RUN} --engine=keras --decode_from_file=text
evaluate {RUN} --checkpoint_step=7
evaluate {RUN} {MANY}
evaluate {RUN} --measure=f1
evaluate {RUN}
evaluate --hypotheses=text --references=empty
exporter {RUN} {MANY}
exporter {RUN} --checkpoint_step=7
exporter {RUN} --precision=float16
exporter {RUN} --export_dir={FIXTURES}/run
exporter {RUN} --export_dir=text
exporter {RUN} --export_dir=text/export
exporter {RUN} --format=ctranslate2 --export_dir={FIXTURES}/run
KERAS_BACKEND=jax exporter {RUN}
attention {RUN} --text=a --html=no/such/page
attention {RUN} --text=a --html=page --checkpoint_step=7
attention {RUN} --text= --html=page
plot --output_dir={FIXTURES}/run --picture=no/such/picture.png
plot --output_dir={FIXTURES}/run --picture=picture.gif
plot --output_dir={FIXTURES}/run --picture=picture.png --metric=nope
query --server=localhost:x --text=a --protocol=rest
query --server=localhost:x --text=a
query --server=localhost:1 --text=a
query --server= --text=a
serve --export_dir=none
serve --export_dir={FIXTURES}/run
serve --export_dir={FIXTURES}/saved_model --port=0 --rest_api_port=0
datagen --problem=nope --data_dir=new
datagen --problem=copy --data_dir=new --train_source=text
datagen --problem=copy --data_dir=text
"""

# Runs all lines in one process, and prints what each did as JSON.
SCRIPT = """
import contextlib, importlib, io, json, os, sys
for line in sys.stdin.read().strip().splitlines():
    *variables, name = line.split(" --")[0].split(" ")
    os.environ.update(variable.split("=") for variable in variables)
    module = importlib.import_module(f"keras_transformer.bin.{name}")
    with contextlib.redirect_stderr(io.StringIO()) as messages:
        try:
            module.run([name, *line.split(" ")[len(variables) + 1:]])
        except SystemExit as error:
            status = error.code
    for variable in variables:
        del os.environ[variable.split("=")[0]]
    loaded = {"keras", "tensorflow", "jax", "torch"} & set(sys.modules)
    print(json.dumps([line, status, messages.getvalue(), sorted(loaded)]))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("input_errors")
    (folder / "text").write_text("a b\nc d\n")
    (folder / "empty").write_text("")
    (folder / "long").write_text("a b c\n" + "a b c " * 5000)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=INPUT_ERRORS,
        capture_output=True,
        text=True,
        cwd=folder,
        env=environment(__file__),
    )
    assert done.returncode == 0, done.stderr
    files = sorted(path.name for path in folder.iterdir())
    assert files == ["empty", "long", "text"]
    return [json.loads(line) for line in done.stdout.splitlines()]


class InputErrorsTest:
    def test_each_is_one_line_and_status_2(self, results):
        assert len(results) == len(INPUT_ERRORS.strip().splitlines())
        for line, status, messages, _ in results:
            assert status == 2, (line, messages)
            assert messages.count("\n") == 1, (line, messages)
            assert messages.startswith("kt-"), (line, messages)

    def test_none_loads_a_backend(self, results):
        for line, _, messages, loaded in results:
            assert not loaded, (line, messages)
