"""Finds and parses the project's own files for tests."""

import ast
import functools
import pathlib

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = ("keras_transformer", "problems", "hparams", "bin")
FILES = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
)
TEST_FILES = sorted((ROOT / "tests").rglob("*.py"))
TEXTS = [*FILES, *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if parts[0] != "keras_transformer":
        parts = ("keras_transformer", *parts)
    return ".".join(parts)


MODULES = {module_name(path): path for path in FILES}


@functools.cache
def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def walk(path):
    """Returns all nodes of a file's syntax tree, a tuple."""
    return tuple(ast.walk(parse(path)))


@functools.cache
def find_nodes_for_type_checkers(path):
    """Returns the nodes under `if typing.TYPE_CHECKING`, which never run."""
    return {
        inner
        for node in parse(path).body
        if isinstance(node, ast.If)
        and ast.unparse(node.test) == "typing.TYPE_CHECKING"
        for inner in ast.walk(node)
    }


@functools.cache
def imported_modules(path):
    """Returns the modules that a file imports, in functions too, a tuple.

    What only type checkers import is left out.
    """
    names = []
    unseen = find_nodes_for_type_checkers(path)
    for node in walk(path):
        if node in unseen:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.append(inner if inner in MODULES else node.module)
    return tuple(names)


def inner_imports(path):
    return {
        name
        for name in imported_modules(path)
        if name.split(".")[0] == "keras_transformer"
    }


def identify(path):
    return str(path.relative_to(ROOT))
