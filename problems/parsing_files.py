"""Parsing learnt from the user's treebank."""

from keras_transformer.data.generation.attributes import check_attribute
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.errors import UserError
from keras_transformer.parsing import treebank
from keras_transformer.parsing.linearization import LEAF
from keras_transformer.parsing.linearization import find_linearization
from keras_transformer.problems.files_problem import FilesProblem
from keras_transformer.problems.parsing import RULES
from keras_transformer.problems.parsing import ParsingProblem
from keras_transformer.registry import register_problem


@register_problem
class ParsingFiles(FilesProblem, ParsingProblem):
    """Parsing learnt from a treebank of your own.

    `kt-datagen` reads the trees once, from `--train_trees` and the flags of the
    other splits. Afterwards `--problem=parsing_files` and `--data_dir` are
    enough for every command. Each `data_dir` holds one treebank. A test split
    is optional, and so are automatically parsed trees for training. A flag
    names one or several files or directories, separated by commas; `wsj:02-21`
    selects the folders or files of these numbers in the directory `wsj`.

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
    further_files = ("parsed_trees",)

    def __init__(self, data_dir=None, reverse=False):
        super().__init__(data_dir, reverse)
        self._parsed_paths = []

    def use_files(
        self,
        files,
        vocab_size=None,
        parsed_trees=None,
        vocabulary=None,
        **attributes,
    ):
        """Sets the treebank to generate the data from.

        `files` is a dictionary of split to a tuple of one str, paths separated
        by commas; so are `parsed_trees`. `vocabulary` is the path of a
        SentencePiece model to use instead of training one, such as the model of
        the parser that wrote `parsed_trees`. The other arguments are class
        attributes of `ParsingProblem`, and `normalize_text`.
        """
        attributes["vocabulary_path"] = vocabulary
        super().use_files(files, vocab_size, **attributes)
        if self.treebank_weight != 1 and not parsed_trees:
            raise UserError(
                "`treebank_weight` needs parsed trees. Received: "
                f"treebank_weight={self.treebank_weight} alone. Add "
                "--parsed_trees=FILE, or leave the weight out."
            )
        check_attribute(self, "linearization", *RULES["linearization"])
        theirs = vocabulary and find_linearization(Subwords(vocabulary))
        if vocabulary and theirs != self.linearization:
            raise UserError(
                "A given vocabulary must have the symbols of the "
                f"linearization. Received: {vocabulary}, which has symbols of "
                f"{theirs or 'no'} trees, with linearization="
                f"{self.linearization}. Name the linearization of the run that "
                "it belongs to."
            )
        self._parsed_paths = parsed_trees.split(",") if parsed_trees else []

    def trees(self, split, tmp_dir):
        return self._read(split, self._paths(split))

    def parsed_trees(self, tmp_dir):
        return self._read("parsed", self._parsed_paths)

    def source_files(self, tmp_dir):
        paths = map(self._paths, self.files)
        return treebank.list_treebank_files(sum(paths, self._parsed_paths))

    def fingerprints(self, tmp_dir):
        # The flag's value is the name, because error messages repeat it.
        places = [*map(self._paths, self.files), self._parsed_paths]
        return [treebank.fingerprint(",".join(p), p) for p in places if p]

    def check_files(self):
        # Reading a tree checks it; `bad` lists the faults that are skipped.
        for split in self.files:
            for _ in self.trees(split, None):
                pass
        for tree in self.parsed_trees(None):
            if self.linearization == "tagged" and LEAF in tree.tags():
                raise UserError(
                    "Parsed trees must have parts of speech for the tagged "
                    f"linearization. Received: {','.join(self._parsed_paths)}, "
                    f"where a word has the tag {LEAF}. Use another parser, or "
                    "another linearization."
                )

    def _describe(self, made_from):
        # Where `settings` leaves the weight out, it is 1.
        return {"treebank_weight": 1, **super()._describe(made_from)}

    def _read(self, corpus, paths):
        """Yields the trees of a split, or of the corpus "parsed"."""
        if self.skip_bad:
            self.bad[corpus] = []
        return treebank.read_treebank(paths, self.bad.get(corpus))

    def _paths(self, split):
        (paths,) = self.files[split]
        return paths.split(",")
