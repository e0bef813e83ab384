"""A shortlist holds the subwords that belong to those of a source."""

import collections

import numpy as np
import pytest
from small_translators import KANA
from small_translators import TEXTS
from small_translators import make_kana_vocabulary
from small_translators import make_vocabulary

from keras_transformer.data.generation.corpora import Corpus
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.formats.ctranslate2 import shortlist
from keras_transformer.formats.ctranslate2.shortlist import Shortlist
from keras_transformer.formats.ctranslate2.shortlist import learn_shortlist
from keras_transformer.formats.ctranslate2.shortlist import read_pairs
from keras_transformer.token_ids import END_ID


@pytest.fixture(scope="module")
def latin(tmp_path_factory):
    return make_vocabulary(tmp_path_factory.mktemp("latin") / "vocab.model")


@pytest.fixture(scope="module")
def kana(tmp_path_factory):
    return make_kana_vocabulary(tmp_path_factory.mktemp("kana") / "vocab.model")


@pytest.fixture(scope="module", params=["shared", "separate"])
def vocabularies(request, latin, kana):
    if request.param == "shared":
        return Vocabularies(latin, latin)
    return Vocabularies(latin, kana)


@pytest.fixture(scope="module")
def pairs():
    """Pairs in which words follow one another at random."""
    generator = np.random.default_rng(2)
    sides = " ".join(TEXTS).split(), " ".join(KANA + TEXTS).split()
    return [
        tuple(
            " ".join(generator.choice(words, generator.integers(1, 7)))
            for words in sides
        )
        for _ in range(60)
    ]


def coefficients(pairs, vocabularies):
    """Counts pair by pair; returns a `Counter` of ids and one of id pairs."""
    counts = [collections.Counter(), collections.Counter()]
    joint = collections.Counter()
    for pair in pairs:
        source, target = (
            set(side.encode([text])[0]) - {END_ID}
            for side, text in zip(vocabularies, pair)
        )
        counts[0].update(source)
        counts[1].update(target)
        joint.update((a, b) for a in source for b in target)
    table = collections.defaultdict(dict)
    for (a, b), number in joint.items():
        table[a][b] = 2 * number / (counts[0][a] + counts[1][b])
    return table, counts[1]


def best(values, count):
    """Returns the keys of the highest values, of equal ones the lowest."""
    return sorted(values, key=lambda key: (-values[key], key))[:count]


class LearnShortlistTest:
    def test_coefficients_are_those_counted_pair_by_pair(
        self, pairs, vocabularies, monkeypatch
    ):
        monkeypatch.setattr(shortlist, "_BLOCK", 7)
        learnt = learn_shortlist(pairs, vocabularies, 5, 4)
        table, counts = coefficients(pairs, vocabularies)
        assert learnt.frequent == best(counts, 4)
        assert len(learnt.related) == vocabularies.sources.vocab_size
        copies = learn_shortlist([("a", "b")], vocabularies, 0, 0).related
        for source, (ids, copy) in enumerate(zip(learnt.related, copies)):
            expected = dict.fromkeys(copy + best(table[source], 5))
            assert ids == list(expected)

    def test_each_subword_may_be_copied(self, vocabularies):
        learnt = learn_shortlist([("a dog", "ぶん")], vocabularies, 3, 3)
        sources, targets = vocabularies.sources, vocabularies.targets
        for text in ("zebra 1997", "dogs run", "naïve €"):
            for source in sources.encode([text])[0][:-1]:
                spelled = targets.decode([learnt.related[source][:9]])[0]
                copied = sources.decode([[source]])[0]
                assert spelled.startswith(copied)

    def test_counts_may_exceed_what_there_is(self, vocabularies):
        learnt = learn_shortlist([("a dog", "ぶん")], vocabularies, 99, 999)
        ids = vocabularies.targets.encode(["ぶん"])[0][:-1]
        assert learnt.frequent == sorted(set(ids))

    def test_a_target_may_have_no_subwords(self, vocabularies):
        learnt = learn_shortlist([("a", "ぶん"), ("a dog", "▁")], vocabularies)
        assert learnt == learn_shortlist(
            [("a", "ぶん"), ("a dog", "▁"), ("▁", "▁")], vocabularies
        )


class ReadPairsTest:
    def corpus(self, tmp_path, lines, tag=None):
        path = tmp_path / "text.tsv"
        path.write_text("".join(f"{line}\n" for line in lines))
        return [Corpus((str(path),), tag=tag)]

    def test_blank_pairs_are_left_out(self, tmp_path, latin):
        corpora = self.corpus(tmp_path, ["a\tb", "\tb", "a\t ", "c\td"])
        pairs = read_pairs(corpora, (None, None), latin)
        assert pairs == [("a", "b"), ("c", "d")]

    def test_many_pairs_are_sampled(self, tmp_path, latin, monkeypatch):
        monkeypatch.setattr(shortlist, "MAX_PAIRS", 10)
        corpora = self.corpus(tmp_path, [f"{i}\t{i}" for i in range(95)])
        pairs = read_pairs(corpora, (None, None), latin)
        assert pairs == [(str(i), str(i)) for i in range(0, 95, 16)]

    def test_a_tag_is_a_subword_of_the_source(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        vocabulary = train_subwords(TEXTS * 20, 310, path, symbols=["<fr>"])
        corpora = self.corpus(tmp_path, ["a dog\tdogs"], "fr")
        pairs = read_pairs(corpora, (None, None), vocabulary)
        learnt = learn_shortlist(pairs, Vocabularies(vocabulary, vocabulary))
        (tag, _), (target, _) = vocabulary.encode(["<fr>", "dogs"])
        assert learnt.related[tag] == [tag, target]

    def test_an_unknown_tag_is_refused(self, tmp_path, latin):
        corpora = self.corpus(tmp_path, ["a dog\tdogs"], "fr")
        with pytest.raises(ValueError, match="<fr> has no id"):
            read_pairs(corpora, (None, None), latin)


class WriteTest:
    def test_pieces_that_separate_are_left_out(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        symbols = ["a\tb", "c\rd", "ok"]
        vocabulary = train_subwords(TEXTS * 20, 310, path, user_symbols=symbols)
        pieces = vocabulary.all_pieces()
        ids = list(map(pieces.index, symbols))
        chosen = Shortlist(ids, [ids] * vocabulary.vocab_size)
        chosen.write(str(tmp_path), Vocabularies(vocabulary, vocabulary))
        lines = (tmp_path / "vmap.txt").read_bytes().decode().split("\n")
        assert lines.pop() == ""
        assert len(lines) == 1 + vocabulary.vocab_size - 2
        assert {line.split("\t")[1] for line in lines} == {"ok"}
