"""Holds the table of Tensor2Tensor's names to the registry."""

import names

from keras_transformer import registry


def test_the_table_of_the_page_is_that_of_the_registry():
    page = names.PAGE.read_text(encoding="utf-8")
    assert page == names.make_page(page), "Run python docs/site/names.py."


def test_the_table_follows_the_registry(monkeypatch):
    page = names.PAGE.read_text(encoding="utf-8")
    monkeypatch.delitem(registry.problems._entries, "translate_entn_rma")
    registry.problems.names()
    row = ["translate_entn_rma"], "is left out"
    rows = [*registry.TENSOR2TENSOR["problem"], row]
    monkeypatch.setitem(registry.TENSOR2TENSOR, "problem", rows)
    assert "| `translate_entn_rma` | is left out |" in names.make_page(page)


def test_braces_stand_for_all_names():
    assert names.expand("a{,_b}_{1,2}") == ["a_1", "a_2", "a_b_1", "a_b_2"]
