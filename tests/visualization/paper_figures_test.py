import numpy as np
import pytest
from attention_examples import Page

from keras_transformer.visualization.paper_figures import HEADING
from keras_transformer.visualization.paper_figures import View
from keras_transformer.visualization.paper_figures import check_view
from keras_transformer.visualization.paper_figures import paper_figure
from keras_transformer.visualization.paper_figures import write_paper_page
from keras_transformer.visualization.paper_figures import write_paper_picture

WORDS = "It is making the long process more difficult . (end)".split()


def uniform(num_layers=6, num_heads=8):
    size = len(WORDS)
    return np.full((num_layers, num_heads, size, size), 1 / size)


def pointing(*arrows):
    """Returns uniform weights, except for arrows (layer, head, from, to)."""
    weights = uniform()
    for layer, head, query, key in arrows:
        row = weights[layer - 1, head - 1, WORDS.index(query)]
        row[:] = 0
        row[WORDS.index(key)] = 1
    return weights


class PaperFigureTest:
    def test_the_layer_is_the_next_to_last(self):
        weights = uniform()
        weights[4] = 0
        figure = paper_figure(View("5"), WORDS, weights)
        assert "layer 5 of 6" in figure.caption
        assert not figure.panels[0].lines

    @pytest.mark.parametrize("num_layers, layer", [(1, 1), (2, 1), (3, 2)])
    def test_few_layers_have_a_default_too(self, num_layers, layer):
        figure = paper_figure(View("3"), WORDS, uniform(num_layers))
        assert f"layer {layer} of {num_layers}" in figure.caption

    def test_figure_3_follows_the_word_that_attends_far(self):
        weights = pointing((5, 2, "making", "difficult"), (5, 3, "It", "is"))
        figure = paper_figure(View("3"), WORDS, weights)
        (panel,) = figure.panels
        assert "“making”" in figure.caption
        assert panel.heads == list(range(8))
        lines = panel.lines
        assert {line.query for line in lines} == {WORDS.index("making")}
        (strong,) = [line for line in lines if line.weight > 0.5]
        assert WORDS[strong.key] == "difficult"

    def test_the_end_is_no_distant_word(self):
        weights = pointing((5, 2, "making", "difficult"), (5, 3, "It", "(end)"))
        weights[4, 4:, 0] = weights[4, 2, 0]
        figure = paper_figure(View("3"), WORDS, weights)
        assert "“making”" in figure.caption

    def test_figure_4_shows_the_heads_that_attend_most_from_the_word(self):
        weights = pointing((5, 7, "more", "It"), (5, 4, "more", "difficult"))
        figure = paper_figure(View("4", word="more"), WORDS, weights)
        full, alone = figure.panels
        assert (full.heads, full.query) == ([3], None)
        assert (alone.heads, alone.query) == ([3, 6], WORDS.index("more"))

    def test_figure_5_shows_the_sharpest_heads(self):
        weights = uniform()
        weights[4, [2, 6]] = np.eye(len(WORDS))
        figure = paper_figure(View("5"), WORDS, weights)
        assert [panel.heads for panel in figure.panels] == [[2], [6]]

    def test_the_user_decides_in_place_of_the_defaults(self):
        view = View("4", layer=2, heads=[8, 1], word="long")
        figure = paper_figure(view, WORDS, uniform())
        assert "layer 2 of 6" in figure.caption
        assert "“long”" in figure.caption
        assert [panel.heads for panel in figure.panels] == [[7], [7, 0]]

    @pytest.mark.parametrize("number", ["3", "4", "5"])
    def test_a_model_with_one_head_has_all_figures(self, number):
        figure = paper_figure(View(number), WORDS, uniform(1, 1))
        assert all(set(panel.heads) == {0} for panel in figure.panels)

    def test_faint_weights_have_no_line(self):
        weights = pointing(*[(5, 1, word, "the") for word in WORDS])
        weights[4, 0, 0, 0] = 0.009
        figure = paper_figure(View("5", heads=[1, 1]), WORDS, weights)
        assert len(figure.panels[0].lines) == len(WORDS)

    @pytest.mark.parametrize(
        "view, words",
        [
            (View("3", layer=7), "layer=7"),
            (View("3", heads=[1, 9]), "heads=1,9"),
            (View("3", heads=[0]), "heads=0"),
            (View("4", heads=[1, 2, 3]), "two heads"),
            (View("5", heads=[1]), "two heads"),
            (View("3", word="Making"), "'Making'.*making"),
        ],
    )
    def test_what_the_model_or_the_sentence_lacks_is_an_error(
        self, view, words
    ):
        with pytest.raises(ValueError, match=words):
            check_view(view, WORDS, num_layers=6, num_heads=8)

    def test_what_they_have_is_not(self):
        check_view(View("3", 6, [8], "making"), WORDS, 6, 8)
        check_view(View("5"), WORDS, 6, 8)


