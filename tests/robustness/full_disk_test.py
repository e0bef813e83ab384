import pytest
import works
from full_disk import fill_often
from full_disk import small_disk

WORKS = [
    works.Datagen,
    works.Training,
    works.Averaging,
    works.Exporting,
    works.ExportingToCtranslate2,
    works.Decoding,
    works.Plotting,
]


@pytest.mark.slow
@pytest.mark.parametrize("work", WORKS)
class FullDiskTest:
    def test_message_names_the_way_out_and_nothing_is_lost(
        self, work, tmp_path
    ):
        try:
            with small_disk(str(tmp_path)) as resize:
                messages, faults = fill_often(work(tmp_path), resize)
        except PermissionError as error:
            pytest.skip(f"A small disk cannot be mounted: {error}")
        assert faults == ()
        assert messages
        for status, message in messages:
            last = message.splitlines()[-1]
            assert status == 2, message
            assert "Traceback" not in message
            assert last.startswith("kt-"), message
            assert "Cannot write " in last and str(tmp_path) in last, message
            assert "Make room" in last, message
