"""Runs mypy on a program that uses the package, without its libraries."""

import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).with_name("typed_use.py")
SETTINGS = """[mypy]
follow_imports = skip
ignore_missing_imports = true
warn_unused_ignores = true
[mypy-keras_transformer.*]
follow_imports = silent
ignore_missing_imports = false
"""


def check_program(tmp_path, cwd, *flags):
    """Returns what mypy prints about `typed_use.py` in a working directory."""
    settings = tmp_path / "mypy.ini"
    settings.write_text(SETTINGS, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", f"--config-file={settings}"]
    command += [f"--cache-dir={tmp_path / 'cache'}", *flags, str(PROGRAM)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
    return result.stdout + result.stderr
