"""Hostile documents: nothing is dropped, invented or read as prose."""

import pathlib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.documents.document import Document

pytest.importorskip("sentencex")
pytest.importorskip("markdown_it")

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
LINE_ENDS = ["\n", "\r\n", "\r"]
# Parts of documents that may meet in any order. In each, only the words "dog",
# "cat" and "Bird" are prose.
PROSE = st.sampled_from(["dog", "a cat", "Bird.", "dog, cat!", "(dog)"])
MARKDOWN_PARTS = [
    "`qx`",
    "``q`x``",
    "{q.x}",
    "{q => {x}}",
    "{/* qx */}",
    "[^qx]",
    "![](q.x){width=50%}",
    "<https://q.x>",
    "https://q.x/y_z",
    "www.q.x/y_z",
    "$q_x$",
    "C<sub>2</sub>H<sub>5</sub>OQX",
    "H~2~OQX",
    "<!-- qx -->",
    "<qx-y z='q'>",
    ":qx:",
    "{{ qx }}",
    "[[Qx]]",
]
# No link is in a link, and no emphasis in another one of the same sign.
LINKS = st.sampled_from(
    [
        "{}",
        "[{}](q.x)",
        '[{}](q.x){{target="qx"}}',
        "[{}]{{.qx}}",
        "[{}][qx]",
        "<b>{}</b>",
        r"\[{}\]",
    ]
)
EMPHASIS = st.sampled_from(["{}", "*{}*", "**{}**", "=={}==", "*{}*{{qx=y}}"])
FRONT_MATTER = ["", "---\nqx: q\n---\n\n", "+++\nqx = 'q'\n+++\n\n"]
BLOCKS = [
    "$$\nqx\n$$",
    "import qx from 'q'",
    "export const q = {\n  x: 1,\n\n}",
    "[TOC]",
    "```\nqx {\n```",
    "[qx]: q.x 'qx'",
    "[^qx]: https://q.x",
    "<script>\nqx\n</script>",
    "{/* qx\nqx */}",
    "{: .qx}",
    "***",
]


@st.composite
def inline(draw):
    words = []
    for _ in range(draw(st.integers(1, 5))):
        word = draw(LINKS).format(draw(EMPHASIS).format(draw(PROSE)))
        words += [word, draw(st.sampled_from(["", *MARKDOWN_PARTS]))]
    return " ".join(filter(None, words))


MARKS = st.sampled_from(["", "", "# ", "- ", "> ", "1. ", "[^q]: ", "!!! q\n"])
PARAGRAPH = st.builds(str.__add__, MARKS, inline())
MARKDOWN = st.lists(st.one_of(PARAGRAPH, st.sampled_from(BLOCKS)), max_size=6)
SIGNS = "\n\r \t`*_~=[](){}<>#|$\\&;:!'\"-+.@%^/1aÄ字"


class IdentityTest:
    @given(
        st.text(st.sampled_from(SIGNS)), st.sampled_from(["markdown", "html"])
    )
    def test_signs_come_back_as_they_are(self, text, format):
        document = Document(text, format)
        assert document.replace_sentences(document.sentences) == text

    @given(st.sampled_from(FRONT_MATTER), MARKDOWN, st.sampled_from(LINE_ENDS))
    def test_no_markup_is_read_as_a_sentence(self, front, blocks, line_end):
        text = front + "\n\n".join([*blocks, "[qx]: q.x"])
        text = text.replace("\n", line_end)
        document = Document(text, "markdown")
        assert document.replace_sentences(document.sentences) == text
        for sentence in document.sentences:
            assert not re.search(r"[qQ]|[{}<>*`~=$]|\]\(", sentence), (
                sentence,
                text,
            )

    @pytest.mark.parametrize(
        "line_end",
        [
            pytest.param(end, marks=() if end == "\n" else pytest.mark.slow)
            for end in LINE_ENDS
        ],
        ids=repr,
    )
    def test_the_pages_of_the_project_come_back(self, line_end):
        for page in PAGES:
            text = page.read_text("utf-8").replace("\n", line_end)
            document = Document(text, "markdown")
            assert document.sentences
            assert document.replace_sentences(document.sentences) == text
