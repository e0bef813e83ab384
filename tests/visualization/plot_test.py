import os

import pytest

from keras_transformer.bin import plot
from keras_transformer.hparam import HParams
from keras_transformer.runs.metrics_table import MetricsTable
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.visualization.curves import read_curves
from keras_transformer.visualization.curves import read_scaling

PICTURE = "--picture=a.png"


@pytest.fixture
def make_run(tmp_path):
    def make(name, num_evaluations=3, updates_per_epoch=200, **figures):
        """Writes a run with a row for each 100 updates and 60 seconds."""
        path = tmp_path / name
        path.mkdir(parents=True)
        table = MetricsTable(str(path / "metrics.csv"), 0)
        for i in range(1, num_evaluations + 1):
            row = {"step": 100 * i, "seconds": 60.0 * i}
            row["epoch"] = row["step"] // updates_per_epoch
            table.add({**row, "train_loss": 5.0 - i, **figures})
            table.add({**row, "dev_loss": 6.0 - i, "dev_bleu": 10.0 * i})
        return str(path)

    return make


def record_data(run, num_pairs):
    """Makes the directory a run that was trained on so many pairs."""
    split = {"source_tokens": 1, "target_tokens": 1}
    data = {
        "languages": ["source", "target"],
        "vocab_size": 300,
        "files": [],
        "splits": {"train": {"pairs": num_pairs, **split}},
    }
    record = {"problem": "translate_files", "data": data}
    RunDirectory.create(run, record, HParams(), b"")
    return run


def run_plot(*flags):
    with pytest.raises(SystemExit) as error:
        plot.run(["kt-plot", *flags])
    return error.value.code or 0


class ReadCurvesTest:
    def test_curve_has_the_rows_with_a_value(self, make_run):
        curves = read_curves([make_run("base")], "dev_bleu", "step")
        assert curves == {"base": [(100, 10.0), (200, 20.0), (300, 30.0)]}

    def test_seconds_are_those_of_training(self, make_run):
        curves = read_curves([make_run("base")], "train_loss", "seconds")
        assert curves == {"base": [(60, 4.0), (120, 3.0), (180, 2.0)]}

    def test_epochs_are_interpolated(self, make_run):
        curves = read_curves([make_run("base")], "dev_loss", "epoch")
        assert curves == {"base": [(0.5, 5.0), (1.0, 4.0), (1.5, 3.0)]}

    @pytest.mark.parametrize(
        "paths, names",
        [
            (("a", "b"), ["a", "b"]),
            (("x/a", "y/a"), ["x", "y"]),
            (("x/a", "x/a/b"), ["a", "a/b"]),
            (("x/a", "x/a", "x/b"), ["a", "b"]),
        ],
    )
    def test_names_tell_the_runs_apart(self, make_run, paths, names):
        runs = {path: make_run(path) for path in dict.fromkeys(paths)}
        curves = read_curves([runs[p] for p in paths], "dev_bleu", "step")
        assert list(curves) == names


class ReadScalingTest:
    def test_each_run_is_a_point_and_each_directory_a_curve(self, make_run):
        runs = [
            record_data(make_run("long/all"), 8000),
            record_data(make_run("short/half", 1), 500),
            record_data(make_run("long/half", 2), 4000),
        ]
        assert read_scaling(runs, "dev_bleu") == {
            "long": [(4000, 20.0), (8000, 30.0)],
            "short": [(500, 10.0)],
        }

    def test_runs_of_one_directory_are_one_curve(self, make_run):
        run = record_data(make_run("work/all"), 8000)
        assert read_scaling([run, run], "dev_bleu") == {"work": [(8000, 30.0)]}

    def test_two_spellings_of_a_path_are_one_run(self, make_run):
        small = record_data(make_run("work/small", 1), 500)
        large = record_data(make_run("work/large"), 8000)
        points = read_scaling([small, f"{small}/", large], "dev_bleu")
        assert points == {"work": [(500, 10.0), (8000, 30.0)]}


