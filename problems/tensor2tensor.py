"""Tensor2Tensor's problems of translation and parsing, by their own names."""

from keras_transformer.errors import UserError
from keras_transformer.problems.parsing import ParsingWsj
from keras_transformer.problems.parsing import ParsingWsjTagged
from keras_transformer.problems.translate_wmt import TranslateWmt
from keras_transformer.registry import register_variant

_V7 = "Europarl v7, Common Crawl"
# A row has a name, the language of the targets, the vocabularies of the
# problems, which end their names, and a data set of tensorflow_datasets, or
# else the corpora of train and of dev. Its enro has Europarl v8, and
# Tensor2Tensor v7, which lacks the last four.
TABLE = f"""
ende_wmt  de  32k 8k 32k_packed 8k_packed  wmt_t2t_translate/de-en
enfr_wmt  fr  32k 8k 32k_packed  wmt14_translate/fr-en
enfr_wmt_small  fr  32k 8k  OpenNMT's baseline-1M
encs_wmt  cs  32k  {_V7}, News Commentary v13, CzEng 1.0; newstest2013
enes_wmt  es  32k 8k 32k_packed 8k_packed  {_V7}, UN, Paracrawl 1; newstest2013
enet_wmt  et  32k  wmt18_translate/et-en
enro_wmt  ro  32k 8k  wmt16_translate/ro-en
enzh_wmt  zh  32k  News Commentary v13, CWMT, UN; newsdev2017
enzh_wmt8k  zh  -  News Commentary v13; newsdev2017
envi_iwslt  vi  32k  IWSLT 2015; tst2012
enid_iwslt  id  32k  IWSLT 2017, PANL-BPPT; tst2017plus
enmk_setimes  mk  32k  SETIMES; MTE 1984
entn_rma  tn  -  Autshumato
enfi_wmt  fi  32k  wmt18_translate/fi-en
enru_wmt  ru  32k  wmt18_translate/ru-en
entr_wmt  tr  32k  wmt18_translate/tr-en
enlv_wmt  lv  32k  wmt17_translate/lv-en
"""
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
        # The data are those of the problem that is not packed.
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
            f"translate_{name}{size}",
            TranslateCorpora,
            f"English to {language}, {vocab_size:,} subwords: {corpora}.",
            vocab_size=vocab_size,
            # Chinese shares hardly any subword with English.
            shared_vocabulary=language != "zh",
            files_name=f"translate_{name}",
            targets_language=language,
            tfds_name=corpora if is_download else None,
            num_pairs=_NUM_PAIRS.get(corpora, {}),
            splits=("train", "dev", "test")[: 2 + is_download],
        )


for _row in TABLE.strip().splitlines():
    _register(*_row.split("  "))
for _name, _base, _size in (
    ("parsing_english_ptb8k", ParsingWsj, 2**13),
    ("parsing_english_ptb16k", ParsingWsj, 2**14),
    ("wsj_parsing", ParsingWsjTagged, 2**15),
):
    _summary = f"As {_base.name}, with {_size:,} subwords."
    register_variant(_name, _base, _summary, vocab_size=_size)
