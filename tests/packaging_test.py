import ast
import configparser
import doctest
import importlib
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FOLDERS = ("keras_transformer", "problems", "hparams", "bin")
FILES = sorted(
    path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")
)
TEST_FILES = sorted((ROOT / "tests").rglob("*.py"))

PLANT = {
    "benchmark",
    "checkpoint_writer",
    "checkpoints",
    "compiled_search",
    "decoding",
    "early_stopping",
    "engines",
    "evaluation",
    "event_file",
    "export",
    "metrics_table",
    "model_card",
    "parsing",
    "retention",
    "run_directory",
    "serving",
    "training",
    "training_log",
    "training_state",
    "variables",
    "visualization",
    "workers",
}
BELOW_PLANT = {
    "beam_search",
    "bleu",
    "bracketed_text",
    "data",
    "decode_options",
    "files",
    "hparam",
    "losses",
    "masks",
    "metrics",
    "linearization",
    "optimizers",
    "parseval",
    "problem",
    "punctuation",
    "random_bits",
    "registry",
    "sampling",
    "schedules",
    "search",
    "top_k",
    "transformer",
    "translations",
    "tree_constraint",
    "tree_repair",
    "tree_text",
    "trees",
}
# Who may import whom, by the first name inside the package; `bin` may import
# everything, and only `bin` imports `bin`.
MAY_IMPORT = {
    "": set(),
    "beam_search": {"top_k"},
    "bleu": set(),
    "bracketed_text": set(),
    "data": {"data", "trees"},
    "decode_options": {"options"},
    "files": set(),
    "hparam": {"options"},
    "hparams": {"hparam", "registry", "hparams"},
    "layers": {"layers", "masks", "random_bits"},
    "linearization": {"tree_repair", "trees"},
    "losses": {"masks"},
    "masks": set(),
    "metrics": {"losses", "masks"},
    "optimizers": {"schedules"},
    "options": set(),
    "parseval": {"trees"},
    "problem": {"bleu", "data"},
    "problems": {
        "bleu",
        "data",
        "parseval",
        "problem",
        "problems",
        "registry",
        "tree_text",
        "trees",
    },
    "punctuation": {"trees"},
    "registry": set(),
    "random_bits": set(),
    "sampling": {"beam_search", "random_bits"},
    "schedules": set(),
    "search": {"beam_search", "sampling", "tree_constraint"},
    "top_k": set(),
    "transformer": {"hparam", "layers", "masks"},
    "translations": set(),
    "tree_constraint": {"beam_search", "linearization", "tree_text"},
    "tree_repair": {"trees"},
    "tree_text": {"linearization", "punctuation"},
    "trees": {"bracketed_text"},
    **dict.fromkeys(PLANT, PLANT | BELOW_PLANT),
    "engines": PLANT | BELOW_PLANT | {"layers"},
}
MATHS = {
    "beam_search",
    "layers",
    "losses",
    "masks",
    "metrics",
    "optimizers",
    "random_bits",
    "sampling",
    "schedules",
    "search",
    "top_k",
    "transformer",
    "tree_constraint",
}


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    if parts[0] != "keras_transformer":
        parts = ("keras_transformer", *parts)
    return ".".join(parts)


MODULES = {module_name(path): path for path in FILES}


