"""Subtitles: sentences go over lines, and all else stays."""

import pytest

from keras_transformer.documents.document import Document
from keras_transformer.errors import UserError

pytest.importorskip("sentencex")

SRT = """1
00:00:01,000 --> 00:00:03,500 X1:20 X2:30
The old uncle
picks <i>up</i> his sister.

2
0:00:04,000 --> 0:00:06,500
{\\an8}- Hello.
- A & B.
"""
VTT = """WEBVTT - A small test
Language: en

NOTE A note
of two lines

STYLE
::cue(b) { color: red }

A name
00:01.000 --> 00:03.500 align:start position:10%
<v Ann Bee>The <c.loud>dog</c> &amp; I
bark.</v>

00:04.000 --> 01:00:06.500
A &lt;cat&gt; runs.

REGION
id:a dog
"""


def translate(text, format, function):
    document = Document(text, format)
    return document.replace_sentences(list(map(function, document.sentences)))


class SubtitlesTest:
    def test_a_sentence_goes_over_the_lines_of_a_subtitle(self):
        assert Document(SRT, "srt").sentences == [
            "The old uncle picks up his sister.",
            "Hello.",
            "A & B.",
        ]
        result = translate(SRT, "srt", str.upper)
        assert result == SRT.replace("The old uncle", "THE OLD UNCLE").replace(
            "picks <i>up</i> his sister", "PICKS <i>UP</i> HIS SISTER"
        ).replace("Hello", "HELLO")

    def test_all_of_webvtt_but_its_texts_stays(self):
        assert Document(VTT, "vtt").sentences == [
            "The dog & I bark.",
            "A <cat> runs.",
        ]
        assert translate(VTT, "vtt", str.upper) == (
            VTT.replace("The <c.loud>dog", "THE <c.loud>DOG")
            .replace("bark", "BARK")
            .replace("A &lt;cat&gt; runs", "A &lt;CAT&gt; RUNS")
        )

    def test_a_short_translation_leaves_no_empty_line(self):
        text = "1\n00:00:01,000 --> 00:00:02,000\nNo,\nmy\ndear\nsir.\n"
        result = translate(text, "srt", lambda text: "Nein.")
        assert result == "1\n00:00:01,000 --> 00:00:02,000\nNein.\n"

    @pytest.mark.parametrize(
        "translation, result",
        [
            ("Don't!", "Don't!"),
            ("L’été.", "L’été."),
            ("U.S.", "U.S."),
            ("别，走！", "别，\n走！"),
        ],
    )
    def test_no_line_ends_within_a_word(self, translation, result):
        times = "1\n00:00:01,000 --> 00:00:02,000\n"
        text = f"{times}No lo\nhagas.\n"
        result = f"{times}{result}\n"
        assert translate(text, "srt", lambda text: translation) == result

    def test_a_file_without_times_is_refused(self):
        for format in ("srt", "vtt"):
            with pytest.raises(UserError, match="00:00:01,000 --> .* 'A dog.'"):
                Document("A dog.", format)
