import dataclasses
import pathlib
import subprocess
import sys

import pytest

from keras_transformer import registry
from keras_transformer.hparam import HParams
from keras_transformer.problem import Problem


class FakeProblem(Problem):
    pass


@pytest.fixture
def problems(monkeypatch):
    empty = registry.Registry("problem")
    monkeypatch.setattr(registry, "problems", empty)
    return empty


class RegistryTest:
    def test_name_is_snake_case_of_the_object(self):
        colours = registry.Registry("colour")

        @colours.register
        class DarkBlue:
            pass

        assert colours.names() == ["dark_blue"]
        assert colours.get("dark_blue") is DarkBlue

    def test_explicit_name_wins(self):
        colours = registry.Registry("colour")

        @colours.register("navy")
        class DarkBlue:
            pass

        assert colours.get("navy") is DarkBlue

    def test_empty_parentheses_register_under_its_own_name(self):
        colours = registry.Registry("colour")
        colours.register()(FakeProblem)
        assert colours.names() == ["fake_problem"]

    def test_names_are_sorted(self):
        colours = registry.Registry("colour")
        for name in ("red", "blue", "green"):
            colours.register(name)(object)
        assert colours.names() == ["blue", "green", "red"]

    def test_error_of_a_duplicate_names_both_modules(self):
        colours = registry.Registry("colour")
        colours.register("red")(FakeProblem)
        with pytest.raises(ValueError, match="(?s)hparam.*registry_test"):
            colours.register("red")(HParams)

    def test_unknown_name_suggests_and_says_how_to_list(self):
        colours = registry.Registry("colour")
        for name in ("dark_red", "dark_blue", "dark_bloom", "dark_blow"):
            colours.register(name)(object)
        with pytest.raises(ValueError) as error:
            colours.get("dark_blu")
        message = str(error.value)
        assert "'dark_blu'" in message
        assert "dark_blue" in message
        assert "`kt-trainer --registry_help` lists all" in message
        assert "needs its --usr_dir" in message
        suggested = message.split("Did you mean: ")[1].split("?")[0]
        assert len(suggested.split(", ")) <= 3

    def test_failing_import_passes_through(self):
        broken = registry.Registry("colour", package="no_such_package_here")
        with pytest.raises(ImportError, match="no_such_package_here"):
            broken.get("red")

    def test_snake_case_keeps_numbers_with_their_word(self):
        assert registry.snake_case("TranslateEndeWmt14") == (
            "translate_ende_wmt14"
        )
        assert registry.snake_case("transformer_base") == "transformer_base"


class GetProblemTest:
    def test_decorator_names_the_class(self, problems):
        cls = registry.register_problem(type("CopyDigits", (FakeProblem,), {}))
        assert cls.name == "copy_digits"
        assert problems.get("copy_digits") is cls

    def test_decorator_takes_a_name(self, problems):
        cls = registry.register_problem("digits")(
            type("CopyDigits", (FakeProblem,), {})
        )
        assert cls.name == "digits"

    def test_data_dir_is_passed_on(self, problems):
        registry.register_problem("digits")(FakeProblem)
        problem = registry.get_problem("digits", data_dir="data")
        assert problem.data_dir == "data"
        assert not problem.reverse

    def test_rev_reverses_the_base_problem(self, problems):
        registry.register_problem("digits")(FakeProblem)
        problem = registry.get_problem("digits_rev", data_dir="data")
        assert problem.data_dir == "data"
        assert problem.reverse

    @pytest.mark.parametrize("others", [[], ["digits"]])
    def test_registered_name_may_end_in_rev(self, problems, others):
        for name in [*others, "digits_rev"]:
            registry.register_problem(name)(type(name, (FakeProblem,), {}))
        problem = registry.get_problem("digits_rev")
        assert not problem.reverse
        assert type(problem) is problems.get("digits_rev")

    @pytest.mark.parametrize("entry", [HParams, str.upper])
    def test_what_is_no_problem_is_refused(self, problems, entry):
        problems.register("digits")(entry)
        with pytest.raises(ValueError, match=f"digits.*{entry.__name__}"):
            registry.get_problem("digits")

    def test_both_adds_the_other_direction(self, problems):
        registry.register_problem("digits")(FakeProblem)
        problem = registry.get_problem("digits_both", data_dir="data")
        assert (problem.name, problem.data_dir) == ("digits_both", "data")
        assert len(problem.directions) == 2
        assert len(registry.get_problem("digits_rev").directions) == 1

    def test_registered_name_may_end_in_both(self, problems):
        registry.register_problem("digits_both")(FakeProblem)
        problem = registry.get_problem("digits_both")
        assert len(problem.directions) == 1

    @pytest.mark.parametrize("suffix", ["_rev_rev", "_both_both", "_rev_both"])
    def test_two_suffixes_are_unknown(self, problems, suffix):
        registry.register_problem("digits")(FakeProblem)
        with pytest.raises(
            ValueError, match=f"Unknown problem 'digits{suffix}'"
        ):
            registry.get_problem(f"digits{suffix}")


