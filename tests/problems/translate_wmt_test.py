"""Tests of the WMT problems on small corpora."""

import gzip
import pathlib
import random
from xml.sax import saxutils

import pytest
import tensorflow_datasets as tfds
from tensorflow_datasets.translate import wmt as tfds_wmt
from translation_dataset import TranslationDataset

from keras_transformer import registry
from keras_transformer.problems.translate_wmt import TranslateEndeWmt14
from keras_transformer.problems.translate_wmt import TranslateEnfrWmt14

COUNTS = {"train": 40, "dev": 3, "test": 2}
PAIRS = {
    split: [(f'The "{split}" {n}.', f"Das {split} {n}.") for n in range(count)]
    for split, count in COUNTS.items()
}


def escaped(pairs):
    """Returns pairs as SGML files hold them."""
    entities = {'"': "&quot;"}
    return [[saxutils.escape(t, entities) for t in pair] for pair in pairs]


class TranslateEndeSmall(TranslateEndeWmt14):
    """The problem of WMT 2014 with few pairs."""

    name = "translate_ende_small"
    vocab_size = 300
    tfds_name = "small_translate/de-en"
    num_pairs = COUNTS


class TranslateEnfrSmall(TranslateEnfrWmt14):
    """The French problem, whose number of training pairs is unknown."""

    name = "translate_enfr_small"
    vocab_size = 300
    tfds_name = "no_such_translate/fr-en"
    num_pairs = {"dev": 3, "test": 2}


class SmallTranslate(TranslationDataset, tfds.core.GeneratorBasedBuilder):
    pairs = {
        "train": PAIRS["train"],
        "validation": escaped(PAIRS["dev"]),
        "test": escaped(PAIRS["test"]),
    }


def place(tmp_dir, problem, target="de", pairs=PAIRS):
    """Writes all files that the problem looks for."""
    for split, split_pairs in pairs.items():
        for side, code in enumerate(("en", target)):
            lines = "".join(pair[side] + "\n" for pair in split_pairs)
            path = tmp_dir / f"{problem.name}.{split}.{code}"
            path.write_text(lines, encoding="utf-8")


@pytest.fixture
def tmp_dir(tmp_path):
    path = tmp_path / "tmp"
    path.mkdir()
    return path


@pytest.fixture
def problem(tmp_path):
    return TranslateEndeSmall(str(tmp_path / "data"))


class WmtFilesTest:
    def test_placed_files_are_used(self, problem, tmp_dir):
        place(tmp_dir, problem)
        manifest = problem.generate(str(tmp_dir))
        counts = {s: c["pairs"] for s, c in manifest["splits"].items()}
        assert counts == COUNTS
        assert problem.text_split("test") == tuple(
            map(list, zip(*PAIRS["test"]))
        )

    def test_compressed_files_are_used(self, problem, tmp_dir):
        place(tmp_dir, problem)
        path = tmp_dir / f"{problem.name}.dev.de"
        (tmp_dir / f"{path.name}.gz").write_bytes(
            gzip.compress(path.read_bytes())
        )
        path.unlink()
        assert list(problem.text_pairs("dev", str(tmp_dir))) == PAIRS["dev"]

    def test_reverse_problem_reads_the_same_text(self, problem, tmp_dir):
        place(tmp_dir, problem)
        reverse = TranslateEndeSmall(problem.data_dir, reverse=True)
        assert list(reverse.text_pairs("dev", str(tmp_dir))) == PAIRS["dev"]
        reverse.generate(str(tmp_dir))
        assert reverse.text_split("dev") == problem.text_split("dev")[::-1]

    def test_lines_empty_on_one_side_may_be_there(self, problem, tmp_dir):
        pairs = {**PAIRS, "train": PAIRS["train"] + [("", "Leer."), ("", "")]}
        place(tmp_dir, problem, pairs=pairs)
        train = problem.generate(str(tmp_dir))["splits"]["train"]
        assert train["pairs"] == COUNTS["train"]
        assert train["dropped"] == {"empty_side": 2}

    def test_other_count_is_an_error_before_writing(self, problem, tmp_dir):
        place(tmp_dir, problem, pairs={**PAIRS, "dev": PAIRS["dev"][:2]})
        with pytest.raises(ValueError, match="must have 3 pairs.* with 2. Pl"):
            problem.generate(str(tmp_dir))
        assert not pathlib.Path(problem.data_dir).exists()

    def test_counts_with_and_without_empty_sides_are_named(
        self, problem, tmp_dir
    ):
        dev = [PAIRS["dev"][0], ("", "Leer.")]
        place(tmp_dir, problem, pairs={**PAIRS, "dev": dev})
        with pytest.raises(ValueError, match="must have 3 .* with 2 or 1. Pl"):
            problem.generate(str(tmp_dir))

    def test_one_missing_file_is_named(self, problem, tmp_dir):
        place(tmp_dir, problem)
        (tmp_dir / f"{problem.name}.test.de").unlink()
        with pytest.raises(
            ValueError, match=f"lacks .*: {problem.name}.test.de"
        ):
            problem.generate(str(tmp_dir))

    def test_data_stay_when_the_files_go(self, problem, tmp_dir):
        place(tmp_dir, problem)
        manifest = problem.generate(str(tmp_dir))
        for path in tmp_dir.iterdir():
            path.unlink()
        assert problem.generate(str(tmp_dir)) == manifest

    def test_unknown_count_needs_equal_counts_only(self, tmp_path, tmp_dir):
        problem = TranslateEnfrSmall(str(tmp_path / "data"))
        pairs = {**PAIRS, "train": PAIRS["train"][:25]}
        place(tmp_dir, problem, target="fr", pairs=pairs)
        manifest = problem.generate(str(tmp_dir))
        assert manifest["splits"]["train"]["pairs"] == 25


