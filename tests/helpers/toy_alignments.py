"""Gold word alignments of the toy language, exact by its grammar.

Every noun, adjective, verb, pronoun and preposition of a clause gets a mark, a
character of its own, before both clauses are put into words. Words that carry
the same mark translate each other.
"""

import dataclasses
import itertools
import re

from toy_text import grammar
from toy_text import sentences as toy
from toy_text.lexicon import NounPhrase
from toy_text.lexicon import Pronoun

from keras_transformer.decoding.engines.attention import format_pharaoh
from keras_transformer.problems.translate_files import TranslateFiles

FIRST_MARK = 0xE000  # the first character for private use
MARK = re.compile("[\ue000-\uf8ff]")

_NOUN = ("english", "english_plural", "german", "german_plural", "oblique")
_PRONOUN = ("english_subject", "english_object")
_PRONOUN += ("nominative", "accusative", "dative")
_VERB = ("english", "particle", "past", "prefix", "stem", "third", "participle")
_ADJECTIVE = ("english", "german", "stem")
_COMPLEMENT = ("english_preposition", "german_preposition")


def aligned_pairs(num_pairs, seed=1):
    """Returns random sentences of the toy language with their gold links.

    Args:
        num_pairs: Number of pairs.
        seed: Integer seed. The corpus of `translate_ende_toy` has 2017.

    Returns:
        A list of (English, German, links); links are a set of pairs of an
        English and a German word number from 0.
    """
    plain = toy.SentenceWriter(seed)
    marked = toy.SentenceWriter(seed)
    pairs = []
    for _ in range(num_pairs):
        texts = plain.sentence()
        with_marks = _marked_sentence(marked)
        assert _bare(with_marks) == _bare(texts)
        pairs.append((*texts, _links(*with_marks)))
    return pairs


def aligned_files(directory, num_pairs):
    """Generates data of sentences of the toy language with gold alignments.

    Args:
        directory: Path to write text and data to.
        num_pairs: Number of training pairs.

    Returns:
        The `TranslateFiles`.
    """
    for split, number, seed in (("train", num_pairs, 2), ("dev", 50, 3)):
        english, german, links = zip(*aligned_pairs(number, seed))
        lines = [format_pharaoh(sorted(each)) for each in links]
        for name, texts in (("en", english), ("de", german), ("links", lines)):
            (directory / f"{split}.{name}").write_text(
                "".join(f"{text}\n" for text in texts), encoding="utf-8"
            )
    problem = TranslateFiles(str(directory / "data"))
    files = {
        split: tuple(
            str(directory / f"{split}.{side}") for side in ("en", "de")
        )
        for split in ("train", "dev")
    }
    problem.use_files(files, 1000, alignments=str(directory / "train.links"))
    problem.generate(None)
    return problem


def alignment_error_rate(predicted, gold):
    """Returns the AER of links, of which all gold ones are sure.

    Words without a gold link are ignored on the side of the target.

    Args:
        predicted, gold: Lists of sets of links, one for each sentence.
    """
    num_right = num_links = 0
    for ours, theirs in zip(predicted, gold, strict=True):
        judged = {target for _, target in theirs}
        ours = {link for link in ours if link[1] in judged}
        num_right += 2 * len(ours & theirs)
        num_links += len(ours) + len(theirs)
    return 1 - num_right / num_links


def _marked_sentence(writer):
    clauses = {}

    def marking(put_into_words):
        def words_of(clause, *args, **options):
            # Both languages must mark a clause alike. The entry keeps it alive.
            if id(clause) not in clauses:
                clauses[id(clause)] = clause, _marked_clause(clause, marks)
            return put_into_words(clauses[id(clause)][1], *args, **options)

        return words_of

    marks = map(chr, itertools.count(FIRST_MARK))
    toy.english = marking(grammar.english)
    toy.german = marking(grammar.german)
    try:
        return writer.sentence()
    finally:
        toy.english, toy.german = grammar.english, grammar.german


def _marked_clause(clause, marks):
    verb = _marked(clause.verb, _VERB, marks)
    complements = [_marked(c, _COMPLEMENT, marks) for c in verb.complements]
    predicate = clause.predicate
    return dataclasses.replace(
        clause,
        verb=dataclasses.replace(verb, complements=tuple(complements)),
        predicate=predicate and _marked(predicate, _ADJECTIVE, marks),
        subject=_marked_phrase(clause.subject, marks),
        objects=tuple(_marked_phrase(p, marks) for p in clause.objects),
    )


def _marked_phrase(phrase, marks):
    if isinstance(phrase, Pronoun):
        return _marked(phrase, _PRONOUN, marks)
    if not isinstance(phrase, NounPhrase):
        return phrase  # a relative pronoun
    adjective, relative = phrase.adjective, phrase.relative
    return dataclasses.replace(
        phrase,
        noun=_marked(phrase.noun, _NOUN, marks),
        adjective=adjective and _marked(adjective, _ADJECTIVE, marks),
        relative=relative and _marked_clause(relative, marks),
    )


def _marked(entry, names, marks):
    mark = next(marks)
    texts = {name: getattr(entry, name) for name in names}
    texts = {n: mark + text if text else text for n, text in texts.items()}
    return dataclasses.replace(entry, **texts)


def _bare(texts):
    # A mark hides the vowel that turns "a" into "an".
    bare = [MARK.sub("", text).lower() for text in texts]
    return [re.sub(r"\ban\b(?=.* )", "a", bare[0]), bare[1]]


def _links(english, german):
    sides = [
        [set(MARK.findall(word)) for word in text.split()]
        for text in (english, german)
    ]
    return {
        (source, target)
        for source, ours in enumerate(sides[0])
        for target, theirs in enumerate(sides[1])
        if ours & theirs
    }
