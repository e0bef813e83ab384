"""Training on text that is segmented and disturbed anew in each epoch."""

import time

import pytest
from bpe_corpus import make_corpus
from runs import differences
from runs import metrics
from runs import train

from keras_transformer.data.batches.batch_plan import MAX_SHAPES
from keras_transformer.data.vocabulary.subword_sampling import SubwordSampler
from keras_transformer.hparam import HParams
from keras_transformer.registry import get_problem
from keras_transformer.training.epochs import Epochs
from keras_transformer.training.start import check_data

# An epoch has fewer than 20 updates.
TINY = {"d_model": 16, "d_ff": 32, "num_heads": 2, "extra_length": 4}
TINY |= {"batch_tokens": 16384, "subword_dropout": 0.3}
NUM_UPDATES = 40


class SubwordDropoutTest:
    @pytest.mark.slow
    @pytest.mark.parametrize("packed", [False, True])
    def test_resumed_run_equals_an_uninterrupted_one(self, make_run, packed):
        changes = {**TINY, "packed": packed, "source_noise": 0.3}
        whole, resumed = (make_run(**changes) for _ in range(2))
        trainer, _ = train(whole, NUM_UPDATES)
        assert trainer.progress["epoch"] >= 2
        for step in (27, NUM_UPDATES):
            train(resumed, step)
        # A training also logs where it stops.
        assert set(differences(resumed, whole)) <= {"metrics.csv"}

    @pytest.mark.slow
    def test_the_time_to_segment_an_epoch_is_spent_waiting(
        self, make_run, monkeypatch
    ):
        sample = SubwordSampler.sample

        def slow_sample(*arguments):
            time.sleep(1)
            return sample(*arguments)

        monkeypatch.setattr(SubwordSampler, "sample", slow_sample)
        run = make_run(**TINY)
        train(run, 1)
        row = metrics(run)[0]
        waited = float(row["input_wait_share"]) * float(row["seconds"])
        assert waited > 0.9

    @pytest.mark.parametrize(
        "packed", [False, pytest.param(True, marks=pytest.mark.slow)]
    )
    @pytest.mark.parametrize(
        "change", [{"subword_dropout": 0.2}, {"source_noise": 0.5}]
    )
    def test_all_epochs_have_the_same_few_shapes(
        self, make_run, copy_data, change, packed
    ):
        run = make_run(**change, packed=packed)
        problem = get_problem("copy", copy_data)
        epochs, earlier = (Epochs(problem, run, 512, rules) for rules in (1, 0))
        plans = [epochs.plan(epoch)[1] for epoch in range(4)]
        shapes = {shape for plan in plans for _, shape in plan}
        assert shapes <= set(plans[0].shapes)
        assert len(plans[0].shapes) <= (1 if packed else MAX_SHAPES)
        for epoch, plan in enumerate(plans):
            assert plan.shapes == plans[0].shapes
            as_before = earlier.plan(epoch)[1].tokens_per_batch
            ratio = sum(plan.tokens_per_batch) / sum(as_before)
            assert 0.9 < ratio < 1.1
        rows, *lengths = plans[0][0][1]
        assert rows * sum(lengths) == max(r * (i + t) for r, i, t in shapes)

    def test_text_with_an_encoding_of_its_own_is_refused(
        self, tmp_path, monkeypatch
    ):
        make_corpus(tmp_path, monkeypatch)
        problem = get_problem("translate_ende_wmt_bpe32k", str(tmp_path / "d"))
        problem.generate(str(tmp_path))
        check_data(problem, HParams())
        with pytest.raises(ValueError, match="type word. Leave"):
            check_data(problem, HParams(subword_dropout=0.1))
        with pytest.raises(ValueError, match="one without bytes. Leave"):
            check_data(problem, HParams(source_noise=0.1))

    @pytest.mark.slow
    def test_a_run_trains_on_disturbed_sources(self, make_run):
        trainer, _ = train(make_run(**{**TINY, "source_noise": 1.0}), 1)
        pairs, _ = trainer.epochs.plan(0)
        vocabulary = trainer.run.vocabulary
        sources, targets = ([ids.tolist() for ids in side] for side in pairs)
        texts = vocabulary.decode(targets)
        # The letters of this problem know no other noise than capitals, which
        # become small letters again, without subword dropout.
        assert sources == vocabulary.encode(texts)
        assert targets != sources