class PlotTest:
    def test_draws_scores_over_pairs(self, make_run, tmp_path):
        sizes = {"a/half": 40_000, "a/all": 80_000}
        runs = [record_data(make_run(run), n) for run, n in sizes.items()]
        path = tmp_path / "pairs.svg"
        flags = "--x_axis=pairs", f"--picture={path}"
        assert run_plot(*runs, *flags) == 0
        for word in ("a", "training pairs", "50,000"):
            assert f"<!-- {word} -->" in path.read_text()

    def test_a_run_of_unknown_data_has_no_pairs(self, make_run, capsys):
        run = make_run("base")
        record = {"problem": "translate_files"}
        RunDirectory.create(run, record, HParams(), b"")
        assert run_plot(run, PICTURE, "--x_axis=pairs") == 2
        assert f"x_axis=pairs, {run}. Use step" in capsys.readouterr().err

    @pytest.mark.parametrize("x_axis", ["step", "seconds", "epoch"])
    def test_draws_runs_into_one_picture(self, make_run, tmp_path, x_axis):
        from matplotlib.image import imread

        runs = make_run("base"), make_run("big", 2)
        path = str(tmp_path / "curves.png")
        flags = [f"--output_dir={','.join(runs)}", f"--picture={path}"]
        assert run_plot(*flags, f"--x_axis={x_axis}") == 0
        picture = imread(path)
        assert len({tuple(pixel) for row in picture for pixel in row}) > 10

    def test_legend_and_axes_have_names(self, make_run, tmp_path):
        runs = make_run("base"), make_run("big", 200, memory_bytes=3e9)
        path = tmp_path / "curves.svg"
        flags = [f"--output_dir={','.join(runs)}", f"--picture={path}"]
        assert run_plot(*flags, "--x_axis=seconds") == 0
        text = path.read_text()
        for word in ("base", "big", "dev BLEU", "hours of training"):
            assert f"<!-- {word} -->" in text
        flags[0] = f"--output_dir={runs[1]}"
        assert run_plot(*flags, "--metric=memory_bytes") == 0
        assert "<!-- memory in GB -->" in path.read_text()

    def test_any_name_of_a_run_is_in_the_legend(self, make_run, tmp_path):
        names = "_old", "$\\frac{$", "$x$"
        runs = [make_run(name, **{"dev_$\\frac{$": 1.0}) for name in names]
        path = tmp_path / "curves.svg"
        flags = [f"--picture={path}", "--metric=dev_$\\frac{$"]
        assert run_plot(*runs, *flags) == 0
        for name in (*names, "dev $\\frac{$"):
            assert f"<!-- {name} -->" in path.read_text()

    def test_runs_with_different_columns_are_drawn(self, make_run, tmp_path):
        runs = make_run("old"), make_run("new", dev_chrf=20.0)
        path = tmp_path / "curves.svg"
        flags = [f"--output_dir={','.join(runs)}", f"--picture={path}"]
        assert run_plot(*flags) == 0
        assert "<!-- new -->" in path.read_text()

    def test_a_training_that_diverged_is_drawn(self, tmp_path):
        (tmp_path / "metrics.csv").write_text(
            "step,train_loss\n1,5.0\n2,nan\n3,inf\n4,1e308\n5,1e299\n"
        )
        path = tmp_path / "loss.png"
        flags = [f"--output_dir={tmp_path}", f"--picture={path}"]
        assert run_plot(*flags, "--metric=train_loss") == 0
        assert path.stat().st_size > 0

    @pytest.mark.parametrize(
        "content, words",
        [
            (b"", "has no figures to draw"),
            (b"step,dev_bleu\n", "has no figures to draw"),
            (b"step,dev_bleu\n1,2", "has no figures to draw"),
            (b"step,dev_bleu\n1,nan\n2,inf\n", "no finite value"),
            (b"step,dev_bleu\n1,\n", "no finite value"),
            (b"step,dev_bleu\n1,two\n", 'must be a finite number but is "two"'),
            (b"step,dev_bleu\n1\n", "as many values"),
            (b"dev_bleu\n1\n", "with step"),
            (b"step,dev_loss\n1,2\n", "The columns are: dev_loss."),
            (b"\xff\xfe", "UTF-8"),
            (None, "has no metrics.csv"),
        ],
    )
    def test_a_faulty_table_is_one_line_and_leaves_the_earlier_picture(
        self, tmp_path, capsys, content, words
    ):
        if content is not None:
            (tmp_path / "metrics.csv").write_bytes(content)
        path = tmp_path / "curves.png"
        path.write_text("earlier")
        assert run_plot(f"--output_dir={tmp_path}", f"--picture={path}") == 2
        err = capsys.readouterr().err
        assert words in err and str(tmp_path) in err or "columns are" in err
        assert err.count("\n") == 1
        assert path.read_text() == "earlier"

    def test_a_run_without_figures_is_no_wrong_path(self, tmp_path, capsys):
        (tmp_path / "run.json").write_text("{}")
        picture = f"--picture={tmp_path / 'a.png'}"
        assert run_plot(f"--output_dir={tmp_path}", picture) == 2
        assert "stopped before" in capsys.readouterr().err

    @pytest.mark.parametrize("x_axis", ["seconds", "epoch"])
    def test_a_table_without_the_axis_is_one_line(
        self, tmp_path, capsys, x_axis
    ):
        (tmp_path / "metrics.csv").write_text("step,dev_bleu\n0,2\n")
        flags = [f"--output_dir={tmp_path}", f"--picture={tmp_path / 'a.png'}"]
        assert run_plot(*flags, f"--x_axis={x_axis}") == 2
        assert capsys.readouterr().err.count("\n") == 1

    @pytest.mark.parametrize(
        "flags, words",
        [
            ([], "`--output_dir` must be given"),
            (
                ["--output_dir=base,", PICTURE],
                "must be paths separated by commas",
            ),
            (
                ["--output_dir=base,no_run", PICTURE],
                "'no_run', which has no metrics.csv",
            ),
            (
                ["--output_dir=base", "--metric=dev_blue", PICTURE],
                "'dev_blue'. Did you mean: dev_bleu, dev_loss? The columns",
            ),
            (
                [
                    "--output_dir=base",
                    "--metric=learning_rate",
                    PICTURE,
                ],
                "base has no finite value of learning_rate",
            ),
            (
                ["--output_dir=base,new", PICTURE, "--x_axis=epoch"],
                "x_axis=epoch, new. Use step",
            ),
            (["--output_dir=base", "--picture=a.jpg"], ".svg. Received: a.jpg"),
            (["--output_dir=base", "--picture=no/a.png"], "no/a.png, whose"),
            (["--output_dir=base", "--x_axis=days"], "--x_axis=days"),
        ],
    )
    def test_bad_input_is_one_line_and_status_2(
        self, make_run, tmp_path, monkeypatch, capsys, flags, words
    ):
        make_run("base")
        make_run("new", 1)
        monkeypatch.chdir(tmp_path)
        assert run_plot(*flags) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("kt-plot: error: ")
        assert words in err
        assert err.count("\n") == 1
        assert not os.path.exists("a.png")

    def test_runs_need_no_flag_and_the_picture_no_name(
        self, make_run, tmp_path, monkeypatch
    ):
        paths = [make_run(name) for name in "ab"]
        monkeypatch.chdir(tmp_path)
        assert run_plot(*paths) == 0
        assert (tmp_path / "dev_bleu.png").stat().st_size > 1000
