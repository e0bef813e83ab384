"""The vocabularies of source and target, which may be the same."""

import itertools
import logging
import os
import time
import typing

from keras_transformer.data.vocabulary import subwords
from keras_transformer.data.vocabulary.subwords import SOURCE_VOCABULARY_FILE
from keras_transformer.data.vocabulary.subwords import VOCABULARY_FILE
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.errors import UserError
from keras_transformer.files.writing import write_file

# Dev with this many times train's pieces per character causes a warning.
ROTE = 1.25
# A larger share of a split's characters without an id causes a warning.
UNKNOWN_SHARE = 0.01
FILES = (VOCABULARY_FILE, SOURCE_VOCABULARY_FILE)

_logger = logging.getLogger(__name__)


class Vocabularies(typing.NamedTuple):
    """The vocabularies of a model, the same one twice if it is shared."""

    sources: Subwords
    targets: Subwords

    @property
    def is_shared(self):
        """Whether source and target have one vocabulary."""
        return self.sources is self.targets

    @property
    def have_same_pieces(self):
        """Whether an id stands for the same piece on both sides."""
        return (
            self.is_shared
            or self.sources.all_pieces() == self.targets.all_pieces()
        )

    @property
    def sizes(self):
        """The numbers of ids of the targets and of the sources."""
        return self.targets.vocab_size, self.sources.vocab_size

    @property
    def model_bytes(self):
        """The contents of the files: one, or two with the targets first."""
        if self.is_shared:
            return (self.targets.model_bytes,)
        return self.targets.model_bytes, self.sources.model_bytes

    @property
    def hashes(self):
        """Their hashes, as the record of a run states them."""
        hashes = {"vocabulary_sha256": self.targets.sha256}
        if not self.is_shared:
            hashes["source_vocabulary_sha256"] = self.sources.sha256
        return hashes

    def write(self, directory):
        """Writes the files into a directory, one or two."""
        for name, model_bytes in zip(FILES, self.model_bytes):
            write_file(os.path.join(directory, name), model_bytes)


class HasVocabularies:
    """Names each vocabulary of a class that has them as `vocabularies`."""

    @property
    def vocabularies(self) -> Vocabularies:
        raise NotImplementedError

    @property
    def vocabulary(self) -> Subwords:
        """The vocabulary of the targets, and of the sources if it is shared."""
        return self.vocabularies.targets

    @property
    def source_vocabulary(self) -> Subwords:
        """The vocabulary of the sources, a `Subwords`."""
        return self.vocabularies.sources


def read(directory, sha256, source_sha256):
    """Reads the vocabularies in a directory, a `Vocabularies`.

    The SHA-256 of the targets may be None, which accepts any vocabulary. The
    SHA-256 of the sources is None if the two share a vocabulary.
    """
    targets = Subwords(os.path.join(directory, VOCABULARY_FILE), sha256)
    path = os.path.join(directory, SOURCE_VOCABULARY_FILE)
    sources = Subwords(path, source_sha256) if source_sha256 else targets
    return Vocabularies(sources, targets)


def read_path(path):
    """Reads the vocabulary of both sides in a file, or two in a directory."""
    if not os.path.isdir(path):
        shared = Subwords(path)
        return Vocabularies(shared, shared)
    targets, sources = (Subwords(os.path.join(path, name)) for name in FILES)
    return Vocabularies(sources, targets)


def train(problem, pairs, tmp_dir, directory):
    """Trains the vocabularies of a problem on a list of pairs of texts."""
    pairs = [(source, problem.target_text(target)) for source, target in pairs]
    symbols = problem.symbols(tmp_dir)

    def train_one(texts, vocab_size, name, kind, size_name="vocab_size"):
        start = time.monotonic()
        path = os.path.join(directory, name)
        options = symbols, problem.user_symbols, problem.normalize_text
        options += kind, problem.character_coverage, size_name
        result = subwords.train_subwords(texts, vocab_size, path, *options)
        _logger.info(
            f"Trained a vocabulary of {result.vocab_size:,} on {len(pairs):,} "
            f"pairs in {time.monotonic() - start:.1f} s."
        )
        if missing := result.find_missing(texts):
            way = "spelled in bytes" if result.has_bytes else "unknown"
            way_out = "--character_coverage=1 keeps them"
            if not result.has_bytes and problem.character_coverage in (None, 1):
                way_out = f"Only {vocab_size:,} ids fit: raise {size_name}"
            _logger.warning(
                f"{len(missing):,} rare characters of the training text have "
                f"no id and are {way}, such as {' '.join(missing[:10])}. "
                f"{way_out}."
            )
        return result

    size, kind = problem.vocab_size, problem.vocabulary_type
    if problem.shared_vocabulary:
        texts = list(itertools.chain.from_iterable(pairs))
        shared = train_one(texts, size, VOCABULARY_FILE, kind)
        return Vocabularies(shared, shared)
    sources, targets = zip(*pairs)
    source_size = problem.source_vocab_size or size
    source = problem.source_vocabulary_type or kind, "source_vocab_size"
    return Vocabularies(
        train_one(sources, source_size, SOURCE_VOCABULARY_FILE, *source),
        train_one(targets, size, VOCABULARY_FILE, kind),
    )


