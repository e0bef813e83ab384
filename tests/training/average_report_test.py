"""What is said about an average that is worse than a checkpoint."""

from keras_transformer.training.evaluator import compare


class CompareTest:
    NEWEST = {"loss": 1.0, "f1": 79.8}

    def test_a_worse_average_names_both_figures_and_what_to_do(self):
        average = {"loss": 0.9, "f1": 76.0}
        text = compare({"newest": self.NEWEST}, average, "f1")
        assert "worse than the newest checkpoint: f1 76 instead of 79.8" in text
        assert "--num_last_checkpoints" in text
        assert "checkpoint_step" not in text

    def test_the_better_of_two_is_named(self):
        table = {"newest": self.NEWEST, "best": {"loss": 1.1, "f1": 80.0}}
        text = compare(table, {"loss": 0.9, "f1": 76.0}, "f1")
        assert "the best checkpoint: f1 76 instead of 80" in text
        assert text.endswith("--output_dir, with --checkpoint_step=best.")

    def test_of_ter_the_lower_is_better(self):
        table = {"newest": {"ter": 50.0, "loss": 1.0}}
        assert compare(table, {"ter": 49.0, "loss": 2.0}, "ter") is None
        text = compare(table, {"ter": 51.0, "loss": 0.5}, "ter")
        assert "ter 51 instead of 50" in text

    def test_an_equal_or_better_average_gets_no_line(self):
        assert compare({"newest": self.NEWEST}, self.NEWEST, "f1") is None

    def test_without_the_measure_the_smaller_loss_is_better(self):
        table = {"newest": {"loss": 1.0}}
        assert compare(table, {"loss": 0.9}, "bleu") is None
        assert "loss 1.1 instead of 1" in compare(table, {"loss": 1.1}, "bleu")

    def test_nothing_to_compare_with_gives_no_line(self):
        assert compare({}, self.NEWEST, "f1") is None
