"""Holds docs/paper.md to the code, the tests and the hyper-parameters."""

import ast
import dataclasses
import functools
import pathlib
import re

from keras_transformer import registry

DOCS = pathlib.Path(__file__).parents[1] / "docs"
PAGE = DOCS / "paper.md"
LINKS = sorted(set(re.findall(r"\[`([^`]+)`\]\(([^)]+)\)", PAGE.read_text())))


@functools.cache
def defined_names(path):
    """Returns the classes, functions, methods and constants of a module."""
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign):
            names.update(ast.unparse(target) for target in node.targets)
        names.add(getattr(node, "name", None))
        if isinstance(node, ast.ClassDef):
            methods = [getattr(member, "name", "") for member in node.body]
            names.update(f"{node.name}.{method}" for method in methods)
            # A test is named without its class.
            names.update(name for name in methods if name.startswith("test_"))
    return names


class PaperPageTest:
    def test_every_name_exists_in_its_file(self):
        missing = [
            f"{name} in {path}"
            for name, path in LINKS
            if name not in defined_names((DOCS / path).resolve())
        ]
        assert not missing

    def test_every_row_names_code_and_a_test(self):
        rows = [
            line.split(" | ")
            for line in PAGE.read_text().splitlines()
            if line.startswith("| ") and "](" in line
        ]
        assert rows
        for _, code, test in rows:
            assert "](../" in code and "](../tests/" not in code
            assert "](../tests/" in test


class HParamsTest:
    def test_every_field_has_its_value_in_base(self):
        page = PAGE.read_text()
        table = page[page.index("## Every hyper-parameter") :]
        values = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", table, re.M))
        base = dataclasses.asdict(registry.get_hparams("transformer_base"))
        assert values == {name: str(value) for name, value in base.items()}
