"""Imported models of Tensor2Tensor, against a plain model in NumPy."""

import json
import os
import types

import keras
import numpy as np
import pytest

if keras.backend.backend() != "tensorflow":
    pytest.skip("SavedModels are TensorFlow's", allow_module_level=True)

from commands import assert_fails
from commands import call
from tensor2tensor_examples import SUBTOKENS
from tensor2tensor_examples import NumpyTransformer
from tensor2tensor_examples import make_variables
from tensor2tensor_examples import write_checkpoint
from tensor2tensor_examples import write_subtokens
from tensor2tensor_examples import write_variables

from keras_transformer.bin import import_
from keras_transformer.decoding.loading import load
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.formats.saved_model.writer import export_saved_model
from keras_transformer.formats.tensor2tensor.reader import import_tensor2tensor
from keras_transformer.formats.tensor2tensor.training_files import (
    find_checkpoint,
)
from keras_transformer.formats.tensor2tensor.training_files import read_hparams
from keras_transformer.runs.model import load_model
from keras_transformer.search.options import DecodeOptions

NUM_ROWS = len(SUBTOKENS) + 2
HEADS = {"num_heads": 2}
RELATIVE = {"self_attention_type": "dot_product_relative", "pos": None, **HEADS}
TEXTS = ["the cats", "the dog, the cat.", "漢字", "a cat_s 'dog'", ""]


def write_model(directory, norm="pre", shared=True, hparams=HEADS, relative=0):
    directory.mkdir(exist_ok=True)
    variables = make_variables(norm, NUM_ROWS, shared, relative)
    write_checkpoint(directory / "model.ckpt-250000", variables)
    write_subtokens(directory / "vocab.translate_ende.64.subwords")
    if hparams is not None:
        (directory / "hparams.json").write_text(json.dumps(hparams))
    return variables


def pad(rows):
    width = max(map(len, rows))
    return np.array([row + [0] * (width - len(row)) for row in rows], "int32")


MODELS = {
    "base_v1": ("post", True, HEADS),
    "base_v3": ("pre", True, HEADS),
    "separate_embeddings": ("pre", False, HEADS),
    "relative": ("pre", True, RELATIVE, 3),
}


# Searches and exports of the other models vary those of this one.
DECODED = [
    pytest.param(
        MODELS[name],
        marks=[] if name == "base_v3" else pytest.mark.slow,
        id=name,
    )
    for name in MODELS
]


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def model(request, tmp_path_factory):
    """The norm, the variables and the imported run."""
    norm, *options = request.param
    directory = tmp_path_factory.mktemp("t2t")
    variables = write_model(directory / "model", norm, *options)
    run = import_tensor2tensor(str(directory / "model"), str(directory / "run"))
    return norm, variables, run


class ImportedModelTest:
    def test_logits_are_those_of_the_plain_model(self, model):
        norm, variables, run = model
        plain = NumpyTransformer(variables, norm, num_heads=2, space=3)
        generator = np.random.default_rng(2)
        pairs = [
            [
                [*generator.integers(2, NUM_ROWS, length).tolist(), 1]
                for length in lengths
            ]
            for lengths in ((5, 7), (1, 3), (12, 2), (9, 11))
        ]
        # Our ids are one more from 2 on.
        inputs, targets = (
            pad([[i + (i > 1) for i in ids] for ids in side])
            for side in zip(*pairs)
        )
        imported = load_model(run)
        logits = np.array(imported({"inputs": inputs, "targets": targets}))
        for row, (source, target) in zip(logits, pairs):
            expected = plain.compute_logits(source, target)
            ours = np.delete(row[: len(target)], 2, axis=1)
            np.testing.assert_allclose(ours, expected, atol=1e-5)
            np.testing.assert_allclose(row[: len(target), 2], -100.0)

    @pytest.mark.parametrize("model", DECODED, indirect=True)
    def test_greedy_search_writes_the_most_probable_ids(self, model):
        norm, variables, run = model
        plain = NumpyTransformer(variables, norm, num_heads=2, space=3)
        translator = load(run.path, engine="keras")
        vocabulary = run.vocabulary
        options = {"beam_size": 1, "extra_length": 8}
        for text, translation in zip(TEXTS, translator(TEXTS, **options)):
            if not text:
                assert translation == ""
                continue
            source = [i - (i > 1) for i in vocabulary.encode([text])[0]]
            written = []
            # The last token of the longest output is the end.
            while len(written) < len(source) + 7 and written[-1:] != [1]:
                logits = plain.compute_logits(source, [*written, 1])[-1]
                logits[0] = -np.inf  # padding is never written
                written.append(int(logits.argmax()))
            ours = [[i + (i > 1) for i in written]]
            assert translation == vocabulary.decode(ours)[0].replace("\n", " ")

    # `tests/formats/tokenization_test.py` has the subwords of a SavedModel.
    @pytest.mark.parametrize(
        "export",
        [
            export_ctranslate2,
            pytest.param(export_saved_model, marks=pytest.mark.slow),
        ],
    )
    @pytest.mark.parametrize("model", DECODED, indirect=True)
    def test_exports_translate_alike(self, model, tmp_path, export):
        run = model[2]
        options = DecodeOptions.from_hparams(run.hparams)
        options = options.replace(extra_length=10)
        path = export(run, str(tmp_path / "export"), options)
        texts, scores = load(path)(TEXTS, return_scores=True)
        expected, their_scores = load(run.path, engine="keras")(
            TEXTS, return_scores=True, extra_length=10
        )
        assert texts == expected
        assert scores == pytest.approx(their_scores, abs=1e-4)

    def test_the_run_says_where_it_is_from(self, model):
        norm, _, run = model
        assert run.hparams.norm == norm
        assert run.checkpoints.steps == [250000]
        assert run.record["imported"]["origin"].endswith("model")
        assert run.hparams.positional_encoding in ("tensor2tensor", "none")


