"""Parsing learnt from the user's own treebank."""

from keras_transformer.problems.own_files import OwnFiles
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.registry import register_problem
from keras_transformer.trees.linearization import LINEARIZATIONS
from keras_transformer.trees.treebank import fingerprint
from keras_transformer.trees.treebank import read_treebank
from keras_transformer.trees.treebank import treebank_files


@register_problem
class ParsingFiles(OwnFiles, ParsingProblem):
    """Parsing learnt from a treebank of your own.

    `kt-datagen` reads the trees once, from `--train_trees` and the flags of the
    other splits. Afterwards `--problem=parsing_files` and `--data_dir` are
    enough for every command. Each `data_dir` holds one treebank. A test split
    is optional. A flag names one or several files or directories, separated by
    commas; `wsj:02-21` selects the folders or files of these numbers in the
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
        """Sets the treebank to generate the data from.

        Args:
            files: Dictionary of split to a tuple of one str, paths separated by
                commas.
            vocab_size: Number of subwords and brackets. Defaults to 8,000.
            linearization: One of `LINEARIZATIONS`. Defaults to "normalised".
            augmentation_rounds: Number of rounds of `augment`. Defaults to 0.
            skip_bad: Whether faulty trees are left out and listed in `bad`.
                Defaults to False.

        Raises:
            ValueError: If the paths of "train" or "dev" are missing, or the
                linearization is unknown.
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
        return read_treebank(paths, self.bad.get(split))

    def source_files(self, tmp_dir):
        paths = [path for split in self.files for path in self._paths(split)]
        return treebank_files(paths)

    def fingerprints(self, tmp_dir):
        # The flag's value is the name, because error messages repeat it.
        return [
            fingerprint(self.files[split][0], self._paths(split))
            for split in self.files
        ]

    def check_files(self):
        # Reading a tree checks it; `bad` lists the faults that are skipped.
        for split in self.files:
            for _ in self.trees(split, None):
                pass

    def _paths(self, split):
        (paths,) = self.files[split]
        return paths.split(",")
