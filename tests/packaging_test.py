"""The rules of imports, the packaging, and the public names."""

import ast
import configparser
import keyword
import re
import subprocess
import sys

import pytest
from source_files import FILES
from source_files import MODULES
from source_files import ROOT
from source_files import TEXTS
from source_files import identify
from source_files import imported_modules
from source_files import inner_imports
from source_files import module_name
from source_files import parse
from source_files import walk

import keras_transformer

# Who may import whom, by package. Modules of the root count as packages of
# their own, and so do three inner parts: `runs.model_card` reads a run,
# which knows nothing of it, and the engines of `formats` stand between
# `decoding.engines` and the rest of `decoding`. `bin` may import everything,
# and only `bin` imports `bin`.
MAY_IMPORT = {
    "": "",
    "data": "files token_ids",
    "decoding": "data decoding.engines decoding.steps documents files "
    "formats parsing runs scoring search serving token_ids",
    "decoding.engines": "data parsing runs search token_ids",
    "decoding.steps": "data decoding.engines documents parsing search "
    "token_ids",
    "documents": "",
    "errors": "",
    "files": "",
    "formats": "data decoding.engines files hparam model_config parsing "
    "registry runs runs.model_card scoring search serving token_ids "
    "visualization",
    "hparam": "model_config",
    "hparams": "hparam registry",
    "layers": "masks serialization",
    "losses": "masks serialization",
    "masks": "serialization token_ids",
    "metrics": "losses masks serialization",
    "model_config": "",
    "optimizers": "schedules serialization",
    "parsing": "data layers search serialization token_ids",
    "problem": "data scoring",
    "problems": "data parsing problem registry token_ids",
    "registry": "hparam problem",
    "runs": "data files hparam layers model_config parsing registry "
    "scoring token_ids",
    "runs.model_card": "files registry runs",
    "schedules": "serialization",
    "scoring": "data files token_ids",
    "search": "layers token_ids",
    "serialization": "",
    "serving": "data documents files",
    "studio": "decoding decoding.engines files layers masks parsing "
    "registry runs scoring search serving token_ids visualization",
    "token_ids": "",
    "training": "data decoding decoding.engines files formats hparam "
    "layers losses masks metrics model_config optimizers registry runs "
    "runs.model_card scoring visualization",
    "visualization": "data files parsing runs scoring token_ids",
}
EVERYONE_MAY_IMPORT = {"errors"}
MAX_FLOORS = 11
MAX_MODULES_IN_ROOT = 11
MATHS = {
    "layers",
    "losses",
    "masks",
    "metrics",
    "optimizers",
    "schedules",
    "search",
    "serialization",
}


def package_of(module):
    """Returns the key in `MAY_IMPORT` that a module falls under."""
    names = module.split(".")[1:]
    inner = ".".join(names[:2])
    return inner if inner in MAY_IMPORT else "".join(names[:1])


def may_import(ours, theirs):
    if ours in ("bin", theirs) or theirs in EVERYONE_MAY_IMPORT:
        return True
    return theirs in MAY_IMPORT[ours].split()


def imported_tops(module):
    """Returns the top packages that a module of ours imports, a set of str."""
    return {name.split(".")[0] for name in imported_modules(MODULES[module])}


def texts_in(node):
    """Yields the texts that stand in a part of a module."""
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def setup_cfg():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def lines_of(section, key):
    lines = setup_cfg()[section][key].split("\n")
    return [line for line in lines if line and not line.startswith("#")]


