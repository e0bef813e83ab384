import numpy as np
import pytest

from keras_transformer.serving.batcher import Batcher
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import Options
from keras_transformer.serving.service import Service
from keras_transformer.serving.signature import Signature
from keras_transformer.serving.signature import Tensor

TEXT = Tensor(np.dtype(object), (None,))


class Lengths:
    """A model that returns the lengths of texts and records its batches."""

    signature = Signature({"text": TEXT}, {"lengths": TEXT})
    signatures = {"lengths": signature, "serving_default": signature}
    features = {"alignments", "glossary"}

    def __init__(self, max_tokens):
        self.max_tokens = max_tokens
        self.batches = []

    def call(self, name, arrays, options):
        self.batches.append([len(text) for text in arrays["text"]])
        return {"lengths": np.array(self.batches[-1])}


@pytest.fixture
def service():
    batcher = Batcher(max_batch_size=4, timeout_seconds=0)
    yield Service({}, batcher)
    batcher.close()


def texts(*lengths):
    return {"text": np.array([b"x" * n for n in lengths], object)}


class PredictTest:
    def test_long_sentences_do_not_fill_a_batch(self, service):
        # A batch of 100 bytes in each sentence would take four times the
        # attention that the longest sentence takes.
        for max_tokens, batches in ((100, 4), (200, 1), (None, 1)):
            model = Lengths(max_tokens)
            arrays = texts(100, 100, 100, 100)
            results = service.submit(model, "lengths", arrays).wait()
            assert results["lengths"].tolist() == [100] * 4
            assert len(model.batches) == batches

    def test_requests_with_other_options_are_another_batch(self, service):
        model = Lengths(100)
        wanted = [Options(), Options(alignments=True), Options(quality=False)]
        wanted += [Options(glossary=(("a", "b"),)), Options()]
        blocker = service.submit(model, "serving_default", texts(9, 9, 9, 9))
        calls = [
            service.submit(model, "serving_default", texts(number + 1), one)
            for number, one in enumerate(wanted)
        ]
        for call in [blocker, *calls]:
            call.wait()
        assert sorted(map(sorted, model.batches)) == [
            [1, 3, 5],
            [2],
            [4],
            [9, 9, 9, 9],
        ]

    @pytest.mark.parametrize("name", ["serving_default", "lengths"])
    def test_what_a_model_cannot_do_is_refused_by_name(self, service, name):
        options = Options(quality=True, alignments=name == "lengths")
        words = "quality.*kt-evaluate --calibrate"
        if options.alignments:
            words = "alignments.*CTranslate2.*serving_default"
        with pytest.raises(InvalidRequest, match=words):
            service.submit(Lengths(9), name, texts(1), options)

    def test_a_sentence_that_is_too_long_never_reaches_the_model(self, service):
        model = Lengths(10)
        with pytest.raises(RequestError, match="at most 640 bytes"):
            service.submit(model, "lengths", texts(1, 641))
        assert model.batches == []
