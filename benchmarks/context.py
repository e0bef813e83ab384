"""Measures whether the sentences before help to translate a sentence.

    python benchmarks/context.py run documents.tsv

The lines of documents.tsv are those of corrections.py. All weights of the run
learn from half of the documents, and translate the other half, then the other
way around. Each time, the source begins with the 0, 1, 2 or 3 sentences before
it in the document, each with a mark after it. With 0 the model has learned from
the same documents, so only the context differs.
"""

import argparse
import random

import keras
import sacrebleu
from corrections import BATCH
from corrections import SEARCH
from corrections import Learner
from corrections import count_terms
from corrections import read_documents
from prefixed_pairs import MARK

from keras_transformer.decoding.loading import load

NUM_EPOCHS = 5


def add_context(document, number):
    """Returns a document's pairs, with sources before each source."""
    sources = [source for source, _ in document]
    return [
        (f" {MARK} ".join(sources[max(0, i - number) : i + 1]), target)
        for i, (_, target) in enumerate(document)
    ]


def translate(run, rate, learned, documents):
    """Learns from documents, and returns the translations of others."""
    keras.utils.set_random_seed(1)
    learner = Learner(load(run, engine="keras"), rate)
    pairs = [pair for document in learned for pair in document]
    shuffle = random.Random(1).shuffle
    for _ in range(NUM_EPOCHS):
        shuffle(pairs)
        for start in range(0, len(pairs), BATCH):
            learner.learn(pairs[start : start + BATCH])
    return [
        learner.translator([source for source, _ in document], **SEARCH)
        for document in documents
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run")
    parser.add_argument("documents")
    parser.add_argument("--rate", type=float, default=0.0001)
    options = parser.parse_args()
    documents = read_documents(options.documents)
    for number in range(4):
        turned = [add_context(document, number) for document in documents]
        halves = turned[::2], turned[1::2]
        found = [None] * len(documents)
        for half in (0, 1):
            found[half::2] = translate(
                options.run, options.rate, halves[1 - half], halves[half]
            )
        outputs = [text for some in found for text in some]
        references = [pair[1] for document in documents for pair in document]
        bleu = sacrebleu.corpus_bleu(outputs, [references]).score
        counts = [count_terms(*each) for each in zip(documents, found)]
        terms, right = map(sum, zip(*counts))
        print(
            f"{number} sentences before: BLEU {bleu:.1f}, "
            f"{100 * right / terms:.1f} % of terms",
            flush=True,
        )


if __name__ == "__main__":
    main()
