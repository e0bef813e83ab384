"""Commands whose standard streams are closed, full or not read.

Each runs as a shell starts it. `tests/bin` tests the same without processes.
"""

import configparser
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from processes import environment

ROOT = pathlib.Path(__file__).parents[2]
RUN = ROOT / "tests" / "fixtures" / "v0.1" / "run"
EXPORT = ROOT / "tests" / "fixtures" / "v0.1" / "ctranslate2"


def commands():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    scripts = config["options.entry_points"]["console_scripts"].split("\n")
    return [line.split(".")[-1].split(":")[0] for line in scripts if line]


# Work that each command can do in a few seconds. {text} and {copy} are files of
# the same lines and {new} is a path that does not exist.
WORK = {
    "avg_checkpoints": f"--output_dir={RUN} --num_last_checkpoints=2 "
    "--averaged_dir={new}",
    "attention": f"--output_dir={RUN} --text=a --html={{new}}",
    "clean": "--source={text} --target={copy} --clean_source={new}.a "
    "--clean_target={new}.b",
    "datagen": "--problem=copy --data_dir={new}",
    "decoder": f"--output_dir={EXPORT}",
    "evaluate": "--hypotheses={text} --references={text}",
    "exporter": f"--output_dir={RUN} --format=ctranslate2 --export_dir={{new}}",
    "plot": f"--output_dir={RUN} --metric=dev_loss --picture={{new}}.png",
    "trainer": "--problem=copy --generate_data --data_dir={new}/data "
    "--output_dir={new}/run --hparams_set=transformer_tiny --train_steps=2 "
    "--hparams=d_model=8,num_heads=2,d_ff=8,num_layers=1,batch_tokens=256",
}
# Starts a command once the package of all commands is imported. Before that,
# Python itself starts, and reports Control-C by a traceback of its own.
START = """
import runpy, sys
import keras_transformer.bin
print("started", flush=True)
module = f"keras_transformer.bin.{sys.argv.pop(1)}"
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
SILENT = ("plot",)  # commands whose work prints nothing to standard output
READING = ("decoder",)  # commands whose work reads standard input


def flags_of(name, directory, lines):
    """Writes the files of a command's work; returns its flags."""
    paths = {key: directory / key for key in ("text", "copy", "new")}
    for key in ("text", "copy"):
        paths[key].write_text(lines)
    return WORK[name].format(**paths)


def shell(name, flags, redirection, **options):
    """Runs a command with redirections of a shell."""
    return subprocess.run(
        f'"{sys.executable}" -m keras_transformer.bin.{name} {flags} '
        f"{redirection}",
        shell=True,
        capture_output=True,
        text=True,
        env=environment(__file__),
        timeout=300,
        **options,
    )


@pytest.fixture
def work(tmp_path):
    """Function that runs a command's work with redirections."""

    def run(name, redirection):
        flags = flags_of(name, tmp_path, "a b c\nd e f\n")
        return shell(name, flags, redirection, stdin=open(tmp_path / "text"))

    return run


def assert_one_line(done, words):
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert words in done.stderr


class StreamsTest:
    def test_a_process_refuses_a_closed_output(self):
        done = shell("plot", "--help", ">&-")
        assert_one_line(done, "Standard output is closed.")

    def test_a_process_says_that_its_output_is_full(self):
        done = shell("plot", "--registry_help", ">/dev/full")
        assert_one_line(done, "Cannot write to standard output: No space left")

    def test_a_process_keeps_its_status_without_messages(self):
        assert shell("plot", "--no_such_flag", "2>&-").returncode == 2
        assert shell("plot", "--no_such_flag", "2>/dev/full").returncode == 2

    @pytest.mark.slow
    @pytest.mark.parametrize("argument", ["--help", "--registry_help"])
    @pytest.mark.parametrize("name", commands())
    def test_help_in_every_command(self, name, argument):
        usual = shell(name, argument, "").stdout
        for redirection in ("2>&-", "2>/dev/full", "<&-", "<&- 2>&-"):
            done = shell(name, argument, redirection)
            assert (done.returncode, done.stdout) == (0, usual), redirection
            assert done.stderr == ""
        assert_one_line(shell(name, argument, ">&-"), "is closed")
        assert_one_line(shell(name, argument, ">/dev/full"), "No space left")
        done = shell(name, argument, "| head -n 1")
        assert done.stdout == usual.split("\n")[0] + "\n"
        assert done.stderr == ""

    @pytest.mark.slow
    @pytest.mark.parametrize("name", WORK)
    @pytest.mark.parametrize(
        "redirection", ["2>&-", "2>/dev/full", "2>&- <&-", "<&-"]
    )
    def test_work_needs_no_messages_and_no_input(self, work, name, redirection):
        done = work(name, redirection)
        if "<&-" in redirection and name in READING:
            assert done.returncode == 2
            assert done.stdout == ""
        else:
            assert done.returncode == 0, done.stderr
            assert bool(done.stdout) == (name not in SILENT)
        assert "Traceback" not in done.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("name", WORK)
    def test_work_refuses_a_closed_output(self, work, name, tmp_path):
        assert_one_line(work(name, ">&-"), "is closed")
        assert {path.name for path in tmp_path.iterdir()} == {"text", "copy"}

    @pytest.mark.slow
    @pytest.mark.parametrize("name", sorted(set(WORK) - set(SILENT)))
    def test_work_says_that_its_output_is_full(self, work, name):
        done = work(name, ">/dev/full")
        assert done.returncode == 2
        *_, line = done.stderr.splitlines()
        assert "Cannot write to standard output: No space left" in line
        assert "Traceback" not in done.stderr

    @pytest.mark.slow
    @pytest.mark.parametrize("name", WORK)
    def test_work_bears_a_reader_that_ends(self, work, name):
        done = work(name, "| true")
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
        assert "error" not in done.stderr


@pytest.mark.slow
class InterruptTest:
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    @pytest.mark.parametrize("name", WORK)
    def test_a_signal_at_any_moment_leaves_no_traceback(
        self, name, number, tmp_path
    ):
        for tenths in (0, 1, 3, 6, 10, 20, 40):
            directory = tmp_path / str(tenths)
            directory.mkdir()
            flags = flags_of(name, directory, "a b c\n" * 100_000)
            process = subprocess.Popen(
                [sys.executable, "-c", START, name, *flags.split()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=environment(__file__),
            )
            process.stdout.readline()
            time.sleep(tenths / 10)
            process.send_signal(number)
            # A busy machine takes minutes.
            _, messages = process.communicate(timeout=600)
            # While the modules are imported, the signal itself may end the
            # process.
            statuses = (0, 128 + number, -number)
            assert process.returncode in statuses, messages
            assert "Traceback" not in messages, tenths
            assert "Exception" not in messages, tenths
