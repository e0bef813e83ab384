"""An export to LiteRT translates as its run, by its files alone."""

import ast
import dataclasses
import os
import re

import numpy as np
import pytest
from commands import assert_fails
from commands import call
from model_variants import VARIANTS
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import ids_of
from small_translators import make_kana_vocabulary
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary

from keras_transformer import load
from keras_transformer.bin import exporter
from keras_transformer.errors import UserError
from keras_transformer.formats.litert.writer import decode
from keras_transformer.formats.litert.writer import export_litert
from keras_transformer.formats.onnx.tokenizer import read_tokenizers
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

litert = pytest.importorskip("ai_edge_litert.interpreter")
pytest.importorskip("tokenizers")

OPTIONS = {"num_hypotheses": 2, "min_length": 2}
SEPARATE = {
    **VARIANTS["relative"],
    **VARIANTS["untied"],
    "norm": "pre",
    "num_decoder_layers": 2,
}


def make_small_run(folder, changes):
    hparams = dataclasses.replace(HPARAMS, **changes)
    os.makedirs(folder, exist_ok=True)
    vocabulary = make_vocabulary(folder / "vocab.model")
    target = vocabulary
    if hparams.tied_embeddings != "all":
        target = make_kana_vocabulary(folder / "target.model")
    return make_run(folder / "run", target, hparams, vocabulary)


def export(run, folder, **options):
    options = DecodeOptions.from_hparams(run.hparams).replace(**options)
    return export_litert(run, str(folder / "export"), options)


def run_card(path):
    """Returns what the Python program of the model card translates."""
    with open(os.path.join(path, "README.md"), encoding="utf-8") as file:
        program = re.search("```python\n(.*?)```", file.read(), re.S)[1]
    program = ast.parse(program.replace("path/to/model", path))
    last, names = ast.Expression(program.body.pop().value), {}
    exec(compile(program, "README.md", "exec"), names)
    return eval(compile(last, "README.md", "eval"), names)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A run, its export, and the function of the export's ids."""
    folder = tmp_path_factory.mktemp("shared")
    run = make_small_run(folder, {})
    path = export(run, folder, **OPTIONS)
    model = litert.Interpreter(os.path.join(path, "model.tflite"))
    return run, path, model.get_signature_runner()


class LitertExportTest:
    @pytest.mark.parametrize(
        "is_shared", [True, pytest.param(False, marks=pytest.mark.slow)]
    )
    def test_texts_are_those_of_keras(self, is_shared, shared, tmp_path):
        run, path, _ = shared
        if not is_shared:
            run = make_small_run(tmp_path, SEPARATE)
            path = export(run, tmp_path, **OPTIONS)
        texts = [text for text in TEXTS if text.strip()]
        texts.append("A sentence to translate.")
        sources = run.source_vocabulary.encode(texts)
        ids = ids_of(load(run.path, engine="keras"), sources, **OPTIONS)
        _, targets = read_tokenizers(path)
        expected = targets.decode_batch(ids)
        assert len(set(expected)) > 1
        assert decode(path, ["", " ", *texts])[0] == ["", "", *expected]
        assert run_card(path) == expected[-1]

    def test_a_batch_has_the_hypotheses_of_its_rows(self, shared):
        run, _, translate = shared
        rows = run.source_vocabulary.encode(["two women", "a", "a dog runs"])
        inputs = np.zeros((3, max(map(len, rows))), "int32")
        for row, ids in zip(inputs, rows):
            row[: len(ids)] = ids
        together = translate(inputs=inputs)
        for number, ids in enumerate(rows):
            alone = translate(inputs=np.array([ids], "int32"))
            length = alone["outputs"].shape[2]
            assert length == len(ids) + HPARAMS.extra_length
            outputs, rest = np.split(together["outputs"], [length], axis=2)
            np.testing.assert_array_equal(outputs[number], alone["outputs"][0])
            assert not rest[number].any()
            np.testing.assert_allclose(
                together["scores"][number], alone["scores"][0], atol=1e-5
            )

    def test_ids_after_the_vocabulary_are_unknown(self, shared):
        run, _, translate = shared
        size = run.source_vocabulary.vocab_size
        other, unknown = (
            translate(inputs=np.array([[id_, END_ID]], "int32"))["scores"]
            for id_ in (size + 5, 2)
        )
        np.testing.assert_array_equal(other, unknown)

    def test_matrices_of_8_bits_translate_nearly_as_the_run(
        self, tmp_path, capfd
    ):
        run = make_small_run(tmp_path, {"d_model": 64, "d_ff": 256})
        path = tmp_path / "export"
        flags = [f"--output_dir={run.path}", f"--export_dir={path}"]
        flags += ["--format=litert", "--quantization=int8", "--beam_size=1"]
        texts = [
            " ".join(text.split()[:n]) for text in TEXTS for n in (2, 4, 9)
        ]
        (tmp_path / "texts").write_text("\n".join(texts), "utf-8")
        assert not call(exporter, *flags, f"--verify={tmp_path}/texts")
        assert capfd.readouterr() == (f"{path}/1\n", "")
        size = (path / "1" / "model.tflite").stat().st_size
        assert size < 3 * run.count_parameters(7)
        card = (path / "README.md").read_text("utf-8")
        ((equal, number),) = re.findall(r"(\d+) of (\d+) translations", card)
        assert int(equal) > 0.8 * int(number)

    def test_what_it_cannot_do_is_refused(self, shared, tmp_path, capfd):
        run, path, _ = shared
        changes = {**VARIANTS["relative"], **VARIANTS["near"]}
        near = make_small_run(tmp_path, changes)
        vocabulary = make_tree_vocabulary(tmp_path / "trees.model")
        parser = make_run(tmp_path / "parser", vocabulary)
        flags = [f"--output_dir={run.path}", "--format=litert"]
        for flag, words in (
            (f"--output_dir={parser.path}", "must translate"),
            (f"--output_dir={near.path}", "with relative positions"),
            ("--quantization=int16", "float32, int8"),
            ("--decode_hparams=temperature=1", "`temperature` must be 0"),
            ("--decode_hparams=no_repeat_ngram_size=2", "must be 0"),
            ("--precision=bfloat16", "no effect with --format=litert"),
        ):
            assert_fails(capfd, [words], exporter, *flags, flag)
        with pytest.raises(UserError, match="a model for LiteRT"):
            load(path)

    @pytest.mark.slow
    @pytest.mark.parametrize("variant", VARIANTS)
    def test_each_variant_is_that_of_keras(self, variant, tmp_path):
        run = make_small_run(tmp_path, VARIANTS[variant])
        path = export(run, tmp_path, beam_size=1)
        words = sorted({word for text in TEXTS for word in text.split()})
        draw = np.random.default_rng(0)
        texts = [
            " ".join(draw.choice(words, draw.integers(1, 12)))
            for _ in range(200)
        ]
        sources = run.source_vocabulary.encode(texts)
        ids = ids_of(load(run.path, engine="keras"), sources, beam_size=1)
        expected = read_tokenizers(path)[1].decode_batch(ids)
        assert decode(path, texts)[0] == expected
