"""Flags: what a command defines, and what all commands share."""

import configparser
import contextlib
import importlib
import pathlib

import measure
import pytest
from absl import flags as absl_flags

from keras_transformer.bin.shared import flags
from keras_transformer.training.options import TrainingOptions

ROOT = pathlib.Path(__file__).parents[2]

STEP = "count or best"


def commands():
    """Returns the modules of all commands."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    scripts = config["options.entry_points"]["console_scripts"].split()
    return [
        importlib.import_module(entry.split(":")[0])
        for entry in scripts
        if entry.startswith("keras_transformer.")
    ]


def groups(values):
    """Returns the names of the flags under each title of a command's help."""
    return {
        title: [flag.name for flag in group]
        for title, group in flags.group_by_title(values).items()
    }


class DefineTest:
    def test_commands_may_give_one_name_two_meanings(self):
        first = flags.define("  size (count, default 1): Number of cats.")
        second = flags.define("  size (text, default large): Size of a dog.")
        first(["first", "--size=3"])
        second(["second"])
        assert (first.size, second.size) == (3, "large")

    def test_commands_do_not_see_each_others_values(self):
        first, second = flags.define("  alpha"), flags.define("  alpha")
        first(["first", "--alpha=1"])
        second(["second"])
        assert (first.alpha, second.alpha) == (1.0, None)

    def test_paths_that_are_required_must_not_be_empty(self):
        values = flags.define("  files (paths): Files.")
        values(["command", "--files="])
        with pytest.raises(ValueError, match="`--files` must be given"):
            flags.require(values, "files")

    def test_an_unknown_shared_flag_is_an_error(self):
        with pytest.raises(KeyError):
            flags.define("  no_such_flag")

    def test_a_command_cannot_define_a_flag_twice(self):
        with pytest.raises(absl_flags.DuplicateFlagError):
            flags.define("  alpha\nSearch:\n  alpha")

    @pytest.mark.parametrize(
        "given, is_enough",
        [
            ([], False),
            (["--table=3"], False),
            (["--table=4"], True),
            (["--grid=a"], True),
            (["--grid="], False),
        ],
    )
    def test_a_flag_needs_one_of_the_flags_in_its_row(self, given, is_enough):
        values = flags.define(
            """
  grid (text): Grid.
  table (3|4): Table.
  size (count, default 1, needs grid or table=4): Size.
"""
        )
        values(["command", *given])
        flags.check_needs(values)  # the size has its default
        values(["command", *given, "--size=2"])
        words = "`--size` needs `--grid` or `--table=4`. Received: --size=2."
        with (
            contextlib.nullcontext()
            if is_enough
            else pytest.raises(ValueError, match=words)
        ):
            flags.check_needs(values)

    def test_every_command_gets_the_common_flags_once(self):
        defined = groups(flags.define("Data:\n  usr_dir"))
        assert defined == {
            "Data": ["usr_dir"],
            "Flags of every command": ["registry_help"],
        }

    def test_errors_show_a_repeated_flag_as_it_was_given(self):
        kinds = {"corpus": flags.several(str, "a corpus")}
        values = flags.define("  train (corpus): Files.", **kinds)
        values(["command", "--train=a.en,a.de", "--train=b.tsv"])
        shown = "--train=a.en,a.de --train=b.tsv"
        assert flags.show(values, "train") == shown


