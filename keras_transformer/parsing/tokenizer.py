"""Splits raw English text into the words of the Penn Treebank."""

import re

from keras_transformer.parsing.tree import escape

# Typographic characters and their equivalents in the treebank.
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("‘‚", " `"),
        "’": "'",
        **dict.fromkeys("“„«", " `` "),
        **dict.fromkeys("”»", " '' "),
        **dict.fromkeys("–—", "--"),
        **dict.fromkeys("‒‑−", "-"),
        "…": "...",
        # The soft hyphen, the space without width, and the byte order mark.
        **dict.fromkeys("\u00ad\u200b\ufeff", ""),
    }
)
# A URL ends before punctuation; an e-mail address ends with its domain.
_ADDRESS = re.compile(
    r"(?:[a-z]+://|www\.)\S*[^\s.,;:?!)\]}'\"]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.I,
)
# Always separate words, so they also end the words beside them.
_APART = re.compile(r"(\.{3,}|-{2,}|``|''|[\"()\[\]{}?!;])")
# Signs after which a quote opens, and before which a period ends a word.
_OPENING = {"``", "`", "(", "[", "{", "--"}
_CLOSING = {"''", "'", ")", "]", "}"}
_CLOSING_QUOTES = {"''", "'"}
_QUOTES = {'"': ("``", "''"), "'": ("`", "'")}  # that open, and that close
# Signs that are split off the beginning of a word (currency, "#", quotes) and
# off its end; a percent sign only follows a digit.
_START = re.compile(r"[A-Z]{0,3}[$£€¥](?=[\d.])|#(?=\d)|[,:`](?=.)|'(?=\w)")
_END = re.compile(r"(?<=.)(?:[,:.']|(?<=\d)%)$")
_COMMA = re.compile(r"(,)(?!\d)|(?<!\d)(,)")  # except in "1,000"
# The treebank splits contractions in two: "did n't", "can not", "gon na".
_CONTRACTED = re.compile(r"(?<=[^'])(?:n't|'(?:s|m|d|ll|re|ve))$", re.I)
_TWO_WORDS = re.compile(
    r"(can)(not)|(gon)(na)|(got)(ta)|(wan)(na)|(gim)(me)|(lem)(me)"
    r"|('t)(is)|('t)(was)|(d')(ye)|(more)('n)",
    re.I,
)
# Words in which an apostrophe replaces omitted letters and is not a quote.
_LEFT_OUT = re.compile(
    r"'(?:em|til|cause|bout|n'?|tis|twas|\d\ds?)\b|'(?:s|m|d|ll|re|ve|t)$", re.I
)
_LEFT_OUT_AT_END = re.compile(r"\w+in'|ol?'|'n'", re.I)
_ACRONYM = re.compile(r"(?:.*-)?(?:[^\W\d_]\.){2,}")  # "U.S.", "p.m."
# Abbreviations that occur in newspapers; all others are judged by their shape.
_ABBREVIATIONS = frozenset(
    "Mr Mrs Ms Messrs Dr Prof Rev Gen Sen Rep Reps Sens Gov Lt Col Sgt Capt "
    "Adm Maj Hon St Ste Mt Ft Jr Sr Inc Corp Co Cos Ltd Pty Bros Assn Dept "
    "Nos Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Ala Ariz Ark Calif "
    "Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb "
    "Nev Okla Ore Pa Penn Tenn Tex Va Vt Wash Wis Wyo Ave Blvd Ph Univ etc vs "
    "v al cf".split()
)


