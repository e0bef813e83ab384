"""kt-evaluate with every checkpoint of a run, even during its training."""

import os
import pathlib
import shutil
import threading
import time

import pytest
from commands import assert_fails
from commands import call
from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator,
)

from keras_transformer.bin import evaluate

FIXTURE = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1" / "run"


@pytest.fixture
def flags(tmp_path):
    """The flags for a run with checkpoints of the steps 1500 and 3000."""
    shutil.copytree(FIXTURE, tmp_path / "run")
    for name in ("source", "references"):
        (tmp_path / name).write_text("a b c d\n\nq w e r\n", encoding="utf-8")
    paths = [f"--{name}={tmp_path / name}" for name in ("source", "references")]
    folder = tmp_path / "translations"
    run = tmp_path / "run"
    return [*paths, f"--output_dir={run}", f"--translations_dir={folder}"]


def read_curve(folder):
    events = EventAccumulator(str(folder)).Reload().Scalars("bleu")
    return {event.step: round(event.value) for event in events}


def open_pipe(content):
    """Returns the path of a pipe that holds a text."""
    reader, writer = os.pipe()
    with open(writer, "wb") as file:
        file.write(content)
    return f"/dev/fd/{reader}"


class EveryCheckpointTest:
    def test_each_checkpoint_gets_a_file_and_a_point(
        self, flags, tmp_path, capsys
    ):
        # Flags that t2t-translate-all needs have no effect.
        more = ["--problem=copy", "--model=transformer", "--data_dir=data"]
        more += ["--decode_hparams=return_beams=True,write_beam_scores=True"]
        assert call(evaluate, *flags, *more) == 0
        folder = tmp_path / "translations"
        for step in (1500, 3000):
            text = (folder / f"ckpt-{step}.txt").read_text(encoding="utf-8")
            assert text == "a b c d\n\nq w e r\n"
        assert read_curve(folder) == {1500: 100, 3000: 100}
        first, second = capsys.readouterr().out.splitlines()
        assert first.startswith("step 1500\tBLEU|")
        assert second.startswith("step 3000\tBLEU|")

    def test_a_later_call_goes_on_and_draws_the_whole_curve(
        self, flags, tmp_path
    ):
        assert call(evaluate, *flags, "--min_steps=2000") == 0
        folder = tmp_path / "translations"
        assert read_curve(folder) == {3000: 100}
        # A file that is there is scored, even if its checkpoint is deleted.
        path = folder / "ckpt-3000.txt"
        path.write_text("a b x\n\nq w e r\n", encoding="utf-8")
        (tmp_path / "run" / "checkpoints" / "ckpt-3000.npz").unlink()
        assert call(evaluate, *flags) == 0
        curve = read_curve(folder)
        assert curve[1500] == 100
        assert 0 < curve[3000] < 100

    def test_it_waits_for_a_new_checkpoint(self, flags, tmp_path):
        checkpoints = tmp_path / "run" / "checkpoints"
        aside = tmp_path / "aside.npz"
        shutil.move(checkpoints / "ckpt-3000.npz", aside)
        first = tmp_path / "translations" / "ckpt-1500.txt"

        def add():
            while not first.exists():
                time.sleep(0.05)
            shutil.move(aside, checkpoints / "ckpt-3000.npz")

        thread = threading.Thread(target=add)
        thread.start()
        assert call(evaluate, *flags, "--wait_minutes=0.03") == 0
        thread.join()
        assert sorted(read_curve(first.parent)) == [1500, 3000]

    def test_the_last_checkpoint_of_a_stopped_run_is_scored(
        self, flags, tmp_path
    ):
        path = tmp_path / "run" / "checkpoints" / "evaluations.json"
        path.write_text('[{"step": 1500, "score": 1.0, "seconds": 2.0}]')
        assert call(evaluate, *flags) == 0
        assert read_curve(tmp_path / "translations") == {1500: 100, 3000: 100}

    def test_translations_of_another_search_are_kept_apart(
        self, flags, tmp_path, capsys
    ):
        assert call(evaluate, *flags, "--min_steps=9999") == 0
        assert "step of at least 9999.\n" in capsys.readouterr().err
        words = ["`--beam_size` must not change in ", "name another directory"]
        assert_fails(capsys, words, evaluate, *flags, "--beam_size=3")

    def test_translations_of_another_text_from_a_pipe_are_kept_apart(
        self, flags, tmp_path, capsys
    ):
        text = (tmp_path / "source").read_bytes()
        assert call(evaluate, *flags, "--min_steps=9999") == 0
        # The same text, and then another one.
        more = ["--min_steps=9999", f"--source={open_pipe(text)}"]
        assert call(evaluate, *flags, *more) == 0
        capsys.readouterr()
        more = [f"--source={open_pipe(text.upper())}"]
        words = ["`--source` must not change in ", "name another directory"]
        assert_fails(capsys, words, evaluate, *flags, *more)

    @pytest.mark.parametrize(
        "more", ["--stress", "--split=dev", "--checkpoint_step=1500"]
    )
    def test_flags_of_one_checkpoint_are_refused(self, flags, capsys, more):
        words = ["cannot be combined with --translations_dir", more]
        assert_fails(capsys, words, evaluate, *flags, more)

    def test_its_flags_need_the_directory(self, capsys):
        words = ["`--wait_minutes` needs `--translations_dir`"]
        assert_fails(capsys, words, evaluate, "--wait_minutes=3")