class CommandTest:
    def test_it_imports_what_the_directory_holds(self, tmp_path, capsys):
        write_model(tmp_path / "model")
        path = str(tmp_path / "run")
        flags = [f"--source={tmp_path / 'model'}", f"--output_dir={path}"]
        assert_fails(
            capsys, ["in Marian's format"], import_, *flags, "--verify"
        )
        assert call(import_, *flags) == 0
        assert capsys.readouterr().out == f"{path}\n"
        assert_fails(capsys, ["must be new or empty"], import_, *flags)

    @pytest.mark.parametrize(
        ("theirs", "ours"),
        [
            ("translate_ende_wmt8k_rev", "translate_ende_wmt8k_rev"),
            ("translate_mine", "translate_files"),
        ],
    )
    def test_the_run_has_the_problem_if_it_is_known(
        self, tmp_path, theirs, ours
    ):
        write_model(tmp_path / "model")
        (tmp_path / "model" / "flags.txt").write_text(f"--problem={theirs}\n")
        run = tmp_path / "run"
        flags = [f"--source={tmp_path / 'model'}", f"--output_dir={run}"]
        assert call(import_, *flags) == 0
        assert json.loads((run / "run.json").read_text())["problem"] == ours


class HparamsTest:
    @pytest.mark.parametrize(
        ("d_model", "hparams_set", "changes", "num_heads"),
        [
            (256, "transformer_hs256", "", 8),
            (256, "transformer_base_v3", "hidden_size=256", 8),
            (256, "transformer_tiny", "hidden_size=256,num_heads=2", 2),
            (128, "transformer_tiny", "", 4),
            (128, None, "", None),
            (128, "transformer_mine", "", None),
        ],
    )
    def test_flags_tell_the_heads_without_hparams(
        self, tmp_path, d_model, hparams_set, changes, num_heads
    ):
        directory = tmp_path / "model"
        directory.mkdir()
        variables = make_variables("pre", NUM_ROWS, d_model=d_model, depth=1)
        write_checkpoint(directory / "model.ckpt-5", variables)
        write_subtokens(directory / "vocab.x.subwords")
        if hparams_set:
            flags = f"--hparams_set={hparams_set}\n--hparams={changes}\n"
            (directory / "flags.txt").write_text(flags)
        if num_heads is None:
            with pytest.raises(UserError, match="hparams.json or flags.txt"):
                import_tensor2tensor(str(directory), str(tmp_path / "run"))
            return
        run = import_tensor2tensor(str(directory), str(tmp_path / "run"))
        assert run.hparams.num_heads == num_heads

    def test_a_value_that_nests_too_deep_is_text(self, tmp_path):
        flags = {"hparams": f"num_heads=2,other={'[' * 100_000}"}
        checkpoint = types.SimpleNamespace(norm="pre", max_relative_position=0)
        values = read_hparams(str(tmp_path), flags, checkpoint)
        assert values["num_heads"] == 2

    def test_rates_are_those_of_the_model(self, tmp_path):
        rates = {"relu_dropout": 0.2, "label_smoothing": 0.05}
        write_model(tmp_path / "model", hparams={**HEADS, **rates})
        run = import_tensor2tensor(
            str(tmp_path / "model"), str(tmp_path / "run")
        )
        assert run.hparams.activation_dropout == 0.2
        assert run.hparams.label_smoothing == 0.05

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("pos", "emb"),
            ("self_attention_type", "dot_product_relative"),
            ("self_attention_type", "dot_product_relative_v2"),
            ("layer_preprocess_sequence", "none"),
            ("num_heads", 3),
        ],
    )
    def test_other_features_are_refused_by_name(self, tmp_path, name, value):
        write_model(tmp_path / "model", hparams={**HEADS, name: value})
        with pytest.raises(UserError, match=f"{value}"):
            import_tensor2tensor(str(tmp_path / "model"), str(tmp_path / "run"))
        assert not (tmp_path / "run").exists()


