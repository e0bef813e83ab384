import numpy as np
import pytest
from attention_examples import Page

from keras_transformer.visualization.head_scores import head_table
from keras_transformer.visualization.head_scores import rank_heads
from keras_transformer.visualization.head_scores import score_heads
from keras_transformer.visualization.head_scores import write_head_page
from keras_transformer.visualization.head_scores import write_head_picture
from keras_transformer.visualization.paper_figures import entropy

# The words of ((a b) (c d e)), and the end of the sentence.
SPANS = [(0, 2), (0, 2), (2, 5), (2, 5), (2, 5)]
SIZE = len(SPANS) + 1


def scores_of(*heads, spans=(), times=1):
    """Returns the scores of heads, each an array of weights, in one layer."""
    weights = np.array([heads], "float32")
    words = [""] * weights.shape[-1]
    scores, _ = score_heads([(words, weights)] * times, [spans] * times)
    return scores


def shifted(offset, size=SIZE):
    """Returns a head in which each word attends to a neighbour, if it has it.

    Other words attend to all words alike.
    """
    weights = np.eye(size, k=offset)
    weights[weights.sum(axis=1) == 0] = 1 / size
    return weights


def uniform(size=SIZE):
    return np.full((size, size), 1 / size)


def random_heads(seed=0):
    return np.random.default_rng(seed).dirichlet(np.ones(SIZE), (3, SIZE))


class ScoreHeadsTest:
    @pytest.mark.parametrize("name", ["diagonal", "local", "sharp", "brackets"])
    def test_uniform_attention_scores_zero(self, name):
        scores = scores_of(uniform(), spans=SPANS)
        np.testing.assert_allclose(scores.values[name], 0, atol=1e-6)

    @pytest.mark.parametrize(
        "offset, name", [(-1, "previous"), (0, "itself"), (1, "next")]
    )
    def test_a_diagonal_head_scores_one_and_its_word_is_named(
        self, offset, name
    ):
        scores = scores_of(shifted(offset))
        np.testing.assert_allclose(scores.values["diagonal"], 1)
        assert scores.notes["diagonal"] == name

    def test_a_head_that_looks_two_words_back_is_not_diagonal(self):
        assert scores_of(np.eye(SIZE)[::-1]).values["diagonal"] < 0.1

    def test_distance_is_counted_in_words(self):
        scores = scores_of(np.eye(SIZE), shifted(1), uniform())
        np.testing.assert_allclose(scores.values["local"][0, 0], 1)
        # In six words, the mean of all 36 distances is 70 / 36.
        assert scores.notes["local"][0, 2] == "1.9 words"
        assert scores.values["local"][0, 0] > scores.values["local"][0, 1] > 0

    def test_distant_attention_is_less_local_than_uniform(self):
        assert scores_of(np.eye(SIZE)[::-1]).values["local"] < 0

    def test_any_single_word_is_sharp(self):
        to_one = np.zeros((SIZE, SIZE))
        to_one[:, 3] = 1
        scores = scores_of(to_one, np.eye(SIZE)[::-1])
        np.testing.assert_allclose(scores.values["sharp"], 1)

    def test_two_equal_words_have_the_entropy_of_a_coin(self):
        coin = np.zeros((4, 4))
        coin[:, :2] = 0.5
        np.testing.assert_allclose(entropy(coin), np.log(2))
        assert scores_of(coin).values["sharp"] == pytest.approx(0.5)

    def test_attention_within_constituents_scores_one(self):
        inside = np.zeros((SIZE, SIZE))
        inside[0, 1] = inside[1, 0] = inside[2, 4] = inside[4, 2] = 1
        inside[3, [2, 4]] = inside[5, 5] = 0.5
        scores = scores_of(inside, spans=SPANS)
        assert scores.values["brackets"] == pytest.approx(1)

    def test_attention_across_constituents_scores_below_zero(self):
        across = np.zeros((SIZE, SIZE))
        across[:2, 3] = across[2:, 0] = 1
        assert scores_of(across, spans=SPANS).values["brackets"] < 0

    def test_the_end_and_the_word_itself_count_for_no_bracket(self):
        (head, *_) = random_heads()
        changed = head.copy()
        changed[-1] = np.eye(SIZE)[0]
        changed[:, -1] = 0
        np.fill_diagonal(changed, 0)
        before = scores_of(head, spans=SPANS).values["brackets"]
        np.testing.assert_allclose(
            scores_of(changed, spans=SPANS).values["brackets"],
            before,
            rtol=1e-5,
        )

    def test_a_head_without_other_words_has_no_share(self):
        assert np.isfinite(
            scores_of(np.eye(SIZE), spans=SPANS).values["brackets"]
        )

    def test_text_without_trees_and_flat_trees_have_no_brackets(self):
        assert "brackets" not in scores_of(uniform()).values
        flat = scores_of(uniform(3), spans=[(0, 2)] * 2)
        assert "brackets" not in flat.values

    @pytest.mark.parametrize("num_vanished", [1, 2])
    def test_a_tree_whose_words_the_model_does_not_read_has_no_brackets(
        self, num_vanished
    ):
        heads = random_heads()
        weights = np.array([heads], "float32")
        pair = [""] * SIZE, weights
        spans = SPANS + [(5, 5 + num_vanished)] * num_vanished
        scores, _ = score_heads([pair, pair], [SPANS, spans])
        expected = scores_of(*heads, spans=SPANS).values["brackets"]
        np.testing.assert_allclose(scores.values["brackets"], expected)

    def test_repeating_a_text_changes_no_score(self):
        once = scores_of(*random_heads(), spans=SPANS)
        twice = scores_of(*random_heads(), spans=SPANS, times=2)
        for name, values in once.values.items():
            np.testing.assert_allclose(twice.values[name], values)
        assert (twice.num_sentences, twice.num_words) == (2, 2 * SIZE)

    def test_a_single_word_is_not_enough(self):
        with pytest.raises(ValueError, match="two words"):
            scores_of(uniform(1))


