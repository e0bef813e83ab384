"""Vocabularies of Marian models, against SentencePiece and transformers."""

import gzip
import itertools
import json
import pathlib
import random
import time

import pytest
import sentencepiece
from marian_examples import ENGLISH
from marian_examples import GERMAN
from marian_examples import HOSTILE_TEXTS
from marian_examples import TEXTS
from marian_examples import train_sentencepiece
from marian_examples import write_marian_example

from keras_transformer.data.vocabulary.bpe_dropout import BpeDropout
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.data.vocabulary.vocabularies import read
from keras_transformer.errors import UserError
from keras_transformer.formats.marian.vocabulary_files import (
    read_marian_vocabularies,
)
from keras_transformer.formats.marian.vocabulary_files import (
    write_marian_vocabularies,
)

ALL_TEXTS = TEXTS + HOSTILE_TEXTS
DATA = pathlib.Path(__file__).parents[2] / "../shared/data"


def make_models(**options):
    return (
        train_sentencepiece(ENGLISH, 40, **options),
        train_sentencepiece(GERMAN, 50, **options),
    )


@pytest.fixture(scope="module", params=["one table", "a table each"])
def files(request, tmp_path_factory):
    directory = tmp_path_factory.mktemp("marian")
    separate = request.param == "a table each"
    write_marian_example(directory, make_models(), separate)
    return directory


@pytest.fixture(scope="module")
def vocabularies(files):
    return read_marian_vocabularies(str(files))


def list_sides(files, vocabularies):
    """Yields the vocabulary, the table and SentencePiece of each side."""
    table = files / "vocab.json"
    target_table = files / "target_vocab.json"
    if not target_table.exists():
        target_table = table
    sources, targets = vocabularies.sources, vocabularies.targets
    for vocabulary, path, model in (
        (sources, table, "source.spm"),
        (targets, target_table, "target.spm"),
    ):
        yield (
            vocabulary,
            json.loads(path.read_text()),
            sentencepiece.SentencePieceProcessor(str(files / model)),
        )


def encode_by_table(text, table, processor):
    """Encodes as Marian's tokenizer does, in its few lines."""
    pieces = []
    if text.startswith(">>") and "<<" in text:
        end = text.find("<<") + 2
        pieces, text = [text[:end]], text[end:]
    pieces = pieces + processor.encode(text, out_type=str) + ["</s>"]
    return [table.get(piece, table["<unk>"]) for piece in pieces]


def decode_by_table(ids, table, processor):
    texts = {id_: text for text, id_ in table.items()}
    pieces = [texts[id_] for id_ in ids]
    special = ("<unk>", "<pad>", "</s>")
    text = processor.decode([p for p in pieces if p not in special])
    return text.replace("▁", " ").strip()


def draw_ids(vocab_size, count, seed=1):
    """Returns random rows of ids, some of which no text has."""
    generator = random.Random(seed)
    return [
        [generator.randrange(2, vocab_size) for _ in range(length)] + [1]
        for length in generator.choices(range(20), k=count)
    ]


