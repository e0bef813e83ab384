"""Tests of the toy treebank and of the grammar behind it."""

import sys

import pytest
from toy_text.tree_grammar import make_lexical_rules
from toy_text.tree_grammar import read_grammar

from keras_transformer.parsing.tree import Tree
from keras_transformer.parsing.tree import build_trees
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.problems.toy import ParsingToy

SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def treebank():
    return {split: list(ParsingToy().trees(split, None)) for split in SPLITS}


@pytest.fixture(scope="module")
def trees(treebank):
    return [tree for split in SPLITS for tree in treebank[split]]


def readings(words):
    """Returns every tree that the grammar allows for a sentence."""
    words = [{"an": "a", "An": "A"}.get(word, word) for word in words]
    start = 1 if words[0] == "``" else 0
    readings_of = {}

    def fits(word, place):
        if place == start:
            word = {word, word[0].upper() + word[1:]}
            return words[place] in word
        return place < len(words) and words[place] == word

    def read(symbol, place):
        """Returns {end: steps of the symbol from the place to the end}."""
        if (symbol, place) not in readings_of:
            ends = readings_of[symbol, place] = {}
            for rule in read_grammar()[symbol]:
                for end, steps in filled(rule.items, place):
                    ends.setdefault(end, set()).add(steps)
        return readings_of[symbol, place]

    def filled(items, place):
        if not items:
            yield place, ()
            return
        first, *rest = items
        if isinstance(first, str):
            firsts = [
                (end, steps)
                for end, choices in read(first, place).items()
                for steps in choices
            ]
        elif first[0] == "leaf":
            firsts = [(place + 1, (first,))] * fits(first[2], place)
        else:
            firsts = [(place, (first,))]
        for middle, steps in firsts:
            for end, others in filled(rest, middle):
                yield end, steps + others

    whole = read("sentence", 0).get(len(words), ())
    return [Tree("TOP", tuple(build_trees(steps))) for steps in whole]


def reading(sentence):
    (tree,) = readings(sentence.split())
    return str(tree).lower()


def nodes(tree):
    yield tree
    if not tree.is_preterminal:
        for child in tree.children:
            yield from nodes(child)


class TreebankTest:
    def test_has_the_promised_sizes(self, treebank):
        sizes = {split: len(trees) for split, trees in treebank.items()}
        assert sizes == {"train": 12_000, "dev": 300, "test": 300}

    def test_no_sentence_occurs_twice_within_or_across_splits(self, trees):
        assert len({tuple(tree.words()) for tree in trees}) == len(trees)

    def test_every_word_of_dev_and_test_occurs_in_training(self, treebank):
        words = {word for tree in treebank["train"] for word in tree.words()}
        for tree in treebank["dev"] + treebank["test"]:
            assert words.issuperset(tree.words())

    def test_has_4_to_25_words_a_sentence_and_fewer_than_11_on_average(
        self, trees
    ):
        lengths = [len(tree.words()) for tree in trees]
        assert set(lengths) == set(range(4, 26))
        assert sum(lengths) / len(lengths) < 11

    def test_stays_the_same_from_version_to_version(self, treebank):
        assert str(treebank["dev"][6]) == (
            "(TOP (S (NP (DT The) (NN man)) (VP (VBD finished) (NP (NP (DT a) "
            "(NN letter)) (SBAR (WHNP (WDT which)) (S (NP (PRP she)) (VP (VBD "
            "wrote)))))) (. .)))"
        )


