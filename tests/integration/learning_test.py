"""Models that must learn a task that cannot be guessed."""

import dataclasses

import pytest
from toy_alignments import aligned_files
from toy_alignments import aligned_pairs
from toy_alignments import alignment_error_rate

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.decoding.engines.attention import SPACED_WORD
from keras_transformer.decoding.engines.attention import find_links
from keras_transformer.decoding.parser import Parser
from keras_transformer.decoding.translator import Translator
from keras_transformer.runs.averaging import average_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.trainer import Trainer


@pytest.mark.slow
class LearningTest:
    @pytest.mark.parametrize("norm", ["post", "pre"])
    @pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
    def test_reverse_is_learned(self, tmp_path, norm, positions):
        problem = registry.get_problem("reverse", str(tmp_path / "data"))
        problem.generate(None)
        hparams = hparam.HParams(
            num_layers=2,
            d_model=64,
            d_ff=256,
            num_heads=4,
            norm=norm,
            positional_encoding=positions,
            batch_tokens=2048,
            learning_rate=0.7,
            warmup_steps=400,
        )
        record = {"problem": "reverse", "random_seed": 0}
        run = RunDirectory.create(
            str(tmp_path / "run"),
            record,
            hparams,
            problem.vocabulary.model_bytes,
        )
        Trainer(problem, run, eval_frequency=500).train(3000)
        averaged = average_run(run, 3, str(tmp_path / "averaged"))
        sources, references = problem.text_split("test")
        translations = Translator.load(averaged.path)(sources)
        num_right = sum(map(str.__eq__, translations, references))
        assert num_right >= 0.98 * len(references)

    def test_parsing_is_learned(self, tmp_path):
        problem = registry.get_problem("parsing_toy", str(tmp_path / "data"))
        problem.generate(None)
        run = RunDirectory.create(
            str(tmp_path / "run"),
            {"problem": "parsing_toy", "random_seed": 0},
            dataclasses.replace(
                registry.get_hparams("transformer_parsing_small"),
                decay_steps=1500,
            ),
            problem.vocabulary.model_bytes,
        )
        Trainer(problem, run, eval_frequency=500).train(1500)
        sources, references = problem.text_split("test")
        trees = Parser.load(run.path, tokenized=True)(sources)
        assert problem.score(trees, references)["f1"] >= 97

    def test_guidance_lowers_the_alignment_error(self, tmp_path):
        problem = aligned_files(tmp_path, 8000)
        without, with_guidance = (
            trained_error_rate(
                problem, tmp_path / f"run{weight}", 300, guided_alignment=weight
            )
            for weight in (0.0, 0.5)
        )
        assert with_guidance < 0.5 * without

    def test_attention_aligns_the_toy_language(self, tmp_path):
        problem = registry.get_problem(
            "translate_ende_toy", str(tmp_path / "data")
        )
        problem.generate(None)
        assert trained_error_rate(problem, tmp_path / "run", 800) < 0.2


def trained_error_rate(problem, path, num_updates, **hparams):
    """Trains on the toy language; returns how badly attention aligns it."""
    hparams = dataclasses.replace(
        registry.get_hparams("transformer_tiny"),
        dropout=0.1,
        warmup_steps=300,
        **hparams,
    )
    run = RunDirectory.create(
        str(path),
        {"problem": problem.name, "random_seed": 0},
        hparams,
        problem.vocabulary.model_bytes,
    )
    Trainer(problem, run, eval_frequency=num_updates).train(num_updates)
    translator = Translator.load(run.path, engine="keras")
    sources, targets, gold = zip(*aligned_pairs(150))
    links = find_links(
        translator.engine.model,
        translator.codec.vocabularies,
        translator.codec.vocabulary.encode(sources),
        translator.codec.vocabulary.encode(targets),
        SPACED_WORD,
    )
    return alignment_error_rate(
        [set(each.find_pairs()) for each in links], gold
    )
