import pytest

from keras_transformer.bin.kt_sweep import rows

NINE = ";".join(
    f"{name}=1,2,3,4,5,6,7,8,9"
    for name in (
        *("num_layers", "num_heads", "d_model", "d_ff", "d_k", "d_v"),
        *("warmup_steps", "train_steps", "max_length"),
    )
)


class GridTest:
    def test_all_values_are_combined(self):
        points = rows.list_grid("dropout=0.1,0.3; num_layers=2,4,6")
        assert len(points) == 6
        assert {"dropout": 0.3, "num_layers": 4} in points

    def test_values_have_the_types_of_the_hyper_parameters(self):
        (point,) = rows.list_grid("packed=true;norm=pre;learning_rate=2")
        assert point == {"packed": True, "norm": "pre", "learning_rate": 2.0}

    @pytest.mark.parametrize(
        "text,words",
        [
            ("dropout", "name=values"),
            ("dropout=", "name=values"),
            (";", "name=values"),
            ("dropuot=0.1", "Did you mean: dropout"),
            ("dropout=0.1..0.3", "a finite number"),
            ("dropout=0.1;dropout=0.2", "each hyper-parameter once"),
            # 9 names with 9 values each; a list of them would fill the memory.
            (NINE, "at most 10,000 .* 387,420,489"),
        ],
    )
    def test_a_wrong_text_is_explained(self, text, words):
        with pytest.raises(ValueError, match=words):
            rows.list_grid(text)


class DrawTest:
    RANGES = "learning_rate=0.3..3.0 log;num_layers=2..6;norm=pre,post"

    def test_points_are_different_and_within_their_ranges(self):
        points = rows.draw_points(self.RANGES, 50, seed=0)
        assert len({tuple(point.items()) for point in points}) == 50
        assert {point["num_layers"] for point in points} == set(range(2, 7))
        assert {point["norm"] for point in points} == {"pre", "post"}
        assert all(0.3 <= point["learning_rate"] <= 3.0 for point in points)

    def test_a_logarithmic_range_has_its_middle_at_the_geometric_mean(self):
        points = rows.draw_points("learning_rate=0.01..1.0 log", 200, seed=0)
        below = sum(point["learning_rate"] < 0.1 for point in points)
        assert 80 < below < 120

    def test_spaces_around_the_bounds_change_nothing(self):
        spaced = "learning_rate = 0.3 ..  3.0  log ; num_layers=2 .. 6"
        plain = "learning_rate=0.3..3.0 log;num_layers=2..6"
        points = rows.draw_points(plain, 5, seed=0)
        assert rows.draw_points(spaced, 5, seed=0) == points

    def test_a_space_is_drawn_to_its_last_point(self):
        space = "num_layers=1..100;norm=pre,post"
        points = rows.draw_points(space, 200, seed=0)
        assert len({tuple(point.items()) for point in points}) == 200
        with pytest.raises(ValueError, match="200 were found"):
            rows.draw_points(space, 201, seed=0)

    def test_a_seed_repeats_its_points_and_more_points_continue_them(self):
        points = rows.draw_points(self.RANGES, 5, seed=7)
        assert points == rows.draw_points(self.RANGES, 9, seed=7)[:5]
        assert points != rows.draw_points(self.RANGES, 5, seed=8)

    @pytest.mark.parametrize(
        "text,words",
        [
            ("dropout=0.3..0.0", "from a lower to a higher"),
            ("dropout=0.0..0.3 ln", "from a lower to a higher"),
            ("dropout=0.0..0.3 log", "begin above 0"),
            ("dropout=0.0..", "a finite number"),
            ("norm=a..b", "from a lower to a higher"),
            ("num_layers=2..3", "2 were found"),
        ],
    )
    def test_a_wrong_text_is_explained(self, text, words):
        with pytest.raises(ValueError, match=words):
            rows.draw_points(text, 3, seed=0)
