"""kt-datagen, from its flags to the files that it writes."""

import gzip
import os
import pathlib

import pytest
from commands import call
from commands import call_apart

from keras_transformer import registry
from keras_transformer.bin import datagen

FILES = {
    "train_source": b"a red house\ntwo blue trees\n" * 30,
    "train_target": "ein rotes Haus\nzwei blaue Bäume\n".encode() * 30,
    "dev_source": b"a blue house\n\ntwo red trees\n",
    "dev_target": b"ein blaues Haus\nleer\nzwei rote\n",
    "test_source": b"trees\n",
    "test_target": "Bäume\n".encode(),
}


@pytest.fixture
def paths(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    return {name: tmp_path / name for name in FILES}


@pytest.fixture
def command(tmp_path, paths):
    """The arguments that generate data from the files, by name."""
    return {
        "problem": "translate_files",
        "data_dir": tmp_path / "data",
        "vocab_size": 300,
        **paths,
    }


def flags(arguments):
    return [f"--{name}={value}" for name, value in arguments.items()]


def run(arguments):
    return call(datagen, *flags(arguments))


def run_process(arguments):
    return call_apart("datagen", *flags(arguments), text=True)


class DatagenTest:
    def test_summary_counts_pairs_and_tokens(self, command, capsys):
        assert run(command) == 0
        out = capsys.readouterr().out
        assert "vocabulary 300" in out
        assert "train 60 pairs, " in out
        assert "dev   2 pairs, " in out
        assert " target tokens; 1 dropped for an empty side" in out
        assert " pairs/s " in out

    def test_the_summary_and_progress_go_to_different_streams(self, command):
        process = run_process(command)
        assert process.returncode == 0
        assert process.stdout.startswith("translate_files in ")
        assert process.stderr.startswith("Trained a vocabulary of 300")

    def test_later_commands_need_only_problem_and_data_dir(
        self, command, capsys
    ):
        run(command)
        problem = registry.get_problem("translate_files", command["data_dir"])
        assert problem.text_split("test") == (["trees"], ["Bäume"])
        short = {name: command[name] for name in ("problem", "data_dir")}
        assert run(short) == 0
        assert "Nothing to do" in capsys.readouterr().out

    def test_same_command_again_does_nothing(self, command, capsys):
        run(command)
        assert "Nothing to do" not in capsys.readouterr().out
        run(command)
        assert "Nothing to do" in capsys.readouterr().out

    def test_reverse_name_makes_the_data_of_both(self, command, capsys):
        run({**command, "problem": "translate_files_rev"})
        assert os.listdir(command["data_dir"]) == ["translate_files"]
        run(command)
        assert "Nothing to do" in capsys.readouterr().out

    def test_several_problems_are_made_in_turn(self, tmp_path, command):
        run({**command, "problem": "translate_files, reverse"})
        folders = sorted(os.listdir(command["data_dir"]))
        assert folders == ["reverse", "translate_files"]

    def test_compressed_file_is_read(self, command, paths, capsys):
        path = paths["dev_source"]
        path.write_bytes(gzip.compress(path.read_bytes()))
        run(command)
        assert "dev   2 pairs, " in capsys.readouterr().out

    def test_cleaning_shows_what_each_rule_took(self, command, capsys):
        assert run({**command, "clean": True}) == 0
        out = capsys.readouterr().out
        # All pairs of the training text are repetitions of two.
        assert "train 2 pairs, " in out
        assert "58 dropped by cleaning" in out
        assert "'a red house' | 'ein rotes Haus'" in out
        run({**command, "clean": True})
        assert "Nothing to do" in capsys.readouterr().out

    def test_usr_dir_brings_its_own_problem(self, tmp_path, capsys):
        package = tmp_path / "my_problems_of_datagen_test"
        package.mkdir()
        (package / "__init__.py").write_text(
            "from keras_transformer.problem import Problem\n"
            "from keras_transformer.registry import register_problem\n"
            "@register_problem\n"
            "class MyOwnOfDatagenTest(Problem):\n"
            "    vocab_size = 270\n"
            "    def text_pairs(self, split, tmp_dir):\n"
            "        yield 'abc', 'cba'\n"
        )
        run(
            {
                "usr_dir": package,
                "problem": "my_own_of_datagen_test",
                "data_dir": tmp_path / "data",
            }
        )
        assert "test  1 pairs" in capsys.readouterr().out

    def test_a_problem_may_have_reasons_of_its_own(
        self, tmp_path, monkeypatch, capsys
    ):
        copy = type(registry.get_problem("copy"))
        left_out = {"without a verb": 3, "bad_trees": 1}
        monkeypatch.setattr(copy, "num_left_out", lambda *_: left_out)
        assert run({"problem": "copy", "data_dir": tmp_path / "data"}) == 0
        out = capsys.readouterr().out
        assert "3 without a verb, 1 bad trees left out" in out


class BadInputTest:
    @pytest.mark.parametrize(
        "changes, words",
        [
            ({"dev_target": "none.de"}, "Cannot read none.de, which does not"),
            ({"dev_target": "no/dir/dev.de"}, "no/dir/dev.de, which does not"),
            (
                {"dev_target": "/"},
                "Cannot read / more than once, because it is",
            ),
            ({"test_target": ""}, "Add --test_target=FILE"),
            ({"train_target": ""}, "Add --train_target=FILE"),
            ({"vocab_size": 90000}, "vocab_size=90000. Use"),
            ({"vocab_size": 100}, "vocab_size=100. Use"),
            ({"vocab_size": -1}, "vocab_size"),
            ({"problem": "translate_file"}, "Did you mean: translate_files"),
            ({"problem": "copy"}, "needs translate_files"),
            ({"problem": ""}, "`--problem` must be given"),
            ({"data_dir": ""}, "`--data_dir` must be given"),
            ({"train_sorce": "x"}, "Did you mean: --train_source"),
        ],
    )
    def test_fault_is_one_line_and_status_2(
        self, command, capsys, changes, words
    ):
        assert run({**command, **changes}) == 2
        check_error(capsys, words)
        assert not has_data(command)

    @pytest.mark.parametrize(
        "name, content, words",
        [
            ("dev_target", b"x\n", "dev_source with 3 lines and "),
            ("train_source", b"", "train_source with 0 lines"),
            ("test_source", b"gr\xfcn\n", "test_source, line 1"),
        ],
    )
    def test_bad_file_is_one_line_and_status_2(
        self, command, paths, capsys, name, content, words
    ):
        paths[name].write_bytes(content)
        assert run(command) == 2
        check_error(capsys, words)
        assert not has_data(command)

    def test_data_dir_that_is_a_file_is_one_line(self, command, paths, capsys):
        assert run({**command, "data_dir": paths["dev_source"]}) == 2
        check_error(capsys, "dev_source")

    def test_changed_settings_are_one_line(self, command, capsys):
        run(command)
        capsys.readouterr()
        assert run({**command, "vocab_size": 310}) == 2
        check_error(capsys, "another --data_dir, or remove ")
        assert has_data(command)

    def test_process_shows_no_traceback(self, command):
        process = run_process({**command, "dev_target": "none.de"})
        assert process.returncode == 2
        assert process.stdout == ""
        assert process.stderr.startswith(
            "kt-datagen: error: Cannot read none.de"
        )
        assert process.stderr.count("\n") == 1

    def test_a_pipe_is_refused_because_files_are_read_twice(
        self, command, tmp_path, capsys
    ):
        os.mkfifo(tmp_path / "pipe")
        command["dev_source"] = tmp_path / "pipe"
        assert call(datagen, *flags(command)) == 2
        check_error(capsys, "pipe or a device. Data are generated")
        assert not has_data(command)

    def test_a_file_as_tmp_dir_is_refused(self, command, paths, capsys):
        command["tmp_dir"] = paths["train_source"]
        assert call(datagen, *flags(command)) == 2
        check_error(capsys, "`--tmp_dir` must be a directory")
        assert not has_data(command)


def check_error(capsys, words):
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kt-datagen: error: ")
    assert words in err
    assert err.count("\n") == 1


def has_data(command):
    directory = pathlib.Path(command["data_dir"])
    return directory.is_dir() and any(directory.iterdir())
