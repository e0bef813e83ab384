import dataclasses
import os
import re
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from markdown_it import MarkdownIt

from keras_transformer import registry
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.registry import get_hparams
from keras_transformer.runs.averaging import average_run
from keras_transformer.runs.checkpoints import Evaluation
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.runs.model_card import LANGUAGES
from keras_transformer.runs.model_card import make_model_card
from keras_transformer.runs.model_card import write_model_card
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.scores import read_scores
from keras_transformer.runs.scores import record_scores
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.scoring.translations import is_language
from keras_transformer.scoring.translations import translation_report
from keras_transformer.search.options import DecodeOptions

HPARAMS = dataclasses.replace(
    get_hparams("transformer_tiny"), dropout=0.25, packed=True
)
TEXTS = ["the cat sees the dog", "der Hund sieht die Katze"] * 20
REPORT = bleu_report(["a b c d e"], ["a b c d f"])
DATA = {
    "languages": ["en", "de"],
    "vocab_size": 300,
    "files": [{"name": "a|b.en", "sha256": "0123456789abcdef" * 4}],
    "splits": {
        "train": {"pairs": 4321, "source_tokens": 55, "target_tokens": 66}
    },
}


@pytest.fixture
def make_run(tmp_path):
    """A function that makes a run with checkpoints and further facts."""
    vocabulary = train_subwords(TEXTS, 300, str(tmp_path / "vocab.model"))

    def make(steps=(100, 200), **record):
        run = RunDirectory.create(
            str(tmp_path / "run"),
            {
                "problem": "translate_files",
                "hparams_set": "transformer_tiny",
                "vocabulary_sha256": vocabulary.sha256,
                **record,
            },
            HPARAMS,
            vocabulary.model_bytes,
        )
        table = MetricsTable(run.file("metrics.csv"), 0)
        for step in steps:
            run.checkpoints.save(
                step,
                {
                    "model/a": np.zeros((30, 40), "float32"),
                    "model/b": np.zeros(34, "float32"),
                    "optimizer/a": np.zeros((30, 40), "float32"),
                },
            )
            run.checkpoints.add_evaluations(Evaluation(step, score=-step))
            row = {"step": step, "epoch": 3, "seconds": 39.0 * step}
            figures = {"dev_loss": 2.5, "dev_bleu": step / 8}
            table.add({**row, **figures})
        return run

    return make


def section(card, name):
    """Returns the text below a heading."""
    return re.search(rf"## {name}\n(.*?)(\n## |\Z)", card, re.S)[1]


