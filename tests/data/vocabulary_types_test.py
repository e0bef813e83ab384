"""Vocabularies of characters, words and subwords, and what they leave out."""

import re

import pytest

from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.data.vocabulary import subwords
from keras_transformer.problem import Problem

WORDS = ["házból", "házak", "boltból", "szálló"]
PHONES = ["h aː z b oː l", "h aː z ɒ k", "b o l t b oː l", "s aː lː oː"]


def train(tmp_path, texts, kind, size=8000, **options):
    path = str(tmp_path / "vocab.model")
    options["normalize_text"] = False
    return subwords.train_subwords(
        texts, size, path, vocabulary_type=kind, **options
    )


class VocabularyTypesTest:
    def test_each_character_has_an_id(self, tmp_path):
        vocabulary = train(tmp_path, WORDS, "characters")
        assert vocabulary.vocab_size == 4 + len(set("".join(WORDS)))
        (ids,) = vocabulary.encode(["szól"])
        assert vocabulary.pieces(ids) == ["▁", *"szól", "</s>"]
        assert vocabulary.decode([ids]) == ["szól"]

    def test_each_phone_has_an_id_even_with_its_length(self, tmp_path):
        vocabulary = train(tmp_path, PHONES, "words")
        assert vocabulary.vocab_size == 3 + len(set(" ".join(PHONES).split()))
        (ids,) = vocabulary.encode(["z aː lː"])
        assert vocabulary.pieces(ids) == ["▁z", "▁aː", "▁lː", "</s>"]
        assert vocabulary.decode([ids]) == ["z aː lː"]

    def test_a_size_is_a_maximum_that_keeps_what_is_frequent(self, tmp_path):
        vocabulary = train(tmp_path, ["aː aː aː b b c"], "words", 5)
        assert vocabulary.all_pieces()[3:] == ["▁aː", "▁b"]

    @pytest.mark.parametrize(
        "kind, text, expected",
        [("characters", "xszól漢", "szól"), ("words", "z ʔ aː", "z aː")],
    )
    def test_what_is_unknown_is_left_out(self, tmp_path, kind, text, expected):
        texts = WORDS if kind == "characters" else PHONES
        vocabulary = train(tmp_path, texts, kind)
        assert vocabulary.decode(vocabulary.encode([text])) == [expected]

    @pytest.mark.parametrize("kind", ["characters", "words"])
    def test_text_stays_as_it_is(self, tmp_path, kind):
        texts = ["e\u0301 \u00e9 \ufb01"]
        vocabulary = train(tmp_path, texts, kind)
        assert vocabulary.decode(vocabulary.encode(texts)) == texts
        assert not vocabulary.normalizes_text

    @pytest.mark.parametrize("normalize_text", [True, False])
    def test_a_syllable_of_hangul_has_its_letters(
        self, tmp_path, normalize_text
    ):
        vocabulary = subwords.train_subwords(
            ["한국말", "가난"],
            8000,
            str(tmp_path / "vocab.model"),
            vocabulary_type="characters",
            normalize_text=normalize_text,
        )
        words = ["난간 한각", "말"]
        ids = vocabulary.encode(words)
        pieces = [chr(0x1106), chr(0x1161), chr(0x11AF)]
        assert vocabulary.pieces(ids[1]) == ["▁", *pieces, "</s>"]
        assert vocabulary.decode(ids) == words
        # The letters may also come one by one.
        assert vocabulary.encode(["".join(pieces)]) == ids[1:]

    def test_characters_without_an_id_are_found(self, tmp_path):
        texts = [*WORDS * 20, "x"]
        full = train(tmp_path, texts, "characters")
        assert not full.find_missing(texts)
        partial = train(tmp_path, texts, "characters", character_coverage=0.99)
        assert partial.find_missing(texts) == ["x"]

    def test_an_error_names_the_limits_and_the_flag(self, tmp_path):
        with pytest.raises(ValueError, match="source_vocab_size=9999") as error:
            train(
                tmp_path, WORDS, "subwords", 9999, size_name="source_vocab_size"
            )
        for limit in map(int, re.findall(r"at \w+ (\d+)", str(error.value))):
            assert train(tmp_path, WORDS, "subwords", limit)

    @pytest.mark.parametrize("word", ["HÁZAK", "Házak", "Bolt HÁZ"])
    def test_capitals_that_it_lacks_become_small_letters(self, tmp_path, word):
        vocabulary = train(tmp_path, [*WORDS, "bolt ház"], "characters")
        assert restore_case([word], vocabulary) == [word.lower()]

    def test_an_unknown_letter_keeps_no_word_in_capitals(self, tmp_path):
        vocabulary = train(tmp_path, WORDS, "characters")
        assert restore_case(["HÁXAK"], vocabulary) == ["háxak"]

    @pytest.mark.parametrize(
        "kind, text, expected",
        [
            ("characters", "há漢字z →ak", ["漢字", "→"]),
            ("words", "b aː qq ʔ b", ["qq ʔ"]),
            ("subwords", "漢字", []),
        ],
    )
    def test_unknown_parts_have_their_places(
        self, tmp_path, kind, text, expected
    ):
        texts = PHONES if kind == "words" else WORDS
        vocabulary = train(tmp_path, texts * 9, kind, 290)
        spans = vocabulary.find_unknown(text)
        assert [text[start:end].strip() for start, end in spans] == expected


