"""Commands whose files are known, to be killed or starved of disk space."""

import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import numpy as np
from processes import environment

from keras_transformer import registry
from keras_transformer.files.directories import finish_replacing
from keras_transformer.model_config import list_weights
from keras_transformer.runs.run_directory import RUN_FILE
from keras_transformer.runs.run_directory import RunDirectory

FIXTURE = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"


class Work:
    """A command whose output is known, and which may be killed at any time.

    Args:
        directory: An empty directory for its files.
    """

    module = ""  # of the command, without its package
    repeat_flags = ()  # flags of the command that goes on after a kill

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.output = self.directory / "output"
        self.prepare()
        self.output.mkdir(exist_ok=True)
        self.before = contents(self.output)
        self.run()
        self.after = contents(self.output)
        self.reset()

    def prepare(self):
        """Makes the input, and perhaps an earlier output."""

    def flags(self):
        """Returns the flags of the command."""
        raise NotImplementedError

    def fault(self):
        """Returns what an interruption has lost or spoiled, or None."""
        raise NotImplementedError

    def is_complete(self):
        """Returns whether the output is what an undisturbed command makes."""
        names = contents(self.output).keys()
        return names == self.after.keys() and not self.fault()

    def reset(self):
        """Brings back the state before the command."""
        shutil.rmtree(self.output)
        self.output.mkdir()
        for name, content in self.before.items():
            path = self.output / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def start(self, *flags):
        """Starts the command in a process."""
        module = f"keras_transformer.bin.{self.module}"
        return subprocess.Popen(
            [sys.executable, "-m", module, *self.flags(), *flags],
            env=environment(__file__),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def run(self, *flags):
        """Runs the command to its end."""
        process = self.start(*flags)
        messages = process.communicate()[1].decode()
        if process.returncode:
            raise AssertionError(messages)
        return messages


class Datagen(Work):
    """Generates the data of the toy language."""

    module = "datagen"

    def flags(self):
        return [
            "--problem=translate_ende_toy",
            f"--data_dir={self.output}",
            f"--tmp_dir={self.directory}",
        ]

    def fault(self):
        files = contents(self.output)
        manifest = "translate_ende_toy/manifest.json"
        if manifest in files and files != self.after:
            return "there is a manifest, but the data are not complete"


class Averaging(Work):
    """Replaces an average of one checkpoint by an average of three."""

    module = "avg_checkpoints"

    def prepare(self):
        run = self.directory / "run"
        shutil.copytree(FIXTURE / "run", run)
        (run / "checkpoints/evaluations.json").unlink()
        # Large enough that writing takes a while.
        hparams = json.loads((run / "hparams.json").read_text())
        hparams["d_ff"] = 20_000
        (run / "hparams.json").write_text(json.dumps(hparams))
        directory = RunDirectory(str(run))
        shapes = list_weights(
            directory.hparams.model, directory.vocabulary.vocab_size
        )
        for step in (1500, 3000, 4500):
            arrays = {
                name: np.full(shape, step, "float32")
                for name, shape in shapes.items()
            }
            np.savez(run / f"checkpoints/ckpt-{step}.npz", **arrays)
        self.output.mkdir()
        self.num_averaged = 1
        self.run()
        self.num_averaged = 3

    def flags(self):
        return [
            f"--output_dir={self.directory / 'run'}",
            f"--averaged_dir={self.output / 'averaged'}",
            f"--num_last_checkpoints={self.num_averaged}",
            "--noevaluate",
        ]

    def fault(self):
        # The next command ends a replacement that was cut off, here in a copy.
        with tempfile.TemporaryDirectory() as folder:
            copy = shutil.copytree(
                self.output / "averaged", folder, dirs_exist_ok=True
            )
            finish_replacing(copy, RUN_FILE)
            run = RunDirectory(copy)
            steps, weights = run.averaged_steps, run.checkpoints.load()
        expected = 4500 if len(steps) == 1 else 3000
        for name, array in weights.items():
            if not np.all(array == expected):
                return f"the average of {steps} has another {name}"


class Exporting(Work):
    """Exports a second version of a model."""

    module = "exporter"
    format = "saved_model"
    fixture = "saved_model/1"
    models = {"model.bin", "variables/variables.data-00000-of-00001"}

    def prepare(self):
        self.output.mkdir()
        shutil.copytree(FIXTURE / self.fixture, self.output / "export/1")
        card = FIXTURE / self.format / "README.md"
        shutil.copy(card, self.output / "export/README.md")

    def flags(self):
        return [
            f"--output_dir={FIXTURE / 'averaged'}",
            f"--export_dir={self.output / 'export'}",
            f"--format={self.format}",
        ]

    def fault(self):
        """Compares names and sizes, since a graph is never the same twice."""
        before, after, found = map(
            _sizes_by_version,
            (self.before, self.after, contents(self.output)),
        )
        if before.keys() - found.keys():
            return f"there are only {sorted(found)}"
        for version, sizes in found.items():
            # A command that was killed at its very end has made version 2, and
            # the one that goes on makes version 3.
            expected = after.get(version, after["2"])
            if sizes.keys() != expected.keys():
                return f"version {version} has only {sorted(sizes)}"
            for name in self.models & sizes.keys():
                if sizes[name] != expected[name]:
                    return f"{version}/{name} has {sizes[name]} bytes"

    def is_complete(self):
        names = contents(self.output).keys()
        is_clean = not any("incomplete" in name for name in names)
        return is_clean and names >= self.after.keys() and not self.fault()


class ExportingToCtranslate2(Exporting):
    format = fixture = "ctranslate2"


class Decoding(Work):
    """Translates a file of some thousand lines."""

    module = "decoder"
    repeat_flags = ("--resume",)

    def prepare(self):
        words = "a the dog cat sees runs small old in house and".split()
        generator = random.Random(0)
        lines = [" ".join(generator.choices(words, k=6)) for _ in range(5000)]
        (self.directory / "input").write_text("\n".join(lines) + "\n")

    def flags(self):
        return [
            f"--output_dir={FIXTURE / 'ctranslate2'}",
            f"--decode_from_file={self.directory / 'input'}",
            f"--decode_to_file={self.output / 'text'}",
        ]

    def fault(self):
        whole = self.after["text"]
        files = contents(self.output)
        if files.get("text", whole) != whole:
            return "the output is not complete"
        if not whole.startswith(files.get("text.partial", b"")):
            return "the kept lines are others"


class Cleaning(Work):
    """Cleans some thousand pairs over the files of an earlier cleaning."""

    module = "clean"

    def prepare(self):
        generator = random.Random(0)
        words = "a the dog cat sees runs small old in house and".split()
        pairs = [" ".join(generator.choices(words, k=9)) for _ in range(60_000)]
        for side in ("source", "target"):
            lines = (f"{side} {pair}\n" for pair in pairs)
            (self.directory / side).write_text("".join(lines))
        self.output.mkdir()
        for name in ("source", "target", "rejected"):
            (self.output / name).write_text("an earlier line\n")

    def flags(self):
        return [
            f"--source={self.directory / 'source'}",
            f"--target={self.directory / 'target'}",
            f"--clean_source={self.output / 'source'}",
            f"--clean_target={self.output / 'target'}",
            f"--rejected={self.output / 'rejected'}",
        ]

    def fault(self):
        files = contents(self.output).items()
        complete = {item for item in files if "incomplete" not in item[0]}
        wholes = (self.before.items(), self.after.items())
        if not any(complete <= whole for whole in wholes):
            return "the files are not of one cleaning"


class Training(Work):
    """Resumes a run from its step 10 and trains it to step 30."""

    module = "trainer"

    def prepare(self):
        self.num_steps = 10
        data = self.directory / "data"
        problem = registry.get_problem("translate_ende_toy", str(data))
        problem.generate(None)
        self.output.mkdir()
        self.run()
        self.num_steps = 30

    def flags(self):
        return [
            "--problem=translate_ende_toy",
            f"--data_dir={self.directory / 'data'}",
            f"--output_dir={self.output / 'run'}",
            "--hparams_set=transformer_tiny",
            "--hparams=d_model=32,d_ff=64,batch_tokens=512,extra_length=2",
            f"--train_steps={self.num_steps}",
            "--eval_frequency=10",
        ]

    def fault(self):
        run = RunDirectory(str(self.output / "run"))
        steps = run.checkpoints.steps
        if 10 not in steps:
            return f"of the checkpoints only {steps} remain"
        for step in steps:
            if run.checkpoints.load(step)["progress/step"] != step:
                return f"checkpoint {step} is another"

    def is_complete(self):
        # The files of TensorBoard have another name each time.
        run = RunDirectory(str(self.output / "run"))
        return not self.fault() and run.checkpoints.steps[-1] == 30


class Plotting(Work):
    """Draws the curve of a run over an earlier picture."""

    module = "plot"

    def prepare(self):
        self.output.mkdir()
        (self.output / "loss.png").write_bytes(b"an earlier picture")

    def flags(self):
        return [
            f"--output_dir={FIXTURE / 'run'}",
            "--metric=train_loss",
            f"--picture={self.output / 'loss.png'}",
        ]

    def fault(self):
        picture = contents(self.output).get("loss.png")
        if picture not in (self.before["loss.png"], self.after["loss.png"]):
            return "the picture is neither the earlier one nor the new one"


def contents(directory):
    """Returns the content of each file below a directory, by relative path."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def _sizes_by_version(files):
    """Returns the sizes of an export's complete files, by version and name."""
    sizes = {}
    for path, content in files.items():
        _, version, *name = path.split("/")
        if "incomplete" not in version:
            sizes.setdefault(version, {})["/".join(name)] = len(content)
    return sizes
