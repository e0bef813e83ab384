"""Measures a machine's peak speed and waits until it is quiet."""

import math
import os
import statistics
import time
import typing

import psutil

QUIET_CORES = 0.3  # other processes use fewer cores in a quiet pass
SECONDS_TO_WAIT = 3.0  # limit of the wait for quiet before each pass
MATRIX_SIZE = 2048  # a product takes 70 ms in float32 on two cores
ACCELERATOR_MATRIX_SIZE = 8192  # a product takes some milliseconds
CHAIN_LENGTH = 8  # dependent products before the device is waited for


class Passes(typing.NamedTuple):
    """Durations of a run in the quiet passes, or in all if none was quiet."""

    seconds: list  # duration of one run in each pass, ascending
    num_quiet: int
    num_disturbed: int
    foreign_cores: float  # used by other processes, mean of all passes

    def rate(self, amount):
        """Returns the median of an amount per second, and its range."""
        rates = [amount / seconds for seconds in self.seconds]
        return statistics.median(rates), (min(rates), max(rates))

    def figures(self):
        """Returns how disturbed the passes were, as a dictionary for JSON."""
        return {
            "quiet_passes": self.num_quiet,
            "disturbed_passes": self.num_disturbed,
            "foreign_cores": round(self.foreign_cores, 2),
        }


def time_passes(run, num_passes, min_seconds=1.0):
    """Times a run in several passes while the machine is quiet.

    `run` takes the number of times to repeat the run. A call before the passes
    warms it up and finds how many repetitions take `min_seconds`.
    """
    begin = time.perf_counter()
    run(1)
    # Short runs are repeated, since the system counts time in ticks of 10 ms.
    num_runs = math.ceil(min_seconds / (time.perf_counter() - begin))
    passes = []
    for _ in range(num_passes):
        _wait_until_quiet()
        begin, foreign = time.perf_counter(), _foreign_seconds()
        run(num_runs)
        seconds = time.perf_counter() - begin
        passes.append(
            (seconds / num_runs, (_foreign_seconds() - foreign) / seconds)
        )
    quiet = [seconds for seconds, cores in passes if cores < QUIET_CORES]
    return Passes(
        sorted(quiet or [seconds for seconds, _ in passes]),
        len(quiet),
        num_passes - len(quiet),
        statistics.mean(cores for _, cores in passes),
    )


def matrix_product_rate(precision, num_devices=1, num_passes=5):
    """Returns the floating-point operations per second of matrix products.

    The products run on the backend of Keras, and the best pass counts. This is
    the speed that a model would reach if nothing else took time. The speed of
    one accelerator is multiplied by `num_devices`; a processor counts once.
    """
    import keras
    from keras import ops

    is_processor = "CPU" in str(ops.zeros(1).device).upper()
    size = MATRIX_SIZE if is_processor else ACCELERATOR_MATRIX_SIZE
    first = keras.random.normal((size, size), dtype=precision)
    # With this scale, repeated products neither overflow nor vanish.
    factor = keras.random.normal(
        (size, size), stddev=size**-0.5, dtype=precision
    )

    def run(num_times):
        for _ in range(num_times):
            product = first
            for _ in range(CHAIN_LENGTH):
                product = ops.matmul(product, factor)
            float(product[0, 0])  # waits until the device has finished

    passes = time_passes(run, num_passes, min_seconds=0.2)
    # A product of square matrices takes 2 * size**3 operations.
    _, (_, best) = passes.rate(CHAIN_LENGTH * 2 * size**3)
    return best * (1 if is_processor else num_devices)


def seconds_since_start():
    """Returns the seconds since the start of this process."""
    started_at = psutil.Process().create_time()
    if not psutil.LINUX:
        return time.time() - started_at
    # psutil adds the start, in ticks since boot, to the time of boot, which
    # Linux rounds to seconds. The difference of both is exact.
    started_at -= psutil.boot_time()
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started_at


def _wait_until_quiet():
    end = time.monotonic() + SECONDS_TO_WAIT
    while time.monotonic() < end:
        begin, foreign = time.monotonic(), _foreign_seconds()
        time.sleep(min(1.0, SECONDS_TO_WAIT))
        seconds = time.monotonic() - begin
        if (_foreign_seconds() - foreign) / seconds < QUIET_CORES:
            return


def _foreign_seconds():
    """Returns the processor seconds of all other processes since boot."""
    ours = os.times()
    # The time of guests is part of the user time already.
    idle = ("idle", "iowait", "guest", "guest_nice")
    times = psutil.cpu_times()._asdict()
    busy = sum(times[name] for name in times if name not in idle)
    return busy - ours.user - ours.system