class TargetSpaceTest:
    """A checkpoint without the moments of Adam, where nothing else tells it."""

    @pytest.fixture
    def find_row(self, tmp_path):
        def find_row(flags="", hparams=HEADS, **options):
            source = tmp_path / "model"
            variables = write_model(source, hparams=hparams)
            write_variables(source / "model.ckpt-250000", variables)
            (source / "flags.txt").write_text(flags)
            run = import_tensor2tensor(
                str(source), str(tmp_path / "run"), **options
            )
            arrays = run.checkpoints.load()
            added = np.diff(
                [
                    arrays["model/embedding/embeddings"][0],
                    arrays["model/embedding/input_embeddings"][0],
                ],
                axis=0,
            )
            name = "transformer/body/target_space_embedding/kernel"
            rows = variables[name]
            return np.abs(rows - added * rows.shape[1] ** 0.5).sum(1).argmin()

        return find_row

    @pytest.mark.parametrize(
        ("flags", "hparams"),
        [
            ("--inter_op_parallelism_threads=0\n", HEADS),
            ("", {**HEADS, "optimizer_adafactor_beta1": 0.0}),
        ],
    )
    def test_later_versions_train_the_first_row(self, find_row, flags, hparams):
        assert find_row(flags, hparams) == 0

    def test_the_user_tells_it(self, find_row):
        assert find_row(target_space=8) == 8

    @pytest.mark.parametrize(
        ("flags", "options", "words"),
        [
            ("", {}, "--target_space"),
            ("--problem=translate_ende_wmt8k\n", {}, "--target_space"),
            ("", {"target_space": 32}, "has no row 32"),
        ],
    )
    def test_it_is_not_guessed(self, find_row, flags, options, words):
        with pytest.raises(UserError, match=words):
            find_row(flags, **options)


class BadInputTest:
    @pytest.fixture
    def source(self, tmp_path):
        write_model(tmp_path / "model")
        return tmp_path / "model"

    def refuse(self, source, message):
        output_dir = source.parent / "run"
        with pytest.raises(UserError, match=message):
            import_tensor2tensor(str(source), str(output_dir))
        assert not os.path.lexists(output_dir)

    def test_missing_files(self, source):
        (source / "vocab.translate_ende.64.subwords").unlink()
        self.refuse(source, "vocab.*subwords, which does not exist")
        (source / "model.ckpt-250000.index").unlink()
        self.refuse(source, "model.ckpt-.*index, which does not exist")

    def test_truncated_variables(self, source):
        path = source / "model.ckpt-250000.data-00000-of-00001"
        path.write_bytes(path.read_bytes()[:5000])
        self.refuse(source, "model.ckpt-250000, which cannot be read")

    def test_a_pipe_is_not_waited_for(self, source):
        path = source / "model.ckpt-250000.index"
        path.unlink()
        os.mkfifo(path)
        self.refuse(source, "model.ckpt-250000.index, which is not a file")

    def test_a_vocabulary_of_another_model(self, source):
        path = source / "vocab.translate_ende.64.subwords"
        write_subtokens(path, SUBTOKENS[:-1])
        rows = f"has {NUM_ROWS} rows, but the vocabulary has {NUM_ROWS - 1}"
        self.refuse(source, rows)
        write_subtokens(source / "vocab.other.subwords")
        self.refuse(source, "which could be any of vocab.other")

    @pytest.mark.parametrize("name", ["body/decoder/layer_1", "body/encoder"])
    def test_variables_that_are_missing(self, source, name):
        variables = make_variables("pre", NUM_ROWS)
        lost = f"transformer/{name}"
        kept = {
            n: values
            for n, values in variables.items()
            if not (n.startswith(lost) and n.endswith("/ffn/conv2/bias"))
        }
        write_checkpoint(source / "model.ckpt-250000", kept)
        self.refuse(source, "ffn/conv2/bias' is absent")

    def test_variables_of_another_model(self, source):
        variables = make_variables("pre", NUM_ROWS)
        name = "transformer/body/encoder/layer_0/ffn/conv3/kernel"
        variables[name] = np.zeros((2, 2), "float32")
        write_checkpoint(source / "model.ckpt-250000", variables)
        self.refuse(source, "layer_0/ffn/conv3/kernel' is .* must be absent")
        variables[name.replace("conv3", "conv2")][0, 0] = np.nan
        del variables[name]
        write_checkpoint(source / "model.ckpt-250000", variables)
        self.refuse(source, "ffn/conv2/kernel is not all finite floats")

    def test_the_newest_checkpoint_is_found(self, source):
        variables = make_variables("pre", NUM_ROWS)
        write_checkpoint(source / "model.ckpt-90000", variables)
        assert find_checkpoint(str(source)).endswith("model.ckpt-250000")
        assert find_checkpoint(str(source.parent)) is None
