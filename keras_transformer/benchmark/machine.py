"""What a machine can do at the most, and when it is quiet enough to tell."""

import math
import os
import statistics
import time
import typing

QUIET_CORES = 0.3  # most that other processes may use during a quiet pass
SECONDS_TO_WAIT = 3.0  # for other processes to finish, before each pass
MATRIX_SIZE = 2048  # 70 ms in float32 on two cores
ACCELERATOR_MATRIX_SIZE = 8192  # some ms
CHAIN_LENGTH = 8  # products one after another
_IMPORTED_AT = time.monotonic()


class Passes(typing.NamedTuple):
    """Seconds that one run took in each pass, of the quiet passes if any."""

    seconds: list
    num_quiet: int
    num_disturbed: int
    foreign_cores: float  # that others used, on average over all passes

    def rate(self, amount):
        """Return an amount per second: the median, and (least, greatest)."""
        rates = [amount / seconds for seconds in self.seconds]
        return statistics.median(rates), (min(rates), max(rates))

    def figures(self):
        """Returns how disturbed the passes were, as a dictionary for JSON."""
        return {
            "quiet_passes": self.num_quiet,
            "disturbed_passes": self.num_disturbed,
            "foreign_cores": round(self.foreign_cores, 2),
        }


def timed_passes(run, num_passes, least_seconds=1.0):
    """Time a run a few times, when the machine is as quiet as it gets.

    Args:
        run: function of how often to do it. It is called once before what
            counts, to warm up and to see how often fills `least_seconds`.
        num_passes: number of times that count.
        least_seconds: a pass repeats a run that is shorter.

    Returns:
        `Passes`.
    """
    begin = time.perf_counter()
    run(1)
    num_runs = math.ceil(least_seconds / (time.perf_counter() - begin))
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
    """Return the floating-point operations a second of large matrix products.

    The best of some passes through the backend that Keras runs on: as much as
    a model could reach here if nothing else took time.

    Args:
        precision: data type of the matrices.
        num_devices: accelerators that a training uses. One is measured and
            multiplied; a processor counts once.
        num_passes: number of passes.
    """
    import keras
    from keras import ops

    is_processor = "CPU" in str(ops.zeros(1).device).upper()
    size = MATRIX_SIZE if is_processor else ACCELERATOR_MATRIX_SIZE
    first = keras.random.normal((size, size), dtype=precision)
    # So scaled, the products keep their size.
    factor = keras.random.normal(
        (size, size), stddev=size**-0.5, dtype=precision
    )

    def run(num_times):
        for _ in range(num_times):
            product = first
            for _ in range(CHAIN_LENGTH):
                product = ops.matmul(product, factor)
            float(product[0, 0])  # waits for the device

    passes = timed_passes(run, num_passes, least_seconds=0.2)
    _, (_, best) = passes.rate(CHAIN_LENGTH * 2 * size**3)
    return best * (1 if is_processor else num_devices)


def seconds_since_start():
    """Return the seconds since the start of this process.

    Where the system does not tell, since the import of this module.
    """
    try:
        with open("/proc/self/stat", encoding="utf-8") as file:
            # After the command's name, in parentheses, comes field 3.
            ticks = int(file.read().rpartition(")")[2].split()[22 - 3])
    except OSError:
        return time.monotonic() - _IMPORTED_AT
    started_at = ticks / os.sysconf("SC_CLK_TCK")
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
    """Processor seconds of all other processes since the machine's start."""
    own = os.times()
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            # user nice system idle iowait irq softirq steal
            ticks = [int(value) for value in file.readline().split()[1:9]]
    except OSError:  # not Linux: taken for quiet
        return 0.0
    busy = sum(ticks) - ticks[3] - ticks[4]
    return busy / os.sysconf("SC_CLK_TCK") - own.user - own.system
