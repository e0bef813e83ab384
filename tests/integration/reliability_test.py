import dataclasses
import signal

import pytest
import reliability

SMALL = {
    "d_model": 32,
    "d_ff": 64,
    "dropout": 0.2,
    "attention_dropout": 0.1,
    "batch_tokens": 256,
    "learning_rate": 0.3,
    "extra_length": 4,
}
# Checkpoints of a megabyte, so that kills can hit a save.
LARGER = {**SMALL, "d_model": 64, "d_ff": 512}
ACCUMULATED = {**SMALL, "effective_batch_tokens": 1024, "ema_decay": 0.99}
PACKED = {**SMALL, "packed": True, "optimizer": "adafactor"}
SIGNALS = [signal.SIGTERM, signal.SIGINT]


def check_kills(report):
    failures = dataclasses.replace(report, kills=0, while_saving=0, updates=0)
    assert failures == reliability.Kills()


class KillTest:
    @pytest.mark.slow
    def test_killed_run_loses_no_checkpoint_and_ends_the_same(self, make_run):
        runs = make_run(**LARGER), make_run(**LARGER)
        check_kills(reliability.kill_often(*runs, num_kills=2))

    @pytest.mark.slow
    def test_nothing_is_lost_in_50_kills(self, make_run, show):
        runs = make_run(**LARGER), make_run(**LARGER)
        report = reliability.kill_often(*runs, num_kills=50)
        show(report)
        check_kills(report)
        assert report.while_saving > 0
        assert report.updates > 100


class ResumeTest:
    @pytest.mark.slow
    def test_resumed_run_equals_an_uninterrupted_one(self, make_run):
        report = reliability.resume_often(make_run, 2, [ACCUMULATED])
        assert report == reliability.Resumes(resumes=2, identical=2)

    @pytest.mark.slow
    def test_20_resumed_runs_equal_uninterrupted_ones(self, make_run, show):
        changes = [SMALL, ACCUMULATED, PACKED, {**SMALL, "optimizer": "adamw"}]
        changes += [{**PACKED, "subword_dropout": 0.2, "source_noise": 0.2}]
        report = reliability.resume_often(make_run, 20, changes)
        show(report)
        assert report == reliability.Resumes(resumes=20, identical=20)


class StopTest:
    @pytest.mark.slow
    def test_signal_saves_and_stops(self, make_run):
        report = reliability.stop_often(make_run(**LARGER), 2, SIGNALS)
        assert report.clean == report.stops == 2

    @pytest.mark.slow
    def test_20_signals_save_and_stop(self, make_run, show):
        report = reliability.stop_often(make_run(**LARGER), 20, SIGNALS)
        show(report)
        assert report.clean == report.stops == 20
        assert report.longest_seconds < 10
