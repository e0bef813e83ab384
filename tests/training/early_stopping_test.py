import pytest

from keras_transformer.training.evaluator import get_score
from keras_transformer.training.evaluator import has_stalled


class IsOverTest:
    def test_training_continues_while_each_evaluation_is_better(self):
        scores = [1.0, 2.0, 3.0, 4.0]
        for number in range(len(scores) + 1):
            assert not has_stalled(scores[:number], patience=1)

    @pytest.mark.parametrize("patience", [1, 2, 3])
    def test_patience_counts_evaluations_after_the_best(self, patience):
        scores = [1.0, 5.0] + [4.0] * patience
        assert has_stalled(scores, patience)
        assert not has_stalled(scores[:-1], patience)

    def test_equal_score_is_no_improvement(self):
        assert has_stalled([0.0, 0.0, 0.0], patience=2)

    def test_score_below_the_best_is_no_improvement(self):
        assert has_stalled([3.0, 1.0, 2.0], patience=2)

    def test_new_best_within_the_patience_continues(self):
        assert not has_stalled([3.0, 1.0, 4.0, 2.0], patience=2)


class ScoreOfTest:
    RESULTS = {"dev_loss": "2.5", "dev_bleu": 31.4, "dev_ter": 48.0}

    def test_lower_losses_and_ters_and_greater_bleus_are_better(self):
        assert get_score("loss", self.RESULTS) == -2.5
        assert get_score("ter", self.RESULTS) == -48.0
        assert get_score("bleu", self.RESULTS) == 31.4

    def test_training_that_evaluates_to_nan_ends(self):
        losses = ["2.5", "nan", "nan", "nan"]
        scores = [get_score("loss", {"dev_loss": loss}) for loss in losses]
        assert [has_stalled(scores[:n], 2) for n in (2, 3, 4)] == [0, 1, 1]

    def test_error_of_a_missing_figure_lists_the_figures(self):
        with pytest.raises(ValueError, match="dev_loss, dev_f1. Use loss"):
            get_score("bleu", {"dev_loss": 1.0, "dev_f1": 2.0})
