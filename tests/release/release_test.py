"""The scripts of a release, and the workflows that call make."""

import collections
import glob
import gzip
import io
import re
import shlex
import subprocess
import tarfile

import checks
import distributions
import pytest
import yaml
from source_files import ROOT

FILES = {
    "keras_transformer/__init__.py": '__version__ = "1.2.3"\n',
    "CHANGELOG.md": "# Changelog\n\n## 1.2.3\n- It is new.\n\n## 1.2.2\n",
    "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\n",
}


def git(root, *arguments):
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True)


@pytest.fixture
def repository(tmp_path):
    """A repository whose last commit can be released."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=Release 1.2.3")
    git(tmp_path, "tag", "v1.2.3")
    return tmp_path


class ChecksTest:
    def test_a_tagged_commit_of_one_version_has_no_faults(self, repository):
        assert not checks.find_faults(repository)

    @pytest.mark.parametrize("name", FILES)
    def test_another_version_in_one_file_is_a_fault(self, repository, name):
        text = FILES[name].replace("1.2.3", "1.2.4")
        (repository / name).write_text(text, encoding="utf-8")
        git(repository, "commit", "--quiet", "--all", "--message=Change it")
        git(repository, "tag", "--force", "v1.2.3")
        assert checks.find_faults(repository)

    def test_a_missing_tag_and_a_change_are_faults(self, repository):
        git(repository, "tag", "--delete", "v1.2.3")
        (repository / "new").write_text("new", encoding="utf-8")
        uncommitted, tag = checks.find_faults(repository)
        assert "not committed" in uncommitted
        assert "must have the tag v1.2.3. Received: []" in tag

    def test_the_citation_is_of_this_version(self):
        version = checks.search(ROOT / "CITATION.cff", "^version: (.+)$")
        package = ROOT / "keras_transformer/__init__.py"
        assert version == checks.search(package, '^__version__ = "(.+)"$')


def make_sdist(path, names, moment):
    with tarfile.open(path, "w:gz") as files:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = len(name)
            member.mtime = moment + 0.5
            member.uid = member.gid = moment
            member.uname = f"user{moment}"
            files.addfile(member, io.BytesIO(name.encode()))


class DistributionsTest:
    def test_times_owners_and_order_leave_an_sdist(self, tmp_path):
        paths = [tmp_path / "first.tar.gz", tmp_path / "second.tar.gz"]
        make_sdist(paths[0], ["a/b", "a/c"], 1000)
        make_sdist(paths[1], ["a/c", "a/b"], 2000)
        for path in paths:
            distributions.normalize(path, 1500)
        first, second = (path.read_bytes() for path in paths)
        assert first == second
        with tarfile.open(paths[0]) as files:
            assert files.getnames() == ["a/b", "a/c"]
            assert files.extractfile("a/c").read() == b"a/c"
            assert files.getmember("a/c").mtime == 1500
        assert gzip.decompress(first)

    @pytest.mark.slow
    def test_two_builds_of_this_commit_are_equal(self, tmp_path):
        pytest.importorskip("build")
        if not (ROOT / ".git").exists():
            pytest.skip("needs the repository")
        distributions.main(tmp_path)
        assert [path.suffix for path in sorted(tmp_path.iterdir())] == [
            ".whl",
            ".gz",
        ]


def find_tests(patterns):
    """Returns the test files that paths and patterns of a shell name."""
    paths = [path for pattern in patterns for path in ROOT.glob(pattern)]
    return {
        file
        for path in paths
        for file in ([path] if path.is_file() else path.rglob("*_test.py"))
    }


def make_targets():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY:((?:.*\\\n)*.*)$", text, re.MULTILINE)[1]
    return set(phony.replace("\\", "").split())


class WorkflowsTest:
    def rows(self):
        for path in (ROOT / ".github/workflows").glob("*.yml"):
            (job,) = yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
            yield from job["strategy"]["matrix"]["include"]

    def test_they_call_targets_that_exist(self):
        commands = {row["command"] for row in self.rows()}
        called = {command.split()[1] for command in commands}
        assert called - {".ci/run"} <= make_targets()
        assert {"bash .ci/run", "make test-oldest"} <= commands

    def test_they_test_each_version_of_python_that_the_package_names(self):
        setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
        named = set(re.findall(r"Python :: (3\.\d+)", setup))
        tested = {row["python"] for row in self.rows()}
        assert named == tested - {"3.14"}

    def test_make_test_runs_every_file_once(self):
        plan = subprocess.check_output(
            ["make", "--dry-run", "test"], cwd=ROOT, text=True
        )
        every = set(ROOT.glob("tests/**/*_test.py"))
        runs = collections.Counter()
        for line in plan.splitlines():
            if "--dist loadfile" in line:
                rest = line.partition('"not slow"')[2]
                words = shlex.split(rest.removeprefix(" --dist worksteal"))
                ignored = [w.partition("=")[2] for w in words if "=" in w]
                named = [w for w in words if "=" not in w]
                runs.update(find_tests(named or ["tests"]))
                runs.subtract(find_tests(ignored))
        assert {path for path, number in runs.items() if number} == every
        assert max(runs.values()) == 1

    def test_the_makefile_explains_every_target(self):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        explained = set(re.findall(r"^# make (\S+)", makefile, re.MULTILINE))
        assert explained == make_targets()

    def test_the_tests_that_the_makefile_names_exist(self):
        targets = ["check", "test", "test-jax", "test-oldest"]
        commands = subprocess.run(
            ["make", "-n", *targets],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout
        paths = set(re.findall(r"\btests/[^\s\\]+", commands))
        assert "tests/jax_backend_test.py" in paths
        assert [p for p in paths if not glob.glob(p, root_dir=ROOT)] == []

    def test_commits_are_checked_by_the_tools_of_the_tests(self):
        text = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
        setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
        for tool in ("ruff", "codespell"):
            (stated,) = re.findall(rf'"({tool}>=[^"]+)"', text)
            assert f"    {stated}\n" in setup
