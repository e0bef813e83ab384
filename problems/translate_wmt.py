"""Translation of English with the corpora of WMT."""

import collections
import itertools
import logging
import os
import textwrap

from keras_transformer.data.generation import generation
from keras_transformer.data.text import text_files
from keras_transformer.data.vocabulary.bpe_symbols import join_symbols
from keras_transformer.data.vocabulary.bpe_symbols import read_symbols
from keras_transformer.errors import UserError
from keras_transformer.problem import Problem
from keras_transformer.registry import register_problem

_TFDS_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_TFDS_BATCH = 1024  # examples at a time; single ones are 10 times slower

_logger = logging.getLogger(__name__)


class TranslateWmt(Problem):
    r"""Translation of news, from files or from tensorflow_datasets.

    The text is read from files in `tmp_dir` if they exist. Otherwise
    tensorflow_datasets downloads it into `tmp_dir`, provided that the servers
    still offer it. A file is named after problem, split and language, as in
    `translate_ende_wmt14.train.en`, and may end in `.gz`. Line n of one
    language translates line n of the other. The original corpora contain pairs
    with one empty side. Such pairs are dropped, and the files may have the
    expected number of lines with or without them.

    Files are read byte for byte as tensorflow_datasets reads the original ones:
    only `\n` ends a line, and a side of white space is not empty. Both ways
    therefore give the same pairs. The original text of dev and test is SGML, so
    entities such as `&quot;` are replaced by their characters there.

    Each subclass is an exact list of corpora with fixed numbers of pairs.
    """

    tfds_name: str | None = None  # data set and its configuration
    # The expected number of pairs of each split. Where it is absent, only the
    # lengths of the files are compared.
    num_pairs: dict[str, int] = {}

    def text_pairs(self, split, tmp_dir):
        if self.source_files(tmp_dir):
            pairs = self._read_files(split, tmp_dir)
        else:
            builder = self._builder(tmp_dir)
            pairs = tfds_pairs(builder, split, *self._languages())
        if split == "train":
            return pairs
        return (tuple(map(text_files.unescape, pair)) for pair in pairs)

    def is_complete(self, source, target):
        return bool(source and target)

    def source_files(self, tmp_dir):
        paths = self._all_paths(tmp_dir)
        missing = [path for path in paths if not os.path.exists(path)]
        # Half a set of files is a mistake, not a reason to download the rest.
        if missing and len(missing) < len(paths):
            raise UserError(
                f"{tmp_dir} lacks some files of {self.data_name}: "
                f"{', '.join(map(os.path.basename, missing))}. "
                f"{self._way_out(tmp_dir)}"
            )
        return [] if missing else paths

    def generate(self, tmp_dir):
        files = self.source_files(tmp_dir)
        text_files.check_rereadable(files)
        manifest = generation.read_manifest(self.directory)
        if manifest and not files:
            # The user may have deleted the files, and a download never changes.
            return manifest
        if not files:
            self._download(tmp_dir)
        # Unchanged files are not counted again: a large corpus takes long.
        elif (
            not manifest
            or text_files.fingerprints(files) != manifest["made_from"]["files"]
        ):
            for split in self.splits:
                pairs = self._read_files(split, tmp_dir)
                is_complete = itertools.starmap(self.is_complete, pairs)
                complete = collections.Counter(is_complete)
                counts = complete.total(), complete[True]
                place = " and ".join(self._paths(split, tmp_dir))
                self._check_count(split, counts, place, tmp_dir)
        return super().generate(tmp_dir)

    def _download(self, tmp_dir):
        if not self.tfds_name:
            raise UserError(
                f"The files of {self.data_name} have to be placed by hand. "
                f"{self._way_out(tmp_dir)}"
            )
        _logger.info(
            f"Looking for {self.tfds_name} of tensorflow_datasets in {tmp_dir},"
            " which downloads it if necessary. To use files instead: "
            f"{self._way_out(tmp_dir)}"
        )
        builder = self._builder(tmp_dir)
        for split in self.splits:
            counts = [tfds_count(builder, split)]
            place = f"{split} of tensorflow_datasets {self.tfds_name}"
            self._check_count(split, counts, place, tmp_dir)

    def _check_count(self, split, counts, place, tmp_dir):
        """Checks that one of some counts is the expected number of pairs."""
        expected = self.num_pairs.get(split)
        if expected is None or expected in counts:
            return
        received = " or ".join(f"{count:,}" for count in dict.fromkeys(counts))
        raise UserError(
            f"The corpus must have {expected:,} pairs. Received: {place} with "
            f"{received}. {self._way_out(tmp_dir)} Other corpora are for "
            "translate_files."
        )

    def _builder(self, tmp_dir):
        return prepare_tfds(self.tfds_name, tmp_dir, self._way_out(tmp_dir))

    def _all_paths(self, tmp_dir):
        return [p for s in self.splits for p in self._paths(s, tmp_dir)]

    def _read_files(self, split, tmp_dir):
        return text_files.read_rows(*self._paths(split, tmp_dir), exact=True)

    def _paths(self, split, tmp_dir):
        stem = os.path.join(tmp_dir, self._stem(split))
        paths = [f"{stem}.{code}" for code in self._languages()]
        return [f"{p}.gz" if os.path.exists(f"{p}.gz") else p for p in paths]

    def _stem(self, split):
        """Returns the name of the files of a split without the language."""
        return f"{self.data_name}.{split}"

    def _languages(self):
        # From the class, because a reverse problem swaps the languages of the
        # instance, while files and downloads keep their direction.
        return type(self).inputs_language, type(self).targets_language

    def _way_out(self, tmp_dir):
        codes = ",".join(self._languages())
        files = []
        for split in self.splits:
            count = self.num_pairs.get(split)
            lines = f"{count:,} lines" if count else "the same number of lines"
            files.append(f"{self._stem(split)}.{{{codes}}} ({lines})")
        return f"Place in {tmp_dir}, plain or as .gz: {', '.join(files)}."