# What libraries disagree on: line ends, white space, marks and entities.
NASTY = ["a", "\u00e4", " ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0"]
NASTY += ["\u2028", "\u2029", "\u3000", "\ufeff", "&quot;", "\u2581"]


def nasty_texts(rng, num_lines):
    """Returns two files of one to four odd characters a line."""
    lines = [
        "".join(rng.choices(NASTY, k=rng.choice([0, 1, 1, 2, 4])))
        for _ in range(2 * num_lines)
    ]
    end = rng.choice(["a", "a\n"])
    return ["\n".join([*side, end]) for side in (lines[::2], lines[1::2])]


class WmtPairsTest:
    @pytest.mark.parametrize("seed", range(20))
    def test_pairs_are_those_of_tfds(self, problem, tmp_dir, monkeypatch, seed):
        monkeypatch.chdir(tmp_dir)
        names = [f"{problem.name}.train.{code}" for code in ("en", "de")]
        texts = nasty_texts(random.Random(seed), num_lines=50)
        place(tmp_dir, problem, pairs={**PAIRS, "train": []})
        for name, text in zip(names, texts):
            pathlib.Path(name).write_bytes(text.encode())
        expected = [
            (pair["en"], pair["de"])
            for _, pair in tfds_wmt._parse_parallel_sentences(*names)
            if all(pair.values())
        ]
        pairs = problem.text_pairs("train", str(tmp_dir))
        assert [p for p in pairs if problem.is_complete(*p)] == expected

    def test_white_space_counts_and_is_learnt(self, problem, tmp_dir):
        train = [*PAIRS["train"][:37], ("\r", "a"), (" ", "b"), ("c", "\u2028")]
        place(tmp_dir, problem, pairs={**PAIRS, "train": [*train, ("", "d")]})
        manifest = problem.generate(str(tmp_dir))["splits"]["train"]
        assert (manifest["pairs"], manifest["dropped"]["empty_side"]) == (40, 1)
        lengths = problem.token_pairs("train").inputs.lengths
        assert lengths[38] == 1  # the end alone

    def test_entities_are_replaced_in_dev_and_test(self, problem, tmp_dir):
        escaped = "&quot;R&amp;D&quot; &lt;b&gt; it&apos;s &amp;quot; AT&T"
        text = '"R&D" <b> it\'s &quot; AT&T'
        splits = {split: [(escaped, escaped)] for split in PAIRS}
        place(tmp_dir, problem, pairs=splits)
        for split, expected in zip(splits, (escaped, text, text)):
            pairs = problem.text_pairs(split, str(tmp_dir))
            assert list(pairs) == [(expected, expected)]


class WmtDownloadTest:
    def test_corpus_comes_from_tfds_without_files(self, problem, tmp_dir):
        manifest = problem.generate(str(tmp_dir))
        counts = {s: c["pairs"] for s, c in manifest["splits"].items()}
        assert counts == COUNTS
        sources, targets = problem.text_split("test")
        assert sorted(zip(sources, targets)) == sorted(PAIRS["test"])
        assert TranslateEndeSmall(problem.data_dir).generate("") == manifest

    def test_failure_names_all_files_and_their_counts(self, tmp_path, tmp_dir):
        problem = TranslateEnfrSmall(str(tmp_path / "data"))
        with pytest.raises(ValueError) as error:
            problem.generate(str(tmp_dir))
        message = str(error.value)
        assert "\n" not in message
        assert message.endswith(
            f"Place in {tmp_dir}, plain or as .gz: "
            "translate_enfr_small.train.{en,fr} (the same number of lines), "
            "translate_enfr_small.dev.{en,fr} (3 lines), "
            "translate_enfr_small.test.{en,fr} (2 lines)."
        )
        assert not pathlib.Path(problem.data_dir).exists()


class WmtRegistryTest:
    @pytest.mark.parametrize(
        "name, tfds_name, vocab_size, num_train",
        [
            (
                "translate_ende_wmt14",
                "wmt14_translate/de-en",
                37000,
                4508785,
            ),
            (
                "translate_ende_wmt_t2t",
                "wmt_t2t_translate/de-en",
                37000,
                4592289,
            ),
            ("translate_enfr_wmt14", "wmt14_translate/fr-en", 32000, None),
        ],
    )
    def test_corpora_are_the_published_ones(
        self, name, tfds_name, vocab_size, num_train
    ):
        problem = registry.get_problem(name)
        assert problem.tfds_name == tfds_name
        assert problem.vocab_size == vocab_size
        assert problem.num_pairs.get("train") == num_train
        assert problem.num_pairs["dev"] == 3000
        assert problem.num_pairs["test"] == 3003

    def test_the_documents_name_the_files(self):
        root = pathlib.Path(__file__).parents[2]
        document = (root / "docs" / "problems.md").read_text(encoding="utf-8")
        for name in registry.problems.names():
            problem = registry.get_problem(name)
            is_here = type(problem).__module__ == TranslateEndeWmt14.__module__
            if is_here and "bpe" not in name:
                for code in ("en", problem.targets_language):
                    assert f"`{name}.train.{code}`" in document
                (row,) = (
                    line
                    for line in document.splitlines()
                    if line.startswith(f"| `{name}` |")
                )
                for number in problem.num_pairs.values():
                    assert f"{number:,}" in row

    def test_tfds_knows_the_names(self):
        for name in ("translate_ende_wmt14", "translate_ende_wmt_t2t"):
            dataset, config = registry.get_problem(name).tfds_name.split("/")
            configs = tfds.builder_cls(dataset).builder_configs
            assert config in configs
