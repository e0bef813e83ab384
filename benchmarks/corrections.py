"""Measures ways of learning from corrections while documents are translated.

    python benchmarks/corrections.py run documents.tsv --way=memory

Each line of documents.tsv has the number of its document, a sentence and its
reference, with tabs in between. The sentences are translated in order. After
each one, its reference is remembered as its correction. These are the ways:

- none: corrections have no effect.
- fuzzy: the correction of a sentence with 0.75 of the words, if there is one.
- fitted: corrections with other names, as `--memory` has them on CTranslate2.
- memory: what `--memory` does with a run: fitted and near corrections.
- adapter: fitted. Before other sentences, low-rank adapters learn from up to
  eight corrections with 0.5 of the words (Farajian et al., 2017), and begin
  anew afterwards. memory+adapter also searches near corrections.
- prefix: fitted. Other sentences begin with the correction of the most similar
  one, if it has 0.5 of the words (Bulte and Tezcan, 2019). The run must have
  learned from text that `benchmarks/prefixed_pairs.py` made.
- fine_tuning: after each document, all weights learn from its corrections.
- context: the source begins with the sentence before, the translation with
  its correction.

A term is a word of four letters or more in a reference and in that of one
earlier sentence of the document. It is right if the translation has it, too.
The milliseconds are the mean of the second halves, with updates.
"""

import argparse
import itertools
import os
import re
import tempfile
import time
from collections import Counter

import keras
import sacrebleu
import tensorflow as tf
from prefixed_pairs import MIN_SIMILARITY
from prefixed_pairs import add_prefix

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.data.memory.fitting import recall
from keras_transformer.data.memory.store import TranslationMemory
from keras_transformer.decoding.loading import load
from keras_transformer.losses import smoothed_cross_entropy

WAYS = ("none", "fuzzy", "fitted", "memory", "adapter", "memory+adapter")
WAYS += ("prefix", "fine_tuning", "context")
SEARCH = {"alpha": 1.4}  # best on dev of docs/which_recipe.md
BATCH = 16  # sentences of an update of all weights
NEIGHBOURS = 8, 0.5  # their number and minimum similarity for adapters
TERM = re.compile(r"[^\W\d_]{4,}")


class Learner:
    """Updates a translator's model, or low-rank adapters of it, on pairs."""

    def __init__(self, translator, rate, rank=0):
        self.translator = translator
        self.model = translator.engine.model
        if rank:
            self.model.enable_lora(rank)
        weights = self.model.trainable_variables
        self.optimizer = keras.optimizers.Adam(rate, beta_2=0.98)
        self.optimizer.build(weights)
        weights = [*weights, *self.optimizer.variables]
        self.start = [(each, each.numpy()) for each in weights]
        ids = [tf.TensorSpec([None, None], tf.int32)] * 2
        self.update = tf.function(self._update, ids, autograph=False)

    def _update(self, inputs, targets):
        model = self.model
        with tf.GradientTape() as tape:
            features = {"inputs": inputs, "targets": targets}
            # A few updates of adapters need no dropout.
            logits = model(features, training=not model.lora_rank)
            loss = smoothed_cross_entropy(targets, logits, 0.1)
            loss = tf.reduce_mean(tf.boolean_mask(loss, targets != 0))
        weights = model.trainable_variables
        gradients = tape.gradient(loss, [each.value for each in weights])
        self.optimizer.apply(gradients, weights)

    def learn(self, pairs):
        """Makes one update on pairs of texts."""
        sources, targets = map(list, zip(*pairs))
        encode = self.translator.codec.encode_texts
        self.update(pad(encode(sources)), pad(encode(targets, True)))

    def reset(self):
        for variable, value in self.start:
            variable.assign(value)


