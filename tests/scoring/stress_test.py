import types

from keras_transformer.data.text import disturbances
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.scoring.stress import format_stress
from keras_transformer.scoring.stress import measure_stress
from keras_transformer.scoring.translations import bleu_report

TEXTS = types.SimpleNamespace(
    sources=["Der Hund läuft im Park.", "Wo ist das Buch?", "2 + 2"],
    references=["A dog runs in the park.", "Where is the book?", "2 + 2"],
)


class Counter:
    """Counts words as the tokens of a translator."""

    max_tokens = 6

    def count_tokens(self, texts):
        return [len(text.split()) for text in texts]


def measure(translate):
    calls = []

    def decode(sources):
        calls.append(sources)
        return [Hypothesis(translate(source), None) for source in sources]

    outputs = list(map(translate, TEXTS.sources))
    scores = measure_stress(TEXTS, outputs, Counter(), decode, bleu_report)
    return scores, calls


class StressTest:
    def test_a_translator_that_ignores_noise_loses_nothing(self):
        outputs = list(TEXTS.references)
        by_start = dict(zip("dw2", TEXTS.references))

        def decode(sources):
            texts = [by_start[source.strip()[0].lower()] for source in sources]
            return [Hypothesis(text, None) for text in texts]

        scores = measure_stress(TEXTS, outputs, Counter(), decode, bleu_report)
        names = [change.__name__ for change in disturbances.ALL]
        assert list(scores) == ["clean", *names]
        assert {round(row["bleu"], 6) for row in scores.values()} == {100}

    def test_only_disturbed_sources_are_translated_again(self):
        scores, calls = measure(str.upper)
        disturbed = [row["disturbed"] for row in scores.values()]
        assert disturbed == [0, *map(len, calls)]
        assert scores["missing_accents"]["disturbed"] == 1
        assert scores["capitals"]["disturbed"] == 2

    def test_an_emoji_that_is_kept_costs_nothing(self):
        scores, _ = measure(lambda text: f"😂 {text}")
        assert scores["emoji"]["chrf"] == scores["clean"]["chrf"]

    def test_a_source_that_becomes_too_long_stays_as_it_is(self, monkeypatch):
        monkeypatch.setattr(Counter, "max_tokens", 5)
        scores, calls = measure(str.upper)
        assert scores["emoji"]["disturbed"] == 2
        assert len(TEXTS.sources[0].split()) == 5
        assert all(len(text.split()) < 6 for call in calls for text in call)

    def test_the_table_shows_what_is_lost(self):
        scores = {
            "clean": {"disturbed": 0, "bleu": 40.0},
            "title_case": {"disturbed": 1234, "bleu": 30.5},
        }
        assert format_stress(scores) == [
            "sources     disturbed   bleu  change",
            "clean               0  40.00   +0.00",
            "title case      1,234  30.50   -9.50",
        ]