def rows_of(text):
    """Returns the cells of all rows of Markdown tables, without backquotes."""
    return [
        [cell.strip().strip("`") for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("|") and not set(line) <= set("|-: ")
    ]


class ModelCardTest:
    def test_the_weights_of_several_corpora_are_listed(self, make_run):
        card = make_model_card(
            make_run(corpus_weights=["a.en,a.de:0.5", "b|c.tsv:3"])
        )
        facts = dict(rows_of(card.partition("## Use")[0]))
        # The helper removes the outer backquotes.
        assert facts["Corpus weights"] == "a.en,a.de:0.5`; `b\\|c.tsv:3"

    @pytest.mark.parametrize("problem", ["translate_files", "of_somebody"])
    @pytest.mark.parametrize("data", [DATA, None])
    def test_readers_of_markdown_see_all_tables(self, make_run, problem, data):
        run = make_run(problem=problem, data=data)
        card = make_model_card(run).partition("\n---\n")[2]
        html = MarkdownIt().enable("table").render(card)
        assert html.count("<table>") == len(re.findall(r"(?m)^\| --- ", card))
        assert "| ---" not in html

    def test_the_overview_says_what_the_model_is(self, make_run):
        card = make_model_card(make_run(data=DATA, precision="bfloat16"))
        facts = dict(rows_of(card.partition("## Use")[0]))
        assert "# A Transformer that translates English into German\n" in card
        assert "Corpus weights" not in facts
        assert facts["Layers"] == "4 in the encoder, 4 in the decoder"
        assert facts["Parameters"] == "1,234"
        assert facts["Training pairs"] == "4,321"
        assert facts["Updates"] == "200"
        assert facts["Training time"].startswith("2 h 10 min")
        assert facts["Training precision"] == "bfloat16"
        assert facts["Hyperparameters"].endswith("with 2 changed")

    def test_the_languages_of_all_problems_have_names(self):
        problems = map(registry.problems.get, registry.problems.names())
        codes = {
            code
            for each in problems
            for code in (each.inputs_language, each.targets_language)
            if is_language(code)
        }
        assert {"de", "tn", "zh"} <= codes <= set(LANGUAGES)

    def test_a_decoder_of_another_depth_is_said_to_be_such(self, make_run):
        run = make_run()
        run.hparams = dataclasses.replace(HPARAMS, num_decoder_layers=1)
        assert "4 in the encoder, 1 in the decoder" in make_model_card(run)

    def test_a_model_of_both_directions_is_said_to_be_such(self, make_run):
        card = make_model_card(make_run(data={**DATA, "both_directions": True}))
        title = "# A Transformer that translates between English and German\n"
        assert title in card
        assert "translates between English and German" in card

    def test_a_parser_of_ids_is_not_loaded_as_one_of_text(self, make_run):
        path = make_run().file("vocab.model")
        train_subwords(TEXTS, 300, path, ["(S", ")S", "XX"])
        with open(path, "rb") as file:
            model = file.read()
        run = RunDirectory.create(
            os.path.dirname(path), {"problem": "mine"}, HPARAMS, model
        )
        export = {"format": "saved_model_ids"}
        text = section(make_model_card(run, None, export), "Use")
        assert 'signatures["ids"]' in text and "load(" in text
        assert "keras_transformer" not in text
        assert "the normalised linearization of their tree" in text
        # Treebanks of other languages are learnt as well.
        card = make_model_card(run)
        assert "that parses sentences" in card
        assert "English" not in card

    def test_differences_from_the_hparams_set_come_first(self, make_run):
        rows = rows_of(section(make_model_card(make_run()), "Hyperparameters"))
        assert rows[1:3] == [
            ["dropout", "0.25", "0.3"],
            ["packed", "true", "false"],
        ]
        assert rows[3] == ["Name", "Value"]
        values = dict(rows[4:])
        expected = dataclasses.asdict(HPARAMS)
        del expected["train_steps"]  # the first table has the updates
        assert {n: str(v).lower() for n, v in expected.items()} == {
            name: value.lower() for name, value in values.items()
        }

    def test_all_values_are_listed_even_without_the_set(self, make_run):
        card = make_model_card(make_run(hparams_set="of_a_friend"))
        text = section(card, "Hyperparameters")
        assert "`of_a_friend` is not registered" in text
        assert ["dropout", "0.25"] in rows_of(text)

    def test_dev_scores_are_those_of_the_checkpoint(self, make_run):
        run = make_run()
        for step in (100, 200):
            text = section(make_model_card(run, step), "Scores")
            assert f"at update {step}," in text
            assert ["BLEU", f"{step / 8:.4g}"] in rows_of(text)
            assert "BLEU|nrefs:1|case:mixed|eff:no|tok:13a" in text
        assert "of update 100 has the best score" in text  # the best
        best = section(make_model_card(run, "best"), "Scores")
        assert "at update 100," in best

    def test_the_training_cost_is_that_of_the_checkpoint(self, make_run):
        run = make_run(steps=())
        table = MetricsTable(run.file("metrics.csv"), 0)
        for step in (100, 200):
            run.checkpoints.save(step, {"model/a": np.zeros(3, "float32")})
            table.add(
                {
                    "step": step,
                    "seconds": 216.0 * step,  # 12 hours for 200 updates
                    "device_flops": 216.0 * step * 8 * 9.5e12,
                    "token_flops": 4e15 * step,
                    "position_flops": 5e15 * step,
                }
            )
        expected = {100: ("1.6e18", "4.0e17"), 200: ("3.3e18", "8.0e17")}
        for step, (by_time, by_counting) in expected.items():
            overview = make_model_card(run, step).partition("## Use")[0]
            facts = dict(rows_of(overview))
            assert facts["Training cost"].startswith(f"{by_time} FLOP, ")
            assert "76 TFLOP/s" in facts["Training cost"]
            assert facts["Arithmetic"].startswith(f"{by_counting} FLOP ")

    def test_an_unknown_device_is_called_unknown(self, make_run):
        run = make_run()
        assert "Training cost" not in make_model_card(run)
        table = MetricsTable(run.file("metrics.csv"), 200)
        table.add({"step": 200, "seconds": 8.0, "token_flops": 4e8})
        card = make_model_card(run)
        assert "| Training cost | unknown " in card
        assert "| Arithmetic | 4.0e8 FLOP for the tokens |" in card

    def test_recorded_scores_appear_with_their_signatures(self, make_run):
        run = make_run()
        options = DecodeOptions(beam_size=7)
        record_scores(run, "test", 200, 1234, options, REPORT)
        text = section(make_model_card(run), "Scores")
        assert ["test", "1,234", "200", "beam 7, alpha 0.6"] == next(
            row[:4] for row in rows_of(text) if row[0] == "test"
        )
        for line in REPORT.lines:
            assert f"test: {line}" in text

    def test_scores_of_evaluations_at_the_same_time_are_all_kept(
        self, make_run
    ):
        run, alphas = make_run(), [number / 10 for number in range(40)]

        def record(alpha):
            options = DecodeOptions(alpha=alpha)
            record_scores(run, "test", 200, 1234, options, REPORT)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(record, alphas))
        recorded = [one["decode"]["alpha"] for one in read_scores(run)["test"]]
        assert sorted(recorded) == alphas

    def test_exported_model_has_the_scores_of_its_checkpoint(self, make_run):
        run = make_run()
        options = DecodeOptions()
        record_scores(run, "test", 100, 1111, options, REPORT)
        record_scores(run, "test", 200, 2222, options, REPORT)
        export = {"format": "ctranslate2", "quantization": "int8"}
        text = section(make_model_card(run, 100, export), "Scores")
        assert "1,111" in text and "2,222" not in text
        assert "not measured again" in text
        text = section(make_model_card(run), "Scores")
        assert "1,111" in text and "2,222" in text

    def test_unknown_data_are_called_unknown(self, make_run):
        text = section(make_model_card(make_run(data_dir="/nowhere")), "Data")
        assert "does not record the counts" in text

    def test_file_names_break_no_table(self, make_run):
        rows = rows_of(section(make_model_card(make_run(data=DATA)), "Data"))
        assert ["a\\|b.en", "0123456789abcdef"] in rows

    @pytest.mark.parametrize(
        "export, words",
        [
            (None, ['load("path/to/run")', "kt-decoder --output_dir"]),
            ({"format": "saved_model"}, ["tf.saved_model.load", "kt-query"]),
            (
                {"format": "ctranslate2"},
                ["ctranslate2.Translator(", "vocab.model"],
            ),
        ],
    )
    def test_each_format_says_how_to_load_it(self, make_run, export, words):
        text = section(make_model_card(make_run(), None, export), "Use")
        assert all(word in text for word in words)
        for code in re.findall(r"```python\n(.*?)```", text, re.S):
            compile(code, "README.md", "exec")

    def test_older_checkpoint_is_named_in_the_commands(self, make_run):
        run = make_run()
        text = section(make_model_card(run, 100), "Use")
        assert ", step=100)" in text
        assert "--checkpoint_step=100" in text
        assert "step" not in section(make_model_card(run), "Use")

    def test_decode_options_are_shown(self, make_run):
        options = DecodeOptions(beam_size=8, num_hypotheses=3, extra_length=9)
        export = {"format": "saved_model", "decode": options}
        card = make_model_card(make_run(), None, export)
        assert "beam 8, alpha 0.6, hypotheses 3" in card
        assert "at most 9 tokens more" in card

    def test_average_lists_its_checkpoints_and_the_time(self, make_run):
        run = make_run()
        path = run.file("averaged")
        write_model_card(path, average_run(run, 2, path))
        with open(os.path.join(path, "README.md"), encoding="utf-8") as file:
            card = file.read()
        facts = dict(rows_of(card.partition("## Use")[0]))
        assert facts["Updates"].endswith("average of updates 100, 200")
        assert facts["Training time"].startswith("2 h 10 min")
        assert "no scores yet" in section(card, "Scores")

    def test_scores_of_an_earlier_average_are_removed(self, make_run):
        run = make_run()
        averaged = average_run(run, 2, run.file("averaged"))
        record_scores(averaged, "test", 200, 9, DecodeOptions(), REPORT)
        average_run(run, 1, run.file("averaged"))
        # They may have been computed meanwhile.
        with pytest.raises(ValueError, match="was replaced while"):
            record_scores(averaged, "test", 200, 9, DecodeOptions(), REPORT)
        assert read_scores(averaged) == {}

    def test_no_checkpoint_is_an_error(self, make_run):
        with pytest.raises(ValueError, match="holds no checkpoint"):
            make_model_card(make_run(steps=()))


