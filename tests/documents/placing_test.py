"""Markup goes to the words that it belongs to."""

import random

import pytest

from keras_transformer.documents import html_text
from keras_transformer.documents.document import Document
from keras_transformer.documents.markup import find_words
from keras_transformer.documents.markup import plain_text
from keras_transformer.documents.placing import place_markup

pytest.importorskip("sentencex")
MarkdownIt = pytest.importorskip("markdown_it").MarkdownIt


def placed(source, translation, alignment=None):
    pieces, _ = html_text.parse(source)
    return place_markup(pieces, translation, alignment, html_text.escape)


class PlacingTest:
    def test_position_counts_without_an_alignment(self):
        source = "the <b>red</b> car"
        assert placed(source, "das rote Auto") == "das <b>rote</b> Auto"

    def test_an_alignment_moves_tags_with_their_words(self):
        source = "the <b>red</b> car"
        result = placed(source, "el coche rojo", {(0, 0), (1, 2), (2, 1)})
        assert result == "el coche <b>rojo</b>"

    def test_tags_change_places_with_their_words(self):
        source = "the <b>red</b> <i>old <u>car</u></i> is"
        alignment = {(0, 0), (1, 3), (2, 1), (3, 2), (4, 4)}
        assert placed(source, "el viejo coche rojo es", alignment) == (
            "el <i>viejo <u>coche</u></i> <b>rojo</b> es"
        )

    def test_code_follows_the_word_before_it(self):
        source = "use <code>x</code> before you go"
        alignment = {(0, 1), (1, 2), (2, 3), (3, 4)}
        assert placed(source, "antes usa de que vayas", alignment) == (
            "antes usa <code>x</code> de que vayas"
        )

    def test_words_far_apart_enclose_what_is_between(self):
        source = "he <b>gave up</b> it"
        alignment = {(0, 0), (1, 1), (2, 3), (3, 2)}
        assert placed(source, "er gab es auf", alignment) == (
            "er <b>gab es auf</b>"
        )

    @pytest.mark.parametrize("alignment", [None, {(0, 0), (1, 1), (1, 2)}])
    def test_crossing_words_never_make_tags_overlap(self, alignment):
        source = "<b>a b</b> <i>b c</i> <u>d</u>"
        result = placed(source, "x y z", {(0, 2), (1, 0), (2, 1), (3, 2)})
        depth = 0
        for tag in ("<b>", "</b>", "<i>", "</i>", "<u>", "</u>"):
            assert result.count(tag) == 1
        for part in result.split("<")[1:]:
            depth += -1 if part.startswith("/") else 1
            assert 0 <= depth <= 1

    def test_white_space_is_outside_of_tags(self):
        assert placed("a <b>c d</b> e", "A C E") == "A <b>C</b> E"

    @pytest.mark.parametrize("word", ["{name}", "%s", "\U0001f600"])
    def test_what_is_no_punctuation_is_a_word(self, word):
        source = f"call <b>{word}</b> now"
        alignment = {(0, 0), (1, 1), (2, 2)}
        assert placed(source, f"ruf {word} an", alignment) == (
            f"ruf <b>{word}</b> an"
        )

    def test_code_keeps_its_distance(self):
        assert placed("(<code>x</code>) and b", "() und B") == (
            "(<code>x</code>) und B"
        )
        assert placed("see <code>x</code>, b", "siehe, B") == (
            "siehe <code>x</code>, B"
        )

    @pytest.mark.parametrize(
        "source, translation, expected",
        [
            ("See <code>x</code>, then go.", "Dann geh.", "Dann _ geh."),
            ("Ask (<code>x</code>) today.", "Frag heute.", "Frag _ heute."),
        ],
    )
    def test_code_is_not_joined_to_a_word(self, source, translation, expected):
        result = placed(source, translation)
        assert result == expected.replace("_", "<code>x</code>")

    @pytest.mark.parametrize("source", ["item<!-- -->s", "it<wbr>ems"])
    def test_what_shows_nothing_divides_no_word(self, source):
        assert plain_text(html_text.parse(source)[0]) == "items"


def read_back(text):
    """Returns the markup of Markdown, and its text."""
    kinds, words = [], ""
    for token in MarkdownIt().enable("strikethrough").parse(text):
        for child in token.children or ():
            if child.nesting or child.type == "code_inline":
                kinds.append((child.type, child.attrGet("href")))
            else:
                words += child.content
    return sorted(kinds, key=str), "".join(words.split())


class MarkdownPlacingTest:
    @pytest.mark.parametrize(
        "text",
        [
            "**see [the house](x)** now",
            "**the *old [big dog](y)***",
            "*see [the dog](x).* Or",
            "the **[big dog](x)**.",
            "a `x` **b `y`** c",
            "He *said [hello](z)* and [went](w).",
        ],
    )
    @pytest.mark.parametrize(
        "translation",
        ["Das ist, ja!", "Ein altes Haus (x) hier.", '"Ja", sagt er. Ja.'],
    )
    def test_whatever_is_aligned_the_markup_is_read_as_before(
        self, text, translation
    ):
        document = Document(text, "markdown")
        translations = [translation] * len(document.sentences)
        generator = random.Random(0)
        num_words = len(find_words(translation))
        for _ in range(30):
            alignments = [
                [
                    (place, generator.randrange(num_words))
                    for place, _ in enumerate(find_words(sentence))
                    if generator.random() < 0.6
                ]
                for sentence in document.sentences
            ]
            result = document.replace_sentences(translations, alignments)
            kinds, words = read_back(result)
            assert kinds == read_back(text)[0], result
            assert words == "".join("".join(translations).split()), result
            assert "[](" not in result

    def test_a_short_translation_has_no_empty_lines(self):
        text = "one two\nthree\n`x` four.\n"
        document = Document(text, "markdown")
        for translation, result in [
            ("Ja.", "Ja\n`x`.\n"),
            ("Ja so nicht.", "Ja so\n`x` nicht.\n"),
        ]:
            assert document.replace_sentences([translation]) == result
