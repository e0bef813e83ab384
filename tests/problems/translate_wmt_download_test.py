import pytest
import tensorflow_datasets as tfds
from translation_dataset import TranslationDataset

from keras_transformer.problems import translate_wmt

PAIRS = {
    "train": [(f"Sentence {n}.", f"Sätzchen {n}.") for n in range(1500)],
    "validation": [("One\u2028line.", "Eine\u2028Zeile.")],
    "test": [("The end.", "Das Ende."), ("Really.", "Wirklich.")],
}


class TinyTranslate(TranslationDataset, tfds.core.GeneratorBasedBuilder):
    pairs = PAIRS


class UnreachableTranslate(TinyTranslate):
    """The same dataset with servers that cannot be reached."""

    def _split_generators(self, dl_manager):
        raise ConnectionError("Failed to resolve\n'www.example.org'")


@pytest.fixture(scope="module")
def tmp_dir(tmp_path_factory):
    return str(tmp_path_factory.mktemp("tfds"))


@pytest.fixture(scope="module")
def builder(tmp_dir):
    return translate_wmt.prepare_tfds("tiny_translate/de-en", tmp_dir, "")


class TfdsTest:
    def test_every_pair_comes_with_its_sides_in_order(self, builder):
        pairs = list(translate_wmt.tfds_pairs(builder, "train", "en", "de"))
        assert sorted(pairs) == sorted(PAIRS["train"])

    def test_order_is_the_same_each_time(self, builder):
        first = list(translate_wmt.tfds_pairs(builder, "train", "de", "en"))
        assert first == list(
            translate_wmt.tfds_pairs(builder, "train", "de", "en")
        )
        assert first[0][0].startswith("Sätzchen")

    def test_dev_is_their_validation(self, builder):
        pairs = list(translate_wmt.tfds_pairs(builder, "dev", "en", "de"))
        assert pairs == PAIRS["validation"]

    def test_counts_are_those_of_the_splits(self, builder):
        counts = [
            translate_wmt.tfds_count(builder, split)
            for split in ("train", "dev", "test")
        ]
        assert counts == [1500, 1, 2]

    def test_prepared_data_are_used_again(self, builder, tmp_dir):
        again = translate_wmt.prepare_tfds("tiny_translate/de-en", tmp_dir, "")
        assert translate_wmt.tfds_count(again, "test") == 2

    @pytest.mark.parametrize(
        "name, reason",
        [
            ("unreachable_translate/de-en", "ConnectionError: Failed to reso"),
            ("no_such_translate/de-en", "DatasetNotFoundError"),
        ],
    )
    def test_failure_is_one_line_with_the_way_out(self, tmp_path, name, reason):
        with pytest.raises(ValueError) as error:
            translate_wmt.prepare_tfds(name, str(tmp_path), "Place the files.")
        message = str(error.value)
        assert name in message
        assert reason in message
        assert message.endswith(". Place the files.")
        assert "\n" not in message
