import os
import pathlib
import subprocess
import sys
import textwrap

import pytest
from number_problem import Numbers
from number_problem import files_of
from number_problem import generated
from number_problem import with_pairs
from processes import environment

from keras_transformer.data.generation import generation
from keras_transformer.data.generation.encoding import select_complete_pairs


class FromFile(Numbers):
    def source_files(self, tmp_dir):
        return [os.path.join(tmp_dir, "text")]

    def text_pairs(self, split, tmp_dir):
        with open(os.path.join(tmp_dir, "text")) as file:
            for line in file:
                yield line.strip(), line.strip().upper()


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    return generated(tmp_path_factory.mktemp("data"))


class GenerateTest:
    def test_the_ids_are_the_text(self, problem):
        for split, pairs in Numbers.pairs.items():
            inputs, targets = problem.token_pairs(split)
            decoded = map(problem.vocabulary.decode, (inputs, targets))
            assert list(zip(*decoded)) == pairs
            assert all(ids[-1] == 1 for ids in inputs)

    def test_the_manifest_counts(self, problem):
        split = problem.manifest["splits"]["dev"]
        inputs, targets = problem.token_pairs("dev")
        assert split["pairs"] == 7
        assert split["dropped"] == {"empty_side": 0}
        assert split["source_tokens"] == inputs.lengths.sum()
        assert split["target_tokens"] == targets.lengths.sum()
        assert problem.manifest["vocab_size"] == 320
        assert problem.manifest["vocab_sha256"] == problem.vocabulary.sha256

    def test_the_checksum_is_that_of_a_file_of_the_lines(
        self, problem, tmp_path
    ):
        path = tmp_path / "dev"
        path.write_text("".join(f"{s}\n" for s, _ in Numbers.pairs["dev"]))
        out = subprocess.check_output(["sha256sum", path], text=True)
        split = problem.manifest["splits"]["dev"]
        assert split["source_sha256"] == out.split()[0]

    @pytest.mark.parametrize(
        "pairs",
        [
            None,
            ["a b"],
            [("a", "b", "c")],
            [("a", None)],
            [(1, 2)],
            [("\ud83d", "b")],
        ],
    )
    def test_what_is_no_pair_of_str_is_an_error(self, pairs):
        with pytest.raises(ValueError, match="pairs of str. Received: .*numb"):
            list(select_complete_pairs(Numbers(), pairs))

    def test_it_is_reproducible_to_the_byte(self, problem, tmp_path):
        again = Numbers(data_dir=str(tmp_path))
        assert again.generate("elsewhere") == problem.manifest
        assert files_of(again) == files_of(problem)

    def test_it_does_nothing_the_second_time(self, tmp_path):
        with_pairs(tmp_path).generate(None)
        problem = with_pairs(tmp_path, train=None)  # reading them would fail
        assert problem.generate(None) == problem.manifest

    def test_complete_data_may_be_where_nothing_can_be_written(
        self, tmp_path, monkeypatch
    ):
        problem = generated(tmp_path)
        monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)
        assert problem.generate(None) == problem.manifest

    def test_another_vocabulary_size_starts_over(self, tmp_path):
        with_pairs(tmp_path).generate(None)
        problem = with_pairs(tmp_path)
        problem.vocab_size = 300
        assert problem.generate(None)["vocab_size"] == 300
        assert problem.vocabulary.vocab_size == 300

    @pytest.mark.parametrize("is_other", [False, True])
    def test_a_problem_that_starts_over_reads_its_new_vocabulary(
        self, tmp_path, is_other
    ):
        problem = with_pairs(tmp_path)
        for size in (320, 300):
            generating = with_pairs(tmp_path) if is_other else problem
            generating.vocab_size = size
            generating.generate(None)
            ids = problem.token_pairs("dev").inputs
            sources, _ = problem.text_split("dev")
            assert problem.vocabulary.decode(list(ids)) == sources

    def test_a_changed_source_file_starts_over(self, tmp_path):
        problem = FromFile(data_dir=str(tmp_path / "data"))
        (tmp_path / "text").write_text("one two\n" * 20)
        problem.vocab_size = 280
        first = problem.generate(str(tmp_path))
        (tmp_path / "text").write_text("one two\n" * 21)
        second = problem.generate(str(tmp_path))
        assert first["splits"]["dev"]["pairs"] == 20
        assert second["splits"]["dev"]["pairs"] == 21
        assert second == problem.manifest

    def test_pairs_with_an_empty_side_are_dropped_and_counted(self, tmp_path):
        pairs = [("", "ONE"), ("one", "ONE"), ("two", " \t"), ("\u200b", "A")]
        problem = with_pairs(tmp_path, dev=pairs, train=pairs * 9)
        problem.vocab_size = 270
        dev = problem.generate(None)["splits"]["dev"]
        assert (dev["pairs"], dev["dropped"]) == (1, {"empty_side": 3})
        assert problem.text_split("dev") == (["one"], ["ONE"])
        assert len(problem.token_pairs("dev").inputs) == 1

    @pytest.mark.parametrize("pairs", [[], [("", "a"), ("b", "")]])
    @pytest.mark.parametrize("split", ["train", "dev", "test"])
    def test_a_split_without_pairs_is_an_error(self, tmp_path, split, pairs):
        problem = with_pairs(tmp_path, **{split: pairs})
        with pytest.raises(
            ValueError, match=f"split {split} of .* has no pair"
        ):
            problem.generate(None)
        assert os.listdir(tmp_path) == []

    def test_a_failure_leaves_older_data_alone(self, tmp_path):
        problem = with_pairs(tmp_path)
        problem.generate(None)
        before = files_of(problem)
        problem.vocab_size = 100_000
        with pytest.raises(ValueError, match="vocab_size=100000.*at most"):
            problem.generate(None)
        assert files_of(problem) == before
        assert os.listdir(tmp_path) == ["numbers"]

    def test_a_failure_removes_its_new_directory(self, tmp_path):
        problem = with_pairs(tmp_path / "new", train=[])
        with pytest.raises(ValueError, match="The split train of .* has no"):
            problem.generate(None)
        assert os.listdir(tmp_path) == []

    def test_a_vocabulary_file_is_used(self, problem, tmp_path):
        path = tmp_path / "mine.model"
        path.write_bytes(problem.vocabulary.model_bytes)
        other = with_pairs(tmp_path / "data")
        other.vocabulary_path = str(path)
        other.vocab_size = None
        manifest = other.generate(None)
        assert manifest["vocab_sha256"] == problem.vocabulary.sha256
        assert manifest["splits"] == problem.manifest["splits"]

    @pytest.mark.parametrize(
        "part, name, fault",
        [
            ("dev", "dropped", "`splits.dev.dropped` must be an object"),
            (None, "vocab_sha256", "`made_from.vocab_sha256` must be text"),
        ],
    )
    def test_a_fault_of_what_is_read_later_is_told(
        self, tmp_path, part, name, fault
    ):
        problem = with_pairs(tmp_path)
        manifest = problem.generate(None)
        part = manifest["splits"][part] if part else manifest["made_from"]
        part[name] = 7
        generation.write_manifest(manifest, problem.directory)
        with pytest.raises(ValueError, match=fault):
            problem.generate(None)

    def test_a_split_may_go_and_come_back(self, problem, tmp_path):
        changed = with_pairs(tmp_path)
        changed.generate(None)
        changed.splits = ("train", "dev")
        changed.generate(None)
        names = files_of(changed)
        assert "dev.source.txt" in names
        assert not [name for name in names if name.startswith("test")]
        with_pairs(tmp_path).generate(None)
        assert files_of(changed) == files_of(problem)

    def test_a_vocabulary_of_the_source_goes_when_it_is_shared(
        self, problem, tmp_path
    ):
        changed = with_pairs(tmp_path)
        changed.shared_vocabulary = False
        changed.generate(None)
        assert "vocab.source.model" in files_of(changed)
        with_pairs(tmp_path).generate(None)
        assert files_of(changed) == files_of(problem)

    @pytest.mark.parametrize("name", ["mine.txt", "train.source.txt"])
    def test_foreign_files_stay(self, tmp_path, name):
        problem = with_pairs(tmp_path)
        os.makedirs(problem.directory)
        mine = os.path.join(problem.directory, name)
        open(mine, "w").close()
        for problem.vocab_size in (320, 300):
            problem.generate(None)
        assert os.path.exists(mine)

    @pytest.mark.parametrize(
        "name", ["vocab.model", "vocab.source.model", "dev.source.txt"]
    )
    def test_foreign_files_with_the_names_of_data_are_refused(
        self, tmp_path, name
    ):
        problem = with_pairs(tmp_path)
        path = pathlib.Path(problem.directory, name)
        path.parent.mkdir()
        path.write_text("mine")
        with pytest.raises(ValueError, match=f"{name} must be a file that kt-"):
            problem.generate(None)
        assert os.listdir(problem.directory) == [name]
        assert path.read_text() == "mine"

    def test_the_vocabulary_may_be_in_the_folder_of_the_data(
        self, problem, tmp_path
    ):
        other = with_pairs(tmp_path)
        path = pathlib.Path(other.directory, "vocab.model")
        path.parent.mkdir()
        path.write_bytes(problem.vocabulary.model_bytes)
        other.vocabulary_path, other.vocab_size = str(path), None
        assert other.generate(None)["splits"] == problem.manifest["splits"]


