"""kt-tagger gives the trees of a parser their parts of speech."""

import os

import pytest
from commands import assert_fails
from commands import call
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary
from small_treebank import split_of
from small_treebank import write_trees

from keras_transformer.bin import decoder
from keras_transformer.bin import tagger
from keras_transformer.decoding.encoder_heads import tagger_path
from keras_transformer.training import pos_tagger_training
from keras_transformer.trees.tree import parse_tree


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Path of a treebank by split."""
    folder = tmp_path_factory.mktemp("trees")
    return {
        split: write_trees(folder / f"{split}.trees", split_of(split))
        for split in ("train", "dev")
    }


def make_parser(path, linearization):
    vocabulary = make_tree_vocabulary(path / "vocabulary", linearization)
    return make_run(path / "run", vocabulary)


def parsed(run, text, capsys, path):
    path.write_text(text, encoding="utf-8")
    flags = f"--output_dir={run.path}", f"--decode_from_file={path}"
    assert call(decoder, *flags) == 0
    return capsys.readouterr().out.splitlines()


class TaggerTest:
    @pytest.mark.parametrize(
        "linearization",
        ["in_order", pytest.param("normalised", marks=pytest.mark.slow)],
    )
    def test_trees_get_the_parts_of_speech(
        self, linearization, trees, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setattr(pos_tagger_training, "NUM_UPDATES", 200)
        run = make_parser(tmp_path, linearization)
        text = "The dog barks.\n\nThe dogs bark.\n"
        before = parsed(run, text, capsys, tmp_path / "text")
        assert (
            call(
                tagger,
                f"--output_dir={run.path}",
                f"--train_trees={trees['train']}",
                f"--dev_trees={trees['dev']}",
            )
            == 0
        )
        output = capsys.readouterr()
        assert output.out == tagger_path(run, 7) + "\n"
        num_words = sum(len(tree.words()) for tree in split_of("dev"))
        assert f"% of {num_words} words of dev" in output.err
        after = parsed(run, text, capsys, tmp_path / "text")
        known = {tag for tree in split_of("train") for tag in tree.tags()}
        for old, new in zip(before, after, strict=True):
            if old:
                assert "(XX " in old and "(XX " not in new
                old, new = parse_tree(old), parse_tree(new)
                assert old.words() == new.words()
                assert set(new.tags()) <= known | set(old.tags())
            else:
                assert new == ""

    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_every_path_may_begin_at_home(
        self, split, trees, tmp_path, capsys, monkeypatch
    ):
        monkeypatch.setenv("HOME", os.path.dirname(trees["dev"]))
        run = make_parser(tmp_path, "in_order")
        flags = [f"--output_dir={run.path}", "--train_trees=~/train.trees"]
        flags.append(f"--{split}_trees=~/dev.trees,~/gone.trees")
        words = f"no treebank at {os.path.expanduser('~/gone.trees')}"
        assert_fails(capsys, [words], tagger, *flags)

    def test_it_needs_a_parser_without_tags(self, trees, tmp_path, capsys):
        tagged = make_parser(tmp_path, "tagged")
        vocabulary = make_vocabulary(tmp_path / "words")
        translates = make_run(tmp_path / "translates", vocabulary)
        for run, words in (
            (tagged, "writes the parts of speech itself"),
            (translates, "was not trained to parse"),
        ):
            flags = (
                f"--output_dir={run.path}",
                f"--train_trees={trees['train']}",
            )
            assert_fails(capsys, [words], tagger, *flags)
            assert not os.path.exists(tagger_path(run, 7))