class ImportRulesTest:
    def test_only_allowed_edges(self):
        forbidden = [
            f"{name} imports {inner}"
            for name, path in MODULES.items()
            for inner in inner_imports(path)
            if not may_import(package_of(name), package_of(inner))
        ]
        assert not forbidden

    def test_rules_name_the_packages_that_exist(self):
        packages = {package_of(name) for name in MODULES} - {"bin"}
        assert packages == MAY_IMPORT.keys()

    def test_every_allowed_edge_is_used(self):
        used = {
            (package_of(name), package_of(theirs))
            for name, path in MODULES.items()
            for theirs in inner_imports(path)
        }
        allowed = {
            (ours, theirs)
            for ours, packages in MAY_IMPORT.items()
            for theirs in packages.split()
        }
        assert allowed <= used, sorted(allowed - used)

    def test_packages_stand_on_few_floors(self):
        """A package stands one floor above the highest that it may import."""
        edges = {
            ours: set(packages.split()) for ours, packages in MAY_IMPORT.items()
        }
        edges["bin"] = set(MAY_IMPORT)
        num_floors = 0
        while edges:
            lowest = [name for name in edges if not edges[name] & edges.keys()]
            assert lowest, f"These may import each other: {sorted(edges)}"
            for name in lowest:
                del edges[name]
            num_floors += 1
        assert num_floors <= MAX_FLOORS

    def test_root_holds_few_modules(self):
        root = ROOT / "keras_transformer"
        modules = [path for path in root.glob("*.py") if path.stem[0] != "_"]
        assert len(modules) <= MAX_MODULES_IN_ROOT

    def test_imports_are_absolute(self):
        relative = [
            identify(path)
            for path in FILES
            for node in walk(path)
            if isinstance(node, ast.ImportFrom) and node.level
        ]
        assert not relative

    def test_imports_are_by_the_packages_name(self):
        folders = {"problems", "hparams", "bin"}
        bare = [name for name in MODULES if imported_tops(name) & folders]
        assert not bare

    def test_maths_half_imports_no_backend(self):
        backends = {"tensorflow", "jax", "torch"}
        impure = [
            name
            for name in MODULES
            if package_of(name) in MATHS and imported_tops(name) & backends
        ]
        assert not impure

    def test_commands_refuse_input_by_user_errors(self):
        """A command shows the traceback of every other error as a bug."""
        plain = [
            f"{path}, line {node.lineno}"
            for name, path in MODULES.items()
            if package_of(name) == "bin"
            for node in walk(path)
            if isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "ValueError"
            and any("Received: " in text for text in texts_in(node))
        ]
        assert not plain

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
        names = [
            name for name in MODULES if package_of(name) in ("data", "problem")
        ]
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
            # No module can be imported by the name of a keyword.
            stem += "_" * keyword.iskeyword(stem)
            assert module == f"keras_transformer.bin.{stem}"
            names = set()
            for node in parse(MODULES[module]).body:
                if isinstance(node, ast.FunctionDef):
                    names.add(node.name)
                elif isinstance(node, ast.Assign):
                    names.update(ast.unparse(target) for target in node.targets)
            assert {"main", function} <= names

    @pytest.mark.skipif(
        not (ROOT / ".git").exists(), reason="source distributions lack links"
    )
    def test_links_of_a_checkout_lead_to_the_mapped_folders(self):
        """Python, editors and type checkers find the folders by them."""
        for line in lines_of("options", "package_dir"):
            package, folder = line.split(" = ")
            link = ROOT.joinpath(*package.split("."))
            assert link.readlink().as_posix() == f"../{folder}"

    def test_commands_do_not_have_names_of_the_standard_library(self):
        stems = {path.stem for path in (ROOT / "bin").glob("*.py")}
        assert not stems & sys.stdlib_module_names

    def test_nothing_tells_users_to_install_another_project(self):
        assert setup_cfg()["metadata"]["name"] == "keras-t2t"
        for path in TEXTS:
            text = path.read_text(encoding="utf-8")
            assert not re.search(r"install \W*keras-transformer", text), path

    def test_links_in_readme_work_outside_the_checkout(self):
        pages = setup_cfg()["metadata"]["url"] + "/blob/main/"
        pictures = pages.replace("github.com", "raw.githubusercontent.com")
        pictures = pictures.replace("/blob/", "/")
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        links = re.findall(r"\]\(([^)]+)\)|^\[\w+\]: (.+)$", text, re.M)
        links = ["".join(link) for link in links]
        assert links
        for link in links:
            assert link.startswith("https://"), link
            for address in (pages, pictures):
                if link.startswith(address):
                    assert (ROOT / link.removeprefix(address)).is_file(), link

    def test_files_that_the_map_names_exist(self):
        text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        names = set(re.findall(r"`([a-z0-9_/]+\.py)`", text))
        assert len(names) > 30
        for name in names:
            places = (ROOT / name, ROOT / "keras_transformer" / name)
            assert any(place.is_file() for place in places), name

    def test_the_map_begins_with_ten_files_and_tells_short_journeys(self):
        text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        files = re.findall(r"^\| (\d+) \| `[a-z_/]+\.py` ", text, re.MULTILINE)
        assert files == [str(number) for number in range(1, 11)]
        for name in ("sentence", "batch", "request"):
            (journey,) = re.findall(
                rf"^## A {name}.*?(?=^## )", text, re.M | re.S
            )
            steps = re.findall(r"^(\d+)\. ", journey, re.MULTILINE)
            assert 5 <= len(steps) <= 10

    def test_the_map_states_the_rules_of_imports(self):
        text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`.+?) \| .+ \| (.+) \|$", text, re.MULTILINE)
        above = set()
        for row in rows:
            ours, theirs = (set(re.findall("`(.+?)`", cell)) for cell in row)
            if not ours <= MAY_IMPORT.keys():
                continue  # `bin`, and the tables of files
            allowed = {name for key in ours for name in MAY_IMPORT[key].split()}
            assert allowed - ours == theirs <= above, sorted(ours)
            above |= ours
        assert above == MAY_IMPORT.keys() - {""}

    @pytest.mark.parametrize("folder", ["problems", "hparams"])
    def test_folder_imports_each_module_that_registers(self, folder):
        init = ROOT / folder / "__init__.py"
        registering = {
            module_name(path)
            for path in (ROOT / folder).glob("*.py")
            if "keras_transformer.registry" in imported_modules(path)
        }
        assert set(imported_modules(init)) == registering


class PublicNamesTest:
    def test_every_public_name_is_there(self):
        assert len(keras_transformer.__all__) == 14
        for name in keras_transformer.__all__:
            assert getattr(keras_transformer, name).__name__ == name
            assert name in dir(keras_transformer)

    def test_dir_lists_public_names_and_modules_alone(self):
        modules = "layers losses masks metrics optimizers schedules".split()
        for name in modules:
            module = getattr(keras_transformer, name)
            assert module.__name__ == f"keras_transformer.{name}"
        public = {*keras_transformer.__all__, *modules, "__version__"}
        assert set(dir(keras_transformer)) == public

    def test_unknown_name_is_an_attribute_error(self):
        with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
            keras_transformer.Nothing

    def test_import_is_quick_and_loads_no_backend(self):
        """Loads the standard library alone: Keras takes seconds to import."""
        script = (
            "import sys\n"
            "before = set(sys.modules)\n"
            "import keras_transformer\n"
            "print(sorted(n for n in set(sys.modules) - before if '.' not in n "
            "and n not in sys.stdlib_module_names))\n"
        )
        output = subprocess.check_output(
            [sys.executable, "-c", script], text=True, cwd=ROOT
        )
        assert output == "['keras_transformer']\n"

    def test_paths_that_documents_teach_work(self):
        from keras_transformer import layers
        from keras_transformer import masks
        from keras_transformer.decoding import Translator
        from keras_transformer.problem import Problem
        from keras_transformer.registry import register_problem

        assert layers.Encoder and masks.padding_mask
        assert Translator is keras_transformer.Translator
        assert Problem is keras_transformer.Problem
        assert register_problem is keras_transformer.register_problem