def parse(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def group(module):
    return module.split(".")[1] if "." in module else ""


def imported_modules(path):
    """Names of all modules that a file imports, in functions too."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module


def inner_imports(path):
    return {
        name
        for name in imported_modules(path)
        if name.split(".")[0] == "keras_transformer"
    }


def identify(path):
    return str(path.relative_to(ROOT))


def methods_of(node):
    return [
        item.name for item in node.body if isinstance(item, ast.FunctionDef)
    ]


def setup_cfg():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def lines_of(section, key):
    lines = setup_cfg()[section][key].split("\n")
    return [line for line in lines if line and not line.startswith("#")]


class ImportRulesTest:
    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_only_allowed_edges(self, path):
        ours = group(module_name(path))
        if ours == "bin":
            return
        theirs = {group(name) for name in inner_imports(path)}
        forbidden = theirs - MAY_IMPORT[ours]
        assert not forbidden, f"{identify(path)} imports {forbidden}"

    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_imports_are_absolute_and_by_the_packages_name(self, path):
        for node in ast.walk(parse(path)):
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0
        tops = {name.split(".")[0] for name in imported_modules(path)}
        assert not tops & {"problems", "hparams", "bin"}

    @pytest.mark.parametrize(
        "path",
        [path for path in FILES if group(module_name(path)) in MATHS],
        ids=identify,
    )
    def test_maths_half_imports_no_backend(self, path):
        tops = {name.split(".")[0] for name in imported_modules(path)}
        assert not tops & {"tensorflow", "jax", "torch"}

    def test_no_import_goes_round_in_a_circle(self):
        edges = {
            name: inner_imports(path) - {name} for name, path in MODULES.items()
        }
        while edges:
            leaves = [name for name in edges if not edges[name] & edges.keys()]
            assert leaves, f"These import each other: {sorted(edges)}"
            for name in leaves:
                del edges[name]

    def test_data_plan_and_subwords_need_no_tensorflow(self):
        names = [name for name in MODULES if group(name) in ("data", "problem")]
        script = (
            "import importlib, sys\n"
            f"for name in {names}:\n"
            "    importlib.import_module(name)\n"
            "print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            cwd=ROOT,
        )
        assert result.stdout == "set()\n"


class SetupTest:
    def test_listed_packages_are_those_on_disk(self):
        on_disk = [
            module_name(path) for path in FILES if path.name == "__init__.py"
        ]
        assert sorted(lines_of("options", "packages")) == sorted(on_disk)

    def test_every_folder_with_modules_is_a_package(self):
        for path in FILES:
            assert (path.parent / "__init__.py").exists(), path

    def test_every_console_script_exists(self):
        for line in lines_of("options.entry_points", "console_scripts"):
            command, target = line.split(" = ")
            module, function = target.split(":")
            stem = command.removeprefix("kt-").replace("-", "_")
            assert module == f"keras_transformer.bin.{stem}"
            names = {
                node.name
                for node in parse(MODULES[module]).body
                if isinstance(node, ast.FunctionDef)
            }
            assert {"main", function} <= names

    def test_no_module_hides_a_mapped_folder(self):
        for folder in ("problems", "hparams", "bin"):
            assert not (ROOT / "keras_transformer" / f"{folder}.py").exists()
            assert not (ROOT / "keras_transformer" / folder).exists()

    def test_commands_do_not_have_names_of_the_standard_library(self):
        stems = {path.stem for path in (ROOT / "bin").glob("*.py")}
        assert not stems & sys.stdlib_module_names

    @pytest.mark.parametrize("folder", ["problems", "hparams"])
    def test_folder_imports_each_module_that_registers(self, folder):
        init = ROOT / folder / "__init__.py"
        registering = {
            module_name(path)
            for path in (ROOT / folder).glob("*.py")
            if "keras_transformer.registry" in imported_modules(path)
        }
        assert set(imported_modules(init)) == registering


class SourceTest:
    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_nothing_unsafe(self, path):
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
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 400

    @pytest.mark.parametrize("path", FILES, ids=identify)
    def test_module_says_what_it_is(self, path):
        assert ast.get_docstring(parse(path))

    @pytest.mark.parametrize("name", MODULES)
    def test_examples_in_docstrings_run(self, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        result = doctest.testmod(
            importlib.import_module(name),
            optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
        )
        assert result.failed == 0


class TestFilesTest:
    @pytest.mark.parametrize("path", TEST_FILES, ids=identify)
    def test_pytest_collects_every_file_with_tests(self, path):
        names = [
            node.name
            for node in ast.walk(parse(path))
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
            if not isinstance(node, ast.ClassDef):
                continue
            tests = [name for name in methods_of(node) if name[:4] == "test"]
            assert not tests or node.name.endswith("Test")
            assert len(tests) == len(set(tests)), "One test hides another."
