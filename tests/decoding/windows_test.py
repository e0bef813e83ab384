import pytest

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