class MarianVocabularyTest:
    def test_ids_are_those_of_the_table(self, files, vocabularies):
        for vocabulary, table, processor in list_sides(files, vocabularies):
            assert vocabulary.vocab_size == len(table)
            original = vocabulary.original_ids
            assert original[:3].tolist() == [len(table) - 1, 0, 1]
            encoded = vocabulary.encode(ALL_TEXTS)
            assert [original[ids].tolist() for ids in encoded] == [
                encode_by_table(text, table, processor) for text in ALL_TEXTS
            ]

    def test_what_the_table_lacks_is_unknown(self, files, vocabularies):
        sides = list(list_sides(files, vocabularies))
        for vocabulary, table, processor in sides:
            pieces = processor.encode(ENGLISH[0] + GERMAN[0], out_type=str)
            assert set(pieces) - set(table)
            (ids,) = vocabulary.encode([ENGLISH[0] + GERMAN[0]])
            assert 2 in ids

    def test_unknown_characters_can_be_in_the_table(self, vocabularies):
        for vocabulary in vocabularies:
            id_ = vocabulary.all_pieces().index("漢字")
            assert id_ in vocabulary.encode(["漢字"])[0]

    def test_no_text_becomes_padding_or_an_early_end(self, vocabularies):
        for vocabulary in vocabularies:
            for ids in vocabulary.encode(ALL_TEXTS):
                assert ids.index(1) == len(ids) - 1
                assert 0 not in ids

    def test_any_ids_have_the_text_of_marian(self, files, vocabularies):
        for vocabulary, table, processor in list_sides(files, vocabularies):
            rows = draw_ids(vocabulary.vocab_size, 300)
            rows += vocabulary.encode(ALL_TEXTS)
            original = vocabulary.original_ids
            assert vocabulary.decode(rows) == [
                decode_by_table(original[ids], table, processor) for ids in rows
            ]

    def test_pieces_keep_the_order_of_the_table(self, files, vocabularies):
        for vocabulary, table, _ in list_sides(files, vocabularies):
            pieces = vocabulary.all_pieces()
            assert pieces[:3] == ["<pad>", "</s>", "<unk>"]
            assert pieces[3:] == [*table][2:-1]
            assert [table[piece] for piece in pieces] == (
                vocabulary.original_ids.tolist()
            )

    def test_files_of_a_run_are_the_same_vocabularies(
        self, vocabularies, tmp_path
    ):
        vocabularies.write(str(tmp_path))
        again = read(str(tmp_path), *vocabularies.hashes.values())
        for earlier, vocabulary in zip(vocabularies, again):
            assert vocabulary.encode(ALL_TEXTS) == earlier.encode(ALL_TEXTS)

    def test_one_table_means_the_same_pieces(self, files, vocabularies):
        has_one = not (files / "target_vocab.json").exists()
        assert not vocabularies.is_shared
        assert vocabularies.have_same_pieces == has_one

    def test_equal_models_are_one_vocabulary(self, tmp_path):
        model = train_sentencepiece(ENGLISH + GERMAN, 60)
        write_marian_example(tmp_path, [model, model])
        assert read_marian_vocabularies(str(tmp_path)).is_shared

    def test_clean_up_is_that_of_the_configuration(self, tmp_path):
        # It spells every text in bytes.
        trained = train_subwords(ENGLISH, 300, str(tmp_path / "model"))
        both = Vocabularies(trained, trained)
        write_marian_vocabularies(both, str(tmp_path), ("en", "de"))
        path = tmp_path / "tokenizer_config.json"
        path.write_text('{"clean_up_tokenization_spaces": true}')
        vocabulary = read_marian_vocabularies(str(tmp_path)).targets
        ids = vocabulary.encode(["women ' read , they ! don n't , 're ' ."])
        assert vocabulary.decode(ids) == ["women'read, they! donn't,'re '."]

    def test_byte_pair_encoding_cannot_be_sampled(self, tmp_path):
        model = train_sentencepiece(ENGLISH, 40, model_type="bpe")
        write_marian_example(tmp_path, [model, model])
        vocabulary = read_marian_vocabularies(str(tmp_path)).targets
        with pytest.raises(UserError, match="one of an imported model"):
            BpeDropout(vocabulary, 0.1)


