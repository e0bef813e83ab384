import random

import pytest

from keras_transformer.data.vocabulary.bpe_symbols import join_symbols
from keras_transformer.data.vocabulary.bpe_symbols import read_symbols
from keras_transformer.data.vocabulary.bpe_symbols import write_symbols
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import UNKNOWN_ID

# Prefixes of one another, names of special pieces, white space, marks.
SYMBOLS = ["the", "th", "t", "the@@", "@@", "@@@", "@@@@", "@-@", ",", "&quot;"]
SYMBOLS += ["<unk>", "<s>", "</s>", "<pad>", "<0x0A>", "\u2581", "\u2581@@"]
SYMBOLS += [
    "a\u2581b",
    "\xa0x",
    "x\u2028y",
    "\x85",
    "\u200b",
    "\ufeffa",
    "\u3000",
]
SYMBOLS += [
    "\t",
    "\r",
    "x\ty",
    "\ufb01@@",
    "e\u0301",
    "\u2047",
    "\u0928@@",
    "A",
]


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("bpe") / "vocab.model")
    write_symbols(SYMBOLS, path)
    return Subwords(path)


def random_sentences(num_sentences):
    rng = random.Random(0)
    return [
        rng.choices(SYMBOLS, k=rng.randint(1, 9)) for _ in range(num_sentences)
    ]


class BpeSymbolsTest:
    def test_each_symbol_has_the_id_of_its_place(self, vocabulary):
        assert vocabulary.vocab_size == FIRST_SYMBOL_ID + len(SYMBOLS)
        for symbols in random_sentences(500):
            ids = [FIRST_SYMBOL_ID + SYMBOLS.index(s) for s in symbols]
            assert vocabulary.encode([" ".join(symbols)]) == [[*ids, END_ID]]

    def test_decoding_joins_the_symbols(self, vocabulary):
        texts = [" ".join(symbols) for symbols in random_sentences(500)]
        decoded = vocabulary.decode(vocabulary.encode(texts))
        assert decoded == list(map(join_symbols, texts))

    def test_other_words_are_unknown_as_a_whole(self, vocabulary):
        (ids,) = vocabulary.encode(["the theth the a b th"])
        assert ids == [3, UNKNOWN_ID, 3, UNKNOWN_ID, 4, END_ID]

    def test_an_exported_tokenizer_does_the_same(self, vocabulary):
        tensorflow_text = pytest.importorskip("tensorflow_text")
        tokenizer = tensorflow_text.SentencepieceTokenizer(
            vocabulary.model_bytes, add_eos=True
        )
        texts = [" ".join(symbols) for symbols in random_sentences(100)]
        ids = tokenizer.tokenize(texts)
        assert ids.to_list() == vocabulary.encode(texts)
        decoded = tokenizer.detokenize(ids[:, :-1]).numpy()
        assert [text.decode() for text in decoded] == list(
            map(join_symbols, texts)
        )

    def test_there_are_no_bytes(self, vocabulary):
        assert not vocabulary.has_bytes

    def test_same_symbols_make_the_same_file(self, vocabulary, tmp_path):
        again = write_symbols(SYMBOLS, str(tmp_path / "vocab.model"))
        assert again.sha256 == vocabulary.sha256


class ReadSymbolsTest:
    def test_symbols_keep_their_order(self, tmp_path):
        path = tmp_path / "vocab"
        path.write_text("<unk>\n<s>\n</s>\n,\nthe\nRes@@\n")
        assert read_symbols(str(path)) == [",", "the", "Res@@"]

    @pytest.mark.parametrize(
        "text, words",
        [
            ("the 17\n", "line 1, with 'the 17'"),
            (",\n\nthe\n", "line 2, with ''"),
            (",\nthe\n,\n", "line 3, with ','"),
            ("", "vocab without any"),
            ("<unk>\n", "vocab without any"),
        ],
    )
    def test_another_file_is_an_error(self, tmp_path, text, words):
        path = tmp_path / "vocab"
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            read_symbols(str(path))
