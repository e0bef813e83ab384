"""Compiled programs are kept where they can be, apart for each hardware."""

import importlib.metadata
import os

from keras_transformer.bin.shared import backend


class CacheDirectoryTest:
    def test_each_version_has_its_own_directory(self, tmp_path, monkeypatch):
        monkeypatch.setenv("HOME", str(tmp_path))
        path = backend.find_cache_directory()
        assert backend.find_cache_directory() == path
        assert os.listdir(path) == []
        monkeypatch.setattr(importlib.metadata, "version", lambda name: "9")
        assert backend.find_cache_directory() != path
        assert len(os.listdir(os.path.dirname(path))) == 2

    def test_there_is_none_where_no_file_can_be_written(
        self, tmp_path, monkeypatch
    ):
        (tmp_path / ".cache").write_text("no directory")
        monkeypatch.setenv("HOME", str(tmp_path))
        assert backend.find_cache_directory() is None
