import time

import pytest
from growth import assert_linear

from keras_transformer.documents.document import Document
from keras_transformer.documents.stand_ins import hide

# Each repeats until the document has the size that is wanted. The names of the
# units say what is hostile about them.
HTML = {
    "comments that never end": "<!-- a ",
    "instructions that never end": "<? a ",
    "sections that never end": "<![if a ",
    "unknown sections that never end": "<![a ",
    "start tags that never end": "<a ",
    "end tags that never end": "</a ",
    "values that never end": '<a b="',
    "elements that never end": "<b>x ",
    "end tags without a start": "<b></i>x ",
    "elements within one that is kept": "<code><a></x>",
    "lists within one that is kept": "<li translate=no><div>",
    "code within words": "a<code>b</code>c",
    "formulas": "aa<sub>b</sub>",
    "paragraphs": "<p>\n",
    "tags around nothing": "<i></i> ",
    "keys": "<kbd>a</kbd>+",
    "formulas that never end": "\\(a ",
}
MARKDOWN = {
    "notes that never end": "```{note}\n",
    "notes": "```{tip}\na dog\n```\n",
    "notes of two kinds": "~~~{tip}\n```{note}\n",
    "keys that never end": "++a+b ",
    "roles that never end": "{a",
    "braces and code that never end": "{`a ",
    "exports that never end": "export {\n\n",
    "highlights that never end": "==a ",
    "brackets of formulas": "(a",
    "attributes": "[a]{.b} *c*{d=e} ",
}
FRONT_MATTER = {
    "fields of front matter": "title: a\n  b\n",
    "blocks of front matter": "title: >\n  b\n\n",
    "quotes that never end": "title: 'a\n",
}
SUBTITLES = {
    "subtitles": "1\n00:00:01,000 --> 00:00:02,000\na dog\n\n",
    "tags of subtitles": "1\n00:01,000 --> 00:02,000\n<i>- a {\\b}\n",
}
TEXT = {
    "spaces": " ",
    "dots": "a.",
    "sentences": "A dog. ",
    "lines of one sentence": "a dog runs\n",
    "addresses that never end": "http://(",
}
SIZE = 20_000


def translate(unit, size, format):
    """Translates a document of about this size."""
    text = unit * (size // len(unit))
    if unit in FRONT_MATTER.values():
        text = f"---\n{text}---\n"
    document = Document(text, format)
    document.replace_sentences([f"Neu {s}" for s in document.sentences])


class LinearTimeTest:
    @pytest.mark.parametrize(
        "format, unit",
        [
            pytest.param(format, unit, id=name)
            for format, units in (
                ("html", HTML),
                ("markdown", MARKDOWN | FRONT_MATTER),
                ("text", TEXT),
                ("srt", SUBTITLES),
            )
            for name, unit in units.items()
        ],
    )
    def test_reading_and_writing_are_linear(self, format, unit):
        assert_linear(lambda size: translate(unit, size, format), SIZE)

    def test_templates_that_never_end_cost_no_more_than_words(self):
        start = time.process_time()
        hide("{{" * 100_000, "text")
        assert time.process_time() - start < 4  # each used to be read again

    def test_tags_nested_by_the_thousand_stay(self):
        text = "<p>" + "<b>a " * 3000 + "</b>" * 3000 + "</p>"
        (sentence,) = Document(text, "html").sentences
        changed = Document(text, "html").replace_sentences([f"Neu {sentence}"])
        assert changed.count("<b>") == changed.count("</b>") == 3000


class FaultyTagsTest:
    @pytest.mark.parametrize(
        "section",
        [
            *("<![if !IE]>", "<![endif]>", "<![CDATA[x > y]]>"),
            *("<![a](b)>", "<![ifx]>", "<![ x>", "<![\n[>", "<![>"),
        ],
    )
    @pytest.mark.parametrize("format", ["html", "markdown"])
    def test_a_section_of_any_kind_stays(self, format, section):
        text = f"<div>Good\n{section} day.<p>A dog.</p></div>"
        document = Document(text, format)
        assert document.replace_sentences(document.sentences) == text
        assert "A dog." in document.sentences

    @pytest.mark.parametrize("text", ["</>!", "</> <b>A dog.</b>"])
    def test_an_end_tag_without_a_name_stays(self, text):
        document = Document(text, "html")
        assert document.replace_sentences(document.sentences) == text

    def test_a_section_that_never_ends_stays(self):
        text = "<p>A dog.</p><p>Good <![a day."
        document = Document(text, "html")
        assert document.replace_sentences(document.sentences) == text
        assert "A dog." in document.sentences


class StandInsTest:
    @pytest.mark.parametrize("format", ["text", "markdown", "html", "vtt"])
    def test_what_looks_like_a_stand_in_of_a_value_stays(self, format):
        text = "WEBVTT\n\n00:01.000 --> 00:02.000\nGood \ufdd05\ufdd1 day."
        document = Document(text, format)
        assert document.replace_sentences(document.sentences) == text

    def test_a_translation_may_have_one_as_well(self):
        document = Document('<p title="Hi there">Good day.</p>', "html")
        text = document.replace_sentences(["Gut \ufdd07\ufdd1", "Hallo"])
        assert text == '<p title="Hallo">Gut \ufdd07\ufdd1</p>'
