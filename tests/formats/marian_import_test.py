"""Marian models become runs and, exported, Marian models again."""

import json
import os
import tracemalloc

import numpy as np
import pytest
from layer_checks import to_numpy
from marian_examples import TEXTS
from tiny_marian import compute_logits
from tiny_marian import write_tiny_marian

from keras_transformer.decoding.loading import load
from keras_transformer.errors import UserError
from keras_transformer.formats.marian import tensor_files
from keras_transformer.formats.marian.reader import import_marian
from keras_transformer.formats.marian.writer import export_marian
from keras_transformer.runs.model import load_model
from keras_transformer.search.options import DecodeOptions

UNSHARED = {"share_encoder_decoder_embeddings": False}
CONFIGS = {
    "opus": {},
    "gelu_unscaled": {"activation_function": "gelu", "scale_embedding": False},
    "relu_deep_shallow": {"activation_function": "relu", "decoder_layers": 1},
    "separate": UNSHARED,
    "untied": {**UNSHARED, "tie_word_embeddings": False},
    "started": {"is_started": True},
}


def read_arrays(path):
    headers = tensor_files.read_headers(str(path))
    return {
        name: tensor_files.read_array(header)
        for name, header in headers.items()
    }


def edit(directory, name="config.json", **changes):
    path = directory / name
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


