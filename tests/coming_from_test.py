"""Holds the page for users of tensor2tensor to the tables of the commands."""

import configparser
import os
import re
import subprocess
import sys

import coming_from
import pytest
from ports import free_port
from processes import environment
from source_files import ROOT

from keras_transformer.registry import TENSOR2TENSOR


class ComingFromTest:
    def test_the_tables_of_the_page_are_those_of_the_code(self):
        page = coming_from.PAGE.read_text(encoding="utf-8")
        assert coming_from.make_page(page) == page

    @pytest.mark.parametrize("command", coming_from.FLAGS)
    def test_each_flag_is_taken_or_left_out_with_a_reason(self, command):
        flags = coming_from.FLAGS[command]
        assert len(flags) == len(set(flags))
        unknown = {n for n in flags if not coming_from.describe(command, n)[0]}
        assert not unknown

    def test_the_page_names_each_command_of_the_tables(self):
        page = coming_from.PAGE.read_text(encoding="utf-8")
        commands = {table.split()[0] for table in TENSOR2TENSOR}
        for command in commands - {"corpora", "hparams_set", "problem"}:
            assert f"`{command}`" in page


@pytest.mark.slow
def test_ten_command_lines_of_tensor2tensor_work(tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    scripts = config["options.entry_points"]["console_scripts"].strip()
    for line in scripts.split("\n"):
        command, module = line.partition(":")[0].split(" = ")
        path = folder / command
        path.write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        path.chmod(0o755)
    script = coming_from.PAGE.with_suffix(".sh")
    lines = re.findall(r"^# (\d+): ", script.read_text("utf-8"), re.M)
    assert lines == [str(number) for number in range(1, 11)]
    variables = {"PATH": f"{folder}:{os.environ['PATH']}"}
    variables["PORT"] = str(free_port())
    output = subprocess.run(
        ["bash", script],
        cwd=tmp_path,
        env=environment(__file__, **variables),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    ).stdout
    assert '"task": {"type": "worker", "index": 1}}\n' in output
