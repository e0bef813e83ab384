import pytest

from keras_transformer.runs.checkpoint_records import Evaluation
from keras_transformer.runs.checkpoint_records import read_evaluations
from keras_transformer.runs.checkpoint_records import read_timed_steps
from keras_transformer.runs.checkpoint_records import write_evaluations
from keras_transformer.runs.checkpoint_records import write_timed_steps


def evaluations(*steps):
    return [Evaluation(step) for step in steps]


class EvaluationsFileTest:
    def test_read_returns_what_was_written(self, tmp_path):
        evaluated = [Evaluation(1, 60.0, 20.5), Evaluation(2, 120.0, None)]
        write_evaluations(str(tmp_path / "a"), evaluated)
        assert read_evaluations(str(tmp_path / "a"), [1, 2]) == evaluated

    def test_empty_file_differs_from_no_file(self, tmp_path):
        path = str(tmp_path / "a")
        assert read_evaluations(path, [1, 2]) == evaluations(1, 2)
        write_evaluations(path, [])
        assert read_evaluations(path, [1, 2]) == []

    def test_evaluation_of_an_incomplete_checkpoint_is_ignored(self, tmp_path):
        path = str(tmp_path / "a")
        write_evaluations(path, evaluations(1, 2, 3))
        assert read_evaluations(path, [2]) == evaluations(1, 2)

    @pytest.mark.parametrize("text", ["{", "3", "[3]", '[{"stop": 1}]'])
    def test_error_of_another_content_names_the_file(self, tmp_path, text):
        path = tmp_path / "a.json"
        path.write_text(text)
        with pytest.raises(ValueError, match="a.json.*Delete it"):
            read_evaluations(str(path), [1])


class TimedFileTest:
    def test_read_returns_what_was_written(self, tmp_path):
        path = str(tmp_path / "a")
        assert read_timed_steps(path, [1, 2]) == []
        write_timed_steps(path, [1, 2])
        assert read_timed_steps(path, [1, 2]) == [1, 2]

    def test_record_of_an_incomplete_checkpoint_is_ignored(self, tmp_path):
        path = str(tmp_path / "a")
        write_timed_steps(path, [1, 2, 3])
        assert read_timed_steps(path, [2]) == [1, 2]
        assert read_timed_steps(path, []) == []

    @pytest.mark.parametrize("text", ["{", "3", '["3"]', "[2, 1]", "[1, 1]"])
    def test_error_of_another_content_names_the_file(self, tmp_path, text):
        path = tmp_path / "a.json"
        path.write_text(text)
        with pytest.raises(ValueError, match="a.json.*Delete it"):
            read_timed_steps(str(path), [1])
