"""Training on corpora with weights."""

import pytest
from number_problem import numbers
from runs import differences
from runs import train

from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.hparam import HParams
from keras_transformer.problems.translate_files import TranslateFiles
from keras_transformer.runs.run_directory import RunDirectory

# An epoch has fewer than 10 updates.
TINY = {"d_model": 16, "d_ff": 32, "num_heads": 2, "num_layers": 1}
TINY |= {"batch_tokens": 512, "extra_length": 4, "dropout": 0.1}
NUM_UPDATES = 20


@pytest.fixture
def problem(tmp_path):
    paths = {}
    for name, pairs in (
        ("large", numbers(150)),
        ("small", numbers(20, 200)),
        ("dev", numbers(3, 300)),
    ):
        lines = ["\t".join(pair) + "\n" for pair in pairs]
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(lines), encoding="utf-8")
        paths[name] = (str(path),)
    problem = TranslateFiles(str(tmp_path / "data"))
    train_corpora = [Corpus(paths["large"], 0.4), Corpus(paths["small"], 2.5)]
    problem.use_files(
        {}, 310, corpora={"train": train_corpora, "dev": [Corpus(paths["dev"])]}
    )
    problem.generate(None)
    return problem


class CorpusWeightsTest:
    @pytest.mark.slow
    @pytest.mark.parametrize("packed", [False, True])
    def test_resumed_run_equals_an_uninterrupted_one(
        self, problem, tmp_path, packed
    ):
        record = {
            "problem": "translate_files",
            "random_seed": 3,
            "vocabulary_sha256": problem.vocabulary.sha256,
            "data_dir": problem.data_dir,
        }
        whole, resumed = (
            RunDirectory.create(
                str(tmp_path / name),
                record,
                HParams(**TINY, packed=packed),
                problem.vocabulary.model_bytes,
            )
            for name in ("whole", "resumed")
        )
        trainer, _ = train(whole, NUM_UPDATES)
        assert trainer.progress["epoch"] >= 2
        for step in (13, NUM_UPDATES):
            train(resumed, step)
        # A training also logs where it stops.
        assert set(differences(resumed, whole)) <= {"metrics.csv"}