class SettingsTest:
    @pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"a"])
    def test_settings_that_json_cannot_hold_are_refused(self, tmp_path, value):
        problem = with_pairs(tmp_path)
        problem.settings = lambda: {"mine": value}
        words = "what JSON can hold. Received: .*mine.* problem=numbers"
        with pytest.raises(ValueError, match=words):
            problem.generate(None)
        assert os.listdir(tmp_path) == []

    def test_a_tuple_in_the_settings_is_the_list_that_is_read_back(
        self, tmp_path
    ):
        problem = with_pairs(tmp_path)
        problem.settings = lambda: {"mine": ("a", 1)}
        problem.generate(None)
        vocabulary = os.path.join(problem.directory, "vocab.model")
        written = os.stat(vocabulary).st_mtime_ns
        problem.generate(None)
        assert os.stat(vocabulary).st_mtime_ns == written

    @pytest.mark.parametrize(
        "attribute, value, name",
        [
            ("user_symbols", ("<num>",), "symbols"),
            ("vocabulary_temperature", 5, "vocabulary_temperature"),
        ],
    )
    def test_a_setting_of_the_vocabulary_starts_over(
        self, tmp_path, attribute, value, name
    ):
        problem = with_pairs(tmp_path)
        assert "settings" not in problem.generate(None)["made_from"]
        setattr(problem, attribute, value)
        settings = problem.generate(None)["made_from"]["settings"]
        assert settings.keys() == {name}


