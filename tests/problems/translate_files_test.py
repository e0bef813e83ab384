"""Tests of the problem over the user's own parallel files."""

import gzip
import json
import pathlib

import pytest

from keras_transformer import registry
from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.problems.translate_files import TranslateFiles

WORDS = "red green blue one two three small large house tree".split()


def write(directory, name, num_lines):
    lines = [
        f"{WORDS[n % 10]} {name} {WORDS[n // 10 % 10]}.\n"
        for n in range(num_lines)
    ]
    path = directory / name
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


@pytest.fixture
def files(tmp_path):
    return {
        split: tuple(
            write(tmp_path, f"{split}.{code}", count) for code in ("en", "de")
        )
        for split, count in {"train": 50, "dev": 4, "test": 3}.items()
    }


@pytest.fixture
def data_dir(tmp_path):
    return str(tmp_path / "data")


def generate(data_dir, files, vocab_size=300):
    problem = TranslateFiles(data_dir)
    problem.use_files(files, vocab_size)
    return problem.generate(None)


class GenerateTest:
    def test_data_are_those_of_the_files(self, data_dir, files):
        manifest = generate(data_dir, files)
        problem = registry.get_problem("translate_files", data_dir)
        counts = {s: c["pairs"] for s, c in manifest["splits"].items()}
        assert counts == {"train": 50, "dev": 4, "test": 3}
        assert problem.vocabulary.vocab_size == 300
        sources, targets = problem.text_split("test")
        assert sources[0] == "red test.en red."
        assert targets[2] == "blue test.de red."

    @pytest.mark.parametrize("as_corpus", [False, True])
    def test_names_of_files_may_have_any_bytes(
        self, data_dir, files, tmp_path, as_corpus
    ):
        path = str(tmp_path / "tr\udce9.en")
        pathlib.Path(files["train"][0]).rename(path)
        train = path, files["train"][1]
        corpora = {"train": [Corpus(train, weight=2)]} if as_corpus else None
        rest = {"dev": files["dev"]} | ({} if as_corpus else {"train": train})
        for _ in range(2):  # the second time, the data are there already
            problem = TranslateFiles(data_dir)
            problem.use_files(rest, 300, corpora=corpora)
            problem.generate(None)
        assert (
            problem.manifest["made_from"]["files"][0]["name"] == "tr\ufffd.en"
        )

    def test_test_split_may_be_missing(self, data_dir, files):
        generate(data_dir, {**files, "test": (None, None)})
        problem = registry.get_problem("translate_files", data_dir)
        assert problem.splits == ("train", "dev")
        with pytest.raises(ValueError, match="Use one of: train, dev"):
            problem.text_split("test")

    def test_reverse_shares_the_data(self, data_dir, files):
        generate(data_dir, files)
        problem = registry.get_problem("translate_files_rev", data_dir)
        assert problem.text_split("dev")[0][0] == "red dev.de red."
        assert len(problem.token_pairs("train").inputs) == 50

    def test_compressed_files_give_the_same_tokens(self, data_dir, files):
        plain = generate(data_dir, files)
        compressed = {}
        for split, paths in files.items():
            for path in map(pathlib.Path, paths):
                content = path.read_bytes().replace(b"\n", b"\r\n")
                zipped = pathlib.Path(f"{path}.gz")
                zipped.write_bytes(gzip.compress(b"\xef\xbb\xbf" + content))
            compressed[split] = tuple(f"{path}.gz" for path in paths)
        again = generate(data_dir + "2", compressed)
        assert again["vocab_sha256"] == plain["vocab_sha256"]
        for manifest in (plain, again):
            for counts in manifest["splits"].values():
                del counts["corpora"]  # the files differ
        assert again["splits"] == plain["splits"]

    def test_file_sets_in_two_directories_are_apart(self, data_dir, files):
        generate(data_dir, files)
        swapped = {**files, "train": files["dev"]}
        generate(data_dir + "2", swapped, vocab_size=290)
        first = registry.get_problem("translate_files", data_dir)
        second = registry.get_problem("translate_files", data_dir + "2")
        assert len(first.token_pairs("train").inputs) == 50
        assert len(second.token_pairs("train").inputs) == 4


