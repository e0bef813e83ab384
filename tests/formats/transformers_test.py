"""Imported models compute what transformers computes, and so do exports."""

import functools
import pathlib

import keras
import numpy as np
import pytest
from commands import call_apart
from layer_checks import to_numpy
from tiny_marian import write_tiny_marian

from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.decoding.certificate import compare
from keras_transformer.decoding.certificate import translate_ids
from keras_transformer.decoding.loading import load
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.formats.marian import peer as marian_peer
from keras_transformer.formats.marian.reader import import_marian
from keras_transformer.formats.marian.writer import export_marian
from keras_transformer.formats.saved_model.writer import export_saved_model
from keras_transformer.hparam import HParams
from keras_transformer.runs.model import build_transformer
from keras_transformer.runs.model import model_variables
from keras_transformer.runs.model import read_variables
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

tensorflow_text = pytest.importorskip("tensorflow_text")
torch = pytest.importorskip("torch", reason="pip install '.[peers]'")
pytest.importorskip("transformers", reason="pip install '.[peers]'")
pytestmark = pytest.mark.slow

UNSHARED = {"share_encoder_decoder_embeddings": False}
CONFIGS = {
    "opus": {},
    "gelu": {"activation_function": "gelu"},
    "relu": {"activation_function": "relu"},
    "unscaled": {"scale_embedding": False},
    "separate": UNSHARED,
    "untied": {**UNSHARED, "tie_word_embeddings": False},
    "six_and_two": {"encoder_layers": 6},
    "started": {"is_started": True, "activation_function": "silu"},
    "not_forced": {"forced_eos_token_id": None},
}
NUM_TEXTS = 1000
BEAM_SIZE = 4
GREEDY = DecodeOptions(
    beam_size=1, alpha=0.0, extra_length=marian_peer.EXTRA_LENGTH
)


def is_cut_otherwise(vocabulary, text):
    """Returns whether TensorFlow's SentencePiece cuts at another place.

    Two segmentations with the same pieces in another order, such as e|ee and
    ee|e, have equal scores. The two libraries then choose differently.
    """
    tokenizer = tensorflow_text.SentencepieceTokenizer(vocabulary.model_bytes)
    body = text.partition("<<")[2] if text.startswith(">>") else text
    theirs = tokenizer.tokenize(body).numpy().tolist()
    (ours,) = vocabulary.encode([body])
    return theirs != ours[:-1] and sorted(theirs) == sorted(ours[:-1])


@pytest.fixture(scope="module", params=CONFIGS)
def pair(request, tmp_path_factory):
    """A run, the same model in transformers, sources and greedy outputs."""
    tmp_path = tmp_path_factory.mktemp(request.param)
    source = tmp_path / "marian"
    write_tiny_marian(source, **CONFIGS[request.param])
    run = import_marian(str(source), str(tmp_path / "run"))
    peer = marian_peer.Peer(str(source), run.vocabularies)
    texts = marian_peer.make_texts(run.source_vocabulary, NUM_TEXTS)
    sources = run.source_vocabulary.encode(texts)
    targets = [ids for ids, _ in peer.search(sources)]
    return run, peer, texts, sources, targets


def search_with_beam(peer, vocabulary, source):
    """Returns the ids that transformers finds by the sum of log-probabilities.

    Its length penalty differs from ours. A batch would have one limit, which
    forces the end.
    """
    output = peer.generate(
        [source], BEAM_SIZE, length_penalty=0.0, early_stopping=False
    )
    ids = np.argsort(vocabulary.original_ids)[output.numpy()[0, 1:]]
    return [int(id_) for id_ in ids if id_ != PAD_ID]


