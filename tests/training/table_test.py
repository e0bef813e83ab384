import pytest

from keras_transformer import registry
from keras_transformer.training.sweep import table
from keras_transformer.training.sweep.rows import Row
from keras_transformer.training.sweep.rows import make_rows
from keras_transformer.training.sweep.rows import make_table3
from keras_transformer.training.sweep.rows import make_table4
from keras_transformer.training.sweep.rows import quote_table4

COPY = registry.get_problem("copy", "data")


def result(perplexity, bleu):
    figures = {"seconds": 90.0, "parameters": 3_790_000}
    return figures | {"dev_perplexity": perplexity, "dev_bleu": bleu}


def table3_lines(**results):
    rows = make_rows(
        make_table3(COPY),
        "tiny",
        "",
        2000,
        lambda name: range(3 if name == "base" else 1),
    )
    figures = {row.directory: results.get(row.directory, {}) for row in rows}
    return table.make_lines(rows, figures)


class TableTest:
    def test_a_line_has_the_papers_columns_and_its_figures(self):
        line = table3_lines(base=result(7.125, 30.25))[0]
        assert line["row"] == "base"
        assert (line["num_layers"], line["d_model"], line["d_ff"]) == (
            6,
            128,
            512,
        )
        assert (line["num_heads"], line["d_k"], line["d_v"]) == (8, 16, 16)
        assert line["positional_encoding"] == "sinusoidal"
        assert (line["dev_perplexity"], line["dev_bleu"]) == (7.125, 30.25)
        assert (line["paper_perplexity"], line["paper_bleu"]) == (4.92, 25.8)

    def test_a_decoder_of_another_depth_has_a_column(self):
        sets = ["transformer_tiny", "transformer_deep_shallow_tiny"]
        rows = make_rows(
            [Row(name, COPY, name) for name in sets],
            "none",
            "",
            9,
            lambda name: [0],
        )
        lines = table.make_lines(rows, dict.fromkeys(sets, {}))
        depths = [
            (line["num_layers"], line["num_decoder_layers"]) for line in lines
        ]
        assert depths == [(4, 4), (6, 1)]
        # The paper's models need no such column.
        assert not any("num_decoder_layers" in line for line in table3_lines())

    def test_markdown_shows_the_paper_beside_ours_and_the_spread(
        self, tmp_path
    ):
        lines = table3_lines(
            base=result(7.0, 30.0), base_seed1=result(7.5, 31.0)
        )
        path = tmp_path / "table.md"
        failures = {"big": "no memory."}
        table.write_markdown(str(path), "title", lines, failures)
        text = path.read_text()
        (first,) = [line for line in text.split("\n") if "| 7.00 |" in line]
        assert "| 1.5 | 3.79 | 7.00 | 30.0 | 65 | 4.92 | 25.8 |" in first
        assert (
            "base, 2 seeds: dev perplexity 7.00 to 7.50, mean 7.25; "
            "dev BLEU 30.00 to 31.00, mean 30.50." in text
        )
        assert text.endswith("big failed: no memory.\n")

    def test_table_4_has_the_papers_twelve_figures(self):
        alone = make_table4(COPY, None, "transformer_parsing")
        rows = make_rows(alone, "none", "", None, lambda name: [0])
        lines = table.make_lines(rows, {"treebank_only": {}}, quote_table4())
        figures = [line["paper_f1"] for line in lines]
        assert figures.pop() == 91.3  # beside that of the row
        assert sorted(figures) == [
            *(88.3, 90.4, 90.4, 91.3, 91.3, 91.3),
            *(91.7, 92.1, 92.1, 92.7, 93.0, 93.3),
        ]


class PlotTest:
    def test_the_picture_is_written(self, tmp_path):
        lines = table3_lines(base=result(7.0, 30.0), big=result(6.5, 32.0))
        path = tmp_path / "plot.png"
        for base in ("base", None):
            table.plot_lines(lines, str(path), base)
            assert path.stat().st_size > 10_000
            path.unlink()

    def test_the_base_is_a_line_and_no_point_at_0(self, tmp_path, monkeypatch):
        figures = []
        monkeypatch.setattr(
            table.picture, "write_picture", lambda *args: figures.append(args)
        )
        lines = table3_lines(base=result(7.0, 30.0), big=result(6.5, 32.0))
        lines = [line for line in lines if "dev_perplexity" in line]
        table.plot_lines(lines, "plot.png", "base")
        table.plot_lines(lines[:1], "plot.png", "base")
        (both, _), (alone, _) = figures
        (label,) = both.axes[0].get_yticklabels()
        assert label.get_text() == "big"
        for axis, value in zip(both.axes, (100 * (6.5 / 7.0 - 1), 2.0)):
            paper, ours = (dots.get_offsets() for dots in axis.collections)
            assert ours.tolist() == [[pytest.approx(value), 0.0]]
            assert len(paper) == 1 and paper[0][0] != 0
        assert alone.axes[0].collections[-1].get_offsets()[0][0] == 7.0