class KindsTest:
    @pytest.mark.parametrize(
        "kind, text",
        [
            ("count", "0"),
            ("whole", "-1"),
            ("port", "70000"),
            ("amount", "-0.5"),
            ("amount", "nan"),
            (STEP, "0"),
            (STEP, "worst"),
            (STEP, "1000000001"),
            ("count", "1_28"),
            ("count", " 1"),
            ("count", "\u0663"),  # a digit three, in Arabic
            ("count", "9" * 5000),
            ("whole", "1000000001"),
            ("seed", "4294967296"),
            ("amount", "inf"),
            ("amount", "1e999"),
            ("amount", "1_0.5"),
            ("amount", "\u0663.5"),
            ("amount", "1e10"),
        ],
    )
    def test_a_value_out_of_range_is_an_error(self, kind, text):
        values = flags.define(f"  size ({kind}): Size.")
        with pytest.raises(absl_flags.IllegalFlagValueError) as error:
            values(["command", f"--size={text}"])
        assert "`--size` must be " in str(error.value)
        assert len(str(error.value)) < 200

    def test_an_upper_limit_is_named(self):
        values = flags.define("  size (count, maximum 9_999): Size.")
        with pytest.raises(
            absl_flags.IllegalFlagValueError, match="from 1 to 9,999. Received"
        ):
            values(["command", "--size=10000"])
        values(["command", "--size=9999"])
        assert values.size == 9_999

    def test_a_value_must_be_one_of_the_choices(self):
        values = flags.define("  x (a|b): A or b.")
        with pytest.raises(
            absl_flags.IllegalFlagValueError, match="one of a, b"
        ):
            values(["command", "--x=c"])

    @pytest.mark.parametrize(
        "argument, value",
        [("--x", True), ("--nox", False), ("--x=true", True), ("--x=0", False)],
    )
    def test_a_switch_is_on_or_off(self, argument, value):
        values = flags.define("  x (optional switch): Whether.")
        values(["command", argument])
        assert values.x is value

    def test_a_step_is_a_number_or_best(self):
        values = flags.define("  checkpoint_step")
        values(["command", "--checkpoint_step=20"])
        assert values.checkpoint_step == 20
        values(["command", "--checkpoint_step=best"])
        assert values.checkpoint_step == "best"


class CommandsTest:
    def test_a_shared_flag_serves_two_commands_or_more(self):
        for name, make in flags.SHARED_FLAGS.items():
            shared = make(name, "Shared")
            users = [
                command
                for command in [*commands(), measure]
                if name in command.FLAGS
                and command.FLAGS[name].help == shared.help
            ]
            assert len(users) >= 2, name

    def test_no_two_commands_spell_out_the_same_flag(self):
        shared = {
            (name, make(name, "Shared").help)
            for name, make in flags.SHARED_FLAGS.items()
        }
        spelled_out = [
            (name, command.FLAGS[name].help)
            for command in commands()
            for name in command.FLAGS
            if (name, command.FLAGS[name].help) not in shared
        ]
        assert len(spelled_out) == len(set(spelled_out))

    def test_what_a_flag_needs_is_a_flag_of_its_command(self):
        for command in commands():
            for name in command.FLAGS:
                for other in command.FLAGS[name].needs:
                    assert other.partition("=")[0] in command.FLAGS, name

    def test_every_help_text_is_sentences(self):
        for command in commands():
            for name in command.FLAGS:
                text = command.FLAGS[name].help
                assert text[0].isupper(), name
                assert text.endswith("."), name

    def test_the_page_on_security_names_every_server_and_its_encryption(self):
        page = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
        sections = page.split("\n## ")
        parts = [part for part in sections if " checked\n" in part]
        servers = [one for one in commands() if "host" in one.FLAGS]
        assert len(parts) == len(servers) == 2
        for command in servers:
            name = f"`kt-{command.__name__.split('.')[-1]}`"
            assert all(name in part for part in parts)
            for flag in command.FLAGS:
                assert not flag.startswith("tls_") or f"`--{flag}`" in page

    def test_a_flag_states_its_default_once(self):
        # The manual adds the default of a flag that has one.
        for command in commands():
            for name in command.FLAGS:
                flag = command.FLAGS[name]
                defaults = flag.help.count("Default: ")
                assert defaults + (flag.default is not None) <= 1, name

    def test_trainer_groups_its_flags_and_begins_with_what_all_need(self):
        (trainer,) = (c for c in commands() if c.__name__.endswith("trainer"))
        titles = groups(trainer.FLAGS)
        assert list(titles) == [
            "Getting started",
            "Data",
            "Model",
            "Batch",
            "Checkpoints",
            "Stopping",
            "Devices",
            "Debugging",
        ]
        assert titles["Getting started"] == [
            "problem",
            "generate_data",
            "data_dir",
            "output_dir",
            "hparams_set",
            "hparams",
            "train_steps",
            "train_minutes",
            "registry_help",
        ]

    def test_trainer_has_a_flag_for_each_training_option(self):
        (trainer,) = (c for c in commands() if c.__name__.endswith("trainer"))
        options = TrainingOptions()
        for name in TrainingOptions.__dataclass_fields__:
            default = trainer.FLAGS[name].default
            assert (default or None) == (getattr(options, name) or None), name
