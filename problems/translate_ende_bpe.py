"""Translation from English into German with the very tokens of the paper."""

import os

from keras_transformer.data import text_files
from keras_transformer.data.bpe_symbols import joined
from keras_transformer.data.bpe_symbols import read_symbols
from keras_transformer.errors import UserError
from keras_transformer.problems.wmt import TranslateWmt
from keras_transformer.registry import register_problem


@register_problem
class TranslateEndeWmtBpe32k(TranslateWmt):
    """English to German, the paper's own files: 4.5 million pairs, BPE symbols.

    The authors published their text with Moses tokenisation and a byte-pair
    encoding as `wmt16_en_de.tar.gz`, whose original address is gone. The model
    sees exactly these tokens. About 37,000 symbols of `vocab.bpe.32000` make up
    the vocabulary, in the order of the file.

    Inputs are text of the same form, such as `Res@@ um@@ ption of the session`.
    Outputs and references are tokens whose `@@ ` is undone. The paper reports
    BLEU 27.3 for base and 28.4 for big on such tokens, with compounds split.

    Files for `--tmp_dir`, each plain or with `.gz`, and their numbers of lines:

        train.tok.clean.bpe.32000.en, train.tok.clean.bpe.32000.de: equal
        newstest2013.tok.bpe.32000.en, newstest2013.tok.bpe.32000.de: 3,000
        newstest2014.tok.bpe.32000.en, newstest2014.tok.bpe.32000.de: 3,003
        vocab.bpe.32000, plain only
    """

    vocab_size = None
    is_tokenized = True
    num_pairs = {"dev": 3000, "test": 3003}

    def text_pairs(self, split, tmp_dir):
        return text_files.read_pairs(*self._paths(split, tmp_dir), exact=True)

    def text_split(self, split):
        sources, references = super().text_split(split)
        return sources, [joined(reference) for reference in references]

    def bpe_symbols(self, tmp_dir):
        return read_symbols(self._vocabulary_path(tmp_dir))

    def _download(self, tmp_dir):
        raise UserError(
            "The corpus must be placed by hand, since its authors no longer "
            f"offer it. Received: tmp_dir={tmp_dir} without its files. "
            f"{self._way_out(tmp_dir)}"
        )

    def _all_paths(self, tmp_dir):
        return [*super()._all_paths(tmp_dir), self._vocabulary_path(tmp_dir)]

    def _vocabulary_path(self, tmp_dir):
        return os.path.join(tmp_dir, "vocab.bpe.32000")

    def _stem(self, split):
        return {
            "train": "train.tok.clean.bpe.32000",
            "dev": "newstest2013.tok.bpe.32000",
            "test": "newstest2014.tok.bpe.32000",
        }[split]

    def _way_out(self, tmp_dir):
        return (
            f"{super()._way_out(tmp_dir)} Also place vocab.bpe.32000. The "
            "archive wmt16_en_de.tar.gz holds all of them."
        )