class CleanTest:
    def test_only_the_training_text_is_cleaned(self, data_dir, files, tmp_path):
        for path in files["train"]:
            lines = pathlib.Path(path).read_text(encoding="utf-8").split("\n")
            # An exact duplicate, a held-out sentence, and broken encoding.
            more = [lines[7], "RED dev.en red!", f"BÃ¤r {path}", ""]
            pathlib.Path(path).write_text(
                "\n".join(lines[:-1] + more), encoding="utf-8"
            )
        for path in files["dev"]:
            with open(path, "a", encoding="utf-8") as file:
                file.write("BÃ¤r\nBÃ¤r\n")
        problem = TranslateFiles(data_dir)
        problem.use_files(files, 300, clean=True)
        manifest = problem.generate(None)
        assert manifest["splits"]["train"]["pairs"] == 50
        assert manifest["splits"]["train"]["dropped"]["cleaning"] == 3
        assert manifest["splits"]["dev"]["pairs"] == 6
        dropped = problem.cleaning_report.dropped
        assert {name for name, number in dropped.items() if number} == {
            "duplicate",
            "held_out",
            "encoding",
        }

    def test_cleaning_that_leaves_nothing_is_an_error(self, data_dir, files):
        problem = TranslateFiles(data_dir)
        problem.use_files({**files, "train": files["dev"]}, 300, clean=True)
        with pytest.raises(ValueError, match="Left out were: .* by 'cleaning'"):
            problem.generate(None)

    def test_data_that_were_not_cleaned_are_another_set(self, data_dir, files):
        manifest = generate(data_dir, files)
        assert "settings" not in manifest["made_from"]
        problem = TranslateFiles(data_dir)
        problem.use_files(files, 300, clean=True)
        with pytest.raises(ValueError, match="Received: clean=True for"):
            problem.generate(None)
        assert problem.cleaning_report is None


class RepeatTest:
    def test_same_files_change_nothing(self, data_dir, files):
        manifest = generate(data_dir, files)
        path = pathlib.Path(data_dir) / "translate_files" / "manifest.json"
        written = path.stat().st_mtime_ns
        assert generate(data_dir, files) == manifest
        assert TranslateFiles(data_dir).generate(None) == manifest
        assert path.stat().st_mtime_ns == written

    def test_manifest_records_the_settings(self, data_dir, files):
        generate(data_dir, files)
        path = pathlib.Path(data_dir) / "translate_files" / "manifest.json"
        made_from = json.loads(path.read_text())["made_from"]
        assert made_from["vocab_size"] == 300
        names = [file["name"] for file in made_from["files"]]
        assert names[:2] == ["train.en", "train.de"]

    def test_other_vocab_size_is_an_error(self, data_dir, files):
        generate(data_dir, files)
        with pytest.raises(ValueError, match="=299 for .* vocab_size=300. Use"):
            generate(data_dir, files, vocab_size=299)

    def test_other_contents_are_an_error(self, data_dir, files, tmp_path):
        manifest = generate(data_dir, files)
        write(tmp_path, "dev.de", 5)
        with pytest.raises(ValueError, match=r"dev_target=dev.de \(sha256 "):
            generate(data_dir, files)
        assert TranslateFiles(data_dir).manifest == manifest

    def test_one_split_less_is_an_error(self, data_dir, files):
        generate(data_dir, files)
        del files["test"]
        with pytest.raises(ValueError, match="no value of test_source for"):
            generate(data_dir, files)


class BadInputTest:
    @pytest.mark.parametrize(
        "name, content, words",
        [
            (
                "dev.de",
                b"one\n",
                r"dev\.en with 4 lines and .*dev\.de with 1 l",
            ),
            ("train.en", b"", r"train\.en with 0 lines and .* with 50 lines"),
            ("test.de", b"a\nb\xff\nc\n", r"test\.de, line 2"),
            ("test.de", b"\n\n\n", "text on both sides"),
            ("train.de", None, r"train\.de, which does not exist"),
        ],
    )
    def test_fault_is_named_before_writing(
        self, data_dir, files, tmp_path, name, content, words
    ):
        (tmp_path / name).unlink()
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=words) as error:
            generate(data_dir, files)
        assert "\n" not in str(error.value)
        assert not pathlib.Path(data_dir).exists()

    @pytest.mark.parametrize("split", ["train", "dev", "test"])
    def test_pair_with_one_missing_is_an_error(self, files, split):
        files[split] = (files[split][0], None)
        with pytest.raises(ValueError, match=f"Add --{split}_target=FILE"):
            TranslateFiles("data").use_files(files)

    def test_missing_split_is_an_error(self, files):
        del files["dev"]
        with pytest.raises(ValueError, match="beside .*train.en, "):
            TranslateFiles("data").use_files(files)

    def test_no_files_and_no_data_is_an_error(self, data_dir):
        with pytest.raises(ValueError, match="Add --train_source=FILE"):
            TranslateFiles(data_dir).generate(None)

    def test_too_large_vocabulary_leaves_no_data(self, data_dir, files):
        with pytest.raises(ValueError, match="vocab_size=9000. Use"):
            generate(data_dir, files, vocab_size=9000)
        assert not pathlib.Path(data_dir).exists()
