import dataclasses
import os

from keras_transformer import registry
from keras_transformer.bin.kt_sweep import results
from keras_transformer.bin.kt_sweep.rows import TABLE_4
from keras_transformer.bin.kt_sweep.rows import Row
from keras_transformer.bin.kt_sweep.rows import make_rows
from keras_transformer.bin.kt_sweep.rows import make_table3

COPY = registry.get_problem("copy", "data")


def result(perplexity, bleu):
    return {
        "minutes": 1.5,
        "10⁶ parameters": 3.79,
        "dev perplexity": perplexity,
        "dev BLEU": bleu,
    }


def table3_lines(**measured):
    rows = make_rows(make_table3(COPY), "sweep", "tiny", "", 2000, range(3))
    names = [os.path.basename(row.path) for row in rows]
    return results.make_lines(
        [(row, measured[n]) for n, row in zip(names, rows) if n in measured]
    )


class Compared(str):
    """A value that counts how often values of its class are compared."""

    number = 0

    def __hash__(self):
        Compared.number += 1
        return super().__hash__()


@dataclasses.dataclass
class Settings:
    """Hyper-parameters with a value whose comparisons are counted."""

    architecture = {"num_layers": 1, "num_decoder_layers": 1}
    norm: str = Compared("pre")


class TableTest:
    def test_a_line_has_the_papers_columns_and_its_figures(self):
        line, _ = table3_lines(base=result(7.125, 30.25), e_learned={})
        assert line["row"] == "base"
        assert (line["N"], line["d_model"], line["d_ff"]) == ("6", "128", "512")
        assert (line["h"], line["d_k"], line["d_v"]) == ("8", "16", "16")
        assert line["positional_encoding"] == "sinusoidal"
        assert (line["dev perplexity"], line["dev BLEU"]) == (7.125, 30.25)
        assert (line["paper perplexity"], line["paper BLEU"]) == (4.92, 25.8)

    def test_a_decoder_of_another_depth_has_a_column(self):
        sets = ["transformer_tiny", "transformer_deep_shallow_tiny"]
        models = [Row(name, COPY, name) for name in sets]
        rows = make_rows(models, "sweep", "none", "", 9, [0])
        lines = results.make_lines([(row, {}) for row in rows])
        depths = [(line["N"], line["num_decoder_layers"]) for line in lines]
        assert depths == [("4", "4"), ("6", "1")]
        # The paper's models need no such column.
        assert not any(
            "num_decoder_layers" in line for line in table3_lines(base={})
        )

    def test_each_value_is_compared_once(self):
        rows = [Row(str(n), COPY, "", {}, {}, Settings()) for n in range(5)]
        Compared.number = 0
        results.make_lines([(row, {}) for row in rows])
        assert Compared.number == len(rows)

    def test_markdown_shows_the_paper_beside_ours_and_the_spread(self):
        lines = table3_lines(
            base=result(7.0, 30.0), base_seed1=result(7.5, 31.0)
        )
        text, spread = results.format_lines(lines)
        (first,) = [line for line in text.split("\n") if "| 7.00 |" in line]
        assert "| 1.5 | 3.79 | 7.00 | 30.0 | 65 | 4.92 | 25.8 |" in first
        assert (
            "base, 2 seeds: dev perplexity 7.00 to 7.50, mean 7.25; "
            "dev BLEU 30.00 to 31.00, mean 30.50." == spread
        )

    def test_table_4_has_the_papers_twelve_figures(self):
        assert sorted(TABLE_4.values()) == [
            *(88.3, 90.4, 90.4, 91.3, 91.3, 91.3),
            *(91.7, 92.1, 92.1, 92.7, 93.0, 93.3),
        ]