class Rote(Problem):
    name = "rote"
    vocab_size = 330
    splits = ("train", "dev")
    words = {
        "train": ["calendar", "telephone", "umbrella", "daffodil"] * 30,
        "dev": ["elephant", "cardinal", "blade"],
    }

    def text_pairs(self, split, tmp_dir):
        for word in self.words[split]:
            yield word, word


class WarningTest:
    def test_a_vocabulary_that_knows_its_words_by_heart(self, tmp_path, caplog):
        Rote(str(tmp_path / "subwords")).generate(None)
        assert "330 knows its training words by heart" in caplog.text
        caplog.clear()
        characters = Rote(str(tmp_path / "characters"))
        characters.vocabulary_type = "characters"
        characters.generate(None)
        assert "by heart" not in caplog.text

    @pytest.mark.parametrize("kind", ["characters", "words"])
    def test_only_subwords_are_learnt_by_heart(self, tmp_path, caplog, kind):
        problem = Rote(str(tmp_path))
        problem.vocabulary_type = kind
        # Dev has shorter words, and so more pieces for each character.
        problem.words = {"train": ["a b", "calendar"], "dev": ["a b", "a"]}
        problem.generate(None)
        assert "by heart" not in caplog.text

    def test_text_without_ids_is_named(self, tmp_path, caplog):
        problem = Rote(str(tmp_path))
        problem.vocabulary_type = "characters"
        problem.splits = ("train", "dev", "test")
        problem.words = {"test": ["bläde", "bläda"], **Rote.words}
        problem.generate(None)
        (source, target) = [
            r.message for r in caplog.records if "no id" in r.message
        ]
        assert source == (
            "20.0% of the source text of test has no id in the vocabulary of "
            "20, such as ä. Check that the columns, the language and the "
            "spelling are those of train."
        )
        assert target.startswith("20.0% of the target text of test")

    def test_a_given_vocabulary_may_lack_text(self, tmp_path, caplog):
        first, second = (Rote(str(tmp_path / name)) for name in "ab")
        first.vocabulary_type = "words"
        first.generate(None)
        caplog.clear()
        second.vocabulary_path = f"{first.directory}/vocab.model"
        second.words = {"train": ["calendar"], "dev": ["elephant"]}
        second.generate(None)
        assert "100.0% of the source text of dev has no id" in caplog.text

    def test_characters_that_fall_out_are_named(self, tmp_path, caplog):
        problem = Rote(str(tmp_path))
        problem.words = {s: [*w, "ø"] for s, w in Rote.words.items()}
        problem.character_coverage = 0.99
        problem.generate(None)
        assert "spelled in bytes, such as ø." in caplog.text

    def test_a_small_vocabulary_of_characters_asks_for_room(
        self, tmp_path, caplog
    ):
        problem = Rote(str(tmp_path))
        problem.vocabulary_type, problem.vocab_size = "characters", 10
        problem.generate(None)
        assert "Only 10 ids fit: raise vocab_size." in caplog.text
        assert "character_coverage" not in caplog.text

    def test_a_type_that_does_not_exist_is_an_error(self, tmp_path):
        problem = Rote(str(tmp_path))
        problem.vocabulary_type = "letters"
        with pytest.raises(ValueError, match="one of subwords, characters"):
            problem.generate(None)