# Kills a generating process at each change of a file in turn and checks what is
# left. It is a script because `os.fork` needs a process without threads.
KILL_SCRIPT = """
    import itertools, os, shutil, signal, sys
    import pytest
    from number_problem import Numbers, files_of, with_pairs
    from shared_vocabularies import share_vocabularies

    # The children inherit both vocabularies, so they train none.
    share_vocabularies(pytest.MonkeyPatch())

    def problem_of(data_dir, vocab_size):
        problem = with_pairs(data_dir)
        problem.vocab_size = vocab_size
        problem.splits = ("train", "dev")
        return problem

    def reference(vocab_size):
        problem = problem_of(f"reference{vocab_size}", vocab_size)
        problem.generate(None)
        return files_of(problem)

    def generate_and_die(at):
        events = itertools.count()
        def hook(event, args):
            changes = event in ("os.rename", "os.mkdir", "os.remove")
            if changes or event == "open" and args[1] in ("w", "wb"):
                if next(events) == at:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        problem_of("data", 320).generate(None)
        os._exit(0)

    def check_what_is_left():
        problem = problem_of("data", 320)
        if os.path.exists(os.path.join(problem.directory, "manifest.json")):
            complete = old if problem.manifest["vocab_size"] == 300 else new
            assert files_of(problem) == complete
        problem.generate(None)
        assert files_of(problem) == new
        assert os.listdir("data") == ["numbers"]

    old, new = reference(300), reference(320)
    kills = 0
    for has_old in (False, True):
        for at in itertools.count():
            shutil.rmtree("data", ignore_errors=True)
            if has_old:
                shutil.copytree("reference300", "data")
            child = os.fork()
            if not child:
                generate_and_die(at)
            if os.waitpid(child, 0)[1] == 0:
                break
            kills += 1
            check_what_is_left()
    print(kills)
"""


def start_python(code, directory):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=directory,
        env=environment(__file__),
        stdout=subprocess.PIPE,
        text=True,
    )


class KilledGenerationTest:
    def test_a_kill_at_any_change_of_a_file_does_no_harm(self, tmp_path):
        process = start_python(KILL_SCRIPT, tmp_path)
        kills, _ = process.communicate()
        assert process.returncode == 0
        assert int(kills) > 40

    def test_processes_at_the_same_time_agree(self, problem, tmp_path):
        code = """
            from number_problem import with_pairs
            with_pairs("data").generate(None)
        """
        processes = [start_python(code, tmp_path) for _ in range(2)]
        assert [process.wait() for process in processes] == [0, 0]
        assert files_of(with_pairs(tmp_path / "data")) == files_of(problem)
        assert os.listdir(tmp_path / "data") == ["numbers"]
