"""The recipes for clusters in docs/devices.md, without the clusters."""

import os
import re
import subprocess
import sys

import pytest
import yaml
from source_files import ROOT

from keras_transformer.training.backends.cluster import read_cluster

PAGE = (ROOT / "docs/devices.md").read_text(encoding="utf-8")
# Slurm's list of the hosts of a job.
SCONTROL = """#!/bin/sh
test "$*" = 'show hostnames a[1-2]' && printf 'a1\\na2\\n'
"""
MAKE_TF_CONFIGS = f"""#!/bin/sh
exec {sys.executable} -m keras_transformer.bin.make_tf_configs "$@"
"""


def find_code(title):
    """Returns the last block of code under a heading of the page."""
    section = re.split(r"^##", PAGE.split(f"### {title}\n")[1], flags=re.M)[0]
    return re.findall(r"```\w+\n(.*?)```", section, re.DOTALL)[-1]


def run_worker(script, tmp_path, **variables):
    """Runs a script; returns the `TF_CONFIG` that kt-trainer gets."""
    for name, text in (
        ("scontrol", SCONTROL),
        ("kt-make-tf-configs", MAKE_TF_CONFIGS),
        ("kt-trainer", '#!/bin/sh\nprintf %s "$TF_CONFIG"\n'),
    ):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, **variables, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


class RecipesTest:
    @pytest.mark.parametrize("worker", [0, 1])
    def test_slurm(self, tmp_path, monkeypatch, worker):
        config = run_worker(
            find_code("Slurm"),
            tmp_path,
            SLURM_JOB_NODELIST="a[1-2]",
            SLURM_PROCID=str(worker),
        )
        monkeypatch.setenv("TF_CONFIG", config)
        assert read_cluster() == (2, worker, "a1:2222")

    @pytest.mark.parametrize("worker", [0, 1])
    def test_kubernetes(self, tmp_path, monkeypatch, worker):
        service, job = yaml.safe_load_all(find_code("Kubernetes"))
        name = job["metadata"]["name"]
        assert service["spec"]["selector"] == {"job-name": name}
        pod = job["spec"]["template"]["spec"]
        assert pod["subdomain"] == service["metadata"]["name"]
        (container,) = pod["containers"]
        (script,) = container["args"]
        config = run_worker(script, tmp_path, JOB_COMPLETION_INDEX=str(worker))
        monkeypatch.setenv("TF_CONFIG", config)
        address = f"{name}-0.{pod['subdomain']}:2222"
        assert read_cluster() == (job["spec"]["completions"], worker, address)
