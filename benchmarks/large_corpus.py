"""Writes a parallel text of made-up words, to measure kt-datagen with.

    python benchmarks/large_corpus.py 10000000 corpus

writes corpus.source and corpus.target. Sentences have 3 to 12 words from a
lexicon of 50,000, whose frequencies follow Zipf's law. The text depends on the
number of pairs alone.
"""

import sys

import numpy as np

NUM_WORDS = 50_000
LENGTHS = range(3, 13)
PAIRS_AT_ONCE = 50_000


def make_lexicon(generator, consonants, vowels):
    """Returns distinct words of 1 to 4 syllables, the shortest ones first."""

    def pick(letters):
        return letters[int(generator.random() * len(letters))]

    words = {}
    while len(words) < NUM_WORDS:
        num_syllables = min(4, 1 + len(words) // 40)
        word = "".join(
            pick(consonants) + pick(vowels) for _ in range(num_syllables)
        )
        words[word] = None
    return np.array(list(words), object)


def main():
    num_pairs, path = int(sys.argv[1]), sys.argv[2]
    generator = np.random.default_rng(0)
    lexicons = [
        make_lexicon(generator, "bdfgklmnprstw", "aeiou"),
        make_lexicon(generator, "dghjklmnrstvzß", "aäeioöuü"),
    ]
    shares = 1 / np.arange(1, NUM_WORDS + 1)
    limits = np.cumsum(shares / shares.sum())
    with (
        open(f"{path}.source", "w", encoding="utf-8") as sources,
        open(f"{path}.target", "w", encoding="utf-8") as targets,
    ):
        for start in range(0, num_pairs, PAIRS_AT_ONCE):
            count = min(PAIRS_AT_ONCE, num_pairs - start)
            ends = np.cumsum(generator.choice(LENGTHS, count))
            words = np.searchsorted(limits, generator.random(ends[-1]))
            for lexicon, file in zip(lexicons, (sources, targets)):
                spelled = lexicon[np.minimum(words, NUM_WORDS - 1)].tolist()
                begin = 0
                for end in ends.tolist():
                    file.write(" ".join(spelled[begin:end]) + "\n")
                    begin = end


if __name__ == "__main__":
    main()
