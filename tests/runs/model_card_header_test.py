import pytest
from tiny_marian import write_tiny_marian

from keras_transformer.formats.marian.reader import import_marian
from keras_transformer.runs.model_card import make_model_card
from keras_transformer.runs.scores import record_scores
from keras_transformer.scoring.translations import translation_report
from keras_transformer.search.options import DecodeOptions

yaml = pytest.importorskip("yaml")
HOSTILE = [
    "a: b # c",
    "quotes \" and ' and \\",
    "lines\nand\r\n--- \n---\nmore\ttabs\0",
    "\x7f\x85\u2028\ufeff\ufffe\U0001f600\xe9",
    "no",
    "- [x, {y: *z}] & !a %b @c `d` |",
    "${title} $use",
]


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    source = tmp_path_factory.mktemp("marian")
    write_tiny_marian(source)
    return str(source)


@pytest.fixture
def run(marian, tmp_path):
    run = import_marian(marian, str(tmp_path / "run"))
    run.record["imported"]["languages"] = ["en", "fra"]
    return run


@pytest.fixture
def bilingual(tmp_path):
    """A run whose table has no language codes."""
    source = tmp_path / "bilingual"
    write_tiny_marian(source)
    table = source / "vocab.json"
    table.write_text(table.read_text().replace(">>", "").replace("<<", ""))
    run = import_marian(str(source), str(tmp_path / "other"))
    run.record["imported"]["languages"] = ["en", "fra"]
    return run


def read_header(run, export=None):
    card = make_model_card(run, 0, export)
    before, header, rest = card.split("---\n", 2)
    assert before == "" and rest.startswith("\n# A Transformer that")
    return yaml.safe_load(header)


class MakeHeaderTest:
    def test_what_is_not_recorded_is_left_out(self, bilingual):
        assert read_header(bilingual) == {
            "language": ["en", "fra"],
            "pipeline_tag": "translation",
            "library_name": "keras_transformer",
        }

    def test_words_are_no_languages(self, bilingual):
        bilingual.record["imported"]["languages"] = ["source", "target"]
        card = make_model_card(bilingual, 0)
        assert "language:" not in card and "pipeline_tag" not in card

    @pytest.mark.parametrize(
        "languages, expected",
        [
            (["en", "ROMANCE"], ["en", "fra", "deu"]),
            (["source", "target"], ["fra", "deu"]),
        ],
    )
    def test_all_languages_of_the_table_are_named(
        self, run, languages, expected
    ):
        run.record["imported"]["languages"] = languages
        header = read_header(run)
        assert header["language"] == expected
        assert header["pipeline_tag"] == "translation"
        assert "into any of 2 languages" in make_model_card(run, 0)

    def test_a_model_for_transformers_is_said_to_be_such(self, run):
        header = read_header(run, {"format": "marian"})
        assert header["library_name"] == "transformers"

    @pytest.mark.parametrize("text", HOSTILE)
    def test_any_text_is_read_back(self, run, text):
        run.record.update(licence=text, datasets=[text, "b"])
        header = read_header(run)
        assert header["license"] == text
        assert header["datasets"] == [text, "b"]

    def test_scores_have_their_signatures(self, run):
        report = translation_report(["a b c d e"], ["a b c d f"], "en")
        record_scores(run, "test", 0, 1, DecodeOptions(beam_size=7), report)
        record_scores(run, "dev", 1, 1, DecodeOptions(), report)
        (model,) = read_header(run)["model-index"]
        (result,) = model["results"]  # that of the other step is not here
        assert result["dataset"]["split"] == "test"
        assert [
            (m["value"], m["args"]["signature"]) for m in result["metrics"]
        ] == [
            (round(row.value, 2), row.line.split(" = ")[0])
            for row in report.rows
        ]
        names = [metric["name"] for metric in result["metrics"]]
        assert {"BLEU", "BLEU intl", "BLEU paper", "chrF2"} <= {*names}
        assert result["metrics"][0]["args"]["decoding"] == "beam 7, alpha 0.6"

    @pytest.mark.parametrize(
        "change",
        [{"quantization": "int8"}, {"precision": "bfloat16"}],
    )
    def test_scores_of_other_arithmetic_are_left_out(self, run, change):
        report = translation_report(["a b c d e"], ["a b c d f"])
        record_scores(run, "test", 0, 1, DecodeOptions(), report)
        export = {"format": "ctranslate2", **change}
        assert "model-index" not in read_header(run, export)
        export = {"format": "ctranslate2", "quantization": "float32"}
        assert "model-index" in read_header(run, export)

    def test_the_client_of_the_hub_reads_the_scores(self, run):
        hub = pytest.importorskip("huggingface_hub")
        report = translation_report(["a b c d e"], ["a b c d f"])
        record_scores(run, "test", 0, 1, DecodeOptions(), report)
        data = hub.ModelCard(make_model_card(run, 0)).data
        assert data.language == ["en", "fra", "deu"]
        name = "Transformer that translates into any of 2 languages"
        assert data.model_name == name
        values = {r.metric_name: r.metric_value for r in data.eval_results}
        assert values["BLEU"] == round(report.scores["bleu"], 2)
        signature = data.eval_results[0].metric_args["signature"]
        assert f"{signature} = " in report.lines[0]
