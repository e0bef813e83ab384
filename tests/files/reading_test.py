import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files import reading
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import read_record

RUN = {"problem": str, "seed": int, "score?": (float, None), "steps?": [int]}

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs"]))
INTEGER = st.integers(-(2**63), 2**63 - 1)
ANY_RUN = st.fixed_dictionaries(
    {"problem": TEXT, "seed": INTEGER},
    optional={
        "score": st.none() | st.floats(allow_nan=False, allow_infinity=False),
        "steps": st.lists(INTEGER),
        "other": TEXT,
    },
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
NAMES = st.sampled_from(["problem", "seed", "score", "steps"]) | st.text()
ANY_JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner),
    max_leaves=8,
)


def fault(tmp_path, content, shape):
    """Returns the message about a file with this content."""
    path = tmp_path / "run.json"
    if isinstance(content, str):
        content = content.encode()
    path.write_bytes(content)
    with pytest.raises(ValueError) as error:
        read_record(str(path), shape)
    return str(error.value)


class ReadRecordTest:
    @pytest.mark.parametrize(
        "value, shape",
        [
            ({"problem": "a", "seed": 0}, RUN),
            ({"problem": "a", "seed": 0, "score": None, "steps": [1, 2]}, RUN),
            ({"problem": "a", "seed": 0, "other": [[{}]]}, RUN),
            ({"a": 1, "b": True}, {str: (int, bool)}),
            ([1, 2.5], [float]),
            ("ü😀", str),
            ([1, "a"], [int, str]),
            ({"precision": "float32"}, {"precision": {"float32", "bfloat16"}}),
            ({"step": 0}, {"step": WHOLE, "more?": None}),
            ({"train": 1, "dev": "a"}, {"train": int, str: str}),
            (None, None),
        ],
    )
    def test_content_of_the_shape_is_returned(self, tmp_path, value, shape):
        path = tmp_path / "run.json"
        path.write_text(json.dumps(value))
        assert read_record(str(path), shape) == value

    @given(ANY_RUN)
    def test_any_content_of_the_shape_has_no_fault(self, run):
        assert reading.find_fault(json.loads(json.dumps(run)), RUN) is None

    @given(ANY_JSON)
    def test_any_other_content_has_one_short_line(self, value):
        message = reading.find_fault(json.loads(json.dumps(value)), RUN)
        assert message.isprintable() and len(message) < 200

    @pytest.mark.parametrize(
        "content, words",
        [
            ("", "which is empty"),
            (" \n", "which is empty"),
            ("{", "not JSON from line 1 on"),
            ('{\n"a": }', "not JSON from line 2 on"),
            (b"\xff\xfe\x00", "not UTF-8"),
            (b"\x00" * 10, "not JSON"),
            ("[" * 100_000, "nested too deeply"),
            ("9" * 10_000, "too many digits"),
        ],
    )
    def test_what_is_not_json_is_named(self, tmp_path, content, words):
        assert words in fault(tmp_path, content, RUN)

    @pytest.mark.parametrize(
        "value, words",
        [
            ([], "where the content must be an object but is a list"),
            ({"seed": 0}, "which lacks `problem`"),
            ({"problem": 3, "seed": 0}, "`problem` must be text but is 3"),
            ({"problem": "a", "seed": True}, "`seed` must be an integer"),
            ({"problem": "a", "seed": 1.0}, "`seed` must be an integer"),
            ({"problem": "a", "seed": 2**63}, "`seed` must be an integer"),
            (
                {"problem": "a", "seed": 0, "score": "x"},
                '`score` must be a finite number but is "x"',
            ),
            (
                {"problem": "a", "seed": 0, "score": float("nan")},
                "`score` must be a finite number but is NaN",
            ),
            (
                {"problem": "a", "seed": 0, "steps": [1, None]},
                "`steps[1]` must be an integer but is null",
            ),
            ({"problem": "\ud800", "seed": 0}, "`problem` must be text"),
        ],
    )
    def test_first_fault_is_named_by_its_place(self, tmp_path, value, words):
        assert words in fault(tmp_path, json.dumps(value), RUN)

    @pytest.mark.parametrize(
        "value, shape, words",
        [
            ([1], [int, str], "must be a list of 2"),
            ("int8", {"float32", "int8_float32"}, "one of float32, int8_"),
            (-1, WHOLE, "an integer of at least 0 but is -1"),
            (2**63, WHOLE, "an integer of at least 0"),
            (True, range(3), "an integer of at least 0 and at most 2"),
            ({"dev": 1}, {"train": int, str: int}, "lacks `train`"),
            ({"train": 1, "dev": "a"}, {"train": int, str: int}, "`dev`"),
            ({"\ud800": 1}, {str: int}, "must be text"),
            ("a\0b", str, "must be text"),
        ],
    )
    def test_choices_ranges_and_other_names_are_checked(
        self, tmp_path, value, shape, words
    ):
        assert words in fault(tmp_path, json.dumps(value), shape)

    def test_overflowing_number_is_not_finite(self, tmp_path):
        assert "finite number" in fault(tmp_path, "1e999", float)

    def test_message_is_one_short_line_in_ascii_or_utf8(self, tmp_path):
        message = fault(tmp_path, json.dumps(["\ud800\n" * 1000]), [int])
        assert message.isprintable()
        assert len(message.replace(str(tmp_path), "")) < 250

    def test_large_file_is_refused_unread(self, tmp_path):
        path = tmp_path / "run.json"
        with open(path, "wb") as file:
            file.truncate(reading.MAX_RECORD_BYTES + 1)  # a sparse file
        with pytest.raises(ValueError, match="more than 8,388,608 bytes"):
            read_record(str(path), RUN)

    def test_what_is_not_a_file_is_refused_unopened(self, tmp_path):
        (tmp_path / "directory").mkdir()
        os.mkfifo(tmp_path / "pipe")
        os.symlink("loop", tmp_path / "loop")
        words = {
            "directory": "a directory, not a file",
            "pipe": "which is not a file",
            "loop": "which is not a file",
            "missing": "which does not exist",
        }
        for name in words:
            with pytest.raises(ValueError, match=words[name]):
                read_record(str(tmp_path / name), RUN)
