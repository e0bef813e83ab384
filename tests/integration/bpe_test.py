"""The paper's own form of text through all commands, on a small corpus."""

import pytest
from bpe_corpus import COUNTS
from bpe_corpus import STEMS
from bpe_corpus import make_corpus
from commands import call

from keras_transformer.bin import datagen
from keras_transformer.bin import decoder
from keras_transformer.bin import evaluate
from keras_transformer.bin import exporter
from keras_transformer.bin import trainer

NAME = "translate_ende_wmt_bpe32k"
HPARAMS = "num_layers=1,d_model=32,d_ff=64,num_heads=2,dropout=0.0,"
HPARAMS += "batch_tokens=512,warmup_steps=20,learning_rate=0.2,extra_length=6"


@pytest.mark.slow
class BpeTest:
    def test_translations_are_joined_wherever_the_model_runs(
        self, tmp_path, monkeypatch, capsys
    ):
        make_corpus(tmp_path, monkeypatch)
        # A single translation, which is learnt at once.
        for split, stem in STEMS.items():
            path = tmp_path / f"{stem}.de"
            path.write_text("Res@@ um@@ ption in the ,\n" * COUNTS[split])
        data, run = (str(tmp_path / name) for name in ("data", "run"))
        flags = [f"--problem={NAME}", f"--data_dir={data}"]
        assert call(datagen, *flags, f"--tmp_dir={tmp_path}") == 0
        flags += [f"--output_dir={run}", "--hparams_set=transformer_tiny"]
        flags += [f"--hparams={HPARAMS}", "--train_steps=100"]
        assert call(trainer, *flags) == 0
        source = f"--decode_from_file={tmp_path / STEMS['test']}.en"
        models = [run]
        for format in ("saved_model", "ctranslate2"):
            models.append(str(tmp_path / format))
            flags = [f"--output_dir={run}", f"--format={format}"]
            assert call(exporter, *flags, f"--export_dir={models[-1]}") == 0
        for model in models:
            target = tmp_path / "translations"
            flags = [f"--output_dir={model}", source]
            assert call(decoder, *flags, f"--decode_to_file={target}") == 0
            assert (
                target.read_text() == "Resumption in the ,\n" * COUNTS["test"]
            )
        capsys.readouterr()
        assert call(evaluate, f"--output_dir={run}", "--split=test") == 0
        bleu = capsys.readouterr().out.splitlines()[1].split()
        assert bleu[:3] == ["BLEU", "none", "100.00"]
