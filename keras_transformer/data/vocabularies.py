"""The vocabularies of source and target, which may be one."""

import os
import typing

from keras_transformer.data import subwords
from keras_transformer.data.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.subwords import VOCABULARY_FILE
from keras_transformer.data.subwords import Subwords
from keras_transformer.files.writing import atomic_write

FILES = (VOCABULARY_FILE, SOURCE_VOCABULARY_FILE)


class Vocabularies(typing.NamedTuple):
    """The vocabularies of a model, twice the same one if it is shared."""

    targets: Subwords
    sources: Subwords

    @property
    def is_shared(self):
        """Whether source and target have one vocabulary."""
        return self.sources is self.targets

    @property
    def sizes(self):
        """The numbers of ids of the targets and of the sources."""
        return self.targets.vocab_size, self.sources.vocab_size

    @property
    def model_bytes(self):
        """The contents of the files: one, or that of the targets first."""
        if self.is_shared:
            return (self.targets.model_bytes,)
        return self.targets.model_bytes, self.sources.model_bytes

    @property
    def hashes(self):
        """What the record of a run says of them."""
        hashes = {"vocabulary_sha256": self.targets.sha256}
        if not self.is_shared:
            hashes["source_vocabulary_sha256"] = self.sources.sha256
        return hashes

    def reversed(self):
        """Returns those of the opposite direction."""
        return Vocabularies(self.sources, self.targets)

    def write(self, directory):
        """Writes the files into a directory, one or two."""
        for name, model_bytes in zip(FILES, self.model_bytes):
            with atomic_write(os.path.join(directory, name), "wb") as file:
                file.write(model_bytes)


class HasVocabularies:
    """Names each vocabulary of a class that has them as `vocabularies`."""

    @property
    def vocabulary(self):
        """The vocabulary of the targets, a `Subwords`.

        It is also that of the sources, unless the two are separate.
        """
        return self.vocabularies.targets

    @property
    def source_vocabulary(self):
        """The vocabulary of the sources, a `Subwords`."""
        return self.vocabularies.sources


def read(directory, sha256, source_sha256):
    """Reads the vocabularies in a directory.

    Args:
        directory: Path of the directory.
        sha256: SHA-256 of the vocabulary of the targets; None accepts any.
        source_sha256: SHA-256 of that of the sources, or None if the two share
            one.

    Returns:
        A `Vocabularies`.

    Raises:
        ValueError: If a file is missing or has another SHA-256.
    """
    targets = Subwords(os.path.join(directory, VOCABULARY_FILE), sha256)
    if source_sha256 is None:
        return Vocabularies(targets, targets)
    path = os.path.join(directory, SOURCE_VOCABULARY_FILE)
    return Vocabularies(targets, Subwords(path, source_sha256))


def train_separate(problem, pairs, tmp_dir, directory):
    """Trains a vocabulary for each side of a problem.

    Args:
        problem: A `Problem` whose `shared_vocabulary` is False.
        pairs: List of pairs of a source and a target.
        tmp_dir: Directory that holds the raw text.
        directory: Path of the directory to write to.

    Returns:
        A `Vocabularies`.
    """
    sources, targets = zip(*pairs)
    symbols = problem.symbols(tmp_dir)
    sides = (
        (map(problem.target_text, targets), problem.vocab_size),
        (sources, problem.source_vocab_size or problem.vocab_size),
    )
    return Vocabularies(
        *(
            subwords.train_subwords(
                texts,
                vocab_size,
                os.path.join(directory, name),
                symbols,
                problem.user_symbols,
            )
            for (texts, vocab_size), name in zip(sides, FILES)
        )
    )


def check_problem(problem):
    """Checks that a problem can have the vocabularies that it asks for.

    Args:
        problem: A `Problem`.

    Raises:
        ValueError: If it has separate vocabularies and both directions or a
            ready vocabulary, or a size of a source vocabulary that it lacks.
    """
    if problem.shared_vocabulary:
        if problem.source_vocab_size:
            raise ValueError(
                "`source_vocab_size` must go with a vocabulary of the source "
                f"alone. Received: source_vocab_size="
                f"{problem.source_vocab_size} and shared_vocabulary=True. Set "
                "shared_vocabulary to false, or leave source_vocab_size out."
            )
        return
    check_one_direction(problem)
    if problem.vocabulary_path:
        raise ValueError(
            "A vocabulary file must serve both sides. Received: "
            f"vocabulary_path={problem.vocabulary_path!r} and "
            "shared_vocabulary=False. Leave one of them out."
        )


def check_one_direction(problem):
    """Raises a `ValueError` if a problem has its pairs in both directions."""
    if len(problem.directions) > 1:
        raise ValueError(
            "A problem in both directions must have one vocabulary, since "
            "either language is a source. Received: "
            f"{problem.name} with shared_vocabulary=False. Use "
            f"{problem.data_name}, or generate the data with "
            "--shared_vocabulary=true."
        )