def warn_of_rote(both, train_pairs, dev_pairs):
    """Warns if the vocabularies spell dev with far more pieces than train.

    They then have learnt the words of a small training text by heart, and the
    model sees few of the pieces that it needs for other words. Only subwords
    depend on the training text like this.
    """
    sides = zip(both, zip(*train_pairs), zip(*dev_pairs))
    for vocabulary, *texts in sides:
        if not vocabulary.has_bytes:
            continue
        train, dev = (
            sum(len(ids) - 1 for ids in vocabulary.encode(each))
            / sum(map(len, each))
            for each in texts
        )
        if dev > ROTE * train:
            _logger.warning(
                f"The vocabulary of {vocabulary.vocab_size:,} knows its "
                f"training words by heart: a character takes {dev:.2f} pieces "
                f"in dev and {train:.2f} in train. Use a smaller vocab_size, "
                "or vocabulary_type=characters."
            )


def warn_of_unknown(both, split, pairs):
    """Warns if the vocabularies lack more of a split's text than usual.

    That happens if its columns are swapped, if it is in another language, or
    if it writes the same letters in another way.
    """
    for side, vocabulary, texts in zip(("source", "target"), both, zip(*pairs)):
        if vocabulary.has_bytes or vocabulary.is_imported:
            continue
        parts = [
            text[start:end]
            for text in texts
            for start, end in vocabulary.find_unknown(text)
        ]
        share = sum(map(len, parts)) / sum(map(len, texts))
        if share > UNKNOWN_SHARE:
            examples = dict.fromkeys(" ".join(parts).split())
            _logger.warning(
                f"{share:.1%} of the {side} text of {split} has no id in the "
                f"vocabulary of {vocabulary.vocab_size:,}, such as "
                f"{' '.join(itertools.islice(examples, 3))}. Check that the "
                "columns, the language and the spelling are those of train."
            )


def check_problem(problem):
    """Raises a `UserError` if a problem asks for contradictory vocabularies."""
    if problem.shared_vocabulary:
        for name in ("source_vocab_size", "source_vocabulary_type"):
            if value := getattr(problem, name):
                raise UserError(
                    f"`{name}` needs a separate vocabulary of the source. "
                    f"Received: {name}={value} and shared_vocabulary=True. "
                    f"Set shared_vocabulary to false, or leave {name} out."
                )
        return
    check_one_direction(problem)
    path = problem.vocabulary_path
    if path and not os.path.isdir(path):
        raise UserError(
            "A vocabulary file must serve both sides. Received: "
            f"vocabulary_path={path!r} and shared_vocabulary=False. Leave one "
            "of them out, or name a directory with a vocabulary of each side."
        )


def check_one_direction(problem):
    """Raises a `UserError` if a problem has its pairs in both directions."""
    if len(problem.directions) > 1:
        raise UserError(
            "A problem in both directions must have one vocabulary, since "
            f"either language is a source. Received: {problem.name} with "
            f"shared_vocabulary=False. Use {problem.data_name}, or generate "
            "the data with --shared_vocabulary=true."
        )


def sample_corpora(corpora, limit, temperature=1):
    """Samples pairs of several corpora, spread evenly over each of them.

    With a temperature T, the share of a corpus of n pairs is in proportion to
    n ** (1 / T). With T = 1 that is its share of the text. A larger T makes the
    shares more equal, so that the words of a small corpus get subwords of their
    own: some of its pairs are in the sample several times, and some of a large
    corpus are not. Memory holds up to `limit` pairs of each corpus. The sample
    has at most `limit` pairs, and at least half of it if there are as many.

    >>> sample_corpora(["aaaaaaaa", "bb"], limit=10, temperature=1e9)
    ['a', 'a', 'a', 'a', 'a', 'b', 'b', 'b', 'b', 'b']
    """
    if temperature == 1:
        return sample_evenly(itertools.chain(*corpora), limit)
    counted = []
    for pairs in corpora:
        counter = itertools.count()
        # `zip` draws a pair first, so the end of the pairs uses up no number.
        counted_pairs = (pair for pair, _ in zip(pairs, counter))
        sample = sample_evenly(counted_pairs, limit)
        if sample:  # cleaning can drop all pairs of a corpus
            counted.append((sample, next(counter)))
    sample_size = min(limit, sum(size for _, size in counted))
    powers = [size ** (1 / temperature) for _, size in counted]
    mixture = []
    for (sample, _), power in zip(counted, powers):
        places = range(round(power / sum(powers) * sample_size))
        mixture += [sample[i * len(sample) // len(places)] for i in places]
    return mixture


def sample_evenly(items, limit):
    """Returns every k-th item, with the smallest k = 1, 2, 4, ... that fits.

    One pass is enough, and the number of items need not be known. If there are
    at least `limit` items, the sample holds at least half of `limit`.

    >>> sample_evenly(range(10), 4)
    [0, 4, 8]
    """
    sample, step = [], 1
    for number, item in enumerate(items):
        if number % step == 0 and len(sample) == limit:
            # Drop every second one and sample half as densely from here on.
            sample, step = sample[::2], 2 * step
        if number % step == 0:
            sample.append(item)
    return sample
