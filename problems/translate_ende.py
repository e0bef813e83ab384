"""Translation from English into German with the corpora of WMT."""

from keras_transformer.problems.wmt import TranslateWmt
from keras_transformer.registry import register_problem


@register_problem
class TranslateEndeWmt14(TranslateWmt):
    """English to German, WMT 2014: 4.5 million pairs, 37,000 subwords.

    This is the task of Vaswani et al. (2017) with the corpora of WMT 2014:
    Europarl v7, Common Crawl and News Commentary v9 for training, newstest2013
    for dev and newstest2014 for test. The paper reports BLEU 27.3 for base and
    28.4 for big, on tokens with compounds split. `translate_ende_wmt_bpe32k`
    reads the paper's own files.

    Files for `--tmp_dir` if they are not downloaded, each plain or with `.gz`,
    and their numbers of lines:

        translate_ende_wmt14.train.en  translate_ende_wmt14.train.de  4,508,785
        translate_ende_wmt14.dev.en    translate_ende_wmt14.dev.de        3,000
        translate_ende_wmt14.test.en   translate_ende_wmt14.test.de       3,003
    """

    vocab_size = 37000
    tfds_name = "wmt14_translate/de-en"
    num_pairs = {"train": 4_508_785, "dev": 3000, "test": 3003}


@register_problem
class TranslateEndeWmtT2t(TranslateWmt):
    """English to German, Tensor2Tensor's corpora: 4.6 million pairs.

    The corpora are those of Tensor2Tensor's translate_ende_wmt32k: Europarl v7,
    Common Crawl and News Commentary v13 for training, newstest2013 for dev.
    That problem has 32,768 subwords and no test split; this one has the paper's
    37,000 and newstest2014.

    Files for `--tmp_dir` if they are not downloaded, each plain or with `.gz`,
    and their numbers of lines:

        translate_ende_wmt_t2t.train.en, translate_ende_wmt_t2t.train.de:
            4,592,289
        translate_ende_wmt_t2t.dev.en, translate_ende_wmt_t2t.dev.de: 3,000
        translate_ende_wmt_t2t.test.en, translate_ende_wmt_t2t.test.de: 3,003
    """

    vocab_size = 37000
    tfds_name = "wmt_t2t_translate/de-en"
    num_pairs = {"train": 4_592_289, "dev": 3000, "test": 3003}
