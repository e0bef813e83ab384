import os

import pytest
from tensorboard.backend.event_processing.event_accumulator import (
    EventAccumulator,
)

from keras_transformer.training.event_file import EventFile


def write(directory, last_step, scalars):
    """Writes the scalars of each step as a single process."""
    file = EventFile(str(directory), last_step)
    for step, value in scalars.items():
        file.write(step, {"loss": value, "lr": 2 * value})
    file.close()


def read(directory, name):
    events = EventAccumulator(str(directory)).Reload().Scalars(name)
    return {event.step: event.value for event in events}


class EventFileTest:
    def test_error_of_a_full_disk_names_the_file(self, tmp_path, limit_files):
        file = EventFile(str(tmp_path), 0)
        limit_files(1000)
        expected = "Cannot write .*events.out"
        with pytest.raises(OSError, match=expected):
            for step in range(100):
                file.write(step, {"loss": 1.0})
        with pytest.raises(OSError, match=expected):
            file.close()

    def test_tensorboard_reads_the_scalars_back(self, tmp_path):
        write(tmp_path, 0, {1: 0.5, 2: 0.25})
        assert read(tmp_path, "loss") == {1: 0.5, 2: 0.25}
        assert read(tmp_path, "lr") == {1: 1.0, 2: 0.5}

    def test_repeated_steps_replace_the_earlier_ones(self, tmp_path):
        write(tmp_path, 0, {1: 0.5, 2: 0.25, 3: 0.125})
        write(tmp_path, 1, {2: 8.0})
        assert read(tmp_path, "loss") == {1: 0.5, 2: 8.0}

    def test_each_write_reaches_the_file_at_once(self, tmp_path):
        file = EventFile(str(tmp_path), 0)
        file.write(1, {"loss": 0.5})
        assert read(tmp_path, "loss") == {1: 0.5}
        file.close()

    def test_a_closed_file_takes_further_steps(self, tmp_path):
        file = EventFile(str(tmp_path), 0)
        for step, value in ((1, 0.5), (2, 0.25)):
            file.write(step, {"loss": value})
            file.close()
        assert read(tmp_path, "loss") == {1: 0.5, 2: 0.25}

    def test_every_process_writes_its_own_file(self, tmp_path):
        for last_step in (0, 1):
            write(tmp_path, last_step, {})
        assert len(os.listdir(tmp_path)) == 2
