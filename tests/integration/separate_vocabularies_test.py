"""A model with two vocabularies, from its text to both exports."""

import random

import pytest
from commands import assert_fails
from commands import call

from keras_transformer.bin import avg_checkpoints
from keras_transformer.bin import datagen
from keras_transformer.bin import decoder
from keras_transformer.bin import evaluate
from keras_transformer.bin import exporter
from keras_transformer.bin import trainer
from keras_transformer.decoding.loading import load
from keras_transformer.runs.run_directory import RunDirectory

LATIN = "abcdefghijklmnop"
KANA = "あいうえおかきくけこさしすせそた"
HPARAMS = "num_layers=2,d_model=64,d_ff=128,num_heads=4,batch_tokens=1024"
LEARNING = "dropout=0.0,learning_rate=0.5,warmup_steps=200"


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """Writes words in one script, with those of another as translations."""
    directory = tmp_path_factory.mktemp("two_scripts")
    generator = random.Random(0)
    words = ["".join(generator.choices(LATIN, k=2)) for _ in range(30)]
    script = str.maketrans(LATIN, KANA)
    for split, num_lines in {"train": 2000, "dev": 20, "test": 20}.items():
        lines = [generator.choices(words, k=4) for _ in range(num_lines)]
        sources = [" ".join(line) + "\n" for line in lines]
        targets = ["".join(line).translate(script) + "\n" for line in lines]
        for side, texts in (("source", sources), ("target", targets)):
            path = directory / f"{split}.{side}"
            path.write_text("".join(texts), encoding="utf-8")
    files = [
        f"--{split}_{side}={directory}/{split}.{side}"
        for split in ("train", "dev", "test")
        for side in ("source", "target")
    ]
    flags = ("--shared_vocabulary=false", "--vocab_size=320")
    flags += ("--source_vocab_size=300", f"--data_dir={directory}/data")
    assert call(datagen, "--problem=translate_files", *flags, *files) == 0
    return directory / "data"


def train(path, data_dir, hparams, steps, *more):
    return call(
        trainer,
        "--problem=translate_files",
        f"--data_dir={data_dir}",
        f"--output_dir={path}",
        "--hparams_set=transformer_tiny",
        f"--hparams={HPARAMS},{hparams}",
        f"--train_steps={steps}",
        *more,
    )


class CommandsTest:
    def test_one_matrix_is_refused_before_anything_is_written(
        self, data_dir, tmp_path, capsys
    ):
        flags = (
            "--problem=translate_files",
            f"--data_dir={data_dir}",
            f"--output_dir={tmp_path}/run",
            "--hparams_set=transformer_tiny",
        )
        words = ["must be target or none", "--hparams=tied_embeddings=target"]
        assert_fails(capsys, words, trainer, *flags)
        assert not list(tmp_path.iterdir())

    def test_datagen_again_must_say_the_same(self, data_dir, capsys):
        directory = data_dir.parent
        flags = [
            f"--{split}_{side}={directory}/{split}.{side}"
            for split in ("train", "dev", "test")
            for side in ("source", "target")
        ]
        flags += [f"--data_dir={data_dir}", "--vocab_size=320"]
        words = ["shared_vocabulary=True", "shared_vocabulary=False"]
        assert_fails(
            capsys, words, datagen, "--problem=translate_files", *flags
        )

    @pytest.mark.parametrize("tied", ["target", "none"])
    @pytest.mark.slow
    def test_it_learns_and_its_exports_agree(
        self, tied, data_dir, tmp_path, capsys
    ):
        run, averaged = tmp_path / "run", tmp_path / "averaged"
        hparams = f"{LEARNING},tied_embeddings={tied}"
        evaluations = "--eval_frequency=200"
        assert train(run, data_dir, hparams, 600, evaluations) == 0
        flags = f"--output_dir={run}", f"--averaged_dir={averaged}"
        assert call(avg_checkpoints, *flags, "--num_last_checkpoints=2") == 0
        assert RunDirectory(str(averaged)).vocabularies.sizes == (320, 300)
        exports = {}
        for format in ("saved_model", "ctranslate2"):
            exports[format] = tmp_path / format
            flags = f"--output_dir={averaged}", f"--format={format}"
            export_dir = f"--export_dir={exports[format]}"
            assert call(exporter, *flags, export_dir) == 0
        assert call(evaluate, f"--output_dir={averaged}") == 0
        sources = (data_dir.parent / "dev.source").read_text().splitlines()
        expected = (data_dir.parent / "dev.target").read_text().splitlines()
        model = load(str(averaged), engine="keras")
        translations, scores = model(sources, return_scores=True)
        right = map(str.__eq__, translations, expected)
        assert sum(right) > 0.9 * len(expected)
        of_references = model.score(sources, expected)
        for path in exports.values():
            exported = load(str(path))
            theirs, their_scores = exported(sources, return_scores=True)
            assert theirs == translations
            assert their_scores == pytest.approx(scores, abs=1e-3)
            assert exported.score(sources, expected) == pytest.approx(
                of_references, abs=1e-3
            )
        output = tmp_path / "output"
        flags = f"--decode_from_file={data_dir.parent}/dev.source"
        flags = flags, f"--decode_to_file={output}", f"--output_dir={averaged}"
        assert call(decoder, *flags) == 0
        assert output.read_text().splitlines() == translations
