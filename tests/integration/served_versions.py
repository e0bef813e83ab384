"""Versions of models that tell by their translations which one they are."""

import os
import pathlib
import shutil

import pytest
import toy_saved_model as toy

from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine
from keras_transformer.formats.ctranslate2.writer import export_ctranslate2
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

RUN = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/run"


class ToyVersions:
    """SavedModels, each of which names its version in its translations."""

    texts = [f"Sentence {i} of {'a few ' * (i % 7)}words" for i in range(50)]
    fault_of_broken = "saved_model.pb"

    def __init__(self, directory):
        self.export_dir = str(directory / "export")
        os.mkdir(self.export_dir)

    def write(self, version):
        toy.write_version(self.export_dir, version)

    def write_broken(self, version):
        os.mkdir(os.path.join(self.export_dir, str(version)))

    def version_of(self, text, best):
        """Returns the version that gives a translation, or None."""
        version = best.split(":")[0]
        return version if best == toy.best(text, version) else None


class CTranslate2Versions(ToyVersions):
    """CTranslate2 models, each of which writes longer translations."""

    texts = [" ".join("abcdefgh"[i % 8 :][: 1 + i % 4]) for i in range(20)]
    fault_of_broken = "Export the run again"

    def __init__(self, directory):
        pytest.importorskip("ctranslate2")
        super().__init__(directory)
        self.aside = str(directory / "aside")
        self.expected = {}

    def write(self, version):
        path = export_ctranslate2(
            RunDirectory(str(RUN)),
            f"{self.aside}{version}",
            DecodeOptions(beam_size=1, min_length=8 * version),
        )
        translator = Translator(CTranslate2Engine(path))
        translations = translator(self.texts, repair=True)
        for text, translation in zip(self.texts, translations):
            self.expected[text, translation] = str(version)
        os.rename(path, os.path.join(self.export_dir, str(version)))

    def write_broken(self, version):
        good = os.path.join(self.export_dir, str(version - 1))
        path = shutil.copytree(good, f"{self.aside}{version}")
        os.truncate(os.path.join(path, "model.bin"), 5000)
        os.rename(path, os.path.join(self.export_dir, str(version)))

    def version_of(self, text, best):
        return self.expected.get((text, best))
