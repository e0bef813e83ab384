"""The normalisation of text: one space, no invisible marks, one spelling.

It is a table of replacements, which SentencePiece stores in a vocabulary. So
every reader normalises alike: a run, a SavedModel and a CTranslate2 model.
"""

import functools
import itertools
import os
import tempfile
import unicodedata

import sentencepiece

from keras_transformer.files.quiet import silence

# Scripts such as Persian and Devanagari, and emoji, need these.
_JOINERS = "\u200c\u200d"
# Format characters that are visible or arrange hieroglyphs.
_VISIBLE_FORMATS = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2"
    "\U000110bd\U000110cd"
) | frozenset(map(chr, range(0x13430, 0x13456)))
_HYPHENS = "\u2010\u2011"
_LIGATURES = tuple(map(chr, range(0xFB00, 0xFB07)))  # ff to st
_WIDE_ASCII = tuple(map(chr, range(0xFF01, 0xFF5F)))
# Hebrew points and Arabic vowels, which people type in another order than NFC.
_POINTS = (*map(chr, range(0x5B0, 0x5BE)), *map(chr, range(0x64B, 0x653)))
# All planes that have letters or format characters, without surrogates.
_CODES = (range(1, 0xD800), range(0xE000, 0x30000), range(0xE0000, 0xE0080))
# Latin, Greek, Cyrillic, their extensions, and general punctuation.
_WITHOUT_JOINERS = (range(0x20, 0x530), range(0x1E00, 0x20D0))


@functools.cache
def make_replacements(wide_punctuation):
    """Returns the replacements to make in a text, a dictionary of str to str.

    The longest replacement that fits is made, from left to right:

    - all white space becomes a space;
    - characters without width, such as the soft hyphen, marks of direction and
      control characters, are dropped. The two joiners are dropped only before
      letters of scripts that need none, and beside punctuation;
    - letters and their marks become one character where there is one (NFC);
    - full-width letters, half-width katakana, the ligatures of Latin letters
      and the two hyphens U+2010 and U+2011 become ordinary characters.

    `wide_punctuation` keeps the full-width punctuation of Chinese and Japanese.
    """
    replacements = {}
    for character in map(chr, itertools.chain(*_CODES)):
        normal = _normalise(character, wide_punctuation)
        if normal != character:
            replacements[character] = normal
        elif len(unicodedata.normalize("NFD", character)) > 1:
            spellings = _spell_otherwise(character)
            replacements |= dict.fromkeys(spellings, character)
    for pair in map("".join, itertools.permutations(_POINTS, 2)):
        replacements[pair] = unicodedata.normalize("NFC", pair)
    for kana, mark in itertools.product(map(chr, range(0xFF66, 0xFF9E)), "ﾞﾟ"):
        voiced = unicodedata.normalize("NFKC", kana + mark)
        if len(voiced) == 1:
            replacements[kana + mark] = voiced
    replacements |= _drop_joiners(replacements)
    return {old: new for old, new in replacements.items() if old != new}


def _normalise(character, wide_punctuation):
    if character.isspace():
        return " "
    category = unicodedata.category(character)
    if category in ("Cc", "Cf"):
        is_kept = character in _JOINERS or character in _VISIBLE_FORMATS
        return character if is_kept else ""
    if character in _HYPHENS:
        return "-"
    if character in _WIDE_ASCII and wide_punctuation:
        ordinary = unicodedata.normalize("NFKC", character)
        return ordinary if ordinary.isalnum() else character
    width = unicodedata.decomposition(character).split(" ")[0]
    if width in ("<wide>", "<narrow>") or character in _LIGATURES:
        return unicodedata.normalize("NFKC", character)
    return unicodedata.normalize("NFC", character)


def _spell_otherwise(character):
    """Yields the spellings of a character with marks apart, in any order."""
    base, *marks = unicodedata.normalize("NFD", character)
    for order in itertools.permutations(marks):
        for number in range(len(marks)):
            start = unicodedata.normalize("NFC", base + "".join(order[:number]))
            spelling = start + "".join(order[number:])
            if unicodedata.normalize("NFC", spelling) == character:
                yield spelling