class WritingTest:
    def test_written_files_are_read_again(self, files, vocabularies, tmp_path):
        separate = (files / "target_vocab.json").exists()
        write_marian_vocabularies(
            vocabularies, str(tmp_path), ("en", "de"), separate
        )
        names = ["vocab.json"] + ["target_vocab.json"] * separate
        for name in names:
            written = json.loads((tmp_path / name).read_text())
            assert list(written.items()) == (
                list(json.loads((files / name).read_text()).items())
            )
        again = read_marian_vocabularies(str(tmp_path))
        for earlier, vocabulary in zip(vocabularies, again):
            assert vocabulary.encode(ALL_TEXTS) == earlier.encode(ALL_TEXTS)
            rows = draw_ids(vocabulary.vocab_size, 100)
            assert vocabulary.decode(rows) == earlier.decode(rows)

    def test_a_trained_vocabulary_keeps_its_ids(self, tmp_path):
        texts = [*TEXTS, "漢字 and 🙂"]
        trained = train_subwords(ENGLISH, 300, str(tmp_path / "model"))
        write_marian_vocabularies(
            Vocabularies(trained, trained), str(tmp_path), ("en", "de")
        )
        again = read_marian_vocabularies(str(tmp_path))
        assert again.is_shared
        # Padding is last, as in the models of OPUS-MT.
        assert again.targets.original_ids.tolist() == [299, *range(299)]
        assert again.targets.encode(texts) == trained.encode(texts)
        ids = trained.encode(texts)
        assert again.targets.decode(ids) == trained.decode(ids)

    def test_padding_may_be_first_as_in_earlier_exports(self, tmp_path):
        trained = train_subwords(ENGLISH, 300, str(tmp_path / "model"))
        both = Vocabularies(trained, trained)
        write_marian_vocabularies(both, str(tmp_path), ("en", "de"))
        table = {piece: id_ for id_, piece in enumerate(trained.all_pieces())}
        (tmp_path / "vocab.json").write_text(json.dumps(table))
        again = read_marian_vocabularies(str(tmp_path))
        assert again.targets.original_ids.tolist() == list(range(300))
        assert again.targets.encode(TEXTS) == trained.encode(TEXTS)
        write_marian_vocabularies(again, str(tmp_path), ("en", "de"))
        assert json.loads((tmp_path / "vocab.json").read_text()) == table

    def test_different_pieces_need_two_tables(self, tmp_path):
        write_marian_example(tmp_path, make_models(), separate=True)
        vocabularies = read_marian_vocabularies(str(tmp_path))
        with pytest.raises(UserError, match="needs the same pieces on both"):
            write_marian_vocabularies(vocabularies, str(tmp_path), "ab")


class BadFilesTest:
    @pytest.fixture
    def directory(self, tmp_path):
        write_marian_example(tmp_path, make_models())
        return tmp_path

    @pytest.mark.parametrize("name", ["source.spm", "target.spm", "vocab.json"])
    def test_missing_files_are_named(self, directory, name):
        (directory / name).unlink()
        with pytest.raises(UserError, match=f"{name}, which does not exist"):
            read_marian_vocabularies(str(directory))

    @pytest.mark.parametrize("content", [b"", b"text", b"\x0a\xff\xff\xff"])
    def test_damaged_models_are_named(self, directory, content):
        (directory / "source.spm").write_bytes(content)
        with pytest.raises(UserError, match="source.spm, which is not a Sent"):
            read_marian_vocabularies(str(directory))

    @pytest.mark.parametrize(
        ("table", "message"),
        [
            ("{", "which is not JSON"),
            ('{"a": -1}', "must be an integer of at least 0"),
            ('{"<pad>": 0, "</s>": 1, "<unk>": 3}', "do not count up"),
            ('{"<pad>": 0, "</s>": 1, "<unk>": 1}', "do not count up"),
            ('{"a": 0, "</s>": 1, "<unk>": 2}', "which lacks <pad>"),
            (
                '{"<pad>": 0, "</s>": 1, "<unk>": 2, "": 3}',
                "which has the piece ''",
            ),
        ],
    )
    def test_bad_tables_are_explained(self, directory, table, message):
        (directory / "vocab.json").write_text(table)
        with pytest.raises(UserError, match=f"vocab.json, .*{message}"):
            read_marian_vocabularies(str(directory))

    @pytest.mark.parametrize(
        ("config", "message"),
        [
            ({"eos_token": "<eos>"}, "`eos_token` is '<eos>'"),
            ({"unk_token": {"content": "<u>"}}, "`unk_token` is '<u>'"),
            ({"extra_special_tokens": ["<new>"]}, "adds the token '<new>'"),
            ({"sp_model_kwargs": {"alpha": 0.1}}, "has `sp_model_kwargs`"),
            ({"separate_vocabs": True}, "target_vocab.json, which does not"),
        ],
    )
    def test_other_tokenizers_are_refused(self, directory, config, message):
        (directory / "tokenizer_config.json").write_text(json.dumps(config))
        with pytest.raises(UserError, match=message):
            read_marian_vocabularies(str(directory))

    @pytest.mark.parametrize("num_pieces, size", [(1, 2**20), (8000, 990)])
    def test_long_pieces_take_no_time(self, tmp_path, num_pieces, size):
        write_marian_example(tmp_path, make_models(model_type="bpe"))
        path = tmp_path / "vocab.json"
        table = json.loads(path.read_text())
        for number in range(num_pieces):
            table[f"{number:04d}".ljust(size, "a")] = len(table)
        path.write_text(json.dumps(table))
        start = time.process_time()
        with pytest.raises(UserError, match="vocab.json|target.spm"):
            read_marian_vocabularies(str(tmp_path))
        # To compare all cuts of these takes hours, and a minute.
        assert time.process_time() - start < 5

    @pytest.mark.parametrize(
        "config",
        [
            {"additional_special_tokens": [">>fra<<", {"content": ">>deu<<"}]},
            {"extra_special_tokens": {"mask_token": "<mask>"}},
            {"added_tokens_decoder": {"0": {"content": "</s>"}}},
        ],
    )
    def test_usual_added_tokens_change_nothing(self, directory, config):
        expected = read_marian_vocabularies(str(directory))
        (directory / "tokenizer_config.json").write_text(json.dumps(config))
        vocabularies = read_marian_vocabularies(str(directory))
        assert vocabularies.sources.encode(ALL_TEXTS) == (
            expected.sources.encode(ALL_TEXTS)
        )

    def test_merges_of_the_table_are_refused(self, tmp_path):
        write_marian_example(tmp_path, make_models(model_type="bpe"))
        with pytest.raises(UserError, match="is a byte-pair encoding without"):
            read_marian_vocabularies(str(tmp_path))


