"""Tests of which words are tagged as punctuation."""

import tree_examples

from keras_transformer.parsing.linearization import delinearize
from keras_transformer.parsing.linearization import linearize
from keras_transformer.parsing.target_text import tag_punctuation
from keras_transformer.parsing.tree import Tree


class TagPunctuationTest:
    def tags(self, sentence, tag):
        words = sentence.split()
        tree = Tree("S", tuple(Tree(tag, (word,)) for word in words))
        retagged = tag_punctuation(tree)
        assert retagged.words() == words
        return retagged.tags()

    def test_punctuation_is_known_by_the_word(self):
        for word in ("XX", "NN"):
            sentence = "`` Dogs -- -LRB- one ; two -RCB- , $ 3 : ... '' ?"
            expected = f"`` {word} : -LRB- {word} : {word} -RRB- , $ {word} "
            assert self.tags(sentence, word) == f"{expected}: : '' .".split()

    def test_single_quote_closes_or_is_a_possessive(self):
        assert self.tags("the ` dogs ' day", "XX") == "XX `` XX '' XX".split()
        assert self.tags("dogs , ' he", "XX") == "XX , '' XX".split()
        assert self.tags("the dogs ' day", "XX") == "XX XX XX XX".split()
        assert self.tags("the dogs ' day", "POS")[2] == "POS"
        assert self.tags("` a ' dogs ' day", "XX")[2::2] == ["''", "XX"]

    def test_no_other_word_is_tagged_as_what_evalb_leaves_out(self):
        for tag in (",", ":", "``", "''", "."):
            assert self.tags("dogs , I", tag) == ["NN", ",", "NN"]
        assert self.tags("dogs , I", "-LRB-") == ["-LRB-", ",", "-LRB-"]

    def test_constituents_stay(self):
        for tree in tree_examples.random_trees(100):
            retagged = tag_punctuation(tree)
            expected = tree_examples.constituents(tree)
            assert tree_examples.constituents(retagged) == expected
            assert tag_punctuation(retagged) == retagged

    def test_deep_trees_have_no_limit(self):
        tree = tree_examples.deep_tree()
        assert tag_punctuation(tree).words() == tree.words()

    @tree_examples.needs_sample
    def test_punctuation_of_the_sample_is_told_from_its_words(self):
        punctuation = {",", ":", "``", "''", ".", "-LRB-", "-RRB-", "#", "$"}
        wrong = []
        for tree in tree_examples.sample():
            words = tree.words()
            bare = delinearize(linearize(tree), words, "normalised")
            tags = tag_punctuation(bare).tags()
            wrong += [
                word
                for word, tag, gold in zip(words, tags, tree.tags())
                if tag != gold and {tag, gold} & punctuation
            ]
        assert sorted(set(wrong)) == ["C$", "US$", "Wa"]
        assert len(wrong) == 7