class Way:
    """Translates documents, and learns in one of the ways."""

    def __init__(self, options, path):
        self.name, self.steps = options.way, options.steps
        self.memory = TranslationMemory(path)
        self.adapts, self.tunes = "adapter" in self.name, "fine" in self.name
        self.translator = load(
            options.run,
            engine="keras" if self.adapts or self.tunes else "auto",
            memory=path if "memory" in self.name else None,
        )
        if self.adapts or self.tunes:
            keras.utils.set_random_seed(1)
            rank = options.rank * self.adapts
            self.learner = Learner(self.translator, options.rate, rank)

    def translate_all(self, documents):
        """Yields each translation, its seconds, and whether it is new."""
        for document in documents:
            before = ()
            for text, reference in document:
                start = time.perf_counter()
                translation = self.translate(text, before)
                seconds = time.perf_counter() - start
                is_new = not self.memory.find_similar(text, 1, 0.4)
                yield translation, seconds, is_new
                self.memory.remember(text, reference)
                before = text, reference
            for _ in range(self.steps * self.tunes):
                for start in range(0, len(document), BATCH):
                    self.learner.learn(document[start : start + BATCH])

    def translate(self, text, before):
        matches = ()
        if self.adapts and not self.memory.find(text):
            matches = self.memory.find_similar(text, *NEIGHBOURS)
        for _ in range(self.steps if matches else 0):
            self.learner.learn([match.pair[:2] for match in matches])
        if self.name == "context" and before:
            source, target = before
            text = f"{source} {text}"
            (both,) = self.translator([text], prefixes=[target], **SEARCH)
            return both[len(target) :].strip()
        source = text
        if self.name == "prefix":
            source = add_prefix(
                text, self.memory.find_similar(text, 1, MIN_SIMILARITY)
            )
        (translation,) = self.translator([source], **SEARCH)
        if matches:
            self.learner.reset()
        if self.name == "fuzzy":
            for match in self.memory.find_similar(text, 1, 0.75):
                return match.pair.target
        fits = self.name in ("fitted", "adapter", "prefix")
        recalled = fits and recall(self.memory, text, translation)
        return recalled.target if recalled else translation


def read_documents(path):
    """Returns the documents of a file, each a list of pairs."""
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    return [
        [tuple(line[1:]) for line in group]
        for _, group in itertools.groupby(lines, key=lambda line: line[0])
    ]


def count_terms(document, translations):
    """Counts terms, and those that are right: R1 of Simianer et al. (2019)."""
    uses, number, right = Counter(), 0, 0
    for (_, reference), translation in zip(document, translations):
        found = set(TERM.findall(translation.lower()))
        terms = set(TERM.findall(reference.lower()))
        again = {term for term in terms if uses[term] == 1}
        number, right = number + len(again), right + len(again & found)
        uses.update(terms)
    return number, right


def report(documents, translations, seconds, is_new):
    """Prints the scores of all documents."""
    rows = list(zip(translations, itertools.chain(*documents), is_new, seconds))
    new = [row for row in rows if row[2]]
    first, second, number, right = [], [], 0, 0
    for document in documents:
        of_document, rows = rows[: len(document)], rows[len(document) :]
        middle = len(document) // 2
        first += of_document[:middle]
        second += of_document[middle:]
        counts = count_terms(document, [row[0] for row in of_document])
        number, right = number + counts[0], right + counts[1]
    names = "first halves", "second halves", "sentences without a neighbour"
    for name, group in zip(names, (first, second, new)):
        references = [row[1][1] for row in group]
        bleu = sacrebleu.corpus_bleu([row[0] for row in group], [references])
        print(f"BLEU of {name}: {bleu.score:.1f} ({len(group)} sentences)")
    print(f"{100 * right / number:.1f} % of {number} terms are right")
    print(f"{1000 * sum(row[3] for row in second) / len(second):.0f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run")
    parser.add_argument("documents")
    parser.add_argument("--way", choices=WAYS, default="memory")
    parser.add_argument("--rank", type=int, default=4, help="of adapters")
    parser.add_argument("--rate", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    documents = read_documents(options.documents)
    with tempfile.TemporaryDirectory() as folder:
        way = Way(options, os.path.join(folder, "memory"))
        found = list(way.translate_all(documents))
    report(documents, *zip(*found))


if __name__ == "__main__":
    main()
