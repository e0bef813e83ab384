"""Measures what a glossary costs, and how often it is obeyed.

    python benchmarks/glossary_quality.py RUN test.en test.es terms.tsv 4 8 16

Each line of terms.tsv has a term of the source, its usual translations with
commas between them, and the prescribed one, with tabs between the three. A
prescribed translation that equals the term is one that is not translated. The
first 500 sentences with one or two of the terms are translated without and with
the glossary, with each of the beam sizes.

A term is obeyed if the translation has it as whole words. BLEU is computed
without the terms: the usual and the prescribed translations of a sentence's
terms are taken out of the reference and of both translations.
"""

import re
import sys

import sacrebleu

from keras_transformer.decoding.loading import load
from keras_transformer.decoding.steps.glossary import Glossary

NUM_SENTENCES = 500


def read_table(path):
    """Returns a dictionary of term to its translations, prescribed one last."""
    with open(path, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    return {term: [*usual.split(","), new] for term, usual, new in rows}


def pattern_of(words):
    longest_first = sorted(map(re.escape, words), key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(longest_first)})(?!\w)", re.I)


def without(texts, patterns):
    """Returns texts without what the pattern of each matches."""
    return [
        " ".join(pattern.sub(" ", text).split())
        for text, pattern in zip(texts, patterns)
    ]


def bleu(translations, references, patterns):
    texts, references = (
        without(texts, patterns) for texts in (translations, references)
    )
    return sacrebleu.corpus_bleu(texts, [references]).score


def num_obeyed(translations, terms_of):
    return sum(
        len(re.findall(rf"(?<!\w){re.escape(term)}(?!\w)", text))
        >= terms.count(term)
        for text, terms in zip(translations, terms_of)
        for term in terms
    )


def main(run, source_path, target_path, table_path, *beam_sizes):
    table = read_table(table_path)
    glossary = Glossary(
        {
            term: None if words[-1] == term else words[-1]
            for term, words in table.items()
        }
    )
    with open(source_path, encoding="utf-8") as sources:
        with open(target_path, encoding="utf-8") as targets:
            pairs = [
                (source.strip(), target.strip())
                for source, target in zip(sources, targets)
                if len(glossary.find(source)) in (1, 2)
            ]
    texts, references = zip(*pairs[:NUM_SENTENCES])
    terms_of = [glossary.find(text) for text in texts]
    patterns = []
    for terms in terms_of:
        groups = [words for words in table.values() if words[-1] in terms]
        patterns.append(pattern_of(sum(groups, [])))
    num_terms = sum(map(len, terms_of))
    print(f"{len(texts)} sentences with {num_terms} terms")
    translator = load(run)
    for beam_size in map(int, beam_sizes):
        for name, own in (("without", None), ("with", glossary)):
            translations = translator(
                list(texts), beam_size=beam_size, glossary=own
            )
            print(
                f"beam {beam_size}, {name} glossary: "
                f"{num_obeyed(translations, terms_of)} terms obeyed, BLEU "
                f"{bleu(translations, references, patterns):.2f} without them, "
                f"{sacrebleu.corpus_bleu(translations, [references]).score:.2f}"
                " with them",
                flush=True,
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
