"""HTML: what is translated, what stays, and where markup goes."""

import pytest

from keras_transformer.documents.document import Document

pytest.importorskip("sentencex")


def sentences_of(text):
    return Document(text, "html").sentences


def translated(text, *translations):
    return Document(text, "html").replace_sentences(list(translations))


class HtmlTest:
    @pytest.mark.parametrize(
        "text",
        [
            "<script>A dog.</script>",
            "<style>A dog.</style>",
            "<pre>A dog.</pre>",
            "<code>A <b>dog</b>.</code>",
            "<p translate='no'>A dog.</p>",
            "<p TRANSLATE=NO>A dog.</p>",
            "<div translate=no><div>A dog.</div>A cat.</div>",
            "<ul><li translate=no><b>x</b> <ul><li>A dog.</ul>A cat.</ul>",
            "<p class='x notranslate'>A dog.</p>",
            "<!-- A dog. -->",
            "<!DOCTYPE A dog.>",
            "<img alt='A dog.'>",
            "<pre>A dog.",
        ],
    )
    def test_no_sentence_is_found_in(self, text):
        assert sentences_of(text) == []

    @pytest.mark.parametrize(
        "text",
        [
            "A dog.",
            "<title>A dog.</title>",
            "<li translate=no>x<li>A dog.",
            "<b>A dog.</b>",
            "<p><a href='x'><i>A dog.</i></a>",
            "<pre>x</pre>A dog.",
            "<br translate=no>A dog.",
            "<p translate=no>x</p>A dog.",
            "<ul><li translate=no>x</ul><p>A dog.",
            "<ul><li translate=no><b>x</b><br><p>y</ul>A dog.",
            "<table><tr><td class=notranslate>x</table>A dog.",
            "<div translate=no><p>x</div>A dog.",
        ],
    )
    def test_one_sentence_is_found_in(self, text):
        assert sentences_of(text) == ["A dog."]
        expected = text.replace("A dog.", "Ein Hund.")
        assert translated(text, "Ein Hund.") == expected

    def test_character_references_become_characters_and_back(self):
        text = "<p>R&amp;D, caf&eacute; &#65; &lt;b&gt;.</p>"
        assert sentences_of(text) == ["R&D, café A <b>."]
        assert translated(text, "F&E, Café A <b>.") == (
            "<p>F&amp;E, Café A &lt;b&gt;.</p>"
        )

    def test_what_is_not_translated_stays_within_a_sentence(self):
        text = "<p>Type <code>ls. A</code> and <b>go</b>."
        assert sentences_of(text) == ["Type and go."]
        assert translated(text, "Tippe und geh.") == (
            "<p>Tippe <code>ls. A</code> und <b>geh</b>."
        )

    def test_tags_without_partners_are_kept_in_order(self):
        text = "a </i> b <b> c </u> d"
        result = translated(text, "A B C D")
        assert [result.index(tag) for tag in ("</i>", "<b>", "</u>")] == (
            sorted(result.index(tag) for tag in ("</i>", "<b>", "</u>"))
        )
