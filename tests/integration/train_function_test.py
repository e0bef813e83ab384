"""The function `train`, which kt-trainer calls."""

import functools
import os
import shutil

import pytest
from commands import call
from runs import differences

import keras_transformer
from keras_transformer import registry
from keras_transformer.bin import trainer as command
from keras_transformer.errors import UserError
from keras_transformer.hparam import parse_overrides
from keras_transformer.runs.run_directory import RunDirectory

SMALL = "num_layers=1,d_model=16,d_ff=32,num_heads=2,batch_tokens=512"
SMALL += ",extra_length=4"  # an untrained model writes up to the limit


@pytest.fixture
def problem(copy_data):
    return registry.get_problem("copy", copy_data)


@pytest.fixture
def train(engine_sharing):
    """The function `train`, whose next call may use what this one compiles."""

    def train_and_release(*arguments, **options):
        try:
            return keras_transformer.train(*arguments, **options)
        finally:
            engine_sharing.release()

    return train_and_release


class TrainTest:
    def test_it_makes_and_resumes_the_run_of_the_command(
        self, copy_data, problem, train, tmp_path, capsys
    ):
        expected, path = (str(tmp_path / name) for name in ("command", "run"))
        flags = (f"--data_dir={copy_data}", "--hparams_set=transformer_tiny")
        flags += ("--problem=copy", f"--hparams={SMALL}", "--random_seed=3")
        flags += (f"--output_dir={expected}", "--eval_frequency=2")
        assert call(command, *flags, "--train_steps=4") == 0
        output = capsys.readouterr().out

        hparams = registry.get_hparams("transformer_tiny")
        hparams = parse_overrides(hparams, SMALL)
        options = {"eval_frequency": 2, "random_seed": 3}
        first = train(problem, hparams, path, train_steps=2, **options)
        assert first.step == 2
        second = train(None, None, path, train_steps=4, eval_frequency=2)
        runs = [RunDirectory(each) for each in (path, expected)]
        assert differences(*runs) == ["metrics.csv"]  # rows of step 2
        records = [{**run.record, "hparams_set": None} for run in runs]
        assert records[0] == records[1]
        assert str(second.results["dev_loss"]) in output
        assert second.run.hparams == runs[1].hparams
        assert not second.stop_signal

    def test_a_resumed_run_keeps_its_last_number_of_updates(
        self, problem, train, tmp_path
    ):
        path = str(tmp_path / "run")
        schedule = "warmup_steps=1,decay_steps=2"
        overrides = {"overrides": f"{SMALL},{schedule}"}
        begin = functools.partial(train, problem, "transformer_tiny", path)
        resume = functools.partial(train, None, None, path)
        for number in (1, 2):
            begin(train_steps=number, **overrides)
        for start, options in ((resume, {}), (begin, overrides)):
            os.remove(RunDirectory(path).checkpoints.path(2))
            assert start(**options).step == 2

    def test_a_resumed_run_keeps_its_data(self, copy_data, train, tmp_path):
        data_dir = str(shutil.copytree(copy_data, tmp_path / "data"))
        path = str(tmp_path / "run")
        for number in (1, 2):
            problem = registry.get_problem("copy", data_dir)
            problem.vocab_size -= number  # the second would be other data
            trainer = train(
                problem,
                "transformer_tiny",
                path,
                overrides=SMALL,
                train_steps=number,
                tmp_dir=str(tmp_path),
            )
            assert trainer.step == number

    @pytest.mark.parametrize(
        "changes, words",
        [
            ({"problem": None}, "`problem` must be given for a new run"),
            ({"hparams": None}, "`hparams_set` must be given"),
            ({"problem": "copy"}, "`data_dir` must be given"),
            ({"data_dir": "data"}, "data_dir='data' and a Problem. Leave"),
            ({"eval_frequency": 0}, "`eval_frequency` must be an integer from"),
            ({"random_seed": -1}, "`random_seed` must be an integer"),
            ({"xla": "yes"}, "`xla` must be 'auto', 'on' or 'off'"),
            ({"overrides": "d_modell=8"}, "Did you mean: d_model"),
            ({"measure": "f1"}, "`measure` must be a metric"),
            ({"measure": "measure"}, "`measure` must be a metric"),
            ({"hparams": "transformer_tinny"}, "Unknown hparams_set"),
        ],
    )
    def test_an_error_is_told_before_anything_is_written(
        self, problem, tmp_path, changes, words
    ):
        arguments = {"problem": problem, "hparams": "transformer_tiny"}
        path = tmp_path / "run"
        with pytest.raises(UserError, match=words):
            keras_transformer.train(
                **{"output_dir": str(path), **arguments, **changes}
            )
        assert os.listdir(tmp_path) == []

    def test_the_minutes_of_a_warm_start_give_way_to_updates(
        self, problem, make_run, tmp_path
    ):
        """The user gave none that could be left out."""
        start = make_run(train_minutes=1.0).path
        options = {"warm_start_from": start, "train_steps": 9}
        arguments = problem, None, str(tmp_path / "another")
        with pytest.raises(UserError, match="; --hparams=train_minutes=0"):
            keras_transformer.train(*arguments, **options)
        # The next fault is that the other run has no checkpoint.
        options["overrides"] = "train_minutes=0"
        with pytest.raises(UserError, match="holds no checkpoint"):
            keras_transformer.train(*arguments, **options)

    def test_an_unknown_option_is_an_error_of_python(self, problem, tmp_path):
        with pytest.raises(TypeError, match="eval_frequence"):
            keras_transformer.train(
                problem, "transformer_tiny", str(tmp_path), eval_frequence=1
            )

    def test_a_new_model_does_not_get_the_scores_of_an_earlier_one(
        self, problem, make_run
    ):
        run = make_run()
        os.mkdir(run.file("scores"))
        with open(run.file("scores", "test.json"), "w") as file:
            file.write("[]")
        with pytest.raises(UserError, match="which holds other 'scores'"):
            keras_transformer.train(problem, run.hparams, run.path)
        assert not run.checkpoints.steps