class GetHParamsTest:
    def test_returns_the_set(self):
        assert registry.get_hparams("transformer_base").d_model == 512

    def test_unknown_set_suggests_another(self):
        with pytest.raises(ValueError, match="transformer_tiny"):
            registry.get_hparams("transfomer_tiny")

    def test_set_that_returns_no_hparams_is_refused(self, monkeypatch):
        sets = registry.Registry("hparams_set")
        monkeypatch.setattr(registry, "hparams_sets", sets)
        registry.register_hparams("mine")(dict)
        with pytest.raises(ValueError, match="mine.*type dict.*Return"):
            registry.get_hparams("mine")

    def test_subclass_without_fields_and_a_model_is_refused(self, monkeypatch):
        @dataclasses.dataclass(frozen=True)
        class WithoutModel(HParams):
            own_gate: float = 0.5

        class WithoutFields(HParams):
            model_class = HParams

        sets = registry.Registry("hparams_set")
        monkeypatch.setattr(registry, "hparams_sets", sets)
        for cls in (WithoutModel, WithoutFields):
            registry.register_hparams(cls.__name__)(cls)
            with pytest.raises(
                ValueError, match=f"model_class.*a {cls.__name__}"
            ):
                registry.get_hparams(cls.__name__)

    def test_listing_imports_neither_tensorflow_nor_keras(self):
        script = (
            "import sys\n"
            "from keras_transformer import registry as r\n"
            "print(*r.problems.names(), *r.hparams_sets.names())\n"
            "print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        names, loaded = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            cwd=pathlib.Path(__file__).parents[1],
        ).stdout.splitlines()
        assert {"copy", "reverse", "transformer_base"} <= set(names.split())
        assert loaded == "set()"


class ImportUsrDirTest:
    def test_it_runs_the_registrations_of_the_directory(self, tmp_path):
        usr_dir = tmp_path / "my_sets_of_registry_test"
        usr_dir.mkdir()
        (usr_dir / "__init__.py").write_text("from . import mine\n")
        (usr_dir / "mine.py").write_text(
            "from keras_transformer import hparam\n"
            "from keras_transformer.registry import register_hparams\n"
            "@register_hparams\n"
            "def my_set_of_registry_test():\n"
            "    return hparam.HParams(d_ff=77)\n"
        )
        path = list(sys.path)
        registry.import_usr_dir(str(usr_dir) + "/")
        registry.import_usr_dir(str(usr_dir))
        assert registry.get_hparams("my_set_of_registry_test").d_ff == 77
        assert sys.path == path

    def test_missing_init_is_named(self, tmp_path):
        with pytest.raises(ValueError, match="`__init__.py`.*Create the file"):
            registry.import_usr_dir(tmp_path)

    @pytest.mark.parametrize("name", ["json", "this"])
    def test_name_of_another_module_is_refused(self, tmp_path, name):
        """The module `json` is loaded, `this` is not."""
        usr_dir = tmp_path / name
        usr_dir.mkdir()
        (usr_dir / "__init__.py").write_text("")
        with pytest.raises(ValueError, match=f"'{name}'.*Rename"):
            registry.import_usr_dir(usr_dir)
        assert "this" not in sys.modules

    def test_error_in_the_users_code_passes_through(self, tmp_path):
        usr_dir = tmp_path / "broken_of_registry_test"
        usr_dir.mkdir()
        (usr_dir / "__init__.py").write_text("import no_such_module_here\n")
        with pytest.raises(ImportError, match="no_such_module_here"):
            registry.import_usr_dir(usr_dir)
