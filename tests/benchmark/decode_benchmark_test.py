"""Tests measure.py --mode=decode: its work, its figures and its command."""

import json
import pathlib

import measure
import numpy as np
import pytest
from commands import assert_fails
from commands import call
from measurements import decode
from measurements import machine
from measurements import workload
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_translator
from small_translators import make_vocabulary

from keras_transformer.search.options import DecodeOptions

V01 = pathlib.Path(__file__).parents[1] / "fixtures/v0.1"
SENTENCES = [text for text in TEXTS if text.strip()]


@pytest.fixture(autouse=True)
def small_machine(monkeypatch):
    monkeypatch.setattr(machine, "SECONDS_TO_WAIT", 0)


@pytest.fixture(scope="module")
def vocabulary_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("vocabulary") / "model"
    make_vocabulary(path)
    return path


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.en"
    path.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return path


class TimeDecodingTest:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "by_length", [True, pytest.param(False, marks=pytest.mark.slow)]
    )
    def test_every_translation_has_the_forced_length(
        self, vocabulary_path, by_length
    ):
        translator = make_translator(make_vocabulary(vocabulary_path))
        figures = decode.time_decoding(
            translator.engine.model,
            translator.codec.vocabulary.encode(SENTENCES),
            DecodeOptions(beam_size=2),
            batch_size=2,
            target_length=5,
            by_length=by_length,
            num_passes=2,
        )
        assert figures["tokens_per_sentence"] == 5.0
        assert figures["num_sentences"] == len(SENTENCES)
        low, high = figures["sentences_per_second_range"]
        assert 0 < low <= figures["sentences_per_second"] <= high

    @pytest.mark.slow
    def test_without_a_forced_length_the_model_decides(self, vocabulary_path):
        translator = make_translator(make_vocabulary(vocabulary_path))
        sources = translator.codec.vocabulary.encode(SENTENCES)
        options = DecodeOptions(beam_size=2, extra_length=4)
        figures = decode.time_decoding(
            translator.engine.model, sources, options, num_passes=1
        )
        hypotheses = translator.translate_ids(sources, beam_size=2)
        expected = np.mean([len(best.ids) for best, *_ in hypotheses])
        assert figures["tokens_per_sentence"] == pytest.approx(
            expected, abs=0.01
        )


class LoadSentencesTest:
    def test_ids_are_those_of_the_text(self, vocabulary_path, text):
        sources, vocab_size = workload.load_sentences(text, vocabulary_path)
        vocabulary = make_vocabulary(vocabulary_path)
        assert vocab_size == vocabulary.vocab_size
        assert sources == vocabulary.encode(SENTENCES)

    def test_blank_text_is_an_error(self, vocabulary_path, tmp_path):
        path = tmp_path / "blank"
        path.write_text("\n \n")
        with pytest.raises(ValueError, match=f"{path} has no sentences."):
            workload.load_sentences(path, vocabulary_path)


class CommandTest:
    def test_it_prints_one_line_of_json(self, vocabulary_path, text, capsys):
        overrides = {
            name: getattr(HPARAMS, name)
            for name in ("num_layers", "d_model", "d_ff", "num_heads")
        }
        changes = ",".join(f"{name}={x}" for name, x in overrides.items())
        with pytest.raises(SystemExit) as exit:
            measure.run(
                [
                    "measure.py",
                    "--mode=decode",
                    "--hparams_set=transformer_base",
                    f"--hparams={changes}",
                    f"--decode_from_file={text}",
                    f"--vocabulary={vocabulary_path}",
                    "--decode_hparams=beam_size=3",
                    "--target_length=4",
                    "--precision=bfloat16",
                    "--num_passes=1",
                ]
            )
        assert not exit.value.code
        figures = json.loads(capsys.readouterr().out)
        assert figures["decode"]["beam_size"] == 3
        assert figures["tokens_per_sentence"] == 4.0
        assert figures["precision"] == "bfloat16"
        assert figures["startup_seconds"] > 0
        assert figures["peak_memory_bytes"] > 1e8

    @pytest.mark.parametrize(
        "flags, words",
        [
            ("--mode=serve", "must be one of train, input, decode"),
            ("--mode=train --output_dir=run", "--output_dir=run"),
            ("--mode=train --batch_size=7", "--batch_size=7"),
            ("--mode=input --precision=float32", "--precision=float32"),
            ("--mode=input --xla=off", "--xla=off"),
            ("--mode=decode --train_source=a", "--train_source=a"),
            ("--mode=decode --packed", "Received: --packed."),
            ("--mode=decode --output_dir=a --hparams_set=b", "--hparams_set=b"),
            ("--mode=decode --output_dir=a --vocabulary=b", "--vocabulary=b"),
            ("--mode=train --vocabulary=a --vocab_size=9", "--vocab_size=9"),
            ("--mode=decode --batch_size=0", "--batch_size=0"),
            ("--mode=decode --batch_size=99999999999", "from 1 to"),
            ("--mode=decode --target_length=-1", "--target_length=-1"),
            ("--mode=train --num_passes=0", "--num_passes=0"),
            (
                "--mode=decode --output_dir=no --decode_from_file=a",
                "does not exist",
            ),
        ],
    )
    def test_senseless_flags_are_one_line(self, capsys, flags, words):
        assert_fails(capsys, [words], measure, *flags.split())

    @pytest.mark.slow
    def test_a_ctranslate2_model_has_the_same_figures(self, tmp_path, capsys):
        pytest.importorskip("ctranslate2")
        path = tmp_path / "text"
        path.write_text("a b c\n\nd e\n", encoding="utf-8")
        figures = []
        for name in ("run", "ctranslate2"):
            flags = [
                "--mode=decode",
                f"--output_dir={V01 / name}",
                f"--decode_from_file={path}",
                "--decode_hparams=beam_size=2",
                "--num_passes=1",
            ]
            assert call(measure, *flags) == 0
            figures.append(json.loads(capsys.readouterr().out))
        ours, theirs = figures
        assert list(ours) == list(theirs)
        assert theirs["backend"] == "ctranslate2"
        assert theirs["precision"] == "float32"
        for name in ("decode", "num_sentences", "tokens_per_sentence"):
            assert ours[name] == theirs[name]
        assert theirs["sentences_per_second"] > 0

    @pytest.mark.parametrize(
        "flag", ["--batch_size=8", "--target_length=9", "--precision=float16"]
    )
    def test_what_a_ctranslate2_model_fixes_is_refused(self, capsys, flag):
        flags = ["--mode=decode", f"--output_dir={V01 / 'ctranslate2'}"]
        flags += ["--decode_from_file=text", flag]
        words = [flag, "with a CTranslate2 model"]
        assert_fails(capsys, words, measure, *flags)

    def test_text_is_required(self, capsys):
        with pytest.raises(SystemExit) as exit:
            measure.run(
                ["measure.py", "--mode=decode", "--hparams_set=nothing"]
            )
        assert exit.value.code == 2
        assert "--decode_from_file" in capsys.readouterr().err
