"""Readers of numbers, and how errors quote values."""

import numpy as np
import pytest

from keras_transformer import errors

NEVER_NUMBERS = (
    "",
    " 1",
    "1 ",
    "1_28",
    "\u0663",
    "\uff11",
    "0x10",
    "one",
    "--1",
)


class ParseIntegerTest:
    @pytest.mark.parametrize(
        "text, value", [("0", 0), ("007", 7), ("-3", -3), ("+12", 12)]
    )
    def test_ascii_digits_are_an_integer(self, text, value):
        assert errors.parse_integer(text) == value

    @pytest.mark.parametrize(
        "text", [*NEVER_NUMBERS, "1.0", "1e3", "1\n", "9" * 5000]
    )
    def test_all_else_is_an_error(self, text):
        with pytest.raises(ValueError, match="digits 0 to 9. Received: ") as e:
            errors.parse_integer(text)
        assert len(str(e.value)) < 200


class ParseNumberTest:
    @pytest.mark.parametrize("text", ["0", "-1.5", ".5", "2.", "1e-3", "+1E6"])
    def test_decimal_numbers_are_read_as_python_does(self, text):
        assert errors.parse_number(text) == float(text)

    @pytest.mark.parametrize(
        "text",
        [*NEVER_NUMBERS, "nan", "inf", "-Infinity", "1e999", ".", "e5", "1e"]
        + ["9" * 5000, "1e" + "9" * 5000, "1.5\n"],
    )
    def test_all_else_is_an_error(self, text):
        with pytest.raises(ValueError, match="must be finite and") as error:
            errors.parse_number(text)
        assert len(str(error.value)) < 200


class CheckSeedTest:
    @pytest.mark.parametrize("seed", [0, 7, 2**40, np.int64(3)])
    def test_whole_numbers_are_seeds(self, seed):
        errors.check_seed(seed)

    @pytest.mark.parametrize("seed", [-1, 1.0, "1", None])
    def test_all_else_is_an_error(self, seed):
        with pytest.raises(ValueError, match="`seed` must be an integer"):
            errors.check_seed(seed)


class ShownTest:
    def test_a_short_value_is_code(self):
        assert errors.quote("a\n") == "'a\\n'"

    def test_a_long_value_is_cut(self):
        assert len(errors.quote("a" * 10**6)) < 70
        assert len(errors.quote(10**5000)) < 70
