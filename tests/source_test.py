"""Checks every source file and every test file.

Each test reads all files, and its failure lists all offenders.
"""

import ast
import doctest
import importlib
import importlib.util
import re

from source_files import FILES
from source_files import MODULES
from source_files import TEST_FILES
from source_files import identify
from source_files import imported_modules
from source_files import parse
from source_files import walk

MAX_LINES_OF_FILE = 400
MAX_LINES_OF_FUNCTION = 50
REFERENCE = re.compile(r"[Ss]ee\s+(?:# )?`([a-z][\w.]*)\.(\w+)`")
IMPERATIVES = {
    "Add",
    "Build",
    "Check",
    "Compute",
    "Find",
    "Give",
    "Load",
    "Make",
    "Read",
    "Return",
    "Run",
    "Save",
    "Say",
    "Take",
    "Write",
    "Yield",
}


def methods_of(node):
    return [
        item.name for item in node.body if isinstance(item, ast.FunctionDef)
    ]


def functions_of(path):
    return [node for node in walk(path) if isinstance(node, ast.FunctionDef)]


def place(path, node):
    """Returns where a node of the syntax tree stands, as linters print it."""
    return f"{identify(path)}:{node.lineno}: {getattr(node, 'name', '')}"


def is_unsafe(node):
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("eval", "exec", "yaml.load")
    if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
        return ast.unparse(node.value) != "False"
    return isinstance(node, ast.Assert)


def num_lines_without_docstring(function):
    num_lines = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function):
        docstring = function.body[0]
        num_lines -= docstring.end_lineno - docstring.lineno + 1
    return num_lines


class SourceTest:
    def test_no_file_has_an_unsafe_call(self):
        unsafe = [
            place(path, node)
            for path in FILES
            for node in walk(path)
            if is_unsafe(node)
        ]
        assert not unsafe

    def test_no_file_imports_a_reader_of_pickles(self):
        pickles = {"pickle", "dill", "marshal"}
        readers = [
            identify(path)
            for path in FILES
            if pickles & set(imported_modules(path))
        ]
        assert not readers

    def test_no_file_is_too_long(self):
        lengths = {
            identify(path): len(path.read_text(encoding="utf-8").splitlines())
            for path in FILES + TEST_FILES
        }
        too_long = {
            name: length
            for name, length in lengths.items()
            if length > MAX_LINES_OF_FILE
        }
        assert not too_long

    def test_no_function_is_too_long(self):
        too_long = [
            place(path, node)
            for path in FILES
            for node in functions_of(path)
            if num_lines_without_docstring(node) > MAX_LINES_OF_FUNCTION
        ]
        assert not too_long

    def test_every_count_of_positions_names_its_type(self):
        """Otherwise Keras counts in 16 bits if float16 is its default."""
        counts = [
            place(path, node)
            for path in FILES
            for node in walk(path)
            if isinstance(node, ast.Call)
            and ast.unparse(node.func) == "ops.arange"
            and "dtype" not in [keyword.arg for keyword in node.keywords]
        ]
        assert not counts

    def test_every_module_has_a_docstring(self):
        bare = [
            identify(path)
            for path in FILES
            if not ast.get_docstring(parse(path))
        ]
        assert not bare

    def test_what_a_text_refers_to_exists(self):
        """A reference is a module, or a module and a name in it."""
        texts = {m: p.read_text(encoding="utf-8") for m, p in MODULES.items()}
        missing = [
            f"{module}: {name}"
            for module, text in texts.items()
            for stem, last in REFERENCE.findall(text)
            for name in [f"{stem}.{last}"]
            if not any(
                f".{other}".endswith(f".{name}")
                or f".{other}".endswith(f".{stem}")
                and re.search(rf"\b{last}\b", texts[other])
                for other in texts
            )
        ]
        assert not missing

    def test_docstrings_are_in_the_third_person(self):
        imperative = [
            place(path, node)
            for path in FILES
            for node in walk(path)
            if isinstance(node, ast.FunctionDef | ast.ClassDef)
            and (ast.get_docstring(node) or " ").split(" ")[0] in IMPERATIVES
        ]
        assert not imperative

    def test_examples_in_docstrings_run(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        missing = set()
        if not importlib.util.find_spec("jax"):
            missing = {"keras_transformer.training.backends.jax_backend"}
        failed = [
            name
            for name in MODULES.keys() - missing
            if doctest.testmod(
                importlib.import_module(name),
                optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
            ).failed
        ]
        assert not failed


def is_shared_tests(node):
    """Returns whether a class holds tests for other classes to inherit."""
    return isinstance(node, ast.ClassDef) and node.name.endswith("Checks")


def has_tests(path):
    return any(
        isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        for part in parse(path).body
        if not is_shared_tests(part)
        for node in ast.walk(part)
    )


CLASSES = [
    (path, node)
    for path in TEST_FILES
    for node in parse(path).body
    if isinstance(node, ast.ClassDef)
]


class TestFilesTest:
    def test_pytest_collects_every_file_with_tests(self):
        misnamed = [
            identify(path)
            for path in TEST_FILES
            if path.name.endswith("_test.py") != has_tests(path)
        ]
        assert not misnamed

    def test_no_two_test_files_share_a_name(self):
        # Without an `__init__.py` pytest imports each by its bare name.
        names = [path.name for path in TEST_FILES if path.stem != "conftest"]
        assert not {name for name in names if names.count(name) > 1}
        assert "__init__.py" not in names

    def test_pytest_collects_every_class_with_tests(self):
        misnamed = [
            place(path, node)
            for path, node in CLASSES
            if not is_shared_tests(node) and not node.name.endswith("Test")
            if any(name.startswith("test") for name in methods_of(node))
        ]
        assert not misnamed

    def test_no_test_hides_another_of_its_class(self):
        hidden = [
            f"{place(path, node)}.{name}"
            for path, node in CLASSES
            for name in methods_of(node)
            if name.startswith("test") and methods_of(node).count(name) > 1
        ]
        assert not hidden

    def test_every_class_of_shared_tests_is_inherited(self):
        bases = {
            ast.unparse(base) for _, node in CLASSES for base in node.bases
        }
        shared = {node.name for _, node in CLASSES if is_shared_tests(node)}
        assert shared <= bases
