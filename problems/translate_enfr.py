"""Translation from English into French with the corpora of WMT 2014."""

from keras_transformer.problems.wmt import TranslateWmt
from keras_transformer.registry import register_problem


@register_problem
class TranslateEnfrWmt14(TranslateWmt):
    """English to French, WMT 2014: 41 million pairs, 32,000 subwords.

    The corpora are Europarl v7, Common Crawl, UN, News Commentary v9 and Giga
    French-English for training, newstest2013 for dev and newstest2014 for test.
    Vaswani et al. (2017) trained on 36 million of these pairs and report BLEU
    38.1 for base and 41.8 for big, on tokens.

    Files for `--tmp_dir` if they are not downloaded, each plain or with `.gz`,
    and their numbers of lines. The number for train depends on the cleaning
    (about 40.8 million in tensorflow_datasets), so the two files of train are
    checked for equal length only:

        translate_enfr_wmt14.train.en  translate_enfr_wmt14.train.fr
        translate_enfr_wmt14.dev.en    translate_enfr_wmt14.dev.fr        3,000
        translate_enfr_wmt14.test.en   translate_enfr_wmt14.test.fr       3,003
    """

    vocab_size = 32000
    targets_language = "fr"
    tfds_name = "wmt14_translate/fr-en"
    num_pairs = {"dev": 3000, "test": 3003}
