"""Waits for a signal."""

import signal
import time

import pytest

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import process
from keras_transformer.files.signals import list_stop_signals

FLAGS = flags.define()
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def terminal():
    """Lets SIGHUP end the process, even if these tests run under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def run(main):
    with pytest.raises(SystemExit) as error:
        command.run(main, FLAGS, ["kt-signals-test"])
    return error.value.code


@pytest.mark.parametrize("number", SIGNALS)
class SignalTest:
    def test_a_library_may_turn_it_into_another_error(self, capsys, number):
        # Compiled modules do so when they are imported.
        def main(argv):
            try:
                signal.raise_signal(number)
            except KeyboardInterrupt as interrupt:
                raise ImportError("initialization failed") from interrupt

        assert run(main) == 128 + number
        assert capsys.readouterr() == ("", "")

    def test_it_comes_again_if_a_destructor_swallows_it(self, capsys, number):
        class Swallowing:
            def __del__(self):
                signal.raise_signal(number)

        def main(argv):
            Swallowing()
            time.sleep(10)

        assert run(main) == 128 + number
        assert capsys.readouterr() == ("", "")

    def test_the_second_one_would_end_the_process_at_once(self, number):
        with process.raise_signals(is_process=False) as stop:
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(number)
            assert signal.getsignal(number) is signal.SIG_DFL
        assert stop.number == number

    def test_its_handler_is_the_earlier_one_afterwards(self, number):
        before = signal.getsignal(number)
        with process.raise_signals(is_process=False):
            assert signal.getsignal(number) != before
        assert signal.getsignal(number) is before


def test_nohup_protects_a_process_from_a_closed_terminal():
    both = [signal.SIGINT, signal.SIGTERM]
    assert list_stop_signals() == [*both, signal.SIGHUP]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    assert list_stop_signals() == both
