"""Tensor2Tensor's problems of translation and parsing, by their own names."""

from keras_transformer.errors import UserError
from keras_transformer.problems.parsing import ParsingWsj
from keras_transformer.problems.parsing import ParsingWsjTagged
from keras_transformer.problems.translate_wmt import TranslateWmt
from keras_transformer.registry import TENSOR2TENSOR
from keras_transformer.registry import register_variant

# Problems under other names count the pairs of some of these corpora.
_NUM_PAIRS = {p.tfds_name: p.num_pairs for p in TranslateWmt.__subclasses__()}


class TranslateCorpora(TranslateWmt):
    """Translation with the corpora of Tensor2Tensor.

    All sizes of the vocabulary read the same files, such as
    `translate_ende_wmt.train.en`. There is a test set where tensorflow_datasets
    has the corpora. Only small files were tried, not the genuine ones.
    """

    files_name = ""

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        # The problem that is not packed has the same data.
        self.data_name = self.data_name.removesuffix("_packed")

    def make_guidance(self, hparams):
        if "_packed" in self.name and not hparams.packed:
            raise UserError(
                f"`packed` must be true for {self.name}. Received: packed="
                f"false. Add --hparams=packed=true, or use {self.data_name}."
            )
        return super().make_guidance(hparams)

    def _stem(self, split):
        return f"{self.files_name}.{split}"


def _register(name, language, sizes, corpora):
    for size in sizes.replace("-", "").split() or [""]:
        vocab_size = 2**13 if "8k" in name + size else 2**15
        is_download = "/" in corpora
        register_variant(
            name + size,
            TranslateCorpora,
            f"English to {language}, {vocab_size:,} subwords: {corpora}.",
            vocab_size=vocab_size,
            # Chinese shares hardly any subword with English.
            shared_vocabulary=language != "zh",
            files_name=name,
            targets_language=language,
            tfds_name=corpora if is_download else None,
            num_pairs=_NUM_PAIRS.get(corpora, {}),
            splits=("train", "dev", "test")[: 2 + is_download],
        )


for (_name,), _row in TENSOR2TENSOR["corpora"]:
    _register(_name, *_row.split("; ", 2))
for _name, _base, _size in (
    ("parsing_english_ptb8k", ParsingWsj, 2**13),
    ("parsing_english_ptb16k", ParsingWsj, 2**14),
    ("wsj_parsing", ParsingWsjTagged, 2**15),
):
    _summary = f"As {_base.name}, with {_size:,} subwords."
    register_variant(_name, _base, _summary, vocab_size=_size)
