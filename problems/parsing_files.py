"""Parsing learnt from anybody's treebank."""

from keras_transformer.problems.own_files import OwnFiles
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.registry import register_problem
from keras_transformer.trees import treebank
from keras_transformer.trees.linearization import LINEARIZATIONS


@register_problem
class ParsingFiles(OwnFiles, ParsingProblem):
    """Parse as in a treebank of your own.

    `kt-datagen` takes the trees once, with `--train_trees` and so on; after
    that, `--problem=parsing_files` and `--data_dir` are enough for every
    command. Each `data_dir` holds one treebank. A test split is optional. What
    a flag names is one or several files or directories with commas between
    them; `wsj:02-21` means the folders, or the files, of these numbers in the
    directory `wsj`.

    Example:

    >>> problem = ParsingFiles("data")
    >>> problem.use_files(
    ...     {"train": ("wsj:02-21",), "dev": ("wsj:22",)},
    ...     linearization="tagged",
    ... )
    >>> problem.splits
    ('train', 'dev')
    """

    vocab_size = 8000
    sides = ("trees",)
    way_of_files = "trees"

    def use_files(
        self,
        files,
        vocab_size=None,
        linearization=None,
        augmentation_rounds=None,
        skip_bad=None,
    ):
        """Set the treebank to generate the data from.

        Args:
            files: dict of split to a tuple of one str: paths with commas
                between them.
            vocab_size: number of subwords and brackets. Default: 8,000.
            linearization, augmentation_rounds, skip_bad: see `ParsingProblem`.

        Raises:
            ValueError: unless there are paths for "train" and for "dev".
        """
        super().use_files(files, vocab_size)
        if linearization not in (None, *LINEARIZATIONS):
            raise ValueError(
                "`linearization` must be one of "
                f"{', '.join(LINEARIZATIONS)}. "
                f"Received: linearization={linearization!r}. Use one of them."
            )
        self.linearization = linearization or self.linearization
        self.augmentation_rounds = augmentation_rounds or 0
        self.skip_bad = bool(skip_bad)

    def trees(self, split, tmp_dir):
        if self.skip_bad:
            self.bad[split] = []
        paths = self._paths(split)
        return treebank.read_treebank(paths, self.bad.get(split))

    def source_files(self, tmp_dir):
        paths = [path for split in self.files for path in self._paths(split)]
        return treebank.treebank_files(paths)

    def fingerprints(self, tmp_dir):
        return [
            treebank.fingerprint(self.files[split][0], self._paths(split))
            for split in self.files
        ]

    def check_files(self):
        for split in self.files:
            for _ in self.trees(split, None):
                pass

    def _paths(self, split):
        (paths,) = self.files[split]
        return paths.split(",")