class TransformersTest:
    def test_ids_and_greedy_translations_are_the_same(self, pair):
        run, peer, texts, sources, _ = pair
        assert peer.encode(texts) == sources
        translator = Translator.load(run.path, engine="keras")
        ours = functools.partial(translate_ids, translator, **vars(GREEDY))
        found = compare(ours, peer.translate, texts)
        assert found.num_equal == NUM_TEXTS
        assert found.difference < 1e-4

    def test_a_beam_finds_the_same_or_what_scores_more(self, pair):
        run, peer, _, sources, _ = pair
        translator = Translator.load(run.path, engine="keras")
        options = {**vars(GREEDY), "beam_size": BEAM_SIZE}
        ours = translator.translate_ids(sources[:200], **options)
        for source, (best, *_) in zip(sources, ours):
            other = search_with_beam(peer, run.vocabulary, source)
            # transformers ends no beam that is not among the best, and gives
            # a forced end the probability 1.
            if other[-1] == END_ID and best.ids != other:
                score = translator.score_ids([source], [other], alpha=0.0)[0]
                assert best.score >= score - 1e-4

    def test_exports_translate_alike(self, pair, tmp_path):
        run, _, texts, _, targets = pair
        expected = run.vocabulary.decode(targets)
        for export in (export_ctranslate2, export_saved_model):
            path = export(run, str(tmp_path / export.__name__), GREEDY)
            translations = load(path).translate(texts)
            different = [
                place
                for place, each in enumerate(zip(translations, expected))
                if len({" ".join(text.split()) for text in each}) > 1
            ]
            assert len(different) <= NUM_TEXTS // 200
            for i in different:
                assert is_cut_otherwise(run.source_vocabulary, texts[i])

    def test_what_is_written_back_opens_there(self, pair, tmp_path):
        run, peer, texts, sources, targets = pair
        path = export_marian(run, str(tmp_path / "back"), GREEDY)
        back = marian_peer.Peer(path, run.vocabularies)
        assert back.encode(texts) == sources
        assert [ids for ids, _ in back.search(sources[:50])] == targets[:50]


@pytest.mark.parametrize("tied_embeddings", ["all", "target", "none"])
def test_a_run_trained_here_opens_there(tied_embeddings, tmp_path):
    sizes = {"num_layers": 2, "d_model": 16, "d_ff": 24, "num_heads": 2}
    hparams = HParams(**sizes, tied_embeddings=tied_embeddings)
    model_path = str(tmp_path / "vocab.model")
    texts = ["a dog runs over the street", "two women read a book"]
    vocabulary = train_subwords(texts * 9, 285, model_path)
    record = {"problem": "translate_files"}
    run = RunDirectory.create(
        str(tmp_path / "run"), record, hparams, vocabulary.model_bytes
    )
    keras.utils.set_random_seed(5)
    model = build_transformer(hparams.model, vocabulary.vocab_size)
    run.checkpoints.save(7, read_variables(model_variables(model)))
    path = export_marian(run, str(tmp_path / "export"), GREEDY)
    peer = marian_peer.Peer(path, run.vocabularies)
    sources, targets = (run.vocabulary.encode([text]) for text in texts)
    assert peer.encode(texts[:1]) == sources
    inputs, outputs = np.array(sources), np.array(targets)
    ours = to_numpy(model({"inputs": inputs, "targets": outputs}))
    shifted = np.insert(outputs[:, :-1], 0, PAD_ID, axis=1)
    with torch.no_grad():
        theirs = peer.model(
            input_ids=torch.tensor(inputs),
            decoder_input_ids=torch.tensor(shifted),
        ).logits.numpy()
    # The logit of padding is set so low that it is never written.
    np.testing.assert_allclose(theirs[..., 1:], ours[..., 1:], atol=1e-5)
    translator = Translator.load(run.path, engine="keras")
    greedy = translator.translate_ids(sources, **vars(GREEDY))
    expected = [ids for ids, _ in peer.search(sources)]
    assert [best.ids for best, *_ in greedy] == expected


def test_the_commands_report_what_they_compare(tmp_path):
    source, run, texts = tmp_path / "marian", tmp_path / "run", tmp_path / "en"
    write_tiny_marian(source)
    flags = [f"--source={source}", f"--output_dir={run}", "--verify"]
    imported = call_apart("import_", *flags, text=True)
    assert imported.stdout == f"{run}\n"
    assert imported.stderr.startswith("100 of 100 translations are equal")
    assert imported.stderr.count("\n") == 1
    texts.write_text("the cat sees a dog\ntwo women read\n")
    flags = ["--format=marian", f"--output_dir={run}", f"--verify={texts}"]
    exported = call_apart("exporter", *flags, text=True)
    card = pathlib.Path(exported.stdout.strip(), "README.md").read_text()
    assert "2 of 2 translations are equal" in card
