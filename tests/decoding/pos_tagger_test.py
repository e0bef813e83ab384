"""A tagger reads parts of speech from the encoder of a parser."""

import dataclasses
import pathlib

import numpy as np
import pytest
from small_translators import HPARAMS
from small_translators import make_run
from small_translators import make_tree_vocabulary

from keras_transformer.decoding import load
from keras_transformer.decoding.encoder_heads import Tagger
from keras_transformer.decoding.encoder_heads import encode_words
from keras_transformer.decoding.encoder_heads import load_tagger
from keras_transformer.decoding.encoder_heads import make_head
from keras_transformer.decoding.encoder_heads import save_tagger
from keras_transformer.decoding.encoder_heads import tagger_path
from keras_transformer.decoding.encoder_heads import word_states
from keras_transformer.decoding.parser import Parser
from keras_transformer.runs.weights import load_model
from keras_transformer.token_ids import WORD_START
from keras_transformer.trees.tree import parse_tree

TAGS = ["DT", "NN", "VBZ", "é"]
SENTENCES = ["a dog runs over the street".split(), [], ["dogs"], ["two"] * 40]
SENTENCES += [["a"] * length for length in range(1, 40)]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parser")
    vocabulary = make_tree_vocabulary(folder / "vocabulary", "lexicalised")
    return make_run(folder / "run", vocabulary)


@pytest.fixture(scope="module")
def tagger(run):
    head = make_head(2 * HPARAMS.d_model, len(TAGS))
    generator = np.random.default_rng(1)
    head.set_weights(
        [generator.normal(size=w.shape) for w in head.get_weights()]
    )
    return Tagger(load_model(run), run.source_vocabulary, TAGS, head)


class WordStatesTest:
    def test_they_are_the_outputs_at_the_ends_of_words(self, run, tagger):
        sentences = [words for words in SENTENCES if words]
        encoded = encode_words(tagger.vocabulary, sentences)
        states = iter(word_states(tagger.model, encoded))
        for words in sentences:
            (ids,) = tagger.vocabulary.encode([" ".join(words)])
            encoded, _ = tagger.model.encode(np.array([ids]))
            pieces = tagger.vocabulary.pieces(ids[:-1])
            starts = [i for i, p in enumerate(pieces) if p[0] == WORD_START]
            assert len(starts) == len(words)
            for first, after in zip(starts, [*starts[1:], len(pieces)]):
                expected = [encoded[0, first], encoded[0, after - 1]]
                np.testing.assert_allclose(
                    next(states), np.concatenate(expected), atol=1e-5
                )
        assert next(states, None) is None

    def test_a_word_without_subwords_has_a_state(self, tagger):
        # SentencePiece drops this character.
        sentences = [["dogs", "\u200b"], ["\u200b"]]
        encoded = encode_words(tagger.vocabulary, sentences)
        states = word_states(tagger.model, encoded)
        assert states.shape == (3, 2 * HPARAMS.d_model)
        assert np.isfinite(states).all()


class TaggerTest:
    def test_each_sentence_has_the_tags_that_it_has_alone(self, tagger):
        tagged = tagger(SENTENCES)
        assert list(map(len, tagged)) == list(map(len, SENTENCES))
        assert len({tag for tags in tagged for tag in tags}) > 1
        for words, tags in zip(SENTENCES, tagged):
            assert tagger([words]) == [tags]
        assert tagger([]) == []

    def test_it_is_read_as_it_was_written(self, run, tagger):
        path = save_tagger(tagger, run, 7)
        try:
            assert path == tagger_path(run, 7)
            read = load_tagger(run, 7, tagger.model)
            assert read.tags == TAGS
            assert read(SENTENCES) == tagger(SENTENCES)
            assert load_tagger(run, 8, tagger.model) is None
        finally:
            pathlib.Path(path).unlink()

    @pytest.mark.parametrize("size", [0, 1, 200, -1, "wider"])
    def test_a_damaged_file_is_refused(self, size, run, tagger, tmp_path):
        path = pathlib.Path(save_tagger(tagger, run, 7))
        try:
            other = run
            if size == "wider":
                wider = dataclasses.replace(HPARAMS, d_model=32)
                other = make_run(tmp_path / "run", run.vocabulary, wider)
                pathlib.Path(other.path, "taggers").mkdir()
                path.rename(tagger_path(other, 7))
                path = pathlib.Path(tagger_path(other, 7))
            else:
                path.write_bytes(path.read_bytes()[:size])
            with pytest.raises(
                ValueError, match="Cannot use .*Delete it, or train"
            ):
                load_tagger(other, 7, tagger.model)
        finally:
            path.unlink()


class ParserTest:
    @pytest.mark.parametrize(
        "options",
        [
            {"num_hypotheses": 2},
            pytest.param({"mbr_samples": 4}, marks=pytest.mark.slow),
        ],
        ids=str,
    )
    def test_brackets_and_punctuation_stay(self, run, tagger, options):
        texts = ["a dog runs over the street .", "", "two women , dogs"]
        alone = load(run.path, tokenized=True)
        assert alone.trees.tagger is None
        path = save_tagger(tagger, run, 7)
        try:
            parsers = [load(run.path, tokenized=True)]
            if "mbr_samples" not in options:
                paths = [run.path, run.path]
                parsers.append(Parser.load(paths, tokenized=True))
        finally:
            pathlib.Path(path).unlink()
        expected = list(alone.hypotheses(texts, **options))
        for parser in parsers:
            found = parser.hypotheses(texts, **options)
            for text, row, own in zip(texts, expected, found, strict=True):
                assert len(row) == len(own)
                for one, other in zip(row, own):
                    _check_retagged(text, one.text, other.text, tagger)


def _check_retagged(text, tree, retagged, tagger):
    if not text:
        assert tree == retagged == ""
        return
    tree, retagged = parse_tree(tree), parse_tree(retagged)
    (tags,) = tagger([text.split()])
    expected = [
        new if old == "XX" else old for old, new in zip(tree.tags(), tags)
    ]
    assert retagged.tags() == expected
    assert retagged.words() == tree.words() == text.split()
    assert "XX" in tree.tags()
    assert _brackets(retagged) == _brackets(tree)


def _brackets(tree):
    if tree.is_preterminal:
        return None
    return tree.label, [_brackets(child) for child in tree.children]
