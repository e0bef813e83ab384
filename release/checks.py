"""Checks that the last commit can be released; see CONTRIBUTING.md."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def search(path, pattern):
    """Returns the first group of a pattern in a file, or None."""
    match = re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return match and match[1]


def git(root, *arguments):
    return subprocess.run(
        ["git", *arguments],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()


def find_faults(root):
    """Returns what keeps a commit from being released, a list of str."""
    package = root / "keras_transformer/__init__.py"
    version = search(package, r'^__version__ = "(\d+\.\d+\.\d+)"$')
    if not version:
        return [f"{package} must state a version such as 1.2.3."]
    faults = []
    heading = search(root / "CHANGELOG.md", r"^## (.+)$")
    if heading != version:
        faults.append(
            f'CHANGELOG.md must begin with "## {version}". Received: {heading}.'
        )
    cited = search(root / "CITATION.cff", r"^version: (.+)$")
    if cited != version:
        faults.append(f"CITATION.cff must cite {version}. Received: {cited}.")
    if git(root, "status", "--porcelain"):
        faults.append("There are changes that are not committed.")
    tags = git(root, "tag", "--points-at", "HEAD").split()
    if f"v{version}" not in tags:
        faults.append(
            f"The last commit must have the tag v{version}. Received: {tags}."
        )
    return faults


if __name__ == "__main__":
    sys.exit("\n".join(find_faults(ROOT)) or None)
