"""A CTranslate2 model has a copy on each GPU.

No test has a GPU, so one device with two batches at a time takes the place of
two devices with one each. Two copies on one processor (`device_index=[0, 0]`)
would be closer, but CTranslate2 4.8.5 crashes with them on processors with AMX.
"""

import pathlib

import pytest

from keras_transformer.decoding.served_model import CTranslate2Model
from keras_transformer.decoding.translator import Translator
from keras_transformer.formats.ctranslate2 import engine as ctranslate2_engine
from keras_transformer.formats.ctranslate2.engine import CTranslate2Engine

pytest.importorskip("ctranslate2")

EXPORTED = pathlib.Path(__file__).parents[1] / "fixtures/v0.1/ctranslate2"
COUNT = "ctranslate2.get_cuda_device_count"
LETTERS = ["a b c", "", "b", "c c a a b", "d a"] * 20


class DevicesTest:
    @pytest.mark.parametrize("device", ["auto", "cuda"])
    def test_every_gpu_translates_one_batch_at_a_time(
        self, device, monkeypatch
    ):
        monkeypatch.setattr(COUNT, lambda: 3)
        placement = ctranslate2_engine._placement(device)
        assert placement == {"device_index": [0, 1, 2], "inter_threads": 1}

    def test_a_processor_is_no_gpu(self, monkeypatch):
        monkeypatch.setattr(COUNT, lambda: 3)
        assert "device_index" not in ctranslate2_engine._placement("cpu")

    def test_two_batches_at_a_time_find_what_one_finds(self, monkeypatch):
        one = Translator(CTranslate2Engine(str(EXPORTED), device="cpu"))
        expected = one(LETTERS, return_scores=True)
        monkeypatch.setattr(
            ctranslate2_engine,
            "_placement",
            lambda device: {
                "device_index": [0],
                "inter_threads": 2,
                "intra_threads": 1,
            },
        )
        two = Translator(CTranslate2Engine(str(EXPORTED), device="cpu"))
        assert two.engine.num_threads == 2
        translations, scores = two(LETTERS, return_scores=True)
        assert translations == expected[0]
        assert scores == pytest.approx(expected[1], abs=1e-4)
        assert CTranslate2Model(str(EXPORTED)).num_parallel == 2
