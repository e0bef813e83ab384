"""Vocabularies of Tensor2Tensor, by the published rules of their encoder."""

import random
import re
import unicodedata

import pytest
from tensor2tensor_examples import SUBTOKENS
from tensor2tensor_examples import TEXTS
from tensor2tensor_examples import make_random_texts
from tensor2tensor_examples import write_subtokens

from keras_transformer.data.subwords import Subwords
from keras_transformer.data.tensor2tensor_vocabulary import (
    read_tensor2tensor_vocabulary,
)
from keras_transformer.errors import UserError


def encode_by_rules(text, subtokens):
    """Encodes a text character by character; ids are those of the file."""
    ids = {subtoken: id_ for id_, subtoken in enumerate(subtokens, 2)}
    alphabet = {*"<pad><EOS>\\_u;0123456789", *"".join(subtokens)} - {"\n"}
    words = [unicodedata.category(c)[0] in ("L", "N") for c in text]
    spelled, encoded = "", []
    for i, character in enumerate(text):
        is_start = i == 0 or words[i - 1] != words[i]
        is_end = i == len(text) - 1 or words[i + 1] != words[i]
        is_inside = 0 < i < len(text) - 1
        if character == " " and is_start and is_end and is_inside:
            continue  # a single space between two words
        if character == "\\":
            spelled += "\\\\"
        elif character == "_":
            spelled += "\\u"
        elif character in alphabet:
            spelled += character
        else:
            spelled += "\\" + str(ord(character)) + ";"
        if is_end:
            spelled += "_"
            while spelled:
                longest = max(
                    (s for s in ids if spelled.startswith(s)), key=len
                )
                encoded.append(ids[longest])
                spelled = spelled[len(longest) :]
    return encoded


def decode_by_rules(ids, subtokens):
    """Decodes ids of the file."""
    joined = "".join(subtokens[id_ - 2] for id_ in ids)
    text, was_word = "", False
    for token in joined.split("_"):
        place, characters = 0, ""
        while place < len(token):
            rest = token[place:]
            number = re.match(r"\\([0-9]+);", rest)
            if rest.startswith("\\\\"):
                place, characters = place + 2, characters + "\\"
            elif rest.startswith("\\u"):
                place, characters = place + 2, characters + "_"
            elif number:
                place += number.end()
                try:
                    characters += chr(int(number[1]))
                    characters.encode()
                except (ValueError, OverflowError):
                    characters = characters.rstrip("\ud800-\udfff") + "〓"
            else:
                place, characters = place + 1, characters + rest[0]
        if not characters:
            continue
        is_word = unicodedata.category(characters[0])[0] in ("L", "N")
        text += " " * (is_word and was_word) + characters
        was_word = is_word
    return text


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
            expected = encode_by_rules(text, SUBTOKENS)
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
                decode_by_rules([id_ - 1 for id_ in ids], SUBTOKENS)
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

    @pytest.mark.parametrize("quote", ["", '"'])
    def test_quotes_may_be_others_or_absent(self, vocabulary, tmp_path, quote):
        # Without quotes, a file cannot hold spaces at the ends of lines.
        subtokens = [s for s in SUBTOKENS if s == s.strip() and s != "'"]
        path = write_subtokens(tmp_path / "v", subtokens, quote)
        pieces = read_tensor2tensor_vocabulary(path).all_pieces()
        assert pieces[3:] == subtokens

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "does not begin with <pad> and <EOS>"),
            ("'the_'\n'cat_'\n'dog_'\n", "does not begin with <pad>"),
            ("'<pad>'\n'<EOS>'\n'a'\n'a'\n", "line 4 is 'a' again"),
            ("'<pad>'\n'<EOS>'\n'a'\n\n'b'\n", "line 4 is '' again"),
            ("'<pad>'\n'<EOS>'\n'</s>'\n", "line 3 is '</s>' again"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path, content, message):
        path = tmp_path / "vocab"
        path.write_text(content)
        with pytest.raises(UserError, match=message):
            read_tensor2tensor_vocabulary(str(path))
