"""What the processor of this machine can do."""


def processor_flags():
    """Returns the features of an x86 processor on Linux, elsewhere none.

    They are the names in /proc/cpuinfo, such as `avx512_vnni`, in a set.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                name, _, values = line.partition(":")
                if name.strip() == "flags":
                    return set(values.split())
    except OSError:  # another system than Linux
        pass
    return set()
