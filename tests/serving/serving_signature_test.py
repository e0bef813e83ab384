import numpy as np
import pytest

from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.signature import Signature
from keras_transformer.serving.signature import Tensor

IDS = Tensor(np.dtype("int32"), (None, None))
TEXT = Tensor(np.dtype(object), (None,))
SIGNATURE = Signature({"ids": IDS, "text": TEXT}, {})
ARRAYS = {"ids": np.zeros((2, 3), np.int32), "text": np.array([b"", b""], "O")}


class SignatureTest:
    def test_fitting_arrays_are_accepted(self):
        SIGNATURE.check(ARRAYS)

    @pytest.mark.parametrize(
        "changes, words",
        [
            ({"ids": np.zeros((2, 3))}, "type int32. Received: float64"),
            ({"text": np.zeros(2)}, "type string. Received: float64"),
            ({"ids": np.zeros(2, np.int32)}, r"shape \(\?, \?\).*shape \(2\)"),
            ({"more": np.zeros(2)}, "Sent extra: {more}"),
        ],
    )
    def test_unfitting_arrays_are_refused(self, changes, words):
        with pytest.raises(RequestError, match=words) as error:
            SIGNATURE.check({**ARRAYS, **changes})
        assert error.value.http_status == 400

    def test_a_missing_input_is_named(self):
        with pytest.raises(RequestError, match="required: {text}"):
            SIGNATURE.check({"ids": ARRAYS["ids"]})

    def test_an_unknown_rank_accepts_all_shapes(self):
        anything = Signature({"x": Tensor(np.dtype("int32"), None)}, {})
        anything.check({"x": np.zeros((1, 2, 3), np.int32)})
        assert anything.count_rows({"x": np.zeros((1, 2, 3), np.int32)}) is None

    def test_rows_are_counted_where_they_can_be_told_apart(self):
        assert SIGNATURE.count_rows(ARRAYS) == 2
        uneven = {**ARRAYS, "text": np.array([b""], "O")}
        assert SIGNATURE.count_rows(uneven) is None
        for shape in ((), (2,), (4, None)):
            fixed = Signature({"x": Tensor(np.dtype("int32"), shape)}, {})
            size = tuple(n or 1 for n in shape)
            assert fixed.count_rows({"x": np.zeros(size, np.int32)}) is None

    def test_sentences_that_are_certainly_too_long_are_refused(self):
        longest = b"x" * 64 * 10  # 10 pieces of 16 characters of 4 bytes
        texts = Signature({"text": TEXT}, {})
        texts.check({"text": np.array([b"", longest], "O")}, max_tokens=10)
        texts.check({"text": np.array([], "O")}, max_tokens=10)
        with pytest.raises(RequestError, match="at most 640 bytes.*Split"):
            texts.check({"text": np.array([longest + b"x"], "O")}, None, 10)

    def test_too_many_rows_and_ids_are_refused(self):
        SIGNATURE.check(ARRAYS, 2, 3)
        with pytest.raises(RequestError, match="at most 2 ids.*Split"):
            SIGNATURE.check(ARRAYS, 2, 2)
        with pytest.raises(RequestError, match="at most 1 rows"):
            SIGNATURE.check(ARRAYS, 1, 3)