def _drop_joiners(replacements):
    """Returns the replacements that drop joiners where none is needed."""
    letters = map(chr, itertools.chain(*_WITHOUT_JOINERS))
    others = {letter: letter for letter in letters if letter not in _JOINERS}
    for old, new in replacements.items():
        if any(ord(old[0]) in codes for codes in _WITHOUT_JOINERS):
            others[old] = new
    before = {j + old: new for j in _JOINERS for old, new in others.items()}
    marks = [c for c in map(chr, range(0x20, 0x7F)) if not c.isalnum()]
    after = {c + joiner: c for c in marks for joiner in _JOINERS}
    return before | after


def uses_wide_punctuation(texts):
    """Returns whether at least 1 % of a list of texts are in a CJK script."""
    num_wide = sum(any("\u3040" <= c <= "\u9fff" for c in t) for t in texts)
    return num_wide > 0 and 100 * num_wide >= len(texts)


def write_options(directory, texts, normalize_text, spell_syllables):
    """Writes the rules of a vocabulary; returns SentencePiece's options."""
    rules = options = {}
    if normalize_text:
        rules = make_replacements(uses_wide_punctuation(texts))
    if spell_syllables and (letters := _spell_syllables(texts)):
        # A syllable that another rule makes is spelled, too.
        rules = letters | {k: letters.get(v, v) for k, v in rules.items()}
        rules = {old: new for old, new in rules.items() if old != new}
        syllables = {new: old for old, new in letters.items()}
        path = write_rules(directory, "decode", syllables)
        options = {"denormalization_rule_tsv": path}
    if not rules:
        return {"normalization_rule_name": "identity"}
    path = write_rules(directory, "encode", rules)
    return options | {"normalization_rule_tsv": path}


def _spell_syllables(texts):
    """Returns the letters of every syllable of Hangul, by syllable.

    There are 11,172 syllables of 67 letters, so that few words have most of the
    letters but not most of the syllables. Without a syllable it is empty.
    """
    syllables = list(map(chr, range(0xAC00, 0xD7A4)))
    if set(syllables).isdisjoint(itertools.chain.from_iterable(texts)):
        return {}
    return {each: unicodedata.normalize("NFD", each) for each in syllables}


def write_rules(directory, name, replacements):
    """Writes replacements as SentencePiece reads them; returns the path."""
    path = os.path.join(directory, name)
    with open(path, "w", encoding="ascii") as file:
        for old, new in replacements.items():
            file.write(f"{_spell_codes(old)}\t{_spell_codes(new)}\n")
    return path


@functools.cache  # a process that trains two vocabularies writes them twice
def _spell_codes(text):
    return " ".join(f"{ord(character):X}" for character in text)


def drop_paths(model_bytes):
    """Returns a SentencePiece model without the paths of its replacements.

    They are temporary, so they would differ in every file.
    """
    # Imported here because few commands need protobuf.
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(model_bytes)
    for spec in (model.normalizer_spec, model.denormalizer_spec):
        spec.ClearField("normalization_rule_tsv")
    return model.SerializeToString(deterministic=True)


@functools.cache
def _make_normalizer():
    with tempfile.TemporaryDirectory() as directory:
        rules = write_rules(directory, "rules", make_replacements(True))
        with silence():  # SentencePiece logs what it reads
            return sentencepiece.SentencePieceNormalizer(
                rule_tsv=rules,
                add_dummy_prefix=False,
                escape_whitespaces=False,
                remove_extra_whitespaces=False,
            )


def normalize(text):
    r"""Returns a text as a vocabulary with this normalisation reads it.

    It keeps the number of spaces.

    >>> normalize("com\xadputer,\u00a0cafe\u0301")
    'computer, café'
    """
    return _make_normalizer().normalize(text)
