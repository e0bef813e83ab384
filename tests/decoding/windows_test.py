import pytest

from keras_transformer.decoding import windows
from keras_transformer.decoding.windows import numbered_texts


class NumberedTextsTest:
    def test_the_first_has_the_number_after_the_start(self):
        texts = iter(["a", "b"])
        assert list(numbered_texts(texts, 7)) == [(8, "a"), (9, "b")]

    @pytest.mark.parametrize(
        "texts, message",
        [
            ("a b", "one str, 'a b'. Put it into a list"),
            (["a", None], "text 2 is None. Pass an empty str"),
            ([b"a"], "text 1 is b'a'"),
            (["a", "\udcff"], r"text 2, '\\udcff', .* errors='replace'"),
        ],
    )
    def test_what_is_no_text_is_an_error_with_its_number(self, texts, message):
        with pytest.raises(ValueError, match=message):
            list(numbered_texts(texts))


class WindowsTest:
    def test_each_text_has_its_prefix(self, monkeypatch):
        monkeypatch.setattr(windows, "WINDOW", 2)
        texts, prefixes = ["a", "b", "c"], ["x", "", "z"]
        assert list(windows.windows(texts, prefixes, start=4)) == [
            ([(5, "a"), (6, "b")], ["x", ""]),
            ([(7, "c")], ["z"]),
        ]

    @pytest.mark.parametrize(
        "prefixes, message",
        [(["x"], "none for text 2"), (["x", "y", "z"], "more of them")],
    )
    def test_another_number_of_prefixes_is_an_error(self, prefixes, message):
        with pytest.raises(ValueError, match=message):
            list(windows.windows(["a", "b"], prefixes))
