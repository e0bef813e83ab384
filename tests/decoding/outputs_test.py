"""The files of outputs in the directory of a run."""

import pytest

from keras_transformer.decoding import outputs
from keras_transformer.decoding.test_sets import Texts

TREE = "(TOP (S (NP (XX dogs)) (VP (XX bark))))"


class WriteTest:
    def test_a_full_disk_leaves_the_earlier_files_of_evalb(
        self, tmp_path, limit_files
    ):
        texts = Texts("dev", "dev", None, [TREE] * 100, {})
        outputs.write(texts, [TREE] * 100, str(tmp_path), evalb_files=True)
        paths = [tmp_path / "decodes" / f"dev.{e}" for e in ("gold", "test")]
        before = [path.read_text() for path in paths]
        assert before == [f"{TREE}\n" * 100] * 2
        limit_files(1000)
        with pytest.raises(OSError, match="Cannot write .*dev.gold: File too"):
            outputs._write_evalb_files(texts, [TREE] * 100, str(tmp_path))
        assert [path.read_text() for path in paths] == before
