"""Compiled programs are kept where they can be, apart for each hardware."""

import os

from keras_transformer.bin.shared import compilation_cache


class CacheDirectoryTest:
    def test_each_version_has_a_directory_of_its_own(
        self, tmp_path, monkeypatch
    ):
        monkeypatch.setenv("HOME", str(tmp_path))
        path = compilation_cache.cache_directory()
        assert compilation_cache.cache_directory() == path
        assert os.listdir(path) == []
        monkeypatch.setattr(compilation_cache, "_version", lambda name: "9")
        assert compilation_cache.cache_directory() != path
        assert len(os.listdir(os.path.dirname(path))) == 2

    def test_there_is_none_where_no_file_can_be_written(
        self, tmp_path, monkeypatch
    ):
        (tmp_path / ".cache").write_text("no directory")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert compilation_cache.cache_directory() is None
