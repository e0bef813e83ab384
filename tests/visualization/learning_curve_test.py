import pytest

from keras_transformer.visualization.curves import plot_learning_curve

ROWS = [
    {"step": "100", "train_loss": "5.0", "dev_loss": ""},
    {"step": "200", "train_loss": "4.0", "dev_loss": "4.5", "dev_bleu": "10"},
]


def words_of(rows, tmp_path, *options):
    """Draws a curve as SVG, where each text is also a comment."""
    path = tmp_path / "curve.svg"
    plot_learning_curve(rows, str(path), *options)
    comments = path.read_text("utf-8").split("<!-- ")[1:]
    return [comment.split(" -->")[0] for comment in comments]


class PlotLearningCurveTest:
    def test_picture_grows_wider_with_each_score(self, tmp_path):
        from matplotlib.image import imread

        widths = []
        for rows in (ROWS[:1], ROWS):
            path = str(tmp_path / f"{len(rows)}.png")
            plot_learning_curve(rows, path)
            widths.append(imread(path).shape[1])
        assert widths[1] == 2 * widths[0]

    def test_no_rows_give_an_empty_picture(self, tmp_path):
        path = tmp_path / "empty.png"
        plot_learning_curve([], str(path))
        assert path.stat().st_size > 0

    def test_names_of_scores_are_spelled_out(self, tmp_path):
        row = {**ROWS[1], "dev_chrf": "20", "dev_exact_match": "5"}
        words = words_of([row], tmp_path)
        assert {"dev BLEU", "dev chrF", "dev exact match"} < set(words)
        assert words.count("updates") == 4

    def test_a_name_is_no_formula(self, tmp_path):
        words = words_of([{**ROWS[1], "dev_$\\frac{$": "20"}], tmp_path)
        assert "dev $\\frac{$" in words

    @pytest.mark.parametrize(
        "label_smoothing, label",
        [(0.0, "train"), (0.1, "train, with label smoothing")],
    )
    def test_label_smoothing_is_mentioned_where_it_is_used(
        self, tmp_path, label_smoothing, label
    ):
        words = words_of(ROWS, tmp_path, label_smoothing)
        assert label in words
        assert len([word for word in words if "train" in word]) == 1

    def test_a_training_that_diverged_has_a_picture(self, tmp_path):
        rows = [{**ROWS[1], "train_loss": x} for x in ("nan", "inf", "1e300")]
        assert "updates" in words_of(rows, tmp_path)

    def test_a_single_evaluation_is_visible(self, tmp_path):
        from matplotlib.image import imread

        pictures = []
        for score in ("", "10"):
            path = str(tmp_path / "one.png")
            plot_learning_curve([{**ROWS[1], "dev_bleu": score}], path)
            pictures.append(imread(path))
        # A dot in the colour of the scores.
        is_green = [
            picture[..., 1] > picture[..., [0, 2]].max(-1) + 0.3
            for picture in pictures
        ]
        assert not is_green[0].any() and is_green[1].any()

    def test_an_error_leaves_the_earlier_picture(self, tmp_path):
        path = tmp_path / "curve.png"
        path.write_text("earlier")
        with pytest.raises(ValueError):
            plot_learning_curve([{"step": "x", "train_loss": "1"}], str(path))
        assert path.read_text() == "earlier"
