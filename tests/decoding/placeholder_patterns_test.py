"""The patterns of placeholders: files of them, and hostile texts."""

import pytest
from growth import assert_linear

from keras_transformer.decoding.steps.placeholders import Placeholders


class PatternsTest:
    def test_a_file_has_a_pattern_on_each_line(self, tmp_path):
        path = tmp_path / "patterns.txt"
        path.write_text("\\d+\n<keep>\n", encoding="utf-8")
        masked = Placeholders.read(str(path)).mask("2 <keep> <b>{a}</b>")
        assert masked.text == "Tom Maria {a}"
        assert len(masked.tags) == 2

    @pytest.mark.parametrize(
        "line, message",
        [
            ("(", r"line 2, '\('.*Correct it"),
            (r"\d{1,9999999999}", "line 2, .*too large.*Correct it"),
            ("(" * 5000 + ")" * 5000, "line 2, .*recursion.*Correct it"),
            ("a*", "must not match the empty text"),
            ("", "must not match the empty text"),
        ],
    )
    def test_a_malformed_line_is_named(self, tmp_path, line, message):
        path = tmp_path / "patterns.txt"
        path.write_text(f"a\n{line}\n", encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            Placeholders.read(str(path))

    def test_a_single_text_is_no_list_of_patterns(self):
        with pytest.raises(ValueError, match="one str, '{a}'. Put it into"):
            Placeholders("{a}")

    @pytest.mark.parametrize("pattern", ["(?=d)", r"\b", "x*(?=d)"])
    def test_an_empty_match_is_no_placeholder(self, pattern):
        masked = Placeholders([pattern]).mask("a dog")
        assert masked == ("a dog", {}, [])


class HostileTextTest:
    @pytest.mark.parametrize(
        "unit",
        ["<!--", "a.", "a<b>", '<a b="', "<a b", "{", "%(", "http://{"]
        + ["%0", "0", "{{", "{{ a", "${", "{ ", "{a,plural,", "'{", "<1", "<%"],
    )
    def test_texts_are_masked_in_linear_time(self, unit):
        def mask(size):
            Placeholders().mask("%(a)%" + unit * (size // len(unit)))

        assert_linear(mask, 30_000)