MARK_OF_VERSION_0_1 = (
    "<!-- Written by keras_transformer, and written anew after each training "
    "and evaluation. Remove this line to keep your own changes. -->"
)


class WriteModelCardTest:
    def test_a_card_is_replaced_but_another_readme_is_not(
        self, make_run, tmp_path
    ):
        run = make_run()
        path = write_model_card(str(tmp_path), run, 100)
        first = open(path, encoding="utf-8").read()
        assert write_model_card(str(tmp_path), run, 200) == path
        assert open(path, encoding="utf-8").read() != first
        head, mark, rest = first.split("\n", 2)
        assert mark.startswith("# Written by")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{MARK_OF_VERSION_0_1}\n{rest}")
        assert write_model_card(str(tmp_path), run) == path
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"{head}\n{rest}")
        assert write_model_card(str(tmp_path), run) is None
        assert open(path, encoding="utf-8").read() == f"{head}\n{rest}"


class ScoresTest:
    def test_repeated_measurement_is_kept_once(self, make_run):
        run = make_run()
        for step, beam_size in ((100, 4), (200, 4), (200, 1), (200, 4)):
            options = DecodeOptions(beam_size=beam_size)
            record_scores(run, "test", step, 5, options, REPORT)
        entries = read_scores(run)["test"]
        assert [(e["step"], e["decode"]["beam_size"]) for e in entries] == [
            (100, 4),
            (200, 1),
            (200, 4),
        ]
        assert entries[0]["bleu"] == REPORT.scores["bleu"]

    def test_scores_that_no_file_can_hold_are_refused(self, make_run):
        report = types.SimpleNamespace(scores={"f1": np.nan}, lines=[], text="")
        run = make_run()
        with pytest.raises(ValueError, match="finite number.*f1=nan"):
            record_scores(run, "test", 100, 5, DecodeOptions(), report)
        assert not read_scores(run)

    def test_scores_of_an_earlier_version_are_read_and_replaced(self, make_run):
        run = make_run()
        texts = ["a b c d e"], ["a b c d f"]
        full = translation_report(*texts)
        for step, report in ((100, REPORT), (200, REPORT), (200, full)):
            options = DecodeOptions()
            record_scores(run, "test", step, 5, options, report)
        entries = read_scores(run)["test"]
        assert ["ter" in entry for entry in entries] == [False, True]
        rows = rows_of(section(make_model_card(run), "Scores"))
        head, *scored = rows[-3:]
        assert head[-4:] == ["BLEU", "BLEU intl", "chrF2", "TER"]
        values = [f"{full.scores[name]:.2f}" for name in full.scores]
        assert scored[0][-4:] == [values[0], "", values[2], ""]
        assert scored[1][-4:] == values
