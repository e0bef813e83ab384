"""The page that compares two systems, from their outputs to its HTML."""

import dataclasses
import os
import re

import pytest
from attention_examples import Page
from number_problem import Numbers
from number_problem import generated

from keras_transformer.decoding.test_sets import Texts
from keras_transformer.scoring.analysis import Words
from keras_transformer.scoring.comparison import compare
from keras_transformer.visualization.systems_report import Systems
from keras_transformer.visualization.systems_report import compare_systems
from keras_transformer.visualization.systems_report import make_systems_report
from keras_transformer.visualization.systems_report import name_systems
from keras_transformer.visualization.systems_report import read_training_targets

EVIL = "</style><script>alert('a')</script> {{style}} &lt; <b>"
SOURCES = ["The dog runs .", "A cat sleeps .", "He sings ."]
REFERENCES = ["Der Hund rennt .", "Eine Katze schläft .", "Er singt ."]
THIS = ["Der Hund rennt .", "Ein Tier schläft .", "Er singt ."]
OTHER = ["Ein Hund läuft .", "Eine Katze schläft .", "Er singt ."]


@pytest.fixture
def write():
    """Returns a function that makes a page."""

    def write(outputs=(THIS, OTHER), sources=SOURCES, names=("a", "b"), **rest):
        texts = Texts("test", "test", sources, REFERENCES, {})
        systems = Systems(texts, names, outputs)
        differences = compare(*outputs, REFERENCES)
        return make_systems_report(systems, differences, **rest)

    return write


class SystemsReportTest:
    def test_it_shows_the_sentences_that_differ(self, write):
        text = write()
        better, worse = text.split("<h3>Where b is better</h3>")
        assert "The dog runs ." in better and "A cat sleeps ." in worse
        assert "He sings ." not in text
        matched = '<mark style="--order:4">Eine</mark>'
        assert matched in worse and matched not in better
        # No other word of this translation is in the reference.
        assert 'Ein <mark style="--order:1">Hund</mark> läuft' in better

    def test_it_states_the_scores_and_their_meaning(self, write):
        text = write()
        for row in compare(THIS, OTHER, REFERENCES):
            assert f"<td>{row.this:.2f}<small>" in text
            assert row.explain(("a", "b")) in text
            assert row.signature in text
        assert "BLEU by the length of the source" in text

    def test_unknown_sources_and_training_text_are_replaced(self, write):
        text = write(sources=None)
        assert "BLEU by the length of the reference" in text
        assert "frequency in the references" in text
        assert "<dt>source</dt>" not in text
        text = write(training_text=["Katze", "Katze"])
        assert "frequency in the training text" in text
        assert "<th>1 to 4</th><td>1</td>" in text

    def test_ignored_case_matches_and_is_still_shown(self, write):
        text = write(
            ([t.upper() for t in THIS], OTHER), words=Words(lowercase=True)
        )
        assert '">EIN</mark>' not in text
        assert '<mark style="--order:2">SCHLÄFT</mark>' in text

    def test_any_text_is_harmless_and_nothing_is_loaded(self, write):
        outputs = [EVIL, *THIS[1:]], [*OTHER[:2], EVIL]
        page = write(outputs, [EVIL] * 3, (EVIL, EVIL))
        expected = {tag for tag, _ in Page(write()).elements}
        parsed = Page(page)
        assert {tag for tag, _ in parsed.elements} == expected
        assert "script" not in expected
        for _, attributes in parsed.elements:
            assert not {"src", "href"} & attributes.keys()
        assert not re.search("@import|url\\(|https?:", page)
        assert "default-src 'none'" in page

    def test_a_file_is_written_whole_or_not_at_all(self, write, tmp_path):
        path = tmp_path / "page.html"
        outputs = THIS, OTHER
        texts = Texts("test", "test", SOURCES, REFERENCES, {})
        systems = Systems(texts, ("a", "b"), outputs)
        compare_systems(systems, "13a", False, str(path))
        texts = dataclasses.replace(texts, sources=SOURCES[:1])
        broken = dataclasses.replace(systems, texts=texts)
        with pytest.raises(IndexError):
            compare_systems(broken, "13a", False, str(path))
        assert os.listdir(tmp_path) == ["page.html"]
        assert path.read_text("utf-8") == write()


class NameSystemsTest:
    @pytest.mark.parametrize(
        "paths, other, names",
        [
            (["w/base"], "w/big", ("base", "big")),
            (["w/base/avg"], "w/big/avg", ("base", "big")),
            (["w/a", "w/b"], "w/c", ("a+b", "c")),
            (["a/out/test.txt"], "b/out/test.txt", ("a", "b")),
            (["w/a"], "w/a", ("a", "earlier a")),
            (["w/a"], "w/a/", ("a", "earlier a")),
        ],
    )
    def test_a_system_is_named_by_its_directory(self, paths, other, names):
        assert name_systems(paths, other) == names


class TrainingTargetsTest:
    def test_they_are_the_text_that_was_generated(self, tmp_path):
        problem = generated(tmp_path)
        targets = [target for _, target in Numbers.pairs["train"]]
        assert list(read_training_targets(problem)) == targets
