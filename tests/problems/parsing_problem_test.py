"""Tests of the problems over treebanks."""

import collections
import itertools
import os
import re

import numpy as np
import pytest
from small_treebank import SIZES
from small_treebank import TREES
from small_treebank import split_of
from small_treebank import write_sections
from small_treebank import write_trees

from keras_transformer import registry
from keras_transformer.hparam import HParams
from keras_transformer.parsing.linearization import WITH_WORDS
from keras_transformer.parsing.linearization import read_symbol
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.problems.parsing import ParsingWsj
from keras_transformer.problems.parsing import ParsingWsjSemi
from keras_transformer.token_ids import WORD_START


class Sentences(ParsingProblem):
    """Parsing of a few sentences of the toy treebank."""

    name = "sentences"
    vocab_size = 600

    def trees(self, split, tmp_dir):
        return iter(split_of(split))


class TaggedSentences(Sentences):
    linearization = "tagged"


class LexicalisedSentences(Sentences):
    linearization = "lexicalised"


class InOrderSentences(Sentences):
    name = "in_order_sentences"
    linearization = "in_order"


@pytest.fixture(
    params=[
        Sentences,
        TaggedSentences,
        LexicalisedSentences,
        InOrderSentences,
    ]
)
def problem(request, tmp_path):
    problem = request.param(str(tmp_path))
    problem.generate(None)
    return problem


class ParsingProblemTest:
    def test_sources_are_words_and_references_are_trees(self, problem):
        sources, references = problem.text_split("dev")
        assert [source.split() for source in sources] == [
            tree.words() for tree in split_of("dev")
        ]
        assert list(map(parse_tree, references)) == split_of("dev")

    def test_each_symbol_of_a_target_is_one_id(self, problem):
        targets = problem.token_pairs("dev").targets
        for tree, ids in zip(split_of("dev"), targets):
            symbols = problem.target_text(str(tree)).split()
            pieces = problem.vocabulary.pieces(ids[:-1])
            known_symbols = [
                symbol for symbol in symbols if read_symbol(symbol)[0]
            ]
            assert [p for p in pieces if read_symbol(p[1:])[0]] == [
                WORD_START + symbol for symbol in known_symbols
            ]
            has_words = problem.linearization in WITH_WORDS
            assert (known_symbols == symbols) == (not has_words)

    def test_it_is_guided_by_spans_of_the_sources(self, problem):
        pairs = problem.token_pairs("train")
        rows = np.arange(5)
        shape = 5, *(int(side.lengths.max()) for side in pairs)
        assert problem.make_guidance(HParams()) is None
        guidance = problem.make_guidance(HParams(span_labels=20))
        for row, spans in enumerate(guidance.read(pairs, rows, shape)):
            first, last, label = spans[spans[:, 2] >= 0].T
            assert (first <= last).all() and label.max() < 20
            # The sentence is the largest constituent.
            assert first.min() == 0
            assert last.max() == pairs.inputs.lengths[row] - 2

    def test_too_few_labels_of_spans_are_an_error(self, problem):
        with pytest.raises(ValueError, match="source_noise=0.1"):
            problem.make_guidance(HParams(source_noise=0.1))
        with pytest.raises(ValueError, match="Use --hparams=span_labels="):
            problem.make_guidance(HParams(span_labels=1))

    def test_output_is_the_inverse_of_target_text(self, problem):
        for tree in split_of("test"):
            source = " ".join(tree.words())
            output = problem.output(source, problem.target_text(str(tree)))
            if problem.linearization == "tagged":
                assert output == str(tree)
            report = problem.report([output], [str(tree)])
            assert report.scores["f1"] == 100

    def test_output_is_a_tree_whatever_was_decoded(self, problem):
        for decoded in ("", "nonsense (S", problem.target_text(str(TREES[0]))):
            tree = parse_tree(problem.output("One two three .", decoded))
            assert tree.words() == ["One", "two", "three", "."]

    def test_score_is_f1(self, problem):
        _, references = problem.text_split("dev")
        flat = [
            problem.output(" ".join(parse_tree(r).words()), "")
            for r in references
        ]
        assert problem.score(references, references)["f1"] == 100
        assert problem.score(flat, references)["f1"] < 50
        assert problem.measure in problem.score(flat, references)

    def test_augmentation_is_for_training_alone(self, tmp_path):
        problem = Sentences(str(tmp_path))
        problem.augmentation_rounds = 2
        splits = problem.generate(None)["splits"]
        counts = {split: counts["pairs"] for split, counts in splits.items()}
        assert counts["train"] > 4 * SIZES["train"]
        assert {**counts, "train": SIZES["train"]} == SIZES

    def test_pairs_are_made_one_tree_at_a_time(self):
        num_read = 0

        class Endless(Sentences):
            treebank_weight = 2

            def trees(self, split, tmp_dir):
                yield from split_of(split)

            def parsed_trees(self, tmp_dir):
                nonlocal num_read
                for num_read, tree in enumerate(itertools.cycle(TREES), 1):
                    yield tree

        pairs = Endless("data").text_pairs("train", None)
        num_pairs = 2 * SIZES["train"] + 1_000
        assert len(list(itertools.islice(pairs, num_pairs))) == num_pairs
        assert num_read == 1_000

    def test_the_treebank_counts_as_often_as_its_weight(self):
        class Weighted(Sentences):
            treebank_weight = 3

            def parsed_trees(self, tmp_dir):
                return iter(TREES[250:260])

        problem = Weighted("data")
        trees = [tree for _, tree in problem.text_pairs("train", None)]
        assert collections.Counter(trees) == collections.Counter(
            list(map(str, 3 * split_of("train") + TREES[250:260]))
        )
        assert problem.settings()["treebank_weight"] == 3

    def test_parsed_trees_are_not_augmented(self):
        class Augmented(Sentences):
            augmentation_rounds = 1

            def parsed_trees(self, tmp_dir):
                return iter(TREES[250:260])

        pairs = list(Augmented("data").text_pairs("train", None))
        assert len(pairs) > 2 * SIZES["train"] + 10
        assert [t for _, t in pairs[-10:]] == list(map(str, TREES[250:260]))

    def test_labels_of_parsed_trees_are_symbols(self):
        class Labelled(Sentences):
            def parsed_trees(self, tmp_dir):
                yield parse_tree("(TOP (NEW (NN dog)))")

        assert {"(NEW", ")NEW"} <= set(Labelled("data").symbols(None))

    def test_data_of_other_settings_are_made_anew(self, problem):
        before = problem.manifest
        problem.augmentation_rounds = 1
        assert problem.generate(None)["splits"] != before["splits"]

    @pytest.mark.parametrize("name", ["parsing_toy_rev", "parsing_toy_both"])
    def test_it_cannot_be_turned_round(self, name):
        with pytest.raises(ValueError, match=f"words as its source.*{name}"):
            registry.get_problem(name)


