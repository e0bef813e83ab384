"""Claims about the types of the public names."""

import ast
import dataclasses
import inspect
import typing

import jedi
import keras
import pytest
from source_files import ROOT
from source_files import find_nodes_for_type_checkers
from type_checker import check_program

import keras_transformer
from keras_transformer import decoding
from keras_transformer import registry
from keras_transformer.decoding.translator import CallOptions
from keras_transformer.search.options import DecodeOptions

# Names that the package loads at their first use.
LAZY = [
    *((keras_transformer, name) for name in keras_transformer.__all__),
    *((decoding, name) for name in decoding.__all__),
]


def public_functions(thing):
    """Yields the functions of a class that a user may call, or the function.

    The methods of a Keras layer take tensors, which have shapes in place of
    types, and those of Keras itself.
    """
    if not inspect.isclass(thing):
        yield thing
        return
    yield thing.__init__
    if issubclass(thing, keras.layers.Layer):
        return
    for name in dir(thing):
        if name == "__call__" or not name.startswith("_"):
            member = inspect.getattr_static(thing, name)
            for wrapper in ("__func__", "fget", "func"):
                member = getattr(member, wrapper, member)
            if inspect.isfunction(member):
                yield member


def find_gaps(function):
    """Yields what lacks an annotation in the signatures of a function."""
    for each in typing.get_overloads(function) or [function]:
        signature = inspect.signature(each)
        for parameter in signature.parameters.values():
            is_variadic = parameter.kind in (
                parameter.VAR_POSITIONAL,
                parameter.VAR_KEYWORD,
            )
            is_bare = parameter.annotation is parameter.empty
            if (
                is_bare
                and not is_variadic
                and parameter.name not in ("self", "cls")
            ):
                yield f"{each.__qualname__}: {parameter.name}"
        is_bare = signature.return_annotation is signature.empty
        if is_bare and each.__name__ != "__init__":
            yield f"{each.__qualname__}: what it returns"


def names_for_type_checkers(package):
    """Returns the module of each name that only type checkers import."""
    path = ROOT / package.__name__.replace(".", "/") / "__init__.py"
    return {
        alias.asname: node.module
        for node in find_nodes_for_type_checkers(path)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name == alias.asname
    }


def complete(program):
    """Returns the names with which an editor would complete a program."""
    script = jedi.Script(program, project=jedi.Project(ROOT))
    return {completion.name for completion in script.complete()}


class AnnotationsTest:
    def test_every_public_function_is_annotated(self):
        public = [getattr(module, name) for module, name in LAZY]
        public += [registry.get_problem, registry.get_hparams]
        public += [registry.Registry, registry.import_usr_dir]
        functions = {f for thing in public for f in public_functions(thing)}
        assert len(functions) > 80
        gaps = [gap for f in functions for gap in find_gaps(f)]
        assert not sorted(gaps)

    def test_a_call_takes_the_options_of_decoding(self):
        options = {field.name for field in dataclasses.fields(DecodeOptions)}
        arguments = {"prefixes", "seed", "glossary", "protect", "repair"}
        expected = options - {"num_hypotheses"} | arguments
        assert CallOptions.__annotations__.keys() == expected

    @pytest.mark.parametrize("package", [keras_transformer, decoding])
    def test_type_checkers_see_the_names_that_are_loaded_late(self, package):
        submodules = getattr(package, "_SUBMODULES", ())
        expected = {
            name: f"keras_transformer.{module}"
            for name, module in package._MODULES.items()
        }
        expected |= dict.fromkeys(submodules, package.__name__)
        assert names_for_type_checkers(package) == expected


class TypeCheckerTest:
    @pytest.mark.slow  # tests/wheel_test.py has the same for the wheel
    def test_mypy_agrees_with_a_program_that_uses_the_names(self, tmp_path):
        assert "Success" in check_program(tmp_path, ROOT)


class EditorTest:
    def test_editor_completes_public_names(self):
        completed = complete("import keras_transformer as kt\nkt.")
        public = {*keras_transformer.__all__, *keras_transformer._SUBMODULES}
        assert public <= completed

    def test_editor_completes_what_load_returns(self):
        model = 'import keras_transformer as kt\nkt.load("runs/ende").'
        assert {"translate", "score", "options"} <= complete(model)

    @pytest.mark.parametrize("folder", ["problems", "hparams", "bin"])
    def test_editor_sees_the_folders_at_the_top(self, folder):
        modules = {path.stem for path in (ROOT / folder).glob("[a-z]*.py")}
        program = f"import keras_transformer.{folder} as folder\nfolder."
        assert modules and modules <= complete(program)
