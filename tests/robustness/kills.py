"""Kills commands at random moments and looks at what they leave behind."""

import contextlib
import dataclasses
import os
import random
import time

WATCH_SECONDS = 0.002


@dataclasses.dataclass
class Kills:
    """The results of SIGKILLs of one command."""

    kills: int = 0
    at_work: int = 0  # kills after the command had begun to write
    faults: tuple = ()  # what was lost, spoiled or unusable afterwards


def kill_often(work, num_kills, seed=0):
    """Kills a command repeatedly and finishes it after every second kill.

    Args:
        work: A `Work`.
        num_kills: Number of SIGKILLs.
        seed: Seed of the random moments. Defaults to 0.

    Returns:
        A `Kills`.
    """
    generator = random.Random(seed)
    seconds_to_write, seconds_at_work = _durations(work)
    report = Kills()
    faults = []
    while report.kills < num_kills:
        before = _state(work.output)
        process = work.start(*(work.repeat_flags if report.kills % 2 else ()))
        # Of five kills, one comes before the command writes.
        if generator.random() < 0.2:
            time.sleep(generator.uniform(0, seconds_to_write))
        else:
            _wait_for_a_change(work.output, before, process)
            time.sleep(generator.uniform(0, seconds_at_work))
        was_running = process.poll() is None
        process.kill()
        process.communicate()
        report.kills += was_running
        report.at_work += was_running and _state(work.output) != before
        faults.append(work.fault())
        if report.kills % 2 == 0:
            faults.append(_fault_after_the_end(work))
            work.reset()
    report.faults = tuple(filter(None, faults))
    return report


def _fault_after_the_end(work):
    """Runs a killed command to its end; returns what is wrong then."""
    if work.is_complete():
        return None
    try:
        work.run(*work.repeat_flags)
    except AssertionError as error:
        return f"afterwards: {error}"
    return None if work.is_complete() else "afterwards it is not complete"


def _durations(work):
    """Returns how long a command needs until it writes, and from then on."""
    state = _state(work.output)
    start = time.monotonic()
    process = work.start()
    _wait_for_a_change(work.output, state, process)
    first = last = time.monotonic()
    while process.poll() is None:
        state, earlier = _state(work.output), state
        if state != earlier:
            last = time.monotonic()
        time.sleep(WATCH_SECONDS)
    process.communicate()
    work.reset()
    return first - start, last - first


def _wait_for_a_change(directory, state, process):
    while process.poll() is None and _state(directory) == state:
        time.sleep(WATCH_SECONDS)


def _state(directory):
    """Returns names, sizes and times of all files below a directory."""
    state = set()
    # Unlike `rglob`, it takes a directory that disappears meanwhile.
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            # A file may disappear at any moment.
            with contextlib.suppress(OSError):
                status = os.stat(path)
                state.add((path, status.st_size, status.st_mtime_ns))
    return state
