"""A model is warmed up with sentences that it accepts."""

import pytest
from number_problem import generated
from number_problem import with_pairs

from keras_transformer.export import warmup
from keras_transformer.hparam import HParams
from keras_transformer.runs.run_directory import RunDirectory

HPARAMS = HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)
SHORT = [("one two", "ONE TWO"), ("three", "THREE")]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    problem = generated(tmp_path_factory.mktemp("data"))
    return RunDirectory.create(
        str(tmp_path_factory.mktemp("runs") / "run"),
        {"problem": problem.name},
        HPARAMS,
        problem.vocabulary.model_bytes,
    )


class WarmupTextsTest:
    @pytest.mark.parametrize(
        "dev, expected",
        [
            (SHORT, SHORT),
            ([("one " * 300, "ONE"), *SHORT], SHORT),
            ([("one", "ONE " * 300)], None),
        ],
    )
    def test_they_are_of_dev_or_made_up(
        self, run, tmp_path, monkeypatch, dev, expected
    ):
        problem = with_pairs(tmp_path, dev=dev)
        problem.generate(None)
        monkeypatch.setattr(warmup.facts, "find_problem", lambda run: problem)
        pairs = warmup.make_warmup_texts(run, 256)
        if expected is None:
            assert len(pairs) == max(warmup.BATCH_SIZES)
            assert all(source == target for source, target in pairs)
        else:
            assert pairs == expected
