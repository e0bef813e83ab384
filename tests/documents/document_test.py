"""Documents come out byte for byte, apart from their sentences."""

import collections
import re

import pytest
from random_documents import DOCUMENTS

from keras_transformer.documents.document import FORMATS
from keras_transformer.documents.document import Document
from keras_transformer.documents.document import get_parser
from keras_transformer.documents.document import guess_format
from keras_transformer.errors import UserError

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")
PROSE = FORMATS[:3]  # subtitles need times
SEEDS = range(60)


def translated(text, format, function):
    document = Document(text, format)
    return document.replace_sentences(list(map(function, document.sentences)))


def tags(text):
    """Counts the tags and the code of a document."""
    return collections.Counter(re.findall(r"<[^<>]*>|`[^`]*`", text))


def shortened(text):
    return "Ja."


def doubled(text):
    return f"{text} {text}"


def reversed_words(text):
    return " ".join(text.split()[::-1])


@pytest.mark.parametrize("format", FORMATS)
class RandomDocumentsTest:
    def test_pieces_joined_are_the_document(self, format):
        for seed in SEEDS:
            text = DOCUMENTS[format](seed)
            pieces, _ = get_parser(format).parse(text)
            assert "".join(piece.raw for piece in pieces) == text, seed

    def test_sentences_translated_to_themselves_change_nothing(self, format):
        for seed in SEEDS:
            text = DOCUMENTS[format](seed)
            assert translated(text, format, str) == text, seed

    def test_case_swapped_twice_changes_nothing(self, format):
        """Markup that is put back by position ends up where it was."""
        for seed in SEEDS:
            text = DOCUMENTS[format](seed, is_tidy=True)
            swapped = translated(text, format, str.swapcase)
            assert translated(swapped, format, str.swapcase) == text, seed
            assert swapped != text or not Document(text, format).sentences

    def test_tags_and_code_are_as_many_in_every_translation(self, format):
        for seed in SEEDS:
            text = DOCUMENTS[format](seed, is_tidy=True)
            for function in (shortened, doubled, reversed_words):
                document = Document(text, format, attributes=False)
                translations = map(function, document.sentences)
                result = document.replace_sentences(list(translations))
                assert tags(result) == tags(text), (seed, function)

    def test_every_sentence_has_its_place_in_the_order(self, format):
        for seed in SEEDS:
            text = DOCUMENTS[format](seed)
            document = Document(text, format, attributes=False)
            names = [f"Nr{n}x" for n, _ in enumerate(document.sentences)]
            result = document.replace_sentences(names)
            assert re.findall(r"Nr\d+x", result) == names, seed


@pytest.mark.parametrize("format", PROSE)
class SmallDocumentsTest:
    @pytest.mark.parametrize("text", ["", "\n", " ", "\r\n\r\n", "42.", "---"])
    def test_without_sentences_they_stay_as_they_are(self, format, text):
        document = Document(text, format)
        assert document.sentences == []
        assert document.replace_sentences([]) == text

    @pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n\n"])
    def test_line_ends_and_their_absence_are_kept(self, format, end):
        text = f"A dog.{end}"
        assert translated(text, format, lambda text: "Ja.") == f"Ja.{end}"

    def test_a_byte_order_mark_stays_in_front(self, format):
        text = "\ufeffA dog. A cat."
        assert Document(text, format).sentences == ["A dog.", "A cat."]
        assert translated(text, format, str.upper) == "\ufeffA DOG. A CAT."

    @pytest.mark.parametrize("space", ["\xa0", "\u202f", "\u2003", "\u3000"])
    def test_a_wide_space_before_a_full_stop_is_kept(self, format, space):
        text = f"Eat vitamin B{space}. It is good."
        document = Document(text, format)
        assert document.sentences == ["Eat vitamin B .", "It is good."]
        assert document.replace_sentences(document.sentences) == text

    def test_each_sentence_needs_its_translation(self, format):
        with pytest.raises(ValueError):
            Document("A dog. A cat.", format).replace_sentences(["Ja."])


class LanguageTest:
    def test_a_region_does_not_hide_the_language(self):
        text = "Das ist z.B. Herr Dr. Klein. Er geht."
        for language in ("de", "DE", "de-AT", "de_CH"):
            document = Document(text, language=language)
            assert document.sentences == [text[:28], text[29:]]

    def test_what_is_no_code_is_refused(self):
        for language in ("klingon", "", "d", "de-"):
            with pytest.raises(ValueError, match="two or three letters"):
                Document("A dog.", language=language)


class FormatTest:
    def test_an_unknown_format_is_an_error(self):
        with pytest.raises(ValueError, match="html, srt, vtt. .*'docx'"):
            Document("A dog.", "docx")

    @pytest.mark.parametrize(
        "name",
        ["a.rst", "b/A.DOCX", "de.po", "x.ass", "a.lrc", "a.html.erb", "a.vue"],
    )
    def test_a_file_of_another_format_is_refused_with_a_way_out(self, name):
        with pytest.raises(UserError, match=f"{name}. Convert it first"):
            guess_format(name)

    @pytest.mark.parametrize(
        "path, format",
        [
            ("a.html", "html"),
            ("b/a.HTM", "html"),
            ("a.md", "markdown"),
            ("a.mdx", "markdown"),
            ("a.SRT", "srt"),
            ("a.vtt", "vtt"),
            ("news.de", "text"),
            ("a.txt", "text"),
            ("md", "text"),
            (None, "text"),
        ],
    )
    def test_suffix_tells_the_format(self, path, format):
        assert guess_format(path) == format