@pytest.mark.slow
class TransformersTest:
    """Ten thousand sentences and hostile text by the real tokenizer."""

    @pytest.fixture(scope="class")
    def texts(self):
        if not DATA.exists():
            pytest.skip("the sentences of ../shared/data are missing")
        parts = [
            read_lines(DATA / "multi30k/train.de", 2500),
            read_lines(DATA / "multi30k/train.en", 2500),
            read_lines(DATA / "tatoeba_es/train.es", 2500),
            read_lines(DATA / "software_enit/train.it.gz", 2500),
        ]
        return list(itertools.chain(*parts))

    @pytest.mark.parametrize("separate", [False, True])
    @pytest.mark.parametrize("clean_up", [False, True])
    def test_ids_and_texts_are_those_of_transformers(
        self, texts, tmp_path, separate, clean_up
    ):
        transformers = pytest.importorskip("transformers")
        models = (
            train_sentencepiece(texts[:5000], 3000),
            train_sentencepiece(texts[2500:], 3000),
        )
        write_marian_example(
            tmp_path, models, separate, clean_up_tokenization_spaces=clean_up
        )
        vocabularies = read_marian_vocabularies(str(tmp_path))
        tokenizer = transformers.MarianTokenizer.from_pretrained(tmp_path)
        # It takes no special token in a text for one.
        plain = transformers.MarianTokenizer.from_pretrained(
            tmp_path, split_special_tokens=True
        )
        hostile = [*HOSTILE_TEXTS, *mix_characters(texts, 2000)]
        hostile += [f">>fra<< {text} </s>" for text in texts[::10]]
        for side, argument in (("sources", "text"), ("targets", "text_target")):
            vocabulary = getattr(vocabularies, side)
            for reference, some in ((tokenizer, texts), (plain, hostile)):
                expected = reference(**{argument: some})["input_ids"]
                assert [
                    vocabulary.original_ids[ids].tolist()
                    for ids in vocabulary.encode(some)
                ] == expected
        targets = vocabularies.targets
        rows = targets.encode(texts + hostile)
        rows += draw_ids(targets.vocab_size, 5000)
        assert targets.decode(rows) == tokenizer.batch_decode(
            [targets.original_ids[ids].tolist() for ids in rows],
            skip_special_tokens=True,
        )


def read_lines(path, count):
    open_ = gzip.open if path.suffix == ".gz" else open
    with open_(path, "rt", encoding="utf-8") as file:
        return [line.rstrip("\n") for line in itertools.islice(file, count)]


def mix_characters(texts, count):
    """Returns short texts of any characters of texts, and of others."""
    characters = sorted({*"".join(texts), *"🙂é\u0301ß漢字<>/s▁\t\u00a0\u2028"})
    generator = random.Random(2)
    return [
        "".join(generator.choices(characters, k=generator.randint(1, 30)))
        for _ in range(count)
    ]


def test_from_bytes_keeps_what_marks_the_vocabulary(vocabularies):
    again = Subwords.from_bytes(vocabularies.sources.model_bytes)
    assert again.is_marian
    assert again.vocab_size == vocabularies.sources.vocab_size