class TreeTest:
    def test_has_one_child_below_the_root_and_no_other_root(self, trees):
        for tree in trees:
            labels = [node.label for node in nodes(tree)]
            assert tree.label == "TOP" and len(tree.children) == 1
            assert labels.count("TOP") == 1

    def test_can_be_written_and_read(self, trees):
        for tree in trees[::20]:
            assert parse_tree(str(tree)) == tree

    def test_begins_with_a_capital_and_articles_fit_the_next_word(self, trees):
        for tree in trees:
            words = tree.words()
            start = words[1] if words[0] == "``" else words[0]
            assert not start[0].islower()
            for word, following in zip(words, words[1:]):
                if word.lower() in ("a", "an"):
                    vowel = following[0] in "aeiou"
                    assert vowel == word.lower().endswith("n")

    def test_labels_of_the_penn_treebank_occur_and_no_others(self, trees):
        labels = {
            node.label
            for tree in trees
            for node in nodes(tree)
            if not node.is_preterminal
        }
        assert labels == set(
            "TOP S SINV SQ SBAR SBARQ NP VP PP ADJP ADVP PRT PRN QP NX UCP "
            "CONJP INTJ WHNP WHPP WHADVP WHADJP".split()
        )

    def test_quotes_and_brackets_come_in_pairs(self, trees):
        for tree in trees:
            tags = tree.tags()
            assert tags.count("``") == tags.count("''") < 2
            assert tags.count("-LRB-") == tags.count("-RRB-")


class ReadingTest:
    @pytest.mark.slow
    def test_every_sentence_has_one_and_it_is_its_tree(self, treebank):
        for tree in treebank["dev"] + treebank["test"]:
            expected = str(tree).lower().replace("dt an)", "dt a)")
            assert reading(" ".join(tree.words())) == expected

    def test_finds_two_where_a_rule_allows_two(self, monkeypatch):
        rules = dict(read_grammar())
        once = rules["price"][0]
        steps = ("open", "X", None), *once.items, ("close", "X", None)
        rules["price"] = rules["price"] + [once._replace(items=steps)]
        monkeypatch.setattr(
            sys.modules[__name__], "read_grammar", lambda: rules
        )
        words = "The price of the car rose 3 % .".split()
        assert len(readings(words)) == 2

    @pytest.mark.parametrize(
        "noun, belongs",
        [
            ("a fork", "(nns eggs)) (pp (in with) (np (dt a) (nn fork)))"),
            ("salt", "(np (np (dt the) (nns eggs)) (pp (in with)"),
            ("Emma", "(nns eggs)) (pp (in with) (np (nnp emma)))"),
        ],
    )
    def test_what_with_belongs_to_depends_on_the_noun(self, noun, belongs):
        assert belongs in reading(f"Anna ate the eggs with {noun} .")

    @pytest.mark.parametrize(
        "verb, belongs",
        [
            ("met", "(vbd met) (np (dt the) (nn boy)) (pp"),
            ("loved", "(vbd loved) (np (np (dt the) (nn boy)) (pp"),
        ],
    )
    def test_what_a_place_belongs_to_depends_on_the_verb(self, verb, belongs):
        assert belongs in reading(f"Anna {verb} the boy in the park .")

    @pytest.mark.parametrize(
        "verb, object_stands",
        [("told", "(np (prp me)) (s (vp"), ("wanted", "(s (np (prp me)) (vp")],
    )
    def test_whether_an_object_is_within_the_clause_depends_on_the_verb(
        self, verb, object_stands
    ):
        assert object_stands in reading(f"Anna {verb} me to sing .")


class GrammarTest:
    def test_every_symbol_that_a_sentence_needs_has_rules(self):
        waiting, reached = ["sentence"], set()
        while waiting:
            symbol = waiting.pop()
            if symbol in reached:
                continue
            reached.add(symbol)
            assert read_grammar()[symbol], symbol
            for rule in read_grammar()[symbol]:
                waiting += [item for item in rule.items if type(item) is str]

    def test_weights_count_whatever_the_rule_stands_for(self):
        weights = {}
        for rule in read_grammar()["det sg"]:
            ((_, _, word),) = rule.items
            weights[word] = rule.weight
        assert weights == {"the": 6, "a": 2, "this": 0.5, "every": 0.5}

    def test_no_verb_has_a_past_that_looks_like_its_infinitive(self):
        rules = make_lexical_rules()
        for symbol, verbs in rules.items():
            if symbol.startswith("verb") and symbol.endswith("VBD"):
                bases = rules[symbol.removesuffix("VBD") + "VB"]
                for (_, past), (_, base) in zip(verbs, bases):
                    assert past != base