class ParsingAttributesTest:
    @pytest.mark.parametrize(
        "name, value",
        [
            ("linearization", "lexicalized"),
            ("linearization", None),
            ("augmentation_rounds", 1.5),
            ("augmentation_rounds", -1),
            ("treebank_weight", 0),
            ("treebank_weight", "2"),
        ],
    )
    def test_a_wrong_value_is_named_with_its_class(self, tmp_path, name, value):
        problem = Sentences(str(tmp_path))
        setattr(problem, name, value)
        words = re.escape(f"Received: Sentences.{name} = {value!r}. Write for ")
        with pytest.raises(ValueError, match=f"`{name}` of a .*{words}"):
            problem.generate(None)
        assert os.listdir(tmp_path) == []


class ParsingWsjTest:
    SECTIONS = {"00": 1, "02": 5, "10": 4, "21": 3, "22": 2, "23": 3, "24": 1}

    def test_sections_become_splits(self, tmp_path):
        written = write_sections(tmp_path / "wsj", self.SECTIONS)
        problem = ParsingWsj(str(tmp_path))
        train, dev, test = (
            list(problem.trees(split, str(tmp_path)))
            for split in problem.splits
        )
        assert train == written["02"] + written["10"] + written["21"]
        assert (dev, test) == (written["22"], written["23"])

    @pytest.mark.parametrize("ending", [".trees", ".trees.gz"])
    def test_extracted_trees_do_as_well(self, tmp_path, ending):
        for split in SIZES:
            path = tmp_path / f"parsing_wsj.{split}{ending}"
            write_trees(path, split_of(split))
        for split in SIZES:
            trees = ParsingWsj("data").trees(split, str(tmp_path))
            assert list(trees) == split_of(split)

    def test_without_a_treebank_it_says_what_is_needed(self, tmp_path):
        with pytest.raises(ValueError, match="holds neither wsj.*LDC99T42"):
            ParsingWsj(str(tmp_path / "data")).generate(str(tmp_path))
        assert os.listdir(tmp_path) == []

    def test_other_counts_than_the_treebanks_are_an_error(self, tmp_path):
        write_sections(tmp_path / "wsj", self.SECTIONS)
        with pytest.raises(ValueError, match="39,832 trees.*12 trees"):
            ParsingWsj(str(tmp_path / "data")).generate(str(tmp_path))

    def test_parsed_sentences_join_the_treebank(self, tmp_path):
        tmp_path /= "wsj [v1]"  # the name looks like a pattern
        tmp_path.mkdir()
        for split in SIZES:
            path = tmp_path / f"parsing_wsj.{split}.trees"
            write_trees(path, split_of(split))
        write_trees(tmp_path / "parsing_wsj_semi.b.trees.gz", TREES[250:280])
        write_trees(tmp_path / "parsing_wsj_semi.a.trees", TREES[280:290])
        problem = ParsingWsjSemi("data")
        expected = split_of("train") + TREES[280:290] + TREES[250:280]
        pairs = problem.text_pairs("train", str(tmp_path))
        assert [tree for _, tree in pairs] == list(map(str, expected))
        assert list(problem.trees("dev", str(tmp_path))) == split_of("dev")
        assert len(problem.source_files(str(tmp_path))) == len(SIZES) + 2
        assert problem.vocab_size == 32000

    def test_without_parsed_sentences_it_says_what_is_missing(self, tmp_path):
        write_sections(tmp_path / "wsj", self.SECTIONS)
        with pytest.raises(ValueError, match="or use parsing_wsj"):
            ParsingWsjSemi("data").parsed_trees(str(tmp_path))
