"""Raw English to the words of the Penn Treebank."""

import re

from keras_transformer.trees.tree import escape

# What typesetting has more of than the treebank.
_PLAIN = str.maketrans(
    {
        "‘": " `",
        "’": "'",
        "‚": " `",
        "“": " `` ",
        "„": " `` ",
        "”": " '' ",
        "«": " `` ",
        "»": " '' ",
        "–": "--",
        "—": "--",
        "‒": "-",
        "‑": "-",
        "−": "-",
        "…": "...",
        "\N{SOFT HYPHEN}": "",
        "\N{ZERO WIDTH SPACE}": "",
        "\N{BYTE ORDER MARK}": "",
    }
)
_ADDRESS = re.compile(
    r"(?:[a-z]+://|www\.)\S*[^\s.,;:?!)\]}'\"]|[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    re.I,
)
# What stands apart wherever it is, and so ends what is beside it.
_APART = re.compile(r"(\.{3,}|-{2,}|``|''|[\"()\[\]{}?!;])")
_OPENING = {"``", "`", "(", "[", "{", "--"}
_CLOSING = {"''", "'", ")", "]", "}"}
_CLOSING_QUOTES = {"''", "'"}
_START = re.compile(r"[A-Z]{0,3}[$£€¥](?=[\d.])|#(?=\d)|[,:`](?=.)|'(?=\w)")
_END = re.compile(r"(?<=.)(?:[,:.']|(?<=\d)%)$")
_COMMA = re.compile(r"(,)(?!\d)|(?<!\d)(,)")  # but not that of "1,000"
_CONTRACTED = re.compile(r"(?<=[^'])(?:n't|'(?:s|m|d|ll|re|ve))$", re.I)
_TWO_WORDS = re.compile(
    r"(can)(not)|(gon)(na)|(got)(ta)|(wan)(na)|(gim)(me)|(lem)(me)"
    r"|('t)(is)|('t)(was)|(d')(ye)|(more)('n)",
    re.I,
)
# Here an apostrophe stands for letters left out, or is no quote.
_LEFT_OUT = re.compile(
    r"'(?:em|til|cause|bout|n'?|tis|twas|\d\ds?)\b|'(?:s|m|d|ll|re|ve|t)$", re.I
)
_LEFT_OUT_AT_END = re.compile(r"\w+in'|ol?'|'n'", re.I)
_ACRONYM = re.compile(r"(?:.*-)?(?:[^\W\d_]\.){2,}")  # "U.S.", "p.m."
_ABBREVIATIONS = frozenset(
    "Mr Mrs Ms Messrs Dr Prof Rev Gen Sen Rep Reps Sens Gov Lt Col Sgt Capt "
    "Adm Maj Hon St Ste Mt Ft Jr Sr Inc Corp Co Cos Ltd Pty Bros Assn Dept "
    "Nos Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec Ala Ariz Ark Calif "
    "Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb "
    "Nev Okla Ore Pa Penn Tenn Tex Va Vt Wash Wis Wyo Ave Blvd Ph Univ etc vs "
    "v al cf".split()
)


def tokenize(sentence):
    """Split a sentence into words as the Penn Treebank does.

    Punctuation, `$` and `%` are words; quotes are `` and '' by direction;
    brackets are -LRB- and -RRB-; contractions are two words; a slash within a
    word is `\\/`. The period at the end is a word, those of abbreviations are
    not: of the two that should meet at the end the treebank writes only the
    sentence's ("Acme Corp ."), except after "U.S.". URLs and e-mail addresses
    stay whole. What is split already stays as it is.

    Args:
        sentence: one sentence as it is printed, a str.

    Returns:
        List of str.

    Example:

    >>> " ".join(tokenize('"I can\\'t (or won\\'t) pay $3.50," Mr. Hay said.'))
    "`` I ca n't -LRB- or wo n't -RRB- pay $ 3.50 , '' Mr. Hay said ."
    """
    pieces = _pieces(sentence)
    last = len(pieces) - 1
    while last > 0 and pieces[last] in _CLOSING_QUOTES:
        last -= 1
    words = []
    for place, piece in enumerate(pieces):
        if _ADDRESS.fullmatch(piece):
            words.append(escape(piece))
            continue
        if piece.startswith("...."):
            made = ["...", "."]
        elif _APART.fullmatch(piece):
            made = ["--" if piece.startswith("--") else piece]
        else:
            following = pieces[place + 1] if place < last else None
            made = _split(piece, following)
        words += [_escaped(word) for word in made]
    return words


def _pieces(sentence):
    """Split at spaces and at what stands apart, and turn the quotes."""
    # Between numbers a dash is a hyphen.
    sentence = re.sub(r"(?<=\d)–(?=\d)", "-", sentence).translate(_PLAIN)
    pieces = []
    is_open = False
    for chunk in sentence.split():
        parts = _parts(chunk)
        words = [n for n, part in enumerate(parts) if re.search(r"[\w$]", part)]
        for place, part in enumerate(parts):
            if part in ('"', "'") and len(parts) > 1:
                # It opens if it touches something behind it only.
                at_start = not place or parts[place - 1] in _OPENING
                opens = at_start and words and place < words[-1]
                part = _turned(part, opens)
            elif part == '"':
                part = _turned(part, not is_open)
            if part in ("``", "''"):
                is_open = part == "``"
            parts[place] = part
        pieces += parts
    return pieces


def _parts(chunk):
    """Split a text without spaces at what stands apart."""
    address = _ADDRESS.match(chunk)
    end = address.end() if address else 0
    return [part for part in [chunk[:end], *_APART.split(chunk[end:])] if part]


def _turned(quote, opens):
    if quote == '"':
        return "``" if opens else "''"
    return "`" if opens else "'"


def _split(piece, following):
    """Split a piece without spaces; `following` is None at the very end."""
    start, end = [], []
    while (mark := _START.match(piece)) and not _LEFT_OUT.match(piece):
        start.append("`" if mark.group() == "'" else mark.group())
        piece = piece[mark.end() :]
    while mark := _END.search(piece[-2:]):
        mark = mark.group()
        if mark == ".":
            is_last = following is None and _CLOSING_QUOTES.issuperset(end)
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
    """Whether the period at a word's end is part of it."""
    stem = word[:-1].rpartition("-")[2]
    if stem in _ABBREVIATIONS or _ACRONYM.fullmatch(word):
        return True
    # What is unknown may be a name cut short, but not before a closing quote.
    if following in _CLOSING:
        return False
    return stem == "No" or not (stem.islower() or stem.isdecimal())


def _inner(piece):
    """Split a piece that has nothing more to lose at its ends."""
    words = []
    for part in filter(None, _COMMA.split(piece)):
        two = _TWO_WORDS.fullmatch(part)
        if two:
            words += filter(None, two.groups())
            continue
        endings = []
        while contracted := _CONTRACTED.search(part[-4:]):
            endings.append(contracted.group())
            part = part[: -len(endings[-1])]
        words += [part, *reversed(endings)]
    return words


def _escaped(word):
    return re.sub(r"(?<!\\)([/*])", r"\\\1", escape(word))
