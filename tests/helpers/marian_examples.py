"""Small vocabularies in the files of a Marian model."""

import io
import json
import random

import sentencepiece

from keras_transformer.formats.marian.vocabulary_files import CONFIG_FILE
from keras_transformer.formats.marian.vocabulary_files import SOURCE_MODEL_FILE
from keras_transformer.formats.marian.vocabulary_files import TABLE_FILE
from keras_transformer.formats.marian.vocabulary_files import TARGET_MODEL_FILE
from keras_transformer.formats.marian.vocabulary_files import TARGET_TABLE_FILE

ENGLISH = ["the cat sees a dog", "two women don't run, they read!"]
ENGLISH = ENGLISH + ["dogs and cats run over the street", "a woman reads"]
GERMAN = ["die Katze sieht einen Hund", "zwei Frauen laufen über Straßen"]
GERMAN = GERMAN + ["Hunde und Katzen laufen", "eine Frau liest ein Buch"]
TEXTS = [*ENGLISH[:2], *GERMAN[:2], "They're reading: the women, the dogs."]
HOSTILE_TEXTS = [
    "",
    "  ",
    "\u3000\t",
    "漢字",  # one piece of the table
    "漢 字 漢字漢",
    "👩‍👩‍👧 Hi 🙂",
    "tab\there",
    "line\nfeed\r\n",
    "Gru\u0308\u00dfe",  # not composed
    "a\u00a0b\u200bc \ufeff ﬁ ½",
    "▁a▁b",
    "a </s> b",
    "</s>",
    "<unk> <pad> <marian>",
    ">>fra<< the cat",
    ">>fra<<the cat",
    ">>fra<<",
    ">>xyz<< the cat",  # a language that the model lacks
    ">><<",
    ">> a << b",
    ">>fra<<>>deu<< the cat",
    " >>fra<< the cat",
    "the >>fra<< cat",
    ">>fra the cat",
    ">>\n<< the cat",
]


def train_sentencepiece(texts, vocab_size, **options):
    """Returns the contents of a SentencePiece model, as Marian has them."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=model,
        vocab_size=vocab_size,
        hard_vocab_limit=options.get("model_type") == "bpe",
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def read_pieces(model):
    """Returns the pieces of a SentencePiece model, without special ones."""
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [
        processor.id_to_piece(id_)
        for id_ in range(processor.get_piece_size())
        if not (processor.is_control(id_) or processor.is_unknown(id_))
    ]


def write_marian_example(directory, models, separate=False, **config):
    """Writes the files of a Marian model with two SentencePiece models.

    As in real ones, the end and unknown come first and padding last, and a
    table is neither sorted as its model nor complete. It has pieces of its own.
    """
    names = (SOURCE_MODEL_FILE, TARGET_MODEL_FILE)
    for name, model in zip(names, models):
        (directory / name).write_bytes(model)
    tables = {TABLE_FILE: sorted({p for m in models for p in read_pieces(m)})}
    if separate:
        tables = {TABLE_FILE: read_pieces(models[0])}
        tables[TARGET_TABLE_FILE] = read_pieces(models[1])
    for number, (name, pieces) in enumerate(tables.items()):
        random.Random(number).shuffle(pieces)
        kept = pieces[: -len(pieces) // 10]
        codes = [] if number else [">>fra<<", ">>deu<<"]
        table = ["</s>", "<unk>", *codes, *kept, "漢字", "<pad>"]
        ids = {piece: id_ for id_, piece in enumerate(table)}
        (directory / name).write_text(json.dumps(ids))
    config = {"separate_vocabs": separate, **config}
    (directory / CONFIG_FILE).write_text(json.dumps(config))
