"""Vocabularies of Tensor2Tensor, by the published rules of their encoder."""

import random

import pytest
from tensor2tensor_examples import SUBTOKENS
from tensor2tensor_examples import TEXTS
from tensor2tensor_examples import PublishedRules
from tensor2tensor_examples import make_random_texts
from tensor2tensor_examples import write_subtokens

from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.errors import UserError
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    path = tmp_path_factory.mktemp("t2t") / "vocab.ende.40.subwords"
    return read_tensor2tensor_vocabulary(write_subtokens(path))


class Tensor2TensorVocabularyTest:
    def test_ids_follow_the_rules(self, vocabulary):
        assert vocabulary.vocab_size == len(SUBTOKENS) + 3
        for text, ids in zip(
            make_random_texts(), vocabulary.encode(make_random_texts())
        ):
            expected = PublishedRules().encode(text)
            assert ids == [*(id_ + 1 for id_ in expected), 1], text

    def test_texts_survive(self, vocabulary):
        texts = make_random_texts()
        assert vocabulary.decode(vocabulary.encode(texts)) == texts

    def test_any_ids_are_decoded_by_the_rules(self, vocabulary):
        generator = random.Random(5)
        for length in generator.choices(range(20), k=2000):
            ids = [
                generator.randrange(3, vocabulary.vocab_size)
                for _ in range(length)
            ]
            assert vocabulary.decode([[*ids, 1, 0]]) == [
                PublishedRules().decode([id_ - 1 for id_ in ids])
            ]

    def test_numbers_of_no_character_are_marked(self, tmp_path):
        subtokens = ["\\", "u", ";", *"0123456789", "_", *"<pad>EOS"]
        subtokens += ["\\1114112;_", "\\55296;_", "\\99999999999;_"]
        subtokens += ["\\00065;_"]
        path = write_subtokens(tmp_path / "v", subtokens)
        vocabulary = read_tensor2tensor_vocabulary(path)
        first = subtokens.index("\\1114112;_") + 3
        rows = [[first + place] for place in range(4)]
        assert vocabulary.decode(rows) == ["〓", "〓", "〓", "A"]

    def test_the_file_of_a_run_is_the_same_vocabulary(
        self, vocabulary, tmp_path
    ):
        path = tmp_path / "vocab.model"
        path.write_bytes(vocabulary.model_bytes)
        again = Subwords(str(path), vocabulary.sha256)
        assert again.encode(TEXTS) == vocabulary.encode(TEXTS)
        assert again.all_pieces()[:3] == ["<pad>", "</s>", "<unk>"]
        assert again.all_pieces()[3:] == SUBTOKENS

    def test_quotes_may_be_others(self, vocabulary, tmp_path):
        path = write_subtokens(tmp_path / "v", quote='"')
        again = read_tensor2tensor_vocabulary(path)
        assert again.model_bytes == vocabulary.model_bytes

    def test_without_quotes_blanks_are_lost_at_ends_only(self, tmp_path):
        subtokens = [*SUBTOKENS, " the_", ", ", "\u3000"]
        path = write_subtokens(tmp_path / "v", subtokens, quote="")
        # A lone quote loses itself, as if it stood on either side of nothing.
        left = [s.rstrip() if s != "'" else "" for s in subtokens]
        assert left.count("") == 3 and left.count(",") == 2
        vocabulary = read_tensor2tensor_vocabulary(path)
        # A blank is in the alphabet, but has no subtoken of its own.
        rows = {text: PublishedRules(left).encode(text) for text in TEXTS}
        texts = [text for text, ids in rows.items() if ids is not None]
        assert "the cat , the dogs." in texts
        encoded = vocabulary.encode(texts)
        assert encoded == [[*(i + 1 for i in rows[t]), 1] for t in texts]
        assert vocabulary.decode(encoded) == texts
        blank = left.index("") + 3
        assert vocabulary.decode([[blank, left.index("a") + 3, 1]]) == ["a"]

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "does not begin with <pad> and <EOS>"),
            ("'the_'\n'cat_'\n'dog_'\n", "does not begin with <pad>"),
            ("'<pad>'\n'<EOS>'\n'</s>'\n", "line 3 is '</s>'"),
            ("'<pad>'\n'<EOS>'\n'a'\n'<pad>'\n", "line 4 is '<pad>'"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path, content, message):
        path = tmp_path / "vocab"
        path.write_text(content)
        with pytest.raises(UserError, match=message):
            read_tensor2tensor_vocabulary(str(path))
