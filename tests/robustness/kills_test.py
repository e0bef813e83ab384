import kills
import pytest
import works


class KillsTest:
    @pytest.mark.slow
    def test_a_killed_average_leaves_the_earlier_one(self, tmp_path):
        report = kills.kill_often(works.Averaging(tmp_path), num_kills=2)
        assert report.faults == ()

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "work, num_kills",
        [
            (works.Datagen, 45),
            (works.Averaging, 45),
            (works.Exporting, 15),
            (works.ExportingToCtranslate2, 15),
            (works.Decoding, 45),
            (works.Cleaning, 45),
        ],
    )
    def test_nothing_is_lost_in_many_kills(
        self, work, num_kills, tmp_path, show
    ):
        report = kills.kill_often(work(tmp_path), num_kills)
        show(f"{work.__name__}: {report}")
        assert report.faults == ()
        assert report.at_work > num_kills // 2
