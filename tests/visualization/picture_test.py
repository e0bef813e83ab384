import os
import xml.etree.ElementTree

import pytest

from keras_transformer.visualization import picture

SIGNATURES = {"png": b"\x89PNG\r\n", "pdf": b"%PDF-", "svg": b"<?xml"}


def figure_of(title="title"):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(2, 1))
    figure.subplots().set_title(title, parse_math=False)
    return figure


class WritePictureTest:
    @pytest.mark.parametrize("ending", ["png", "pdf", "svg", "PNG", "Svg"])
    def test_the_ending_decides_the_format(self, tmp_path, ending):
        path = tmp_path / f"picture.{ending}"
        picture.write_picture(figure_of(), str(path))
        content = path.read_bytes()
        assert content.startswith(SIGNATURES[ending.lower()])
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("name", ["a.jpg", "a", "png", ".png", "a.png.gz"])
    def test_another_ending_is_an_error(self, tmp_path, name):
        words = "must end in .png, .pdf or .svg. Received: .*" + name
        with pytest.raises(ValueError, match=words):
            picture.write_picture(figure_of(), str(tmp_path / name))
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("ending", SIGNATURES)
    def test_a_full_disk_leaves_the_earlier_picture(
        self, tmp_path, limit_files, ending
    ):
        path = tmp_path / f"picture.{ending}"
        path.write_text("earlier")
        limit_files(1000)
        with pytest.raises(OSError, match="Cannot write "):
            picture.write_picture(figure_of(), str(path))
        assert path.read_text() == "earlier"
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("ending", SIGNATURES)
    def test_any_text_can_be_drawn(self, tmp_path, ending):
        path = tmp_path / f"picture.{ending}"
        title = "</a> --> & \"'$\\frac{$ \u202e\x00\x0b\ufffe\ud800\u2028 🙂 --"
        figure = figure_of(picture.printable(title))
        picture.write_picture(figure, str(path))
        if ending == "svg":
            xml.etree.ElementTree.parse(path)  # is well-formed


class SpelledTest:
    @pytest.mark.parametrize(
        "metric, words",
        [
            ("dev_bleu", "dev BLEU"),
            ("dev_chrf", "dev chrF"),
            ("dev_f1", "dev F1"),
            ("dev_exact_match", "dev exact match"),
        ],
    )
    def test_scores_are_spelled_as_in_the_field(self, metric, words):
        assert picture.name_metric(metric) == words
