"""Translation learnt from the user's own parallel text files."""

from keras_transformer.cleaning.cleaner import Cleaner
from keras_transformer.cleaning.cleaner import CleaningOptions
from keras_transformer.data import text_files
from keras_transformer.problems.own_files import OwnFiles
from keras_transformer.registry import register_problem


@register_problem
class TranslateFiles(OwnFiles):
    """Translation learnt from parallel text files of your own.

    `kt-datagen` reads the files once, from `--train_source`, `--train_target`
    and the flags of the other splits. Afterwards `--problem=translate_files`
    and `--data_dir` are enough for every command. Each `data_dir` holds one set
    of files. A test split is optional. The files are UTF-8, plain or
    gzip-compressed; line n of the target translates line n of the source.

    Attributes:
        cleaning_report: The `Report` on the training pairs that cleaning
            dropped, or None if nothing was cleaned.

    Example:

    >>> problem = TranslateFiles("data")
    >>> problem.use_files(
    ...     {"train": ("train.en", "train.de"), "dev": ("dev.en", "dev.de")},
    ...     vocab_size=8000,
    ... )
    >>> problem.splits
    ('train', 'dev')
    """

    vocab_size = 8000
    inputs_language = "source"
    targets_language = "target"
    sides = ("source", "target")
    way_of_files = "a source and a target file"

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        self.cleaning_report = None
        self._is_cleaned = False

    def use_files(self, files, vocab_size=None, clean=False):
        """Sets the files, and whether to clean the training text.

        Args:
            files, vocab_size: See `OwnFiles.use_files`.
            clean: Whether to drop the training pairs that the default rules of
                `kt-clean` drop or that occur in dev or test. Defaults to
                False.
        """
        super().use_files(files, vocab_size)
        self._is_cleaned = clean

    def settings(self):
        # Without cleaning there is no entry, as in earlier manifests.
        return {"clean": True} if self._is_cleaned else {}

    def text_pairs(self, split, tmp_dir):
        pairs = text_files.read_pairs(*self.files[split])
        # Scores on dev and test must stay comparable with other work.
        if not self._is_cleaned or split != "train":
            return pairs
        # A new cleaner each time: to one that has seen the text, all pairs
        # would be duplicates.
        cleaner = Cleaner(CleaningOptions(held_out=self._held_out()))
        self.cleaning_report = cleaner.report
        return cleaner.kept(pairs)

    def num_left_out(self, split):
        if self.cleaning_report is None or split != "train":
            return {}
        return {"cleaning": sum(self.cleaning_report.dropped.values())}

    def _held_out(self):
        return tuple(
            line
            for split, paths in self.files.items()
            if split != "train"
            for path in paths
            for line in text_files.read_lines(path)
        )

    def check_files(self):
        for paths in self.files.values():
            text_files.count_pairs(*paths)
