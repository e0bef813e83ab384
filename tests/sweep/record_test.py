import pytest

from keras_transformer.sweep.record import check_settings


class RecordTest:
    def test_a_directory_keeps_its_settings(self, tmp_path):
        settings = {"table": "3", "grid": None, "train_steps": 2000}
        check_settings(tmp_path, settings)
        check_settings(tmp_path, settings)
        with pytest.raises(ValueError, match="no --table.*--table=3"):
            check_settings(tmp_path, {**settings, "table": None})
        with pytest.raises(ValueError, match="train_steps=4000"):
            check_settings(tmp_path, {**settings, "train_steps": 4000})
