import json
import pathlib
import re

import pytest
from commands import assert_fails
from commands import call
from commands import call_apart

from keras_transformer import registry
from keras_transformer.bin import exporter
from keras_transformer.bin import trainer
from keras_transformer.runs.model import load_model
from keras_transformer.runs.run_directory import RunDirectory

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "problems.md"


@pytest.fixture(scope="module")
def usr_dir(tmp_path_factory):
    """Path of the package with a model of one's own on docs/problems.md."""
    blocks = re.findall(
        r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.M
    )
    (code,) = [block for block in blocks if "NoisyHParams" in block]
    path = tmp_path_factory.mktemp("user") / "noisy_of_own_model_test"
    path.mkdir()
    (path / "__init__.py").write_text(code)
    return path


@pytest.fixture(scope="module")
def run(usr_dir, copy_data, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("own") / "run")
    small = "d_model=8,num_heads=2,d_ff=16,num_layers=1,my_noise=0.1"
    flags = [f"--usr_dir={usr_dir}", f"--data_dir={copy_data}"]
    flags += ["--problem=copy", "--hparams_set=transformer_noisy"]
    flags += [f"--hparams={small}", "--train_steps=2", f"--output_dir={path}"]
    assert call(trainer, *flags) == 0
    return path


class OwnModelTest:
    def test_a_run_records_the_hyper_parameter_and_loads_the_model(self, run):
        values = json.loads(pathlib.Path(run, "hparams.json").read_text())
        assert values["my_noise"] == 0.1
        model = load_model(RunDirectory(run))
        assert type(model).__name__ == "NoisyTransformer"
        assert model.input_dropout.rate == 0.1

    def test_commands_need_the_usr_dir_to_read_it(self, run, usr_dir):
        flags = ["decoder", f"--output_dir={run}"]
        without = call_apart(*flags, input=b"1 2 3\n")
        assert without.returncode == 2
        for word in (b"my_noise", b"--usr_dir", b"docs/problems.md"):
            assert word in without.stderr
        decoded = call_apart(*flags, f"--usr_dir={usr_dir}", input=b"1 2 3\n")
        # The model is hardly trained, so its output may raise an alarm.
        assert decoded.returncode in (0, 3)
        assert decoded.stdout.count(b"\n") == 1

    def test_it_is_not_laid_out_for_other_engines(self, run, tmp_path, capsys):
        words = ["plain `Transformer`", "NoisyTransformer", "`my_noise`"]
        flags = [f"--output_dir={run}", "--format=ctranslate2"]
        flags.append(f"--export_dir={tmp_path}")
        assert_fails(capsys, words, exporter, *flags)

    def test_types_are_checked(self, run):
        hparams = registry.get_hparams("transformer_noisy")
        with pytest.raises(ValueError, match="`my_noise` must be a finite"):
            type(hparams)(my_noise="much")