class ImportMarianTest:
    @pytest.mark.parametrize("kind", CONFIGS)
    def test_logits_are_those_of_the_formulas(self, kind, tmp_path):
        source = tmp_path / "marian"
        config, arrays = write_tiny_marian(source, **CONFIGS[kind])
        run = import_marian(str(source), str(tmp_path / "run"))
        start = "padding" if kind == "started" else "zero"
        assert run.hparams.decoder_start == start
        sources, targets = run.vocabularies
        inputs = np.array(sources.encode(TEXTS[:1]))
        outputs = np.array(targets.encode(TEXTS[2:3]))
        logits = load_model(run)({"inputs": inputs, "targets": outputs})
        expected = compute_logits(
            *(config, arrays),
            sources.original_ids[inputs[0]],
            targets.original_ids[outputs[0]],
        )[:, targets.original_ids]
        np.testing.assert_allclose(to_numpy(logits)[0], expected, atol=1e-5)

    @pytest.mark.parametrize("kind", CONFIGS)
    def test_an_export_has_every_array_bit_for_bit(self, kind, tmp_path):
        source, export = tmp_path / "marian", tmp_path / "export"
        config, arrays = write_tiny_marian(source, **CONFIGS[kind])
        run = import_marian(str(source), str(tmp_path / "run"))
        options = DecodeOptions.from_hparams(run.hparams)
        for _ in range(2):  # the second replaces the first
            export_marian(run, str(export), options)
        exported = read_arrays(export / "model.safetensors")
        assert exported.keys() == arrays.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(exported[name], array)
        written = json.loads((export / "config.json").read_text())
        assert {name: written[name] for name in config} == config
        card = (export / "README.md").read_text()
        assert "imported from `marian`" in card
        assert str(tmp_path) not in card
        again = import_marian(str(export), str(tmp_path / "again"))
        assert again.hparams == run.hparams
        assert again.vocabularies.sizes == run.vocabularies.sizes

    @pytest.mark.parametrize(
        "card, licence",
        [
            ("---\n- a\nlicense: apache-2.0\n---\n# A\n", "apache-2.0"),
            ('---\r\nlicense: "cc-by-4.0"\r\n---\r\n', "cc-by-4.0"),
            ("---\nlanguage: en\n---\nlicense: mit\n", None),
            ("---\nlicense:\n- mit\n---\n", None),
            ("license: mit\n", None),
        ],
    )
    def test_the_licence_is_that_of_the_card(self, card, licence, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        (source / "README.md").write_bytes(card.encode())
        run = import_marian(str(source), str(tmp_path / "run"))
        assert run.record["licence"] == licence
        export = tmp_path / "export"
        export_marian(run, str(export), DecodeOptions())
        again = import_marian(str(export), str(tmp_path / "again"))
        assert again.record["licence"] == licence

    def test_a_directory_loads_as_its_run_does(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        run = import_marian(str(source), str(tmp_path / "run"))
        expected = load(run.path)(TEXTS[:2], extra_length=5)
        assert load(str(source))(TEXTS[:2], extra_length=5) == expected

    def test_search_options_are_those_of_the_model(self, tmp_path):
        source = tmp_path / "marian"
        config, _ = write_tiny_marian(source)
        search = {"num_beams": 6, "length_penalty": 0.8, "max_length": 512}
        words = {"bad_words_ids": [[config["pad_token_id"]]]}
        path = source / "generation_config.json"
        path.write_text(json.dumps({**search, **words}))
        hparams = import_marian(str(source), str(tmp_path / "run")).hparams
        assert (hparams.beam_size, hparams.alpha) == (6, 0.8)

    @pytest.mark.parametrize(
        "name",
        [
            "lm_head.weight",
            "model.encoder.embed_tokens.weight",
            "model.decoder.embed_tokens.weight",
        ],
    )
    def test_a_tied_matrix_may_have_any_of_its_names(self, name, tmp_path):
        source = tmp_path / "marian"
        _, arrays = write_tiny_marian(source)
        expected = import_marian(str(source), str(tmp_path / "run"))
        arrays[name] = arrays.pop("model.shared.weight")
        path = str(source / "model.safetensors")
        tensor_files.write_arrays(path, arrays)
        run = import_marian(str(source), str(tmp_path / "other"))
        expected = expected.checkpoints.load()
        for name, array in run.checkpoints.load().items():
            np.testing.assert_array_equal(array, expected[name])

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
    def test_an_export_keeps_the_precision_and_the_positions(
        self, dtype, tmp_path
    ):
        source, export = tmp_path / "marian", tmp_path / "export"
        _, arrays = write_tiny_marian(source, max_position_embeddings=777)
        halves = {name: array.astype(dtype) for name, array in arrays.items()}
        path = str(source / "model.safetensors")
        tensor_files.write_arrays(path, halves)
        run = import_marian(str(source), str(tmp_path / "run"))
        export_marian(run, str(export), DecodeOptions())
        written = tensor_files.read_headers(str(export / "model.safetensors"))
        read = tensor_files.read_headers(path)
        for name, header in written.items():
            assert header.dtype == read[name].dtype
            np.testing.assert_array_equal(
                tensor_files.read_array(header),
                tensor_files.read_array(read[name]),
            )
        config = json.loads((export / "config.json").read_text())
        assert config["max_position_embeddings"] == 777
        assert config["torch_dtype"] == dtype

    def test_a_shared_matrix_has_the_special_ids_of_both_sides(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        edit(source, "tokenizer_config.json", separate_vocabs=True)
        table = json.loads((source / "vocab.json").read_text())
        other = list(table)[7]
        table["<unk>"], table[other] = table[other], table["<unk>"]
        (source / "target_vocab.json").write_text(json.dumps(table))
        with pytest.raises(UserError, match="share a matrix but differ"):
            import_marian(str(source), str(tmp_path / "run"))

    def test_fields_without_effect_are_accepted(self, tmp_path):
        source = tmp_path / "marian"
        config, _ = write_tiny_marian(source)
        expected = import_marian(str(source), str(tmp_path / "run"))
        padding = config["pad_token_id"]
        edit(
            source,
            max_new_tokens=400,
            output_past=True,
            tokenizer_class="MarianTokenizer",
            task_specific_params={"translation": {"num_beams": 3}},
            attn_implementation="eager",
            return_dict=True,
            temperature=0.7,
            do_sample=False,
            repetition_penalty=None,
            a_note="of the user",
            # None of these is written: padding, the unknown id, or after it.
            bad_words_ids=[[padding], [1], [5, padding], [1, 5]],
        )
        run = import_marian(str(source), str(tmp_path / "other"))
        assert run.hparams == expected.hparams

    def test_only_the_beginning_of_a_card_is_read(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        with open(source / "README.md", "w") as file:
            file.write("---\nlicense: mit\n---\n")
            file.truncate(3 * 2**30)  # takes no space
        tracemalloc.start()
        run = import_marian(str(source), str(tmp_path / "run"))
        assert tracemalloc.get_traced_memory()[1] < 2**28
        tracemalloc.stop()
        assert run.record["licence"] == "mit"

    def test_positions_and_copies_in_the_file_may_be_the_usual_ones(
        self, tmp_path
    ):
        source = tmp_path / "marian"
        _, arrays = write_tiny_marian(source)
        waves = [[0.0] * 8 + [1.0] * 8]
        table = {"model.encoder.embed_positions.weight": np.float32(waves)}
        copy = {"lm_head.weight": arrays["model.shared.weight"]}
        path = str(source / "model.safetensors")
        tensor_files.write_arrays(path, {**arrays, **table, **copy})
        import_marian(str(source), str(tmp_path / "run"))
        for name, faulty in (
            ("model.encoder.embed_positions.weight", np.float32(waves) + 0.1),
            ("lm_head.weight", copy["lm_head.weight"] + 1),
        ):
            tensor_files.write_arrays(path, {**arrays, name: faulty})
            with pytest.raises(UserError, match=name):
                import_marian(str(source), str(tmp_path / "other"))

    @pytest.mark.parametrize(
        "changes, words",
        [
            ({"model_type": "bart"}, "architecture marian.*'bart'"),
            ({"normalize_before": True}, "normalize_before=True stands"),
            ({"normalize_embedding": True}, "normalize_embedding=True"),
            ({"static_position_embeddings": False}, "static_position"),
            ({"activation_function": "gelu_new"}, "='gelu_new' stands"),
            ({"encoder_attention_heads": 2}, "does not go with encoder_att"),
            ({"decoder_ffn_dim": 8}, "decoder_ffn_dim=8 does not go"),
            ({"quantization_config": {"bits": 4}}, "quantization_config="),
            ({"do_sample": True}, "do_sample=True stands"),
            ({"repetition_penalty": 1.2}, "repetition_penalty=1.2 stands"),
            ({"bad_words_ids": [[5]]}, "bad_words_ids="),
            ({"bad_words_ids": [[1, 5], [5, 6]]}, "bad_words_ids="),
            ({"no_repeat_ngram_size": 3}, "no_repeat_ngram_size=3 stands"),
            ({"architectures": ["MarianForCausalLM"]}, "architectures="),
            ({"decoder_start_token_id": 3}, "decoder_start_token_id=3"),
            ({"vocab_size": 7, "decoder_vocab_size": 7}, "vocab_size=7, but"),
            ({"d_model": 17}, "divisible by `num_heads`"),
            ({"d_model": 8}, "of shape .* but must be"),
            ({"d_model": "wide"}, "d_model"),
            ({"encoder_layers": 3}, "layers.2.*is absent"),
        ],
        ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
    )
    def test_what_it_lacks_is_refused_by_name(self, changes, words, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        edit(source, **changes)
        with pytest.raises(UserError, match=words):
            import_marian(str(source), str(tmp_path / "run"))
        assert os.listdir(tmp_path) == ["marian"]

    @pytest.mark.parametrize(
        "name", ["config.json", "source.spm", "vocab.json", "model.safetensors"]
    )
    @pytest.mark.parametrize("size", [None, 0, 50])
    def test_missing_and_truncated_files_are_named(self, name, size, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        whole = (source / name).read_bytes()
        if size is None:
            (source / name).unlink()
        else:
            (source / name).write_bytes(whole[:size])
        with pytest.raises(UserError, match=name):
            import_marian(str(source), str(tmp_path / "run"))
        # The same call works once the cause is gone.
        (source / name).write_bytes(whole)
        import_marian(str(source), str(tmp_path / "run"))

    def test_a_model_in_several_files_is_that_in_one(self, tmp_path):
        source = tmp_path / "marian"
        _, arrays = write_tiny_marian(source)
        whole = import_marian(str(source), str(tmp_path / "run"))
        (source / "model.safetensors").unlink()
        index = {}
        for number in (0, 1):
            file = f"model-{number}.safetensors"
            part = {name: arrays[name] for name in sorted(arrays)[number::2]}
            tensor_files.write_arrays(str(source / file), part)
            index |= dict.fromkeys(part, file)
        path = source / "model.safetensors.index.json"
        path.write_text(json.dumps({"metadata": {}, "weight_map": index}))
        divided = import_marian(str(source), str(tmp_path / "divided"))
        expected = whole.checkpoints.load()
        for name, array in divided.checkpoints.load().items():
            np.testing.assert_array_equal(array, expected[name])
        faulty = {
            "no file of arrays beside it": {**index, "x": "../x.safetensors"},
            "does not agree with its files about 'x'": {
                **index,
                "x": "model-0.safetensors",
            },
            "gone.safetensors, which does not exist": {
                **index,
                "x": "gone.safetensors",
            },
        }
        for words, changed in faulty.items():
            path.write_text(json.dumps({"weight_map": changed}))
            with pytest.raises(UserError, match=words):
                import_marian(str(source), str(tmp_path / "faulty"))

    def test_a_pickle_is_refused_with_the_line_that_converts_it(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        weights = source / "model.safetensors"
        weights.rename(source / "pytorch_model.bin")
        with pytest.raises(UserError, match="can run code.*save_pretrained"):
            import_marian(str(source), str(tmp_path / "run"))

    def test_other_files_are_not_replaced(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        with pytest.raises(UserError, match="new or empty"):
            import_marian(str(source), str(source))

    def test_it_cannot_be_resumed(self, tmp_path):
        source = tmp_path / "marian"
        write_tiny_marian(source)
        run = import_marian(str(source), str(tmp_path / "run"))
        with pytest.raises(UserError, match="--warm_start_from="):
            run.check_same({}, run.hparams)
