"""Measures how many small faults in the maths half its tests find.

A mutant is a module with one operator, comparison or number changed. Its tests
are the files `<module>*_test.py`, and then all of the package. Prints each
mutant that they do not find, and how many they find.

    python benchmarks/mutation_score.py 100 [keras_transformer/masks.py ...]
"""

import ast
import importlib.util
import os
import pathlib
import random
import signal
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_transformer"
MATHS = [
    "masks.py",
    "schedules.py",
    "losses",
    "layers",
    "search",
]
TIMEOUT = 600  # seconds, for a mutant whose loop never ends
SWAPS = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot},
    **{ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div},
    **{ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult},
    **{ast.And: ast.Or, ast.Or: ast.And},
    **{ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


def find_sites(tree):
    """Returns the nodes that can be mutated, a list in order of the file."""
    sites, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise):
            continue  # the words of a message
        operator = getattr(node, "op", None) or getattr(node, "ops", [None])[0]
        if type(operator) in SWAPS or isinstance(operator, (ast.Not, ast.USub)):
            sites.append(node)
        elif isinstance(node, ast.Constant) and isinstance(
            node.value, (int, float)
        ):
            sites.append(node)
        waiting += reversed(list(ast.iter_child_nodes(node)))
    return sites


def mutate(node):
    """Changes a node of a syntax tree; returns a description."""
    before = ast.unparse(node)
    if isinstance(node, ast.Constant):
        is_truth = isinstance(node.value, bool)
        node.value = not node.value if is_truth else node.value + 1
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node, ast.UnaryOp):
        is_not = isinstance(node.op, ast.Not)
        node.op = ast.UAdd()
        if is_not:  # `not not x`
            node.op = ast.Not()
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        node.op = SWAPS[type(node.op)]()
    ast.fix_missing_locations(node)
    return f"line {node.lineno}: {before} -> {ast.unparse(node)}"


class Importer:
    """Imports one module from a changed syntax tree."""

    def __init__(self, path, tree):
        parts = path.relative_to(ROOT).with_suffix("").parts
        self.name, self.path, self.tree = ".".join(parts), path, tree

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(
                name, self.path, loader=self
            )

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        exec(compile(self.tree, str(self.path), "exec"), module.__dict__)


def find_tests(path):
    """Yields the tests of a module, and then those of its whole package."""
    folder = ROOT / "tests" / path.relative_to(PACKAGE).parent
    own = sorted(folder.glob(f"{path.stem}*_test.py"))
    if own:
        yield own
    if folder != ROOT / "tests":
        yield [folder]


def pass_tests(path, tree, tests):
    """Returns whether tests pass with a module of this syntax tree."""
    child = os.fork()
    if not child:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        signal.alarm(TIMEOUT)
        sys.meta_path.insert(0, Importer(path, tree))
        options = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
        os._exit(pytest.main([*options, *map(str, tests)]))
    return os.waitpid(child, 0)[1] == 0


def main(number, paths):
    # The children inherit what takes seconds to import.
    import hypothesis  # noqa: F401
    import keras  # noqa: F401

    mutants = []
    for path in paths:
        num_sites = len(find_sites(ast.parse(path.read_text("utf-8"))))
        mutants += [(path, place) for place in range(num_sites)]
    print(f"{len(mutants)} mutants, of which {number} are drawn")
    survivors, intact = 0, set()
    drawn = random.Random(0).sample(mutants, min(number, len(mutants)))
    for done, (path, place) in enumerate(drawn, 1):
        tree = ast.parse(path.read_text("utf-8"))
        own = next(find_tests(path))
        if path not in intact and not pass_tests(path, tree, own):
            sys.exit(f"The tests of {path} fail without a change.")
        intact.add(path)
        description = mutate(find_sites(tree)[place])
        if all(pass_tests(path, tree, tests) for tests in find_tests(path)):
            survivors += 1
            print(f"{path.relative_to(ROOT)}, {description}", flush=True)
        print(f"{done - survivors} of {done} found", file=sys.stderr)
    print(f"{len(drawn) - survivors} of {len(drawn)} mutants were found")


if __name__ == "__main__":
    named = [pathlib.Path(name).resolve() for name in sys.argv[2:]]
    for name in () if named else MATHS:
        place = PACKAGE / name
        named += [place] if place.suffix else sorted(place.glob("*.py"))
    main(int(sys.argv[1]), named)
