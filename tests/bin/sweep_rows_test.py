import dataclasses
import os

import pytest

from keras_transformer import hparam
from keras_transformer import registry
from keras_transformer.bin.kt_sweep.rows import Row
from keras_transformer.bin.kt_sweep.rows import make_rows
from keras_transformer.bin.kt_sweep.rows import make_table3
from keras_transformer.bin.kt_sweep.rows import make_table4
from keras_transformer.bin.kt_sweep.rows import scale_down
from keras_transformer.problem import Problem

COPY = registry.get_problem("copy", "data")


def rows_of(models, scale="none", overrides="", steps=None, seeds=(0,)):
    return make_rows(models, "sweep", scale, overrides, steps, seeds)


def tiny(name, **changes):
    return Row(name, COPY, "transformer_tiny", changes)


class ScaleTest:
    def test_tiny_keeps_the_ratios_of_all_widths_of_table_3(self):
        rows = rows_of(make_table3(COPY), "tiny")
        base = rows[0].hparams
        assert (base.d_model, base.d_ff, base.num_heads) == (128, 512, 8)
        assert base.effective_batch_tokens == 625
        assert base.learning_rate == 0.5
        for row in rows:
            full = registry.get_hparams(row.hparams_set)
            for name in ("d_model", "d_ff", "d_k", "d_v", "warmup_steps"):
                ours, papers = (getattr(h, name) for h in (row.hparams, full))
                assert 4 * ours == papers
            assert row.hparams.num_heads == full.num_heads
            assert row.hparams.num_layers == full.num_layers

    def test_a_width_that_is_not_divisible_is_refused(self):
        hparams = hparam.HParams(d_ff=1022)
        with pytest.raises(ValueError, match="d_ff=1022"):
            scale_down(hparams)


class RowsTest:
    def test_table_3_has_the_papers_20_rows_with_its_figures(self):
        rows = rows_of(make_table3(COPY))
        assert len(rows) == 20
        big = rows[-1]
        assert big.hparams == registry.get_hparams("transformer_big")
        assert big.paper["BLEU"] == 26.4
        assert big.paper["10⁶ parameters"] == 213

    def test_table_4_leaves_out_what_has_no_data(self, monkeypatch):
        monkeypatch.setattr(Problem, "measure", "f1")
        alone = make_table4(COPY, None, "transformer_parsing")
        both = make_table4(COPY, "data", "transformer_parsing")
        assert [row.name for row in alone] == ["treebank_only"]
        assert [row.paper["F1"] for row in both] == [91.3, 92.7]

    def test_its_changes_make_the_hyper_parameters_of_the_row(self):
        changes = {"dropout": 0.25, "norm": "pre", "packed": True}
        (row,) = rows_of(
            [Row("some", COPY, "transformer_small", changes)],
            "tiny",
            "d_k=7,learning_rate=1e-5",
            steps=9,
        )
        of_set = registry.get_hparams("transformer_small")
        assert dataclasses.replace(of_set, **row.changes) == row.hparams
        assert row.changes.keys() > changes.keys()
        assert row.hparams.d_k == 7
        assert row.hparams.train_steps == 9

    def test_a_row_has_updates_or_minutes(self):
        with pytest.raises(ValueError, match="steps=9, train_minutes=1"):
            rows_of([tiny("tiny")], overrides="train_minutes=1", steps=9)

    def test_a_seed_has_a_directory_of_its_own(self):
        rows = rows_of([tiny("tiny")], seeds=(3, 4))
        assert [row.seed for row in rows] == [3, 4]
        paths = [os.path.join("sweep", name) for name in ("tiny", "tiny_seed4")]
        assert [row.path for row in rows] == paths

    def test_a_slash_does_not_nest_a_directory(self):
        (row,) = rows_of([tiny("text=a/b")])
        assert row.name == "text=a/b"
        assert row.path == os.path.join("sweep", "text=a_b")
        with pytest.raises(ValueError, match="two rows .* text=a_b"):
            rows_of([tiny("text=a/b"), tiny("text=a_b", dropout=0.2)])

    def test_a_name_that_no_directory_may_have_is_refused(self):
        with pytest.raises(ValueError, match="at most 255 .*with --hparams"):
            rows_of([tiny(249 * "x")], seeds=(0, 12))
        with pytest.raises(ValueError, match="300 bytes, in 集"):
            rows_of([tiny(100 * "集")])

    def test_two_rows_in_one_directory_are_refused(self):
        models = [tiny("tiny"), tiny("tiny_seed1", dropout=0.2)]
        assert len(rows_of(models)) == 2
        with pytest.raises(ValueError, match="two rows .* tiny_seed1"):
            rows_of(models, seeds=(0, 1))

    def test_two_equal_rows_are_refused(self):
        with pytest.raises(ValueError, match="base and d_dropout0"):
            rows_of(make_table3(COPY), overrides="dropout=0.2")
        with pytest.raises(ValueError, match="Name each row once"):
            rows_of([tiny("one", dropout=0.2), tiny("two", dropout=0.20)])

    def test_the_changes_of_a_model_come_last(self):
        (row,) = rows_of([tiny("tiny", dropout=0.0)], overrides="dropout=0.5")
        assert row.hparams.dropout == 0.0
        assert dataclasses.replace(
            row.hparams, dropout=0.3
        ) == registry.get_hparams("transformer_tiny")
