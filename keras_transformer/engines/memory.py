"""The memory of the machine, and the memory that this process has used."""

import os
import resource
import sys

GROUP_LIMIT = "/sys/fs/cgroup/memory.max"  # the limit of a container


def process_peak_bytes():
    """Returns the peak resident size of this process, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # macOS reports bytes, and other systems report KiB.
    return peak if sys.platform == "darwin" else 1024 * peak


def machine_bytes():
    """Returns the memory of the machine or of the container, in bytes."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        with open(GROUP_LIMIT, encoding="utf-8") as file:
            return min(total, int(file.read()))
    except (OSError, ValueError):  # not in a container, or one without a limit
        return total
