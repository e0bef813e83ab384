"""The base class of problems that learn from the user's files."""

import itertools

from keras_transformer.data.generation import generation
from keras_transformer.data.text import text_files
from keras_transformer.data.vocabulary import vocabularies
from keras_transformer.errors import UserError
from keras_transformer.problem import Problem


class FilesProblem(Problem):
    """Generates data from files once; later commands need only the data.

    A subclass writes `text_pairs` from the paths in `self.files`, checks them
    in `check_files`, and sets class attributes. `sides` names the files of a
    split; with the split they make the names of flags, such as
    `--train_source`. `way_of_files` describes a split's files for errors, which
    end with `other_way`, another way to name them. `further_files` are names of
    flags for files of no split; their fingerprints come after the splits'.
    """

    sides: tuple[str, ...] = ()
    way_of_files = ""
    other_way = ""
    further_files: tuple[str, ...] = ()

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        self.files = {}

    def use_files(self, files, vocab_size=None, **attributes):
        """Sets the files to generate the data from.

        `files` is a dictionary of split to a tuple of paths, one for each of
        `sides`. A split without any path is left out. Half a split is an error,
        and so is the lack of "train" or "dev". The other arguments set class
        attributes such as `shared_vocabulary`, unless they are None.
        """
        files = {split: paths for split, paths in files.items() if any(paths)}
        for split in ("train", "dev", *files):
            missing = (None,) * len(self.sides)
            for side, path in zip(self.sides, files.get(split, missing)):
                if not path:
                    raise self._missing_file_error(split, side, files)
        self.files = files
        for name, value in {"vocab_size": vocab_size, **attributes}.items():
            if not hasattr(type(self), name):
                raise TypeError(f"`use_files` has no argument {name!r}.")
            if value is not None:
                setattr(self, name, value)
        vocabularies.check_problem(self)

    def check_files(self):
        """Reads all files completely and raises an error at any fault."""
        raise NotImplementedError

    @property
    def splits(self):
        # Without files, the manifest lists the splits of the existing data.
        return tuple(self.files or self.manifest["splits"])

    def source_files(self, tmp_dir):
        return [path for paths in self.files.values() for path in paths]

    def generate(self, tmp_dir):
        text_files.check_rereadable(self.source_files(tmp_dir))
        manifest = generation.read_manifest(self.directory)
        # Existing data are used as they are. If files are named again, they
        # must be those that the data were made from.
        if manifest:
            if not self.files:
                return manifest
            self._check_unchanged(manifest)
            return self._update(manifest)
        if not self.files:
            raise self._missing_file_error("train", self.sides[0], {})
        # A fault in the last file must not appear after hours of generation.
        self.check_files()
        return super().generate(tmp_dir)

    def _update(self, manifest):
        """Returns the manifest of existing data after changes to it only."""
        return manifest

    def _check_unchanged(self, manifest):
        before = self._describe(manifest["made_from"])
        after = self._describe(generation.describe_origin(self, None))
        for name in {**before, **after}:
            new, old = (
                f"{name}={values[name]}"
                if values.get(name) is not None
                else f"no value of {name}"
                for values in (after, before)
            )
            if new != old:
                raise UserError(
                    "Each data_dir must hold the data of one set of files and "
                    f"one vocab_size. Received: {new} for {self.directory}, "
                    f"which was made with {old}. Use the same flags or "
                    f"another --data_dir, or remove {self.directory}."
                )

    def _describe(self, made_from):
        """Returns everything that the data depend on, by the names of flags."""
        files = [
            f"{file['name']} (sha256 {file['sha256'][:16]})"
            for file in made_from["files"]
        ]
        hashes = [
            f"sha256 {made_from[name][:16]}"
            for name in ("vocab_sha256", "source_vocab_sha256")
            if made_from.get(name)
        ]
        return {
            "vocabulary": " and ".join(hashes) or None,
            "vocab_size": made_from["vocab_size"],
            "shared_vocabulary": "source_vocab_size" not in made_from,
            "source_vocab_size": made_from.get("source_vocab_size"),
            **made_from.get("settings", {}),
            **dict(zip(self._names_of_files(made_from), files)),
        }

    def _names_of_files(self, made_from):
        """Returns the flags of the files whose fingerprints a manifest has."""
        names = [
            f"{split}_{side}"
            for split in made_from["splits"]
            for side in self.sides
        ]
        return [*names, *self.further_files]

    def _missing_file_error(self, split, side, files):
        paths = filter(None, itertools.chain(*files.values()))
        other_files = ", ".join(paths)
        return UserError(
            f"{self.data_name} needs {self.way_of_files} for train, for dev "
            "and, if there is one, for test. There is no "
            f"{split}_{side} beside {other_files or 'any other file'}. Add "
            f"--{split}_{side}=FILE to kt-datagen"
            f"{self.other_way.format(split=split)}."
        )
