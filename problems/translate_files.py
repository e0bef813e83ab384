"""Translation learnt from anybody's parallel text files."""

from keras_transformer.data import generation
from keras_transformer.data import text_files
from keras_transformer.problem import Problem
from keras_transformer.registry import register_problem

_SIDES = ("source", "target")


@register_problem
class TranslateFiles(Problem):
    """Translate as in parallel text files of your own.

    `kt-datagen` takes the files once, with `--train_source` and so on; after
    that, `--problem=translate_files` and `--data_dir` are enough for every
    command. Each `data_dir` holds one set of files. A test split is optional.
    The files are UTF-8, plain or gzip-compressed; line n of the target
    translates line n of the source.

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

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        self._files = {}

    def use_files(self, files, vocab_size=None):
        """Set the files to generate the data from.

        Args:
            files: dict of split to `(source, target)`, two paths; a split
                without paths is left out.
            vocab_size: number of subwords. Default: 8,000.

        Raises:
            ValueError: unless there are both files of "train" and "dev" and,
                if there is one, of "test".
        """
        files = {split: paths for split, paths in files.items() if any(paths)}
        for split in ("train", "dev", *files):
            for side, path in zip(_SIDES, files.get(split, (None, None))):
                if not path:
                    raise _missing_file(split, side, files)
        self._files = files
        self.vocab_size = vocab_size or self.vocab_size

    @property
    def splits(self):
        return tuple(self._files or self.manifest["splits"])

    def text_pairs(self, split, tmp_dir):
        return text_files.read_pairs(*self._files[split])

    def source_files(self, tmp_dir):
        return [path for paths in self._files.values() for path in paths]

    def generate(self, tmp_dir):
        manifest = generation.read_manifest(self.directory)
        if manifest:
            if self._files:
                self._check_unchanged(manifest)
            return manifest
        if not self._files:
            raise _missing_file("train", "source", self._files)
        for paths in self._files.values():
            text_files.count_pairs(*paths)
        return super().generate(tmp_dir)

    def _check_unchanged(self, manifest):
        recorded = manifest["made_from"]
        before = _settings(
            recorded["vocab_size"], recorded["splits"], recorded["files"]
        )
        after = _settings(
            self.vocab_size,
            self.splits,
            text_files.fingerprints(self.source_files(None)),
        )
        for name in {**before, **after}:
            if before.get(name) != after.get(name):
                raise ValueError(
                    "Each data_dir must hold the data of one set of files and "
                    f"one vocab_size. Received: {name}={after.get(name)} for "
                    f"{self.directory}, which was made with "
                    f"{name}={before.get(name)}. Use another --data_dir, or "
                    f"remove {self.directory}."
                )


def _settings(vocab_size, splits, files):
    """Return what the data depend on, by the names of the flags."""
    names = [f"{split}_{side}" for split in splits for side in _SIDES]
    described = [
        f"{file['name']} (sha256 {file['sha256'][:16]})" for file in files
    ]
    return {"vocab_size": vocab_size, **dict(zip(names, described))}


def _missing_file(split, side, files):
    given = ", ".join(
        f"{split}_{side}={path}"
        for split, paths in files.items()
        for side, path in zip(_SIDES, paths)
        if path
    )
    return ValueError(
        "translate_files must have a source and a target file for train, for "
        f"dev and, if there is one, for test. Received: no {split}_{side} "
        f"beside {given or 'no other file'}. Add --{split}_{side}=FILE to "
        "kt-datagen."
    )
