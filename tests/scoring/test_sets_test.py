import pathlib

import pytest
from sacrebleu import utils
from sacrebleu.dataset import DATASETS
from sacrebleu_cache import REFERENCES
from sacrebleu_cache import SOURCES
from sacrebleu_cache import TEST_SET
from sacrebleu_cache import make_cache

from keras_transformer.decoding.test_sets import read_test_set


@pytest.fixture
def cache(tmp_path, monkeypatch):
    make_cache(tmp_path, monkeypatch)
    return tmp_path


class ReadTestSetTest:
    def test_text_in_the_cache_is_read_and_unescaped_without_a_network(
        self, cache
    ):
        texts = read_test_set(TEST_SET, "en-de")
        assert texts == [SOURCES, REFERENCES]

    def test_several_references_are_read(self, cache, monkeypatch):
        paths = [str(cache / name) for name in ("src", "a", "b")]
        for path, text in zip(paths, ("s", "r &amp; x", "t")):
            pathlib.Path(path).write_text(f"{text}\n")
        module = "keras_transformer.decoding.test_sets._locate_files"
        monkeypatch.setattr(module, lambda *_: ["none"])
        monkeypatch.setattr(utils, "get_source_file", lambda *_: paths[0])
        monkeypatch.setattr(utils, "get_reference_files", lambda *_: paths[1:])
        texts = read_test_set(TEST_SET, "en-de")
        assert texts == [["s"], ["r & x"], ["t"]]

    def test_the_text_is_where_sacrebleu_puts_it(self, cache):
        dataset = DATASETS[TEST_SET]
        for field in dataset.fieldnames("en-de"):
            path = dataset._get_txt_file_path("en-de", field)
            pathlib.Path(path).touch()
        source = dataset.get_source_file("en-de")
        assert pathlib.Path(source).read_text().splitlines() == SOURCES

    def test_no_network_is_one_line_that_names_both_files(self, cache):
        with pytest.raises(ValueError, match="no network") as error:
            read_test_set(TEST_SET, "en-fr")
        for ending in ("src", "ref"):
            path = f"{cache}/wmt14/full/wmt14_full.en-fr.{ending}"
            assert path in str(error.value)
        assert "\n" not in str(error.value)

    def test_empty_files_are_one_line(self, cache):
        for ending in ("src", "ref"):
            path = cache / f"wmt14/full/wmt14_full.en-de.{ending}"
            path.write_text("")
        with pytest.raises(ValueError, match="en-de.src, which is empty"):
            read_test_set(TEST_SET, "en-de")

    def test_a_wrong_download_is_one_line(self, cache, monkeypatch):
        monkeypatch.setattr(utils, "get_source_file", lambda *_: exit(1))
        with pytest.raises(ValueError, match="Cannot download.*Put its text"):
            read_test_set(TEST_SET, "en-fr")

    def test_an_unknown_set_names_similar_ones(self):
        with pytest.raises(ValueError, match="wmt14/full"):
            read_test_set("wmt14_full", "en-de")

    def test_languages_that_the_set_lacks_are_refused(self):
        with pytest.raises(ValueError, match="en-de.*Choose another"):
            read_test_set(TEST_SET, "en-ja")
