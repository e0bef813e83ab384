"""Checks every source file and every test file."""

import ast
import doctest
import importlib

import pytest
from source_files import FILES
from source_files import MODULES
from source_files import TEST_FILES
from source_files import identify
from source_files import imported_modules
from source_files import parse

MAX_LINES_OF_FILE = 400
MAX_LINES_OF_FUNCTION = 50
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


class SourceTest:
    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_file_has_no_unsafe_call(self, path):
        for node in ast.walk(parse(path)):
            assert not isinstance(node, ast.Assert)
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in (
                    "eval",
                    "exec",
                    "yaml.load",
                )
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert ast.unparse(node.value) == "False"
        assert not {"pickle", "dill", "marshal"} & set(imported_modules(path))

    @pytest.mark.parametrize("path", FILES + TEST_FILES, ids=identify)
    def test_file_is_not_too_long(self, path):
        num_lines = len(path.read_text(encoding="utf-8").splitlines())
        assert num_lines <= MAX_LINES_OF_FILE

    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_no_function_is_too_long(self, path):
        """Counts the lines of a function without those of its docstring."""
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef):
                num_lines = node.end_lineno - node.lineno + 1
                if ast.get_docstring(node):
                    docstring = node.body[0]
                    num_lines -= docstring.end_lineno - docstring.lineno + 1
                assert num_lines <= MAX_LINES_OF_FUNCTION, node.name

    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_module_has_a_docstring(self, path):
        assert ast.get_docstring(parse(path))

    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_docstrings_are_in_the_third_person(self, path):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                docstring = ast.get_docstring(node) or " "
                assert docstring.split(" ")[0] not in IMPERATIVES, node.name

    @pytest.mark.parametrize("name", MODULES)
    def test_examples_in_docstrings_run(self, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = doctest.testmod(
            importlib.import_module(name),
            optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
        )
        assert result.failed == 0


def is_shared_tests(node):
    """Returns whether a class holds tests for other classes to inherit."""
    return isinstance(node, ast.ClassDef) and node.name.endswith("Checks")


class TestFilesTest:
    @pytest.mark.parametrize("path", TEST_FILES, ids=identify)
    def test_pytest_collects_every_file_with_tests(self, path):
        names = [
            node.name
            for part in parse(path).body
            if not is_shared_tests(part)
            for node in ast.walk(part)
            if isinstance(node, ast.FunctionDef)
        ]
        has_tests = any(name.startswith("test_") for name in names)
        assert path.name.endswith("_test.py") == has_tests

    def test_no_two_test_files_share_a_name(self):
        # Without an `__init__.py` pytest imports each by its bare name.
        names = [path.name for path in TEST_FILES if path.stem != "conftest"]
        assert len(names) == len(set(names))
        assert "__init__.py" not in names

    @pytest.mark.parametrize("path", TEST_FILES, ids=identify)
    def test_pytest_collects_every_class_with_tests(self, path):
        for node in parse(path).body:
            if not isinstance(node, ast.ClassDef) or is_shared_tests(node):
                continue
            tests = [name for name in methods_of(node) if name[:4] == "test"]
            assert not tests or node.name.endswith("Test")
            assert len(tests) == len(set(tests)), "One test hides another."

    def test_every_class_of_shared_tests_is_inherited(self):
        nodes = [node for path in TEST_FILES for node in parse(path).body]
        bases = {
            ast.unparse(base)
            for node in nodes
            if isinstance(node, ast.ClassDef)
            for base in node.bases
        }
        assert {node.name for node in nodes if is_shared_tests(node)} <= bases
