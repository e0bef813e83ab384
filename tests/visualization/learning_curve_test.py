from keras_transformer.visualization.learning_curve import plot_learning_curve

ROWS = [
    {"step": "100", "train_loss": "5.0", "dev_loss": ""},
    {"step": "200", "train_loss": "4.0", "dev_loss": "4.5", "dev_bleu": "10"},
]


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
