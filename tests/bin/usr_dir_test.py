"""Greets a problem of a user's directory."""

import textwrap

import pytest

from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags

FLAGS = flags.define("  problem (text): Name of the problem.")


def main(argv):
    print(registry.problems.get(FLAGS.problem).greet())


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """Runs the command with a directory of this code, then forgets it."""
    registry.problems.names()  # imports those of the package
    entries = dict(registry.problems._entries)
    monkeypatch.setattr(registry.problems, "_entries", entries)

    def run(name, code, *arguments):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "__init__.py").write_text(textwrap.dedent(code))
        with pytest.raises(SystemExit) as error:
            command.run(main, FLAGS, ["x", f"--usr_dir={folder}", *arguments])
        return error.value.code, *capsys.readouterr()

    return run


class UsrDirTest:
    @pytest.mark.parametrize(
        "name, code, reason",
        [
            ("usr_divides", "1 / 0", "ZeroDivisionError: division by zero"),
            ("usr_syntax", "\n1 +", "SyntaxError: invalid syntax"),
            ("usr_import", "import no_such_module", "ModuleNotFoundError: No"),
            ("usr_exits", "import sys; sys.exit(0)", "SystemExit: 0"),
            ("usr_stops", "raise KeyboardInterrupt", "KeyboardInterrupt"),
            ("usr_value", "raise ValueError('sour')", "ValueError: sour"),
            (
                "usr_hparams",
                "from keras_transformer import hparam\nhparam.HParams(d_ff=0)",
                "UserError: `d_ff` must be from 1",
            ),
        ],
    )
    def test_an_error_has_one_line_and_its_traceback(
        self, run, name, code, reason
    ):
        status, out, err = run(name, code, "--registry_help")
        assert (status, out) == (2, "")
        line, *trace = err.splitlines()
        assert line.startswith(
            "kt-usr-dir-test: error: The code in `--usr_dir` fails: "
        )
        assert reason in line
        assert f"{name}/__init__.py, line " in line
        assert "Correct it; its traceback follows." in line
        assert code.splitlines()[-1] in "\n".join(trace)
        # The frames of the command and of the import are not shown.
        assert "registry.py" not in err and "importlib" not in err

    def test_what_it_prints_goes_to_standard_error(self, run):
        status, out, err = run(
            "usr_prints", "print('loading')", "--registry_help"
        )
        assert (status, err) == (0, "loading\n")
        assert "loading" not in out

    @pytest.mark.parametrize("code", ["sys.exit(0)", "1 / 0", "{}['a']"])
    def test_an_error_in_the_middle_of_the_work_is_told_too(self, run, code):
        name = f"usr_works{abs(hash(code))}"
        problem = f"""
            import sys
            from keras_transformer.registry import problems

            @problems.register("{name}")
            class Greeting:
                def greet():
                    {code}
            """
        status, out, err = run(name, problem, f"--problem={name}")
        assert (status, out) == (2, "")
        assert f"{name}/__init__.py, line 8. Correct it; " in err
        assert err.count("Traceback") == 1

    def test_commas_separate_directories(self, run, tmp_path, capsys):
        first, second = tmp_path / "usr_first", tmp_path / "usr_second"
        for path, code in ((first, "print('first')"), (second, "1 / 0")):
            path.mkdir()
            (path / "__init__.py").write_text(code)
        flag = f"--usr_dir={first},{second}"
        status, _, err = run("usr,comma", "print('comma')", flag)
        assert status == 2
        assert err.startswith("first\nkt-usr-dir-test: error: The code in")
        assert f"from {second}/__init__.py, line 1. Correct it" in err
        (second / "__init__.py").write_text("print('second')")
        flag = f"--usr_dir={first},{second}"
        status, _, err = run("usr_third", "", flag, "--registry_help")
        # A module is imported once.
        assert (status, err) == (0, "second\n")

    def test_a_directory_may_have_a_comma_in_its_name(self, run):
        status, _, err = run("usr,a", "print('comma')", "--registry_help")
        assert (status, err) == (0, "comma\n")

    @pytest.mark.parametrize("name", ["dotted.name", "json"])
    def test_a_name_that_cannot_be_imported_is_one_line(self, run, name):
        status, _, err = run(name, "", "--registry_help")
        assert status == 2
        assert "usr_dir" in err and "Rename the directory" in err
        assert err.count("\n") == 1
