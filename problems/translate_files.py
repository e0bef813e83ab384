"""Translation learnt from the user's own parallel text files."""

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

    def text_pairs(self, split, tmp_dir):
        return text_files.read_pairs(*self.files[split])

    def check_files(self):
        for paths in self.files.values():
            text_files.count_pairs(*paths)
