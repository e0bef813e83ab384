"""HTML: what is translated, what stays, and where markup goes."""

import time

import pytest

from keras_transformer.data.text.normalization import normalize
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
            "<img data-alt='A dog.'><link title='A dog.'>",
            "<p translate=no><img alt='A dog.'>",
            "<script>'<img alt=\"A dog.\">'</script>",
            "<!-- <img alt='A dog.'> -->",
            "{% comment %}A dog.{% endcomment %}",
            "<meta name=viewport content='A dog.'>",
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
            "<img alt='A dog.' src=x>",
            "<input type=submit value='A dog.'>",
            "<textarea placeholder='A dog.'>x</textarea>",
            "<meta property='og:description' content='A dog.'/>",
            "<option label='A dog.'>",
            "{% if x %}A dog.{% endif %}",
            "<?php echo 'x' ?>A dog.",
            "<li translate=no>x<li>A dog.",
            "<b>A dog.</b>",
            "<p><a href='x'><i>A dog.</i></a>",
            "<pre>x</pre>A dog.",
            "<br translate=no>A dog.",
            "<button><i class=icon></i> A dog.</button>",
            "<p>A dog. <span><img src=x></span></p>",
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

    def test_formulas_of_mathjax_stay(self):
        text = "<p>The \\(x_1 < 2\\) dog.</p>"
        assert translated(text, "DER HUND.") == (
            "<p>DER \\(x_1 < 2\\) HUND.</p>"
        )
        assert sentences_of("A \\(dog<br>cat\\)") == ["A \\(dog", "cat\\)"]

    def test_keys_with_a_sign_between_them_stay_together(self):
        keys = "<kbd>Ctrl</kbd>+<kbd>Alt</kbd>-<kbd>C</kbd>"
        text = f"<p>Press {keys} now.</p>"
        assert sentences_of(text) == ["Press now."]
        assert translated(text, "JETZT DRÜCKEN.") == (
            f"<p>JETZT {keys} DRÜCKEN.</p>"
        )

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

    @pytest.mark.parametrize(
        "text, sentence, result",
        [
            (
                "We like dogs<sup><a href=f>1</a></sup> and cats.",
                "We like dogs and cats.",
                "WE LIKE DOGS<sup><a href=f>1</a></sup> AND CATS.",
            ),
            (
                "See it<a class=footnote-ref href=f>[1]</a> now.",
                "See it now.",
                "SEE IT<a class=footnote-ref href=f>[1]</a> NOW.",
            ),
            (
                "Drink H<sub>2</sub>O now.",
                "Drink now.",
                "DRINK H<sub>2</sub>O NOW.",
            ),
            *(
                (
                    f"See it.<a {mark} href=f>1</a> Go now.",
                    "See it.",
                    f"SEE IT.<a {mark} href=f>1</a> GO NOW.",
                )
                for mark in ("epub:type='x noteref'", "role=doc-noteref")
            ),
            (
                "Drink C<sub>2</sub>H<SUB>5</SUB>OH now.",
                "Drink now.",
                "DRINK C<sub>2</sub>H<SUB>5</SUB>OH NOW.",
            ),
            (
                "See www.a.org/b, now.",
                "See , now.",
                "SEE www.a.org/b, NOW.",
            ),
            (
                "<ruby>word<rp>(</rp><rt>abc</rt></ruby> now.",
                "word now.",
                "<ruby>WORD<rp>(</rp><rt>abc</rt></ruby> NOW.",
            ),
            (
                "Hello, {{ a.b }}! {% if x < y %}Bye{% endif %}",
                "Hello, !",
                "HELLO, {{ a.b }}! {% if x < y %}BYE{% endif %}",
            ),
            ("Hi <%= a > b %> you.", "Hi you.", "HI <%= a > b %> YOU."),
            ("Hi ${a.b}, it is $5.", "Hi , it is $5.", "HI ${a.b}, IT IS $5."),
            ("Hi %{a}, it is 5%.", "Hi , it is 5%.", "HI %{a}, IT IS 5%."),
        ],
    )
    def test_notes_formulas_and_templates_stay(self, text, sentence, result):
        sentences = sentences_of(text)
        assert sentences[0] == sentence
        assert translated(text, *map(str.upper, sentences)) == result

    def test_values_are_escaped_and_quoted(self):
        text = """<img alt='a "b"' title=c><i title="d &amp; e">f</i>"""
        assert sentences_of(text) == ["f", 'a "b"', "c", "d & e"]
        result = translated(text, "F", "it's", "x y", '<"&>')
        assert result == (
            """<img alt='it&#39;s' title="x y">"""
            """<i title="&lt;&quot;&amp;&gt;">F</i>"""
        )
        assert translated(text, *sentences_of(text)) == text

    def test_values_can_stay(self):
        page = Document("<img alt='A dog.'>", "html", attributes=False)
        assert page.sentences == []

    def test_a_placeholder_is_not_divided(self):
        result = translated("a <b>c</b> d {x} e", "{x} {y}")
        assert "{x}" in result and "{y}" in result

    def test_words_are_those_of_a_normalised_text(self):
        text = "<p>Two com&shy;pu\u00adters&nbsp;<b>run</b>.</p>"
        page = Document(text, "html", normalize=normalize)
        assert page.sentences == ["Two computers run."]
        result = page.replace_sentences(["Deux ordi courent."], [[(2, 2)]])
        assert result == "<p>Deux ordi <b>courent</b>.</p>"

    def test_templates_take_linear_time(self):
        start = time.perf_counter()
        for opening in ("{{", "{%", "<%", "{% raw %}"):
            assert Document(opening * 5000, "html").sentences == []
        assert time.perf_counter() - start < 20
