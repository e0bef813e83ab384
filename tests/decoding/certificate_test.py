"""An export is compared with its run, and one that differs is not written."""

import dataclasses
import json
import os

import numpy as np
import pytest
from commands import assert_fails
from commands import call
from small_translators import HPARAMS
from small_translators import TEXTS
from small_translators import make_run
from small_translators import make_tree_vocabulary
from small_translators import make_vocabulary

from keras_transformer.bin import exporter
from keras_transformer.decoding.certificate import MAX_DIFFERENCE
from keras_transformer.decoding.certificate import compare
from keras_transformer.decoding.certificate import plan_certificate
from keras_transformer.errors import UserError
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.formats.exported import EXPORT_FILE
from keras_transformer.formats.html.node import find_node
from keras_transformer.formats.onnx.writer import DECODER
from keras_transformer.formats.onnx.writer import ENCODER
from keras_transformer.formats.onnx.writer import export_onnx
from keras_transformer.search.options import DecodeOptions

SENTENCES = [text for text in TEXTS if text.strip()]
OPTIONS = DecodeOptions(beam_size=2, alpha=0.6, extra_length=4)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificate")
    return make_run(folder / "run", make_vocabulary(folder / "vocab.model"))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.tsv"
    # Forms of a model differ for blank and long texts, which are left out.
    texts = [*SENTENCES, "\u200b", "dog " * HPARAMS.max_length]
    path.write_text("".join(f"{text}\t{text}\n" for text in texts))
    return str(path)


def change_json(path, change):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    change(content)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file)


def change_graph(path, name, change):
    import onnx

    path = os.path.join(path, "onnx", f"{name}.onnx")
    model = onnx.load(path)
    change(model.graph)
    onnx.save(model, path)


def change_array(name, change):
    def change_one(graph):
        from onnx import numpy_helper

        (tensor,) = [each for each in graph.initializer if each.name == name]
        array = change(numpy_helper.to_array(tensor).copy())
        tensor.CopyFrom(numpy_helper.from_array(array, name))

    return change_one


def damage_weight(path):
    def change(array):
        array[0, 3] += 0.5
        return array

    name = "model/decoder/layer_0/feed_forward/inner"
    change_graph(path, DECODER, change_array(name, change))


def shift_positions(path):
    name = "model/input_positions/positions"
    change = change_array(name, lambda array: np.roll(array, 1, axis=0))
    change_graph(path, ENCODER, change)


def show_padding(path):
    def change(graph):
        from onnx import helper
        from onnx import numpy_helper

        one = numpy_helper.from_array(np.array([1]), "one")
        graph.initializer.append(one)
        for node in graph.node:
            if "attention_mask" in node.input:
                node.input[0] = "all"
        mask = helper.make_node("Max", ["attention_mask", "one"], ["all"])
        graph.node.insert(0, mask)

    change_graph(path, ENCODER, change)


def shift_vocabulary(path):
    def change(content):
        ids = content["model"]["vocab"]
        size = len(ids)
        content["model"]["vocab"] = {
            piece: id_ if id_ < 3 else 3 + (id_ - 2) % (size - 3)
            for piece, id_ in ids.items()
        }

    change_json(os.path.join(path, "tokenizer.json"), change)


def forget_penalty(path):
    change_json(
        os.path.join(path, EXPORT_FILE),
        lambda content: content["decode"].update(alpha=0.0),
    )


class CertificateTest:
    @pytest.mark.parametrize(
        "others, scores, message",
        [
            # A tie, and one that a search missed.
            ("bbcdf", [-1.00001, -2.0, -3.0, -4.0, -40.0], None),
            ("abcde", [-1.0, -2.0, -3.0, -4.0, -30.01], None),
            ("abcde", [-1.0, -2.01, -3.0, -4.0, -30.0], "differ by 0.05%"),
            ("abcff", [-1.0, -2.0, -3.0, -5.0, -40.0], "4 must be equal"),
            ("fffff", [-5.0] * 5, "little training is unsure, .* Train it"),
        ],
    )
    def test_most_translations_and_their_scores_must_be_equal(
        self, others, scores, message
    ):
        texts = list("abcde")
        results = (texts, [-1.0, -2.0, -3.0, -4.0, -30.0]), (others, scores)
        translators = [lambda _, one=one: one for one in results]
        found = compare(*translators, texts)
        if not message:
            return found.check(MAX_DIFFERENCE)
        with pytest.raises(UserError, match=message):
            found.check(MAX_DIFFERENCE)

    @pytest.mark.parametrize(
        "damage",
        [
            damage_weight,
            *(
                pytest.param(damage, marks=pytest.mark.slow)
                for damage in (
                    forget_penalty,
                    shift_positions,
                    show_padding,
                    shift_vocabulary,
                )
            ),
        ],
    )
    def test_a_fault_is_found_and_nothing_is_written(
        self, run, file, damage, tmp_path
    ):
        if damage is shift_positions:
            hparams = dataclasses.replace(
                HPARAMS, positional_encoding="learned"
            )
            run = make_run(tmp_path / "run", run.vocabulary, hparams)
        export, format = export_onnx, "onnx"
        if damage is forget_penalty:  # the search of ONNX is greedy
            export, format = export_ctranslate2, "ctranslate2"
        else:
            for name in ("onnx", "onnxruntime", "tokenizers"):
                pytest.importorskip(name)
        certify = plan_certificate(run, None, format, OPTIONS, True, file)

        def certify_damaged(path):
            assert "5 of 5" in certify(path)
            damage(path)
            return certify(path)

        target = str(tmp_path / "export")
        with pytest.raises(UserError, match="does not translate as the run"):
            export(run, target, OPTIONS, certify=certify_damaged)
        assert not os.path.exists(target)

    @pytest.mark.parametrize(
        "format",
        [
            pytest.param("saved_model_ids", marks=pytest.mark.slow),
            *("ctranslate2", "marian", "html", "onnx"),
        ],
    )
    def test_every_format_has_one(self, run, file, format, tmp_path):
        if format == "html" and not find_node():
            pytest.skip("needs Node.js")
        flags = [f"--export_dir={tmp_path}", f"--format={format}"]
        flags += [f"--output_dir={run.path}", f"--verify={file}"]
        assert call(exporter, *flags) == 0
        (card,) = tmp_path.glob("[RiI]*[mM]*")
        assert "5 of 5 translations are equal" in card.read_text()
        assert "BLEU is" in card.read_text()

    @pytest.mark.parametrize(
        "flags, is_told", [([], True), (["--verify="], False)]
    )
    def test_a_run_without_data_is_exported(
        self, run, flags, is_told, tmp_path
    ):
        flags += [f"--output_dir={run.path}", "--format=marian"]
        assert call(exporter, *flags, f"--export_dir={tmp_path}") == 0
        card = (tmp_path / "README.md").read_text()
        assert ("since it has no dev text here" in card) == is_told

    def test_a_parser_has_none(self, tmp_path, file):
        vocabulary = make_tree_vocabulary(tmp_path / "trees")
        parser = make_run(tmp_path / "parser", vocabulary)
        certify = plan_certificate(
            parser, None, "ctranslate2", OPTIONS, True, file
        )
        assert "since it parses" in certify(None)

    def test_a_file_without_texts_is_refused(self, run, tmp_path, capsys):
        (tmp_path / "empty").write_text("\n \n")
        words = ["must name a file of texts", "empty"]
        flags = [f"--output_dir={run.path}", f"--verify={tmp_path}/empty"]
        assert_fails(capsys, words, exporter, *flags, "--format=ctranslate2")
