"""Fuzzes one reader with atheris, guided by the code that is reached.

    pip install '.[fuzz]'
    python tests/robustness/fuzz.py checkpoints -max_total_time=600

The first argument is the name of a target in `fuzz_targets.py`. The others are
options of libFuzzer. An unexpected exception ends the run with a traceback, and
libFuzzer prints the path of the content that caused it.
"""

import pathlib
import sys
import tempfile

import atheris

# The modules whose branches guide the fuzzer.
READERS = ["keras_transformer", "json", "zipfile", "numpy.lib"]

with atheris.instrument_imports(include=READERS):
    from fuzz_targets import SEEDS
    from fuzz_targets import TARGETS
    from fuzz_targets import TOKENS
    from fuzz_targets import check


def main():
    if sys.argv[1:2] == [] or sys.argv[1] not in TARGETS:
        sys.exit(f"The first argument must be one of: {', '.join(TARGETS)}.")
    target = TARGETS[sys.argv.pop(1)]
    # libFuzzer ends the process itself, so nothing can be removed afterwards.
    directory = pathlib.Path(tempfile.mkdtemp())
    corpus = directory / "corpus"
    corpus.mkdir()
    for number, seed in enumerate(SEEDS[target]):
        (corpus / str(number)).write_bytes(seed)
    dictionary = directory / "tokens.dict"
    dictionary.write_text("".join(map(_entry, TOKENS)))
    options = ["-max_len=20000", "-rss_limit_mb=4096", "-timeout=10"]
    options += [f"-dict={dictionary}", f"-artifact_prefix={directory}/"]
    # Of two equal options libFuzzer takes the last.
    arguments = [sys.argv[0], *options, *sys.argv[1:], str(corpus)]
    atheris.Setup(arguments, lambda content: check(target, content) and None)
    atheris.Fuzz()


def _entry(token):
    """Returns the line of a token in a dictionary of libFuzzer."""
    return '"' + "".join(f"\\x{byte:02x}" for byte in token) + '"\n'


if __name__ == "__main__":
    main()
