"""Puts similar sentences' translations before sentences of training text.

    python benchmarks/prefixed_pairs.py train.en train.it prefixed.en

Half of the sentences are drawn at random. Each of these gets the translation of
the most similar other sentence, if that has 0.5 of its words, and a mark in
between (Bulte and Tezcan, 2019). The other half stays, so that the model also
translates sentences like no other.
"""

import random
import sys
import tempfile

from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.data.memory.store import normalise

MARK = "\N{RIGHTWARDS DOUBLE ARROW}"
MIN_SIMILARITY = 0.5


def add_prefix(text, matches):
    """Returns a sentence after the translation of the first match, if any."""
    for match in matches:
        return f"{match.pair.target} {MARK} {text}"
    return text


def prefix_all(sources, targets):
    """Returns the sources, a half of them with prefixes where there are any."""
    prefixed = list(sources)
    with tempfile.NamedTemporaryFile() as file:
        memory = TranslationMemory(file.name)
        pairs = list(zip(sources, targets))
        pairs = [pair for pair in pairs if all(map(str.strip, pair))]
        random.Random(1).shuffle(pairs)
        memory.remember_all(pairs)
        chosen = random.Random(2).sample(range(len(sources)), len(sources) // 2)
        for place in chosen:
            source = sources[place]
            # The first two may be the sentence itself, also in another form.
            matches = memory.find_similar(source, 3, MIN_SIMILARITY)
            others = [
                match
                for match in matches
                if match.pair.source != normalise(source)
            ]
            prefixed[place] = add_prefix(source, others)
        memory.close()
    return prefixed


def main(source_path, target_path, output_path):
    lines = []
    for path in (source_path, target_path):
        with open(path, encoding="utf-8") as file:
            lines.append([line.rstrip("\n") for line in file])
    with open(output_path, "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in prefix_all(*lines))


if __name__ == "__main__":
    main(*sys.argv[1:])
