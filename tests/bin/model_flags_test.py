"""Flags that name models, and that change how they decode."""

import os

import pytest

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.errors import UserError
from keras_transformer.hparam import HParams
from keras_transformer.search.options import DecodeOptions
from keras_transformer.training.backends.make_backend import resolve_precision


def values_of(*arguments):
    names = ("output_dir", "beam_size", "alpha", "decode_hparams")
    values = flags.define(*(f"  {name}" for name in names))
    values(["command", *arguments])
    return values


class DirectoriesTest:
    def test_commas_separate_the_runs_of_an_ensemble(self):
        values = values_of("--output_dir=a,b/c,~/d")
        home = os.path.expanduser("~")
        expected = ["a", "b/c", f"{home}/d"]
        assert model_flags.directories(values.output_dir) == expected

    @pytest.mark.parametrize("name", ["run", "a,b"])
    def test_a_directory_that_exists_is_one(self, tmp_path, name):
        path = tmp_path / name
        path.mkdir()
        values = values_of(f"--output_dir={path}")
        assert model_flags.directories(values.output_dir) == [str(path)]
        assert model_flags.single_output_dir(values, "export") == str(path)

    def test_a_single_run_is_one_that_is_missing_too(self):
        values = values_of("--output_dir=gone")
        assert model_flags.single_output_dir(values, "export") == "gone"

    def test_an_ensemble_is_no_single_run(self):
        with pytest.raises(
            ValueError, match="not an ensemble.* --output_dir=a,b"
        ):
            model_flags.single_output_dir(
                values_of("--output_dir=a,b"), "export"
            )


class DecodeOptionsTest:
    def test_a_single_flag_and_decode_hparams_must_agree(self):
        values = values_of("--beam_size=2", "--decode_hparams=beam_size=3")
        with pytest.raises(UserError, match="beam_size=3 and --beam_size=2"):
            model_flags.decode_changes(values)
        values = values_of("--beam_size=2", "--decode_hparams=beam_size=2")
        assert model_flags.decode_changes(values) == {"beam_size": 2}

    def test_a_command_may_lack_the_single_flags(self):
        values = flags.define("  decode_hparams")
        values(["command", "--decode_hparams=extra_length=7"])
        options = model_flags.decode_options(values, HParams())
        assert options == DecodeOptions.from_hparams(HParams(extra_length=7))


class PrecisionTest:
    @pytest.fixture
    def precision(self):
        def choose(name, d_model):
            values = flags.define("  precision")
            values(["command", f"--precision={name}"])
            return model_flags.decode_precision(
                values, HParams(d_model=d_model)
            )

        return choose

    def test_wide_models_decode_in_what_is_fast_here(self, precision):
        assert precision("auto", 512) == resolve_precision("auto")
        assert precision("auto", 256) == "float32"

    @pytest.mark.parametrize("name", ["float32", "bfloat16", "float16"])
    def test_a_named_precision_stays(self, precision, name):
        assert precision(name, 16) == precision(name, 1024) == name
