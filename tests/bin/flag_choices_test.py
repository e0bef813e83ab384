"""Tests that choices which flags repeat are those of the library.

The commands repeat them so that `--help` imports no slow module.
"""

from keras_transformer.bin import datagen
from keras_transformer.bin import evaluate
from keras_transformer.bin import exporter
from keras_transformer.bin import trainer
from keras_transformer.data.generation.distributed_encoding import RUNNERS
from keras_transformer.formats.ctranslate2 import shortlist
from keras_transformer.formats.ctranslate2 import writer as ctranslate2
from keras_transformer.scoring.measures import MEASURES


def choices(command, name):
    return tuple(command.FLAGS[name].parser.enum_values)


class FlagChoicesTest:
    def test_exporter_offers_what_the_exporters_take(self):
        quantizations = choices(exporter, "quantization")
        assert quantizations == ctranslate2.QUANTIZATIONS

    def test_shortlists_have_the_default_size_of_the_library(self):
        default = exporter.FLAGS["shortlist_size"].default
        assert default == shortlist.NUM_RELATED

    def test_datagen_offers_the_runners_and_the_local_encoder(self):
        assert set(choices(datagen, "runner")) == {"local", *RUNNERS}

    def test_trainer_and_evaluate_have_the_same_measures(self):
        assert choices(trainer, "measure") == (*MEASURES, "loss")
        assert choices(evaluate, "measure") == MEASURES
