"""A run that is trained on JAX without TensorFlow and resumed with TensorFlow.

Its rows are packed, so there is one shape to compile.
"""

import json
import os
import subprocess
import sys

import keras
import pytest

from keras_transformer.data.text.text_files import read_lines
from keras_transformer.decoding.translator import Translator
from keras_transformer.registry import get_problem
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.trainer import Trainer

if keras.backend.backend() != "tensorflow":
    pytest.skip("starts processes on JAX", allow_module_level=True)
pytest.importorskip("jax")

NUM_SENTENCES = 20
# Imports of TensorFlow fail, as on a machine without it.
SCRIPT = """
import json
import sys
sys.modules["tensorflow"] = None
from keras_transformer.bin import trainer
from keras_transformer.decoding.translator import Translator
run, steps, num_sentences = sys.argv[1], sys.argv[2], int(sys.argv[3])
try:
    trainer.run(["kt-trainer", "--output_dir=" + run, "--train_steps=" + steps])
except SystemExit as stop:
    if stop.code:
        raise
lines = open(run + "/sentences.txt", encoding="utf-8").read().splitlines()
print(json.dumps(Translator.load(run, engine="keras")(lines[:num_sentences])))
"""


def train_on_jax(run, steps):
    """Trains in another process; returns translations and the log."""
    result = subprocess.run(
        [
            sys.executable,
            "-c",
            SCRIPT,
            run.path,
            str(steps),
            f"{NUM_SENTENCES}",
        ],
        env={**os.environ, "KERAS_BACKEND": "jax"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    figures, translations = result.stdout.splitlines()
    assert json.loads(figures)["step"] == steps
    return json.loads(translations), result.stderr


class JaxTrainingTest:
    @pytest.mark.slow
    def test_run_moves_from_jax_to_tensorflow_and_back(
        self, make_run, copy_data
    ):
        run = make_run(packed=True, dropout=0.1)
        problem = get_problem("copy", copy_data)
        sentences = problem.text_split("dev")[0][:NUM_SENTENCES]
        with open(run.file("sentences.txt"), "w", encoding="utf-8") as file:
            file.writelines(f"{sentence}\n" for sentence in sentences)
        assert list(read_lines(run.file("sentences.txt"))) == sentences

        on_jax, _ = train_on_jax(run, 300)
        assert Translator.load(run.path, engine="keras")(sentences) == on_jax
        assert Trainer(problem, RunDirectory(run.path)).train(310)
        on_jax, log = train_on_jax(run, 320)
        assert "Resuming from step 310." in log
        assert Translator.load(run.path, engine="keras")(sentences) == on_jax
        # The model has begun to copy, so equal translations mean something.
        assert any(a == b for a, b in zip(on_jax, sentences))
