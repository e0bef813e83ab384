"""The corpora of a training text, and how often an epoch sees each."""

import dataclasses
import fractions
import math
import os

from keras_transformer.data.text import text_files
from keras_transformer.data.text.tags import add_tag
from keras_transformer.data.text.tags import check_tag
from keras_transformer.errors import UserError

MAX_WEIGHT = 1_000


@dataclasses.dataclass(frozen=True)
class Corpus:
    """Files of parallel text, and how often an epoch of training sees them.

    >>> Corpus(("europarl.en.gz", "europarl.de.gz"), weight=3).name
    'europarl.en.gz,europarl.de.gz'
    """

    paths: tuple  # of one or two str; see `parallel_files.detect_kind`
    weight: float = 1  # number of times an epoch goes through the corpus
    tag: str | None = None  # the tag before each source; see `tags`

    def __post_init__(self):
        if self.tag is not None:
            check_tag(self.tag, f"The tag of {self.name}")
        if not 0 < self.weight <= MAX_WEIGHT:
            raise UserError(
                "The weight of a corpus must be above 0 and at most "
                f"{MAX_WEIGHT:,}. Received: weight={self.weight} of "
                f"{self.name}. Write 3 for three times an epoch, or 0.5 for "
                "half of the corpus."
            )

    def __str__(self):
        """Returns the text by which a flag of kt-datagen names the corpus."""
        weight = "" if self.weight == 1 else f":{self.weight}"
        return format_corpus_name(",".join(self.paths), self.tag) + weight

    @property
    def name(self):
        """The names of the files, without their directories."""
        names = ",".join(map(os.path.basename, self.paths))
        return text_files.make_recordable(names)

    @property
    def tagged_name(self):
        """The name, and the tag if there is one."""
        return format_corpus_name(self.name, self.tag)

    def describe(self):
        """Returns the entry of a manifest, to which the pairs are added."""
        return {
            "name": self.name,
            "sha256": [text_files.sha256(path) for path in self.paths],
            "weight": self.weight,
            # Without a tag there is no entry, as in earlier manifests.
            **({"tag": self.tag} if self.tag else {}),
        }

    def tag_pairs(self, pairs, language_codes):
        """Yields pairs of texts, their sources with the tag; see `tags`."""
        for source, target in pairs:
            yield add_tag(source, self.tag, language_codes), target


def format_corpus_name(name, tag):
    """Returns the name of a corpus with its tag, if there is one.

    >>> format_corpus_name("news.tsv", "fr")
    'news.tsv@fr'
    """
    return f"{name}@{tag}" if tag else name


def check_distinct(corpora):
    """Raises a `UserError` if a corpus is listed twice."""
    seen = set()
    for corpus in corpora:
        files = tuple(map(os.path.realpath, corpus.paths))
        if files in seen:
            raise UserError(
                "Each corpus must be given once. Received: "
                f"{','.join(corpus.paths)} twice. Give it a weight instead, "
                f"such as --train={','.join(corpus.paths)}:2."
            )
        seen.add(files)


def check_tags(splits):
    """Raises a `UserError` if a split has a tag that "train" lacks.

    `splits` is a dictionary of split to a list of `Corpus`. Such a tag would
    have an id that is never trained.
    """
    tags = {corpus.tag for corpus in splits.get("train", ())} - {None}
    for split, corpora in splits.items():
        for corpus in corpora:
            if corpus.tag not in {None, *tags}:
                raise UserError(
                    "Each tag of dev and test must be one of train. Received: "
                    f"--{split}={corpus.tagged_name}, while train has "
                    f"{' and '.join(sorted(tags)) or 'no tag'}. Correct the "
                    "tag, or give it to a corpus of train."
                )


def choose_pairs(corpora, seed, epoch):
    """Returns the numbers of the pairs that an epoch has, in an array.

    A corpus of weight 3 is there three times. A corpus of weight 0.5 is there
    with a random half; the next epoch has the other half, and the epoch after
    that a new one. In general the epochs take their pairs from one pass through
    the corpus after another, each in a new random order. `corpora` are
    tuples `(num_pairs, weight)`; the numbers of pairs go through all of them.

    >>> choose_pairs([(2, 3), (1, 1)], seed=0, epoch=0).tolist()
    [0, 1, 0, 1, 0, 1, 2]
    """
    # Imported here because the flags of kt-datagen need this module, too.
    import numpy as np

    parts, first = [], 0
    for number, (num_pairs, weight) in enumerate(corpora):
        # Exact, so that rounding never loses or repeats a pair.
        per_epoch = num_pairs * fractions.Fraction(str(weight))
        begin = math.floor(per_epoch * epoch)
        end = math.floor(per_epoch * (epoch + 1))
        while begin < end:
            pass_number, place = divmod(begin, num_pairs)
            num_taken = min(num_pairs - place, end - begin)
            order = np.arange(num_pairs)
            if num_taken < num_pairs:
                # The trailing 3 keeps this generator apart from the others.
                key = [seed, pass_number, number, 3]
                order = np.random.default_rng(key).permutation(num_pairs)
            parts.append(first + order[place : place + num_taken])
            begin += num_taken
        first += num_pairs
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)