class WritePaperPageTest:
    def test_each_line_has_its_weight_and_words_are_text(self, tmp_path):
        words = ["<b>", "&", "(end)"]
        weights = np.array([[[[0.2, 0.8, 0], [0, 1, 0], [0.5, 0, 0.5]]]])
        figure = paper_figure(View("5"), words, weights)
        path = tmp_path / "figure.html"
        write_paper_page(figure, str(path))
        page = Page(path.read_text(encoding="utf-8"))
        lines = [named for tag, named in page.elements if tag == "line"]
        assert len(lines) == 2 * 5
        first = [
            (line["data-query"], line["data-key"], line["stroke-opacity"])
            for line in lines[:2]
        ]
        assert first == [("0", "0", "0.200"), ("0", "1", "0.800")]
        assert page.texts["text"][:6] == [
            "<b>",
            "<b>",
            "&",
            "&",
            *["(end)"] * 2,
        ]


class WritePaperPictureTest:
    @pytest.mark.parametrize("number", ["3", "4", "5"])
    def test_it_grows_with_the_words(self, tmp_path, number):
        from matplotlib.image import imread

        sizes = []
        for words in (WORDS, WORDS + ["(end)"] * 5):
            size = len(words)
            weights = np.full((2, 3, size, size), 1 / size)
            path = tmp_path / "figure.png"
            figure = paper_figure(View(number), words, weights)
            write_paper_picture(figure, str(path))
            sizes.append(imread(path).shape)
        assert sizes[1][1] > sizes[0][1]

    def test_any_text_can_be_a_word(self, tmp_path):
        words = ["$\\frac{$", "الكلب", "_^{", "\n", "x" * 300, "(end)"]
        weights = np.full((1, 1, 6, 6), 1 / 6)
        figure = paper_figure(View("4"), words, weights)
        write_paper_picture(figure, str(tmp_path / "figure.svg"))
        write_paper_page(figure, str(tmp_path / "figure.html"))

    def test_long_words_in_capitals_leave_a_gap_between_panels(self, tmp_path):
        from matplotlib.image import imread

        path = tmp_path / "figure.png"
        words = ["a", "b", "c", "WIGGLESWORTHSHIRE", "(end)"]
        figure = paper_figure(View("5"), words, np.full((1, 2, 5, 5), 0.2))
        write_paper_picture(figure, str(path))
        column = imread(path)[:, 155:200, :3]  # the fourth word
        (rows,) = np.nonzero((column < 0.5).all(axis=-1).any(axis=-1))
        # Two in the panels themselves, and one between them.
        assert np.count_nonzero(np.diff(rows) > 20) == 3

    def test_it_has_room_for_the_names_of_all_heads(self, tmp_path):
        from matplotlib.colors import to_rgb
        from matplotlib.image import imread

        path = tmp_path / "figure.png"
        figure = paper_figure(
            View("3"), ["Yes", "(end)"], np.full((2, 16, 2, 2), 0.5)
        )
        write_paper_picture(figure, str(path))
        (colours,) = (panel.colours for panel in figure.panels)
        heading = imread(path)[: int(200 * HEADING), :, :3]
        for head in range(16):
            colour = to_rgb(colours[head])
            assert np.isclose(heading, colour, atol=0.01).all(-1).any(), head
