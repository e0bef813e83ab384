"""Tests of the problem over a treebank of the user's own."""

import itertools
import tracemalloc

import pytest
from small_treebank import SIZES
from small_treebank import TREES
from small_treebank import split_of
from small_treebank import write_sections
from small_treebank import write_trees

from keras_transformer import registry
from keras_transformer.data.generation import encoding
from keras_transformer.data.generation import generation
from keras_transformer.parsing.linearization import LINEARIZATIONS
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.problems.parsing_files import ParsingFiles

VOCABULARY = "first/data/parsing_files/vocab.model"


@pytest.fixture
def files(tmp_path):
    return {
        split: (write_trees(tmp_path / f"{split}.trees", split_of(split)),)
        for split in SIZES
    }


class ParsingFilesTest:
    def generate(self, tmp_path, files, **settings):
        problem = ParsingFiles(str(tmp_path / "data"))
        problem.use_files(files, 600, **settings)
        return problem.generate(None), problem

    def test_data_are_those_of_the_files(self, tmp_path, files):
        manifest, _ = self.generate(tmp_path, files)
        counts = {s: c["pairs"] for s, c in manifest["splits"].items()}
        assert counts == SIZES
        problem = registry.get_problem("parsing_files", str(tmp_path / "data"))
        assert problem.text_split("test")[1] == list(map(str, split_of("test")))

    @pytest.mark.parametrize("linearization", LINEARIZATIONS)
    def test_outputs_are_read_in_the_linearization_of_the_data(
        self, tmp_path, files, linearization
    ):
        _, maker = self.generate(tmp_path, files, linearization=linearization)
        problem = registry.get_problem("parsing_files", str(tmp_path / "data"))
        (tree, *_) = split_of("test")
        decoded = maker.target_text(str(tree))
        output = problem.output(" ".join(tree.words()), decoded)
        assert problem.report([output], [str(tree)]).f1 == 100

    def test_names_of_files_may_have_any_bytes(self, tmp_path, files):
        path = write_trees(tmp_path / "tr\udce9.trees", split_of("train"))
        _, problem = self.generate(tmp_path, {**files, "train": (path,)})
        (train, *_) = problem.manifest["made_from"]["files"]
        assert train["name"].endswith("tr\ufffd.trees")

    def test_several_paths_and_ranges_are_one_split(self, tmp_path):
        written = write_sections(tmp_path / "wsj", {"01": 3, "02": 2, "03": 2})
        extra = write_trees(tmp_path / "extra.trees", TREES[100:103])
        problem = ParsingFiles("data")
        train = f"{tmp_path}/wsj:01-02,{extra}"
        problem.use_files({"train": (train,), "dev": (f"{tmp_path}/wsj:03",)})
        assert list(problem.trees("train", None)) == [
            *written["01"],
            *written["02"],
            *TREES[100:103],
        ]
        assert list(problem.trees("dev", None)) == written["03"]

    def test_a_misspelt_setting_is_refused(self, tmp_path, files):
        with pytest.raises(TypeError, match="'skip_bat'"):
            self.generate(tmp_path, files, skip_bat=True)

    def test_bad_trees_are_an_error_or_counted(self, tmp_path, files):
        path = files["train"][0]
        with open(path, "a", encoding="utf-8") as file:
            file.write("(TOP (S (NP (NN dog)\n(TOP (S (NN cat)))\n")
        with pytest.raises(ValueError, match=f"{path}.*line 91"):
            self.generate(tmp_path, files)
        assert not (tmp_path / "data").exists()
        manifest, problem = self.generate(tmp_path, files, skip_bad=True)
        assert manifest["splits"]["train"]["pairs"] == SIZES["train"] + 1
        assert manifest["splits"]["train"]["dropped"]["bad_trees"] == 1
        (line,) = problem.bad["train"]
        assert f"{path}, line 91" in line

    def test_parsed_trees_are_read_as_the_treebank_is(self, tmp_path, files):
        path = write_trees(tmp_path / "parsed.trees.gz", TREES[250:260])
        (tmp_path / "more.trees").write_text("\n(S (NN dog)\n(S (NN cat))\n")
        settings = {
            "parsed_trees": f"{path},{tmp_path / 'more.trees'}",
            "treebank_weight": 2,
        }
        with pytest.raises(ValueError, match="more.trees, line 2"):
            self.generate(tmp_path, files, **settings)
        train = self.generate(tmp_path, files, skip_bad=True, **settings)[0][
            "splits"
        ]["train"]
        assert train["pairs"] == 2 * SIZES["train"] + 11
        assert train["dropped"]["bad_trees"] == 1

    @pytest.mark.slow
    def test_memory_does_not_grow_with_the_parsed_trees(
        self, tmp_path, files, monkeypatch
    ):
        monkeypatch.setattr(generation, "MAX_VOCABULARY_PAIRS", 200)
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", 100)
        peaks = []
        for num_trees in (1_000, 4_000):
            trees = itertools.islice(itertools.cycle(TREES), num_trees)
            path = write_trees(tmp_path / f"{num_trees}.trees", trees)
            tracemalloc.start()
            self.generate(tmp_path / str(num_trees), files, parsed_trees=path)
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        # A tree in memory takes thousands of bytes, its places in the token
        # arrays less than a hundred.
        assert peaks[1] - peaks[0] < 3_000 * 100

    def test_other_parsed_trees_need_another_directory(self, tmp_path, files):
        path = write_trees(tmp_path / "parsed.trees", TREES[250:260])
        self.generate(tmp_path, files)
        with pytest.raises(ValueError, match=f"Received: parsed_trees={path}"):
            self.generate(tmp_path, files, parsed_trees=path)

    def test_another_weight_needs_another_directory(self, tmp_path, files):
        path = write_trees(tmp_path / "parsed.trees", TREES[250:260])
        self.generate(tmp_path, files, parsed_trees=path, treebank_weight=2)
        with pytest.raises(ValueError, match="=1 for .* treebank_weight=2"):
            self.generate(tmp_path, files, parsed_trees=path)

    def test_a_weight_needs_parsed_trees(self, files):
        with pytest.raises(ValueError, match="Add --parsed_trees"):
            ParsingFiles("data").use_files(files, treebank_weight=2)

    def test_a_given_vocabulary_is_that_of_the_data(self, tmp_path, files):
        before, _ = self.generate(tmp_path / "first", files)
        settings = {
            "parsed_trees": write_trees(tmp_path / "more", TREES[250:260]),
            "vocabulary": str(tmp_path / VOCABULARY),
        }
        after, _ = self.generate(tmp_path / "second", files, **settings)
        assert after["vocab_sha256"] == before["vocab_sha256"]
        assert after["splits"]["dev"] == before["splits"]["dev"]

    def test_a_given_vocabulary_must_have_the_symbols(self, tmp_path, files):
        self.generate(tmp_path / "first", files)
        settings = {"vocabulary": str(tmp_path / VOCABULARY)}
        with pytest.raises(ValueError, match="normalised trees, with .*tagged"):
            self.generate(tmp_path, files, linearization="tagged", **settings)
        parsed = [parse_tree("(TOP (WHXP (XX so) (XX say)))")]
        settings["parsed_trees"] = write_trees(tmp_path / "more", parsed)
        with pytest.raises(ValueError, match="spells .*WHXP"):
            self.generate(tmp_path, files, **settings)

    def test_parsed_trees_need_the_tags_that_the_model_writes(
        self, tmp_path, files
    ):
        parsed = [parse_tree("(TOP (S (XX Dogs) (XX bark)))")]
        settings = {
            "parsed_trees": write_trees(tmp_path / "parsed.trees", parsed),
            "linearization": "tagged",
        }
        with pytest.raises(ValueError, match="parsed.trees.*tag XX"):
            self.generate(tmp_path, files, **settings)

    @pytest.mark.parametrize(
        "change",
        [{"linearization": "tagged"}, {"augmentation_rounds": 2}],
        ids=str,
    )
    def test_other_settings_need_another_directory(
        self, tmp_path, files, change
    ):
        before, _ = self.generate(tmp_path, files)
        (name,) = change
        with pytest.raises(ValueError, match=f"Received: {name}="):
            self.generate(tmp_path, files, **change)
        again, _ = self.generate(tmp_path, files)
        assert again == before

    def test_a_changed_file_needs_another_directory(self, tmp_path, files):
        self.generate(tmp_path, files)
        write_trees(tmp_path / "dev.trees", TREES[:3])
        with pytest.raises(ValueError, match="Received: dev_trees="):
            self.generate(tmp_path, files)

    def test_an_unknown_linearization_is_an_error(self, files):
        with pytest.raises(ValueError, match="normalised, tagged"):
            ParsingFiles("data").use_files(files, linearization="reversed")

    def test_a_missing_split_is_an_error(self, files):
        with pytest.raises(ValueError, match="dev_trees beside .*train.trees"):
            ParsingFiles("data").use_files({**files, "dev": (None,)})
