"""What the processor of this machine can do."""

import re


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
