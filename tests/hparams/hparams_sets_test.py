import dataclasses

import pytest

from keras_transformer import registry
from keras_transformer.hparam import HParams
from keras_transformer.hparams import table3
from keras_transformer.layers.projection import INITIALIZERS


def changes(name, base="transformer_base"):
    """Returns the fields in which one set differs from another."""
    ours = dataclasses.asdict(registry.get_hparams(name))
    theirs = dataclasses.asdict(registry.get_hparams(base))
    return {key: ours[key] for key in ours if ours[key] != theirs[key]}


def peak_learning_rate(hparams):
    return hparams.learning_rate * (hparams.d_model * hparams.warmup_steps) ** (
        -0.5
    )


class HParamsSetsTest:
    @pytest.mark.parametrize("name", registry.hparams_sets.names())
    def test_every_set_is_valid_and_says_what_it_is(self, name):
        assert registry.get_hparams(name) == registry.get_hparams(name)
        assert registry.hparams_sets.get(name).__doc__.strip()

    @pytest.mark.parametrize("name", registry.hparams_sets.names())
    def test_every_set_says_how_weights_start(self, name, monkeypatch):
        expected = registry.get_hparams(name).initializer
        for default in INITIALIZERS:
            defaults = dataclasses.asdict(HParams(initializer=default))
            monkeypatch.setattr(
                HParams.__init__, "__defaults__", tuple(defaults.values())
            )
            assert HParams().initializer == default
            assert registry.get_hparams(name).initializer == expected

    def test_base_is_the_paper(self):
        base = registry.get_hparams("transformer_base")
        assert (base.num_layers, base.d_model, base.d_ff) == (6, 512, 2048)
        assert (base.num_heads, base.d_k, base.d_v) == (8, 0, 0)
        assert (base.norm, base.positional_encoding) == ("post", "sinusoidal")
        assert base.dropout == base.label_smoothing == 0.1
        assert base.attention_dropout == base.activation_dropout == 0
        assert base.initializer == "tensor2tensor"
        assert base.effective_batch_tokens == 25000
        assert base.train_steps == 100000
        assert peak_learning_rate(base) == pytest.approx(6.99e-4, rel=1e-3)

    def test_big_is_the_papers_last_row(self):
        assert changes("transformer_big") == {
            "d_model": 1024,
            "d_ff": 4096,
            "num_heads": 16,
            "dropout": 0.3,
            "train_steps": 300000,
        }

    def test_big_enfr_only_lowers_dropout(self):
        assert changes("transformer_big_enfr", "transformer_big") == {
            "dropout": 0.1
        }

    def test_deep_shallow_changes_the_depths_alone(self):
        assert changes("transformer_deep_shallow") == {
            "num_layers": 12,
            "num_decoder_layers": 1,
        }
        tiny = changes("transformer_deep_shallow_tiny", "transformer_tiny")
        assert tiny == {"num_layers": 6, "num_decoder_layers": 1}

    def test_low_resource_has_the_dimensions_of_small(self):
        assert changes("transformer_low_resource", "transformer_small") == {
            "dropout": 0.3,
            "batch_tokens": 2048,
            "train_steps": 10000,
            "alpha": 1.4,
        }

    def test_prenorm_peaks_where_tensor2tensor_does(self):
        name = "transformer_prenorm_base"
        prenorm = registry.get_hparams(name)
        of_base = {"positional_encoding", "initializer", "extra_length"}
        of_base |= {"effective_batch_tokens", "train_steps"}
        assert set(changes(name, "transformer_base_v3")) == of_base
        assert not of_base & set(changes(name))
        assert peak_learning_rate(prenorm) == pytest.approx(9.88e-4, rel=1e-3)

    def test_parsing_is_the_papers_section_6_3(self):
        assert changes("transformer_parsing") == {
            "num_layers": 4,
            "d_model": 1024,
            "dropout": 0.2,
            "attention_dropout": 0.2,
            "max_length": 512,
            "learning_rate": 0.5,
            "warmup_steps": 16000,
            "beam_size": 21,
            "alpha": 0.3,
            "extra_length": 300,
        }
        parsing = registry.get_hparams("transformer_parsing")
        assert peak_learning_rate(parsing) == pytest.approx(1.24e-4, rel=1e-2)

    def test_both_parsing_sets_decode_alike(self):
        names = ("beam_size", "alpha", "extra_length")
        values = [
            [getattr(registry.get_hparams(set_), name) for name in names]
            for set_ in ("transformer_parsing", "transformer_parsing_small")
        ]
        assert values[0] == values[1]

    def test_tiny_has_the_published_dimensions(self):
        tiny = registry.get_hparams("transformer_tiny")
        assert (tiny.num_layers, tiny.d_model, tiny.d_ff) == (4, 128, 256)
        assert (tiny.num_heads, tiny.dropout) == (4, 0.3)
        assert peak_learning_rate(tiny) == pytest.approx(0.0028, rel=1e-2)
        # The fast one is the same model.
        schedule = {"decay_steps", "train_steps", "warmup_steps"}
        schedule.add("peak_learning_rate")
        fast = changes("transformer_tiny_fast", "transformer_tiny")
        assert set(fast) == schedule | {"dropout"}


class Table3Test:
    @pytest.mark.parametrize("name", [n for n in table3.ROWS if n[1] == "_"])
    def test_row_changes_one_thing(self, name):
        assert changes(table3.hparams_set(name)) == table3.ROWS[name].changes
        assert len(table3.ROWS[name].changes) == 1

    def test_rows_are_those_of_the_paper(self):
        rows = {name: row.changes for name, row in table3.ROWS.items()}
        assert [rows[f"a_h{h}"]["num_heads"] for h in (1, 4, 16, 32)] == [
            1,
            4,
            16,
            32,
        ]
        assert rows["b_dk16"] == {"d_k": 16}
        assert rows["e_learned"] == {"positional_encoding": "learned"}
        assert len(rows) == 20

    def test_base_and_big_are_the_sets_of_the_papers_models(self):
        assert table3.hparams_set("base") == "transformer_base"
        assert table3.hparams_set("big") == "transformer_big"

    def test_description_holds_the_papers_figures(self):
        row = registry.hparams_sets.get("transformer_table3_c_n2")
        figures = "num_layers=2: perplexity 6.11, BLEU 23.7, 36M"
        assert figures in row.__doc__
