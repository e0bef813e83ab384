"""Asks for the memory of machine and process, and the processor's features."""

import re
import sys

import psutil

try:
    import resource
except ModuleNotFoundError:  # on Windows
    resource = None  # type: ignore[assignment]

GROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # the limit of a container


def process_peak_bytes():
    """Returns the peak resident size of this process, in bytes."""
    if resource is None:
        return psutil.Process().memory_info().peak_wset
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, and other systems report KiB.
    return peak if sys.platform == "darwin" else 1024 * peak


def machine_bytes():
    """Returns the memory of the machine or of the container, in bytes."""
    total = psutil.virtual_memory().total
    try:
        with open(GROUP_LIMIT, encoding="utf-8") as file:
            return min(total, int(file.read()))
    except (OSError, ValueError):  # not in a container, or one without a limit
        return total


def processor_flags():
    """Returns the names of the processor's features, such as `avx512_vnni`.

    They come from /proc/cpuinfo, which lists them on Linux with an x86
    processor. psutil does not know them. On other machines the set is empty.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = re.search(r"^flags\s*:(.*)", file.read(), re.MULTILINE)
    except OSError:  # not on Linux
        return set()
    return set(flags[1].split()) if flags else set()
