"""What the processor of this machine can do."""


def processor_flags():
    """Returns the names of the processor's features, such as `avx512_vnni`.

    They come from /proc/cpuinfo, which lists them on Linux with an x86
    processor. psutil does not know them. On other machines the set is empty.
    """
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                name, _, values = line.partition(":")
                if name.strip() == "flags":
                    return set(values.split())
    except OSError:  # not on Linux
        pass
    return set()