class HeadTableTest:
    def test_the_highest_come_first(self):
        values = np.array([[0.1, 0.9], [0.5, 0.9]])
        assert rank_heads(values) == [(0, 1), (1, 1), (1, 0), (0, 0)]

    def test_the_best_head_of_each_score_is_in_the_first_row(self):
        scores = scores_of(uniform(), shifted(-1), spans=SPANS)
        title, best, *_ = head_table(scores).splitlines()
        assert title.split() == ["diagonal", "local", "sharp", "brackets"]
        assert best.split()[:3] == ["1.2", "1.000", "previous"]


class WriteHeadPageTest:
    def test_each_head_has_a_row_and_a_picture(self, tmp_path):
        heads = random_heads()
        words = [*"abcde", "(end)"]
        path = str(tmp_path / "heads.html")
        scores = scores_of(*heads)
        write_head_page(scores, words, heads[None], path, "<test>")
        with open(path, encoding="utf-8") as file:
            page = Page(file.read())
        links = {
            values["href"][1:] for tag, values in page.elements if tag == "a"
        }
        pictures = {
            values["id"] for tag, values in page.elements if tag == "section"
        }
        assert links == pictures == {"head-1.1", "head-1.2", "head-1.3"}
        assert "of <test>. Each" in " ".join(page.texts["p"])
        assert page.texts["button"] == ["diagonal", "local", "sharp"]


class WriteHeadPictureTest:
    def test_it_has_a_map_for_each_score(self, tmp_path):
        path = tmp_path / "heads.svg"
        scores = scores_of(*random_heads(), spans=SPANS)
        write_head_picture(scores, str(path))
        text = path.read_text()
        for name in scores.values:
            assert text.count(f"<!-- {name} -->") == 1