def tokenize(sentence):
    """Splits a sentence into words as the Penn Treebank does.

    - Punctuation, `$` and `%` are words, and contractions are two words.
    - Quotes become `` or '', by direction, and brackets -LRB- and -RRB-.
    - A slash within a word becomes `\\/`.
    - The period at the end of the sentence is a word; the period of an
      abbreviation is not. Where both meet, only the sentence's is written
      ("Acme Corp ."), except after "U.S.".
    - URLs and e-mail addresses stay whole, and words split already stay split.

    docs/parsing_results.md compares it with NLTK's tokenizers.

    >>> " ".join(tokenize('"I can\\'t (or won\\'t) pay $3.50," Mr. Hay said.'))
    "`` I ca n't -LRB- or wo n't -RRB- pay $ 3.50 , '' Mr. Hay said ."
    """
    pieces = _pieces(sentence)
    last = len(pieces) - 1
    # The period of the sentence may stand before closing quotes.
    while last > 0 and pieces[last] in _CLOSING_QUOTES:
        last -= 1
    words = []
    for place, piece in enumerate(pieces):
        if _ADDRESS.fullmatch(piece):
            words.append(escape(piece))
            continue
        # An ellipsis and the period of the sentence.
        if piece.startswith("...."):
            tokens = ["...", "."]
        elif _APART.fullmatch(piece):
            tokens = ["--" if piece.startswith("--") else piece]
        else:
            following = pieces[place + 1] if place < last else None
            tokens = _split(piece, following)
        # Words that are split already may have their escapes.
        words += [
            re.sub(r"(?<!\\)([/*])", r"\\\1", escape(word)) for word in tokens
        ]
    return words


def _pieces(sentence):
    """Splits at spaces and at `_APART`, and gives quotes their direction."""
    # An en dash between numbers is a hyphen, as in 1990-91.
    sentence = re.sub(r"(?<=\d)–(?=\d)", "-", sentence).translate(_PLAIN)
    pieces = []
    is_open = False
    for chunk in sentence.split():
        # An address may hold signs that are split off elsewhere.
        address = _ADDRESS.match(chunk)
        end = address.end() if address else 0
        parts = [chunk[:end], *_APART.split(chunk[end:])]
        parts = list(filter(None, parts))
        words = [n for n, part in enumerate(parts) if re.search(r"[\w$]", part)]
        for place, part in enumerate(parts):
            if part in ('"', "'") and len(parts) > 1:
                # A quote opens if it touches a word only on its right.
                at_start = not place or parts[place - 1] in _OPENING
                opens = at_start and words and place < words[-1]
                part = _QUOTES[part][not opens]
            # A quote between spaces closes if one is open.
            elif part == '"':
                part = _QUOTES[part][is_open]
            if part in ("``", "''"):
                is_open = part == "``"
            parts[place] = part
        pieces += parts
    return pieces


def _split(piece, following):
    """Splits signs off a piece; `following` is None at the sentence's end."""
    start, end = [], []
    while (mark := _START.match(piece)) and not _LEFT_OUT.match(piece):
        start.append("`" if mark.group() == "'" else mark.group())
        piece = piece[mark.end() :]
    # Searching only the last characters keeps the time linear in the length.
    while mark := _END.search(piece[-2:]):
        mark = mark.group()
        if mark == ".":
            is_last = following is None and _CLOSING_QUOTES.issuperset(end)
            # The treebank doubles the period after this abbreviation only.
            if is_last and piece == "U.S.":
                end.append(".")
                break
            if not is_last and _keeps_period(piece, (following, *end)[-1]):
                break
        if mark == "'" and _LEFT_OUT_AT_END.fullmatch(piece):
            break
        end.append(mark)
        piece = piece[:-1]
    return [*start, *_inner(piece), *reversed(end)]


def _keeps_period(word, following):
    """Returns whether the period at the end of a word is part of it."""
    stem = word[:-1].rpartition("-")[2]
    if stem in _ABBREVIATIONS or _ACRONYM.fullmatch(word):
        return True
    # An unknown word may be an abbreviated name, but not before a closing sign.
    # A word in lower case or a number ends a sentence, except "No. 5".
    if following in _CLOSING:
        return False
    return stem == "No" or not (stem.islower() or stem.isdecimal())


def _inner(piece):
    """Splits contractions and inner commas off a piece."""
    words = []
    for part in filter(None, _COMMA.split(piece)):
        two = _TWO_WORDS.fullmatch(part)
        if two:
            words += filter(None, two.groups())
            continue
        # More than one ending may follow: "could n't 've".
        endings = []
        while contracted := _CONTRACTED.search(part[-4:]):
            endings.append(contracted.group())
            part = part[: -len(endings[-1])]
        words += [part, *reversed(endings)]
    return words
