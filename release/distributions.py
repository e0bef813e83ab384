"""Builds the wheel and the sdist of the last commit, reproducibly.

Builds twice and compares the files byte by byte. Needs Git and the extra
`test`. Two machines give the same files if they have the same setuptools.

    python release/distributions.py dist
"""

import gzip
import io
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def git(*arguments):
    """Returns what Git prints about this repository, as bytes."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, check=True, stdout=subprocess.PIPE
    ).stdout


def build(target):
    """Builds into a directory. Files that are not committed do not count."""
    seconds = int(git("log", "-1", "--format=%ct"))
    with tempfile.TemporaryDirectory() as source:
        with tarfile.open(fileobj=io.BytesIO(git("archive", "HEAD"))) as files:
            files.extractall(source, filter="data")
        command = [sys.executable, "-m", "build", "--no-isolation"]
        # The wheel is made from the sdist, which is therefore complete.
        subprocess.run(
            [*command, "--outdir", target, source],
            env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds)},
            check=True,
            stdout=subprocess.DEVNULL,
            umask=0o022,
        )
    (sdist,) = target.glob("*.tar.gz")
    normalize(sdist, seconds)


def normalize(sdist, seconds):
    """Replaces times and owners in an sdist, which setuptools leaves there."""
    with tarfile.open(sdist) as files:
        members = [
            (member, files.extractfile(member) if member.isfile() else None)
            for member in sorted(files, key=lambda member: member.name)
        ]
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as normalized:
            for member, content in members:
                member.mtime = seconds
                member.uid = member.gid = 0
                member.uname = member.gname = ""
                member.pax_headers = {}
                normalized.addfile(member, content)
    sdist.write_bytes(gzip.compress(packed.getvalue(), mtime=seconds))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def main(target):
    with (
        tempfile.TemporaryDirectory() as first,
        tempfile.TemporaryDirectory() as second,
    ):
        for folder in (first, second):
            build(pathlib.Path(folder))
        files = contents(pathlib.Path(first))
        if files != contents(pathlib.Path(second)):
            sys.exit("Two builds of one commit differ.")
    target.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (target / name).write_bytes(content)
        print(target / name)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
