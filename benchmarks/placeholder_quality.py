"""Measures whether placeholders are kept, and what they cost.

    python benchmarks/placeholder_quality.py RUN test.en test.es

1,000 sentences get one to three of these: tags around words; `{name}` or `%s`
in the place of a name, and `%d` in the place of a number, which the reference
has as well; a URL or an e-mail address at the end. They are translated with
`protect`, and the original sentences without it.

A sentence is kept if it holds every placeholder as often as its source and its
tags are well nested. BLEU is that of the rest: the placeholders are taken out
of the translation, and the names and numbers that they stand for are taken out
of the reference and of the original's translation.
"""

import random
import re
import sys

import sacrebleu

from keras_transformer.decoding.loading import load
from keras_transformer.decoding.steps.placeholders import Placeholders

NUM_SENTENCES = 1000
ADDRESSES = ("https://example.org/a?b=1&c=d#e", "me@example.org")
TAGS = ("<b>", "<i>", '<a href="https://example.org/">', "<span class='x'>")


def tagged(words, source, target, chooser):
    """Puts a pair of tags around one to three words, which may be tagged."""
    first = chooser.randrange(len(words))
    last = min(first + chooser.randrange(3), len(words) - 1)
    inner = " ".join(words[first : last + 1])
    if inner.count("</") != len(re.findall(r"<\w", inner)):
        return None
    tag = chooser.choice(TAGS)
    end = f"</{re.match(r'<(.)[a-z]*', tag)[0][1:]}>"
    words = [*words]
    words[first] = tag + words[first]
    words[last] += end
    return words, [tag, end], None


def named(words, source, target, chooser):
    """Replaces a name or a number that the reference has as well."""
    places = [
        (place, match[0])
        for place, word in enumerate(words)
        if (match := re.fullmatch(r"([A-Z]\w+|\d+)([.,!?]?)", word))
        and (place or match[1].isdigit() or match[1] == "Tom")
        and len(re.findall(rf"(?<!\w){match[1]}(?!\w)", target)) == 1
        and len(re.findall(rf"(?<!\w){match[1]}(?!\w)", source)) == 1
    ]
    if not places:
        return None
    place, word = chooser.choice(places)
    name = re.match(r"\w+", word)[0]
    new = "%d" if name.isdigit() else chooser.choice(["{name}", "%s"])
    if new in " ".join(words):
        return None
    words = [*words]
    words[place] = word.replace(name, new)
    return words, [new], name


def addressed(words, source, target, chooser):
    """Adds a URL or an e-mail address at the end."""
    address = chooser.choice(ADDRESSES)
    return [*words, address], [address], None


def generate(pairs, chooser):
    """Yields a source, its reference, the new source, and what is in it."""
    for source, target in pairs:
        words, kept, names = source.split(), [], []
        for _ in range(chooser.randint(1, 3)):
            change = chooser.choice([tagged, named, named, addressed])
            changed = change(words, source, target, chooser)
            if changed and not (set(changed[1]) & set(kept)):
                words, new, name = changed
                kept += new
                names += [name] if name else []
        if kept:
            yield source, target, " ".join(words), kept, names


def is_kept(text, source, kept):
    if any(text.count(one) != source.count(one) for one in kept):
        return False
    open_names = []
    for end, name in re.findall(r"<(/?)(\w+)[^<>]*>", text):
        if not end:
            open_names.append(name)
        elif not open_names or open_names.pop() != name:
            return False
    return not open_names


def without(texts, parts_of):
    """Returns texts without the parts of each."""
    rests = []
    for text, parts in zip(texts, parts_of):
        for part in sorted(parts, key=len, reverse=True):
            is_word = r"(?<!\w){}(?!\w)" if part.isalnum() else "{}"
            text = re.sub(is_word.format(re.escape(part)), "", text)
        rests.append(" ".join(text.split()))
    return rests


def main(run, source_path, target_path):
    with open(source_path, encoding="utf-8") as sources:
        with open(target_path, encoding="utf-8") as targets:
            pairs = list(zip(map(str.strip, sources), map(str.strip, targets)))
    rows = list(generate(pairs, random.Random(0)))[:NUM_SENTENCES]
    sources, targets, changed, kept, names = zip(*rows)
    print(len(rows), "sentences with", sum(map(len, kept)), "placeholders")
    translator = load(run)
    plain = without(translator(list(sources)), names)
    translations = translator(list(changed), protect=Placeholders())
    rest = without(translations, kept)
    references = [without(targets, names)]
    print(sum(map(is_kept, translations, changed, kept)), "sentences kept")
    print(f"{sacrebleu.corpus_bleu(plain, references).score:.2f} BLEU without")
    print(f"{sacrebleu.corpus_bleu(rest, references).score:.2f} BLEU with")
    for change in ("</", "{name}", "%s", "%d", "http", "@"):
        own = [i for i, text in enumerate(changed) if change in text]
        scores = [
            sacrebleu.corpus_bleu(
                [texts[i] for i in own], [[references[0][i] for i in own]]
            ).score
            for texts in (plain, rest)
        ]
        print(change, len(own), *(f"{score:.2f}" for score in scores))


if __name__ == "__main__":
    main(*sys.argv[1:])
