"""A backend is imported once; compiled programs are kept by hardware."""

import gc
import importlib.metadata
import os
import types
import weakref

from keras_transformer.bin.shared import backend


class LoadBackendTest:
    def test_garbage_is_not_kept_if_nothing_is_imported(self, monkeypatch):
        for name in ("JAX_COMPILATION_CACHE_DIR", "TF_XLA_FLAGS"):
            monkeypatch.setenv(name, "")
        garbage = types.ModuleType("garbage")
        garbage.itself = garbage
        reference = weakref.ref(garbage)
        del garbage
        backend.load_backend("json")  # stands for a backend that is there
        gc.collect()
        assert reference() is None


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
