"""The base class of problems with the corpora of WMT."""

import collections
import itertools
import logging
import os

from keras_transformer.data import download
from keras_transformer.data import generation
from keras_transformer.data import text_files
from keras_transformer.errors import UserError
from keras_transformer.problem import Problem

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
    only `\n` ends a line, and a side of white space is not empty. Thus both
    ways give the same pairs. The original text of dev and test is SGML, so
    entities such as `&quot;` are replaced by their characters there.

    Each subclass stands for one exact list of corpora, so the numbers of its
    pairs are fixed.

    Class attributes:
        tfds_name: Data set and configuration in tensorflow_datasets.
        num_pairs: Dictionary of split to the expected number of pairs. A split
            that is absent is only checked for files of the same length.
    """

    tfds_name = None
    num_pairs = {}

    def text_pairs(self, split, tmp_dir):
        if self.source_files(tmp_dir):
            paths = self._paths(split, tmp_dir)
            pairs = text_files.read_pairs(*paths, exact=True)
        else:
            builder = self._builder(tmp_dir)
            pairs = download.tfds_pairs(builder, split, *self._languages())
        return pairs if split == "train" else map(_unescaped, pairs)

    def is_complete(self, source, target):
        return bool(source and target)

    def source_files(self, tmp_dir):
        paths = self._all_paths(tmp_dir)
        missing = [path for path in paths if not os.path.exists(path)]
        # Half a set of files is a mistake, not a reason to download the rest.
        if missing and len(missing) < len(paths):
            raise UserError(
                f"All files of {self.data_name} must exist, or none. "
                f"Received: tmp_dir={tmp_dir} without "
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
        # Unchanged files are not counted again, because that takes long for a
        # large corpus.
        elif not manifest or _has_changed(files, manifest):
            self._check_files(tmp_dir)
        return super().generate(tmp_dir)

    def _check_files(self, tmp_dir):
        for split in self.splits:
            paths = self._paths(split, tmp_dir)
            pairs = text_files.read_pairs(*paths, exact=True)
            counter = collections.Counter(
                itertools.starmap(self.is_complete, pairs)
            )
            counts = counter.total(), counter[True]
            self._check_count(split, counts, " and ".join(paths), tmp_dir)

    def _download(self, tmp_dir):
        _logger.info(
            "Looking for %s of tensorflow_datasets in %s, which downloads it "
            "if necessary. To use files instead: %s",
            self.tfds_name,
            tmp_dir,
            self._way_out(tmp_dir),
        )
        builder = self._builder(tmp_dir)
        for split in self.splits:
            counts = [download.tfds_count(builder, split)]
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
        way_out = self._way_out(tmp_dir)
        return download.prepare_tfds(self.tfds_name, tmp_dir, way_out)

    def _all_paths(self, tmp_dir):
        """Returns the paths of all files that the problem reads."""
        return [
            path
            for split in self.splits
            for path in self._paths(split, tmp_dir)
        ]

    def _paths(self, split, tmp_dir):
        stem = os.path.join(tmp_dir, self._stem(split))
        return [_plain_or_gz(f"{stem}.{code}") for code in self._languages()]

    def _stem(self, split):
        """Returns the name of the files of a split without the language."""
        return f"{self.data_name}.{split}"

    def _languages(self):
        # From the class, because a reverse problem swaps the languages of the
        # instance, while files and downloads keep their direction.
        return type(self).inputs_language, type(self).targets_language

    def _way_out(self, tmp_dir):
        codes = ",".join(self._languages())
        files = ", ".join(
            f"{self._stem(split)}.{{{codes}}} ({self._expected_lines(split)})"
            for split in self.splits
        )
        return f"Place in {tmp_dir}, plain or as .gz: {files}."

    def _expected_lines(self, split):
        count = self.num_pairs.get(split)
        return f"{count:,} lines" if count else "the same number of lines"


def _unescaped(pair):
    return tuple(map(text_files.unescaped, pair))


def _has_changed(files, manifest):
    return text_files.fingerprints(files) != manifest["made_from"]["files"]


def _plain_or_gz(path):
    compressed = path + ".gz"
    return compressed if os.path.exists(compressed) else path
