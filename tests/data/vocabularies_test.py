"""Problems whose source and target have a vocabulary each."""

import pytest
from number_problem import Numbers
from number_problem import files_of
from number_problem import generated

from keras_transformer.data.vocabulary.vocabularies import check_problem
from keras_transformer.runs.data_record import describe_data


class Separate(Numbers):
    shared_vocabulary = False
    vocab_size = 300
    source_vocab_size = 310


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    problem = Separate(data_dir=str(tmp_path_factory.mktemp("data")))
    problem.generate(None)
    return problem


class SeparateVocabulariesTest:
    def test_each_side_has_a_vocabulary_of_its_size(self, problem):
        assert problem.vocabulary.vocab_size == 300
        assert problem.source_vocabulary.vocab_size == 310
        manifest = problem.manifest
        assert manifest["vocab_size"] == 300
        assert manifest["source_vocab_size"] == 310
        files = files_of(problem)
        assert files["vocab.model"] == problem.vocabulary.model_bytes
        assert (
            files["vocab.source.model"] == problem.source_vocabulary.model_bytes
        )

    def test_ids_are_those_of_their_side(self, problem):
        inputs, targets = problem.token_pairs("dev")
        sources, references = problem.text_split("dev")
        assert problem.source_vocabulary.decode(list(inputs)) == sources
        assert problem.vocabulary.decode(list(targets)) == references

    def test_opposite_direction_swaps_them(self, problem):
        reverse = Separate(problem.data_dir, reverse=True)
        assert reverse.vocabularies.sizes == (310, 300)
        inputs, targets = reverse.token_pairs("dev")
        sources, references = reverse.text_split("dev")
        assert reverse.source_vocabulary.decode(list(inputs)) == sources
        assert reverse.vocabulary.decode(list(targets)) == references
        described = describe_data(reverse)
        assert described["vocab_size"] == 310
        assert described["source_vocab_size"] == 300

    def test_both_directions_are_refused(self, problem, tmp_path):
        both = Separate(str(tmp_path))
        both.use_both_directions()
        with pytest.raises(ValueError, match="must have one vocabulary"):
            both.generate(None)
        both = Numbers(problem.data_dir)  # the data alone tell
        both.use_both_directions()
        with pytest.raises(ValueError, match="must have one vocabulary"):
            both.token_pairs("dev")

    def test_size_of_the_source_defaults_to_the_other(self, tmp_path):
        problem = Separate(data_dir=str(tmp_path))
        problem.source_vocab_size = None
        problem.generate(None)
        assert problem.vocabularies.sizes == (300, 300)
        assert not problem.vocabularies.is_shared

    def test_vocabulary_file_or_a_size_alone_are_refused(self):
        problem = Separate()
        problem.vocabulary_path = "spm.model"
        with pytest.raises(ValueError, match="must serve both sides"):
            check_problem(problem)
        problem = Numbers()
        problem.source_vocab_size = 300
        with pytest.raises(
            ValueError, match="separate vocabulary of the source"
        ):
            check_problem(problem)


class SharedVocabularyTest:
    def test_both_sides_have_the_same_one_and_one_file(self, tmp_path):
        problem = generated(tmp_path)
        assert problem.source_vocabulary is problem.vocabulary
        assert len(problem.vocabularies.model_bytes) == 1
        assert "vocab.source.model" not in files_of(problem)
        assert not [name for name in problem.manifest if "source_" in name]
