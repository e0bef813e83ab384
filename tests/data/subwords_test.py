import itertools
import os

import numpy as np
import pytest
import sentencepiece
from hypothesis import example
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.data.generation.attributes import check_user_symbols
from keras_transformer.data.text.normalization import normalize
from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.data.vocabulary.vocabularies import sample_evenly

TEXTS = ["the cat sees the dog", "der Hund sieht die Katze"] * 20
# "▁" stands for a space in SentencePiece.
ANY_TEXT = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="▁")
)
HARD_TEXTS = [
    "",
    "cat",
    "unseen Zyklop",
    "Grüße, ångström €5",
    "漢字 🙂",
    "<0x41> </s> <pad>",
]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("subwords") / "vocab.model"
    return subwords.train_subwords(TEXTS, 300, str(path))


class SubwordsTest:
    @given(st.lists(ANY_TEXT, max_size=5))
    @example(HARD_TEXTS)
    def test_decoding_restores_the_normalised_text(self, vocabulary, texts):
        words = [filter(None, normalize(text).split(" ")) for text in texts]
        expected = [" ".join(each) for each in words]
        assert vocabulary.decode(vocabulary.encode(texts)) == expected

    def test_only_spaces_change(self, vocabulary):
        ids = vocabulary.encode(["  the   cat "])
        assert vocabulary.decode(ids) == ["the cat"]

    @given(ANY_TEXT)
    def test_sequences_end_once_and_hold_no_unknown(self, vocabulary, text):
        (ids,) = vocabulary.encode([text])
        assert ids[-1] == 1
        assert not {0, 1, 2} & set(ids[:-1])
        assert max(ids) < vocabulary.vocab_size

    def test_decoding_stops_at_the_end_and_skips_padding(self, vocabulary):
        (cat,) = vocabulary.encode(["the cat"])
        (dog,) = vocabulary.encode(["the dog"])
        padded = np.array([[0] + cat + dog + [0, 0]], np.int32)
        assert vocabulary.decode(padded) == ["the cat"]

    def test_empty_input_gives_empty_output(self, vocabulary):
        assert vocabulary.encode([]) == []
        assert vocabulary.decode([]) == []
        assert vocabulary.decode([[], [1]]) == ["", ""]

    @given(st.lists(ANY_TEXT, max_size=5))
    @example(HARD_TEXTS)
    def test_a_text_encodes_the_same_in_any_list(self, vocabulary, texts):
        alone = [vocabulary.encode([text])[0] for text in texts]
        assert vocabulary.encode(texts) == alone

    def test_one_str_is_refused(self, vocabulary):
        with pytest.raises(ValueError, match="one str, 'A dog'. Put it into"):
            vocabulary.encode("A dog")

    def test_pieces_show_the_text(self, vocabulary):
        (ids,) = vocabulary.encode(["the cat"])
        assert "".join(vocabulary.pieces(ids)) == "▁the▁cat</s>"

    def test_from_bytes_is_the_same_vocabulary(self, vocabulary):
        again = Subwords.from_bytes(vocabulary.model_bytes)
        assert again.sha256 == vocabulary.sha256
        assert again.encode(TEXTS) == vocabulary.encode(TEXTS)

    def test_a_file_that_is_no_model_is_an_error(self, tmp_path):
        path = tmp_path / "text.model"
        path.write_text("hello")
        with pytest.raises(
            ValueError, match="cannot read .*text.model as a voc"
        ):
            Subwords(str(path))

    def test_a_model_with_other_ids_is_an_error(self, tmp_path):
        prefix = str(tmp_path / "other")
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXTS),
            model_prefix=prefix,
            vocab_size=20,
            minloglevel=2,
        )
        with pytest.raises(ValueError, match="pad=-1, end=2, unknown=0"):
            Subwords(prefix + ".model")


class TrainSubwordsTest:
    def test_the_same_texts_give_the_same_file(self, vocabulary, tmp_path):
        path = str(tmp_path / "vocab.model")
        again = subwords.train_subwords(iter(TEXTS), 300, path)
        assert again.model_bytes == vocabulary.model_bytes
        assert Subwords(path).sha256 == vocabulary.sha256

    @pytest.mark.parametrize("text", ["a <num> b", "a<num>b", "<num>,<num>"])
    def test_a_user_symbol_is_one_id_wherever_it_stands(self, tmp_path, text):
        path = str(tmp_path / "vocab.model")
        texts = [*TEXTS, "the <num> cats", "<num>2<num>"]
        vocabulary = subwords.train_subwords(
            texts, 300, path, user_symbols=["<num>", "<url>"]
        )
        (ids,) = vocabulary.encode([text])
        pieces = vocabulary.pieces(ids)
        assert pieces.count("<num>") == text.count("<num>")
        assert "".join(pieces).count("<num>") == text.count("<num>")
        assert vocabulary.decode([ids]) == [text]
        assert vocabulary.vocab_size == 300

    @pytest.mark.parametrize(
        "symbols", [["a b"], [""], ["▁a"], ["</s>"], ["<0x1F>"], ["<a>"] * 2]
    )
    def test_a_text_that_cannot_be_a_symbol_is_an_error(self, symbols):
        with pytest.raises(ValueError, match="without spaces. Received"):
            check_user_symbols(symbols)

    def test_the_vocabulary_has_the_requested_size(self, vocabulary):
        assert vocabulary.vocab_size == 300

    def test_error_of_too_large_a_size_names_the_largest(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        with pytest.raises(ValueError, match="vocab_size=9999") as error:
            subwords.train_subwords(TEXTS, 9999, path)
        assert "\n" not in str(error.value)
        assert not os.path.exists(path)
        largest = int(str(error.value).split("Use at most ")[1].split(",")[0])
        assert subwords.train_subwords(TEXTS, largest, path)
        with pytest.raises(ValueError, match=f"at most {largest}"):
            subwords.train_subwords(TEXTS, largest + 1, path)

    def test_error_of_too_small_a_size_names_the_smallest(self, tmp_path):
        path = str(tmp_path / "vocab.model")
        with pytest.raises(ValueError, match="room for bytes") as error:
            subwords.train_subwords(TEXTS, 20, path)
        smallest = int(str(error.value).split("at least ")[1].rstrip("."))
        assert subwords.train_subwords(TEXTS, smallest, path)
        with pytest.raises(ValueError, match=f"at least {smallest}"):
            subwords.train_subwords(TEXTS, smallest - 1, path)


class SampleEvenlyTest:
    def test_it_is_every_kth_item_for_the_least_power_of_two(self):
        for limit, num_items in itertools.product(range(1, 9), range(40)):
            items = list(range(num_items))
            fits = (2**k for k in range(9) if len(items[:: 2**k]) <= limit)
            sample = sample_evenly(iter(items), limit)
            assert sample == items[:: next(fits)]

    def test_it_keeps_more_than_half_of_the_limit(self):
        for limit, num_items in itertools.product(range(1, 9), range(40)):
            sample = sample_evenly(range(num_items), limit)
            assert len(sample) >= min(num_items, limit / 2)
