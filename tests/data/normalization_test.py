import itertools
import unicodedata

import pytest

from keras_transformer.data.text.normalization import make_replacements
from keras_transformer.data.text.normalization import normalize
from keras_transformer.data.text.normalization import uses_wide_punctuation
from keras_transformer.data.vocabulary import subwords

ALL = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
SPACES = [c for c in ALL if unicodedata.category(c) in ("Zs", "Zl", "Zp")]
SPACES += list("\t\n\v\f\r\x1c\x1d\x1e\x1f\x85")
MARKS = [c for c in ALL if unicodedata.category(c) == "Cf"]
# Arabic and Syriac signs are visible, and hieroglyphs need their controls.
VISIBLE = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
VISIBLE += "\U000110bd\U000110cd"


@pytest.fixture(scope="module")
def train(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.model"

    def train(texts=("the cat sees the dog",) * 20, **options):
        return subwords.train_subwords(texts, 290, str(path), **options)

    return train


@pytest.fixture(scope="module")
def vocabulary(train):
    return train()


def read(vocabulary, text):
    return vocabulary.decode(vocabulary.encode([text]))[0]


class NormalizationTest:
    @pytest.mark.parametrize("space", SPACES, ids=ascii)
    def test_white_space_becomes_a_space(self, vocabulary, space):
        assert read(vocabulary, f"the{space}cat") == "the cat"
        assert normalize(f"the{space}cat") == "the cat"

    def test_marks_without_width_go(self, vocabulary):
        for mark in set(MARKS) - set(VISIBLE):
            if not 0x13430 <= ord(mark) < 0x13456:
                for text in (f"{mark}the cat", f"the c{mark}at", f"the {mark}"):
                    expected = text.replace(mark, "").strip()
                    is_joiner = mark in "\u200c\u200d"
                    if not (is_joiner and text.endswith(mark)):
                        assert read(vocabulary, text) == expected, ascii(mark)

    def test_control_characters_go(self, vocabulary):
        controls = "".join(c for c in ALL if unicodedata.category(c) == "Cc")
        controls = "".join(c for c in controls if not c.isspace())
        assert read(vocabulary, f"the {controls}cat") == "the cat"

    @pytest.mark.parametrize(
        "text",
        [
            "می\u200cخواهم",  # Persian
            "USB\u200cها",  # a Persian ending after a Latin word
            "क्\u200dष क्\u200cष",  # Devanagari
            "👩\u200d💻 ❤\u200d🔥",
            "\u0600\u0661\u06dd",
            "中文，标点。（好）",
        ],
    )
    def test_what_a_script_needs_stays(self, text):
        assert normalize(text) == text

    @pytest.mark.parametrize("text", ["com\u200dputer", "Auf\u200clage\u200d."])
    def test_joiners_go_between_latin_letters(self, text):
        assert normalize(text) == text.replace("\u200d", "").replace(
            "\u200c", ""
        )

    def test_every_decomposition_becomes_its_character(self):
        for character in ALL:
            apart = unicodedata.normalize("NFD", character)
            joined = unicodedata.normalize("NFC", apart)
            if len(apart) > 1 and len(joined) == 1:
                assert normalize(f"a{apart} b") == f"a{joined} b", ascii(apart)

    def test_marks_may_stand_in_any_order(self):
        for order in itertools.permutations("\u0323\u0302"):
            assert normalize("e" + "".join(order)) == "ệ"
        assert normalize("e\u0302\u0301 ê\u0323") == "ế ệ"

    @pytest.mark.parametrize(
        "text, expected",
        [
            ("Ｄｏ ｗｅ　２", "Do we 2"),
            ("ｶﾞｲﾄﾞ ﾊﾟﾝ", "ガイド パン"),
            ("o\ufb03ce \ufb02ow", "office flow"),
            ("non\u2011stop", "non-stop"),
            ("Å Å", "Å Å"),
        ],
    )
    def test_other_spellings_become_ordinary(self, text, expected):
        assert normalize(text) == expected

    def test_wide_punctuation_stays_where_it_is_ordinary(self, train):
        assert read(train(), "ｄｏｇ？") == "dog?"
        chinese = train(["我们在这里 ？", "the dog sees the cat"] * 20)
        assert read(chinese, "ｄｏｇ？") == "dog？"
        assert not uses_wide_punctuation(["the dog"] * 200 + ["我们"])
        assert not uses_wide_punctuation([])

    def test_the_text_can_stay_as_it_is(self, train):
        vocabulary = train(normalize_text=False)
        for text in ("the\u00a0cat", "the c\u00adat", "e\u0301", "ｄｏｇ？"):
            assert read(vocabulary, text) == text
        assert not vocabulary.normalizes_text

    def test_a_vocabulary_tells_that_it_normalises(self, vocabulary):
        assert vocabulary.normalizes_text

    def test_encoding_equals_the_function(self, vocabulary):
        replaced = make_replacements(True)
        keys = list(replaced)[:: len(replaced) // 500]
        texts = [f"a{key}b {key}c" for key in keys]
        expected = [" ".join(normalize(text).split()) for text in texts]
        # Without CJK text, the vocabulary also replaces wide punctuation.
        assert vocabulary.encode(texts) == vocabulary.encode(expected)