@register_problem
class TranslateEndeWmt14(TranslateWmt):
    """English to German, WMT 2014: 4.5 million pairs, 37,000 subwords.

    This is the task of Vaswani et al. (2017) with the corpora of WMT 2014:
    Europarl v7, Common Crawl and News Commentary v9 for training, newstest2013
    for dev and newstest2014 for test. The paper reports BLEU 27.3 for base and
    28.4 for big, on tokens with compounds split. `translate_ende_wmt_bpe32k`
    reads the paper's files.
    """

    vocab_size = 37000
    tfds_name = "wmt14_translate/de-en"
    hub_datasets = ("wmt/wmt14",)
    num_pairs = {"train": 4_508_785, "dev": 3000, "test": 3003}


@register_problem
class TranslateEndeWmtT2t(TranslateWmt):
    """English to German, Tensor2Tensor's corpora: 4.6 million pairs.

    Tensor2Tensor's translate_ende_wmt32k has the same corpora: Europarl v7,
    Common Crawl and News Commentary v13 for training, newstest2013 for dev.
    That problem has 32,768 subwords and no test split; this one has the paper's
    37,000 and newstest2014.
    """

    vocab_size = 37000
    tfds_name = "wmt_t2t_translate/de-en"
    hub_datasets = ("wmt/wmt_t2t",)
    num_pairs = {"train": 4_592_289, "dev": 3000, "test": 3003}


@register_problem
class TranslateEndeWmtBpe32k(TranslateWmt):
    """English to German, the paper's files: 4.5 million pairs, BPE symbols.

    The authors published their text with Moses tokenisation and a byte-pair
    encoding as `wmt16_en_de.tar.gz`, whose original address is gone. The model
    sees exactly these tokens. About 37,000 symbols of `vocab.bpe.32000` make up
    the vocabulary, in the order of the file.

    Inputs are text of the same form, such as `Res@@ um@@ ption of the session`.
    Outputs and references are tokens with `@@ ` undone. The paper reports BLEU
    27.3 for base and 28.4 for big on such tokens, with compounds split.
    docs/problems.md lists the files, and so does the error about a missing one.
    """

    vocab_size = None
    is_tokenized = True
    num_pairs = {"dev": 3000, "test": 3003}

    def text_pairs(self, split, tmp_dir):
        return self._read_files(split, tmp_dir)

    def text_split(self, split):
        sources, references = super().text_split(split)
        return sources, [join_symbols(reference) for reference in references]

    def bpe_symbols(self, tmp_dir):
        return read_symbols(self._vocabulary_path(tmp_dir))

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


@register_problem
class TranslateEnfrWmt14(TranslateWmt):
    """English to French, WMT 2014: 41 million pairs, 32,000 subwords.

    The corpora are Europarl v7, Common Crawl, UN, News Commentary v9 and Giga
    French-English for training, newstest2013 for dev and newstest2014 for test.
    Vaswani et al. (2017) trained on 36 million of these pairs and report BLEU
    38.1 for base and 41.8 for big, on tokens. The number of pairs depends on
    the cleaning (about 40.8 million in tensorflow_datasets), so the two files
    of train are checked for equal length only.
    """

    vocab_size = 32000
    targets_language = "fr"
    tfds_name = "wmt14_translate/fr-en"
    hub_datasets = ("wmt/wmt14",)
    num_pairs = {"dev": 3000, "test": 3003}


def prepare_tfds(name, tmp_dir, way_out):
    """Returns the builder of a dataset whose data it downloads to `tmp_dir`.

    Existing data are used. tensorflow_datasets resumes file by file, checks the
    SHA-256 and the size of each file, and refuses archives that would write
    outside their folder. The `UserError` of any failure ends with `way_out`.
    """
    # Imported here because it loads TensorFlow, which most problems do without.
    try:
        import tensorflow_datasets as tfds

        builder = tfds.builder(name, data_dir=tmp_dir)
        builder.download_and_prepare()
    # Failures raise many exceptions: no network, checksums, disk, imports.
    except Exception as error:
        reason = textwrap.shorten(str(error), 200, placeholder=" ...")
        raise UserError(
            f"tensorflow_datasets could not prepare {name} in {tmp_dir}: "
            f"{type(error).__name__}: {reason}. {way_out}"
        ) from error
    return builder


def tfds_pairs(builder, split, source, target):
    """Yields the pairs of a split in the order of the files on the disk."""
    import tensorflow_datasets as tfds

    examples = builder.as_dataset(
        split=_TFDS_SPLITS[split],
        shuffle_files=False,
        # One file at a time: several would be read in turn, and the order of
        # the pairs would depend on the number of files.
        read_config=tfds.ReadConfig(interleave_cycle_length=1),
    )
    for batch in tfds.as_numpy(examples.batch(_TFDS_BATCH)):
        for pair in zip(batch[source], batch[target]):
            yield tuple(text.decode() for text in pair)


def tfds_count(builder, split):
    """Returns the number of pairs in a split of a builder."""
    return builder.info.splits[_TFDS_SPLITS[split]].num_examples
