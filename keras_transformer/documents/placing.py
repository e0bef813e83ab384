"""Puts the markup or the tags of a sentence into its translation."""

import bisect
import re
import unicodedata

from keras_transformer.documents import markup


def place_markup(pieces, translation, alignment, escape, normalize=str):
    """Returns a translation with the markup of its source, the `pieces`.

    Each tag keeps its partner, and pairs of tags never overlap. A pair encloses
    the words that its words are aligned with. The `alignment` has pairs of
    the numbers of a source word and a target word (`find_words`); where there
    is none, the relative position counts. `escape` belongs to the format, such
    as `html_text.escape`, and `normalize` to the codec. An unchanged sentence
    keeps its spelling.
    """
    source = markup.plain_text(pieces, normalize)
    if translation == source:
        return "".join(piece.raw for piece in pieces)
    words = list(markup.WORD.finditer(translation))
    stops = [0, *(word.end() for word in words)]
    spaces = [translation[a : b.start()] for a, b in zip(stops, words)] + [""]
    layout = _Layout(source, markup.find_words(translation), spaces, alignment)
    placed = markup.arrange_marks(
        markup.find_marks(pieces, normalize),
        layout.find_span,
        first=0,
        last=len(words),
        fit_span=layout.fit_span,
    )
    groups = [[] for _ in spaces]
    for place, mark in _flatten(placed):
        groups[place].append(mark)
    spellings = {c: c for p in pieces if p.raw == p.text for c in p.raw}
    # What is escaped once is never bare.
    spellings |= {p.text: p.raw for p in pieces if p.raw != p.text}
    result = ""
    for place, (marks, space) in enumerate(zip(groups, spaces)):
        marks = _drop_breaks(marks, place > 0, place < len(words))
        if marks:
            has_word = place < len(words) and words[place][0][0].isalnum()
            gaps = _choose_gaps(marks, space, place == 0, has_word)
            raws = [mark.piece.new or mark.piece.raw for mark in marks]
            between = "".join(map("".join, zip(gaps, [*raws, ""])))
            if between.startswith("["):  # "!" would make a link an image
                result = re.sub(r"(?<!\\)!$", r"\\!", result)
            result += between
        else:
            result += space
        if place < len(words):
            result += escape(words[place], spellings, not result)
    return result


def _flatten(placed):
    """Yields pairs of a place and a mark, the end tags among them."""
    for mark, start, stop, inside in placed:
        # Emphasis around nothing would not be markup.
        is_left_out = start == stop and _is_emphasis(mark)
        if not is_left_out:
            yield start, mark
        yield from _flatten(inside)
        if mark.end and not is_left_out:
            yield stop, mark.end


def _drop_breaks(marks, has_before, has_after):
    """Leaves out line ends that would begin, end or be an empty line."""
    kept = []
    atoms = [n for n, m in enumerate(marks) if m.piece.kind == markup.Kind.ATOM]
    last = len(marks) if has_after else max(atoms, default=0)
    for number, mark in enumerate(marks):
        is_break = mark.piece.kind == markup.Kind.BREAK
        if not is_break or (has_before and number < last):
            kept.append(mark)
            is_atom = mark.piece.kind == markup.Kind.ATOM
            has_before = is_atom or (has_before and not is_break)
    return kept


class _Layout:
    """Knows before which words of the translation a mark may stand."""

    def __init__(self, source, words, spaces, alignment):
        self._num_source_words = len(markup.find_words(source))
        self._words = words
        self._spaces = spaces
        self._targets = {}
        for place, target in alignment or ():
            self._targets.setdefault(place, []).append(target)
        # Punctuation alone makes no link.
        self._solid = [
            number
            for number, word in enumerate(words)
            if len(word) > 1 or not unicodedata.category(word).startswith("P")
        ]
        # Where a line may end: at spaces or, in Chinese, after punctuation. Its
        # letters have no case, unlike those of "don't".
        kinds = [unicodedata.category(word[0]) for word in words]
        has_space = any(spaces)
        self._gaps = [
            gap
            for gap in range(1, len(words))
            if self._may_begin_line(gap)
            and (
                spaces[gap]
                if has_space
                else kinds[gap] == "Lo" and not words[gap - 1][0].isalnum()
            )
        ]

    def find_span(self, mark):
        """Returns the range of a mark's words in the translation."""
        targets = [
            target
            for source in range(mark.start, mark.stop)
            for target in self._targets.get(source, ())
        ]
        if targets:
            return min(targets), max(targets) + 1
        if mark.piece.kind == markup.Kind.ATOM:
            # After the word that is before it, or else before the next word.
            if before := self._targets.get(mark.start - 1):
                return max(before) + 1, max(before) + 1
            if after := self._targets.get(mark.start):
                return min(after), min(after)
        return self._scale(mark.start), self._scale(mark.stop)

    def fit_span(self, mark, atoms, start, stop, first, last, num_needed):
        """Returns the range that the format of a document allows a mark."""
        lowest = bisect.bisect_left(self._solid, first)
        highest = bisect.bisect_left(self._solid, last) - num_needed
        if num_needed and lowest <= highest:
            # Marks that come later need the words from here on.
            last = max(first, self._solid[highest])
        start, stop = min(start, last), min(stop, last)
        if mark.piece.kind == markup.Kind.BREAK and mark.start not in atoms:
            # White space beside an atom belongs to the atom.
            gap = self._take_gap(start, first, last)
            return gap and (gap, gap)
        if mark.num_words:
            start, stop = self._widen(mark, start, stop, lowest, highest)
        if _is_emphasis(mark):
            # Markdown accepts no emphasis that begins or ends with these.
            while start < stop and self._is_attached(start, start):
                start += 1
            while start < stop and self._is_attached(stop - 1, stop):
                stop -= 1
        return start, stop

    def _widen(self, mark, start, stop, lowest, highest):
        """Returns a range that has as many words as the marks in it need."""
        # These count words without punctuation.
        begin = bisect.bisect_left(self._solid, start)
        end = bisect.bisect_left(self._solid, stop)
        new_end = max(end, min(begin + mark.num_words, highest))
        new_begin = min(begin, max(lowest, new_end - mark.num_words))
        if new_begin >= new_end:
            return start, start
        if new_end != end:
            stop = self._solid[new_end - 1] + 1
        return min(start, self._solid[new_begin]), stop

    def _is_attached(self, place, edge):
        """Returns whether a word is punctuation without a space at an edge."""
        return (
            not self._words[place][0].isalnum()
            and 0 < edge < len(self._words)
            and not self._spaces[edge]
        )

    def _scale(self, place):
        share = place / max(1, self._num_source_words)
        return round(share * len(self._words))

    def _take_gap(self, place, first, last):
        """Returns the free gap nearest to a place in a range, or None."""
        start = bisect.bisect_left(self._gaps, first)
        stop = bisect.bisect_right(self._gaps, last)
        after = bisect.bisect_left(self._gaps, place, start, stop)
        nearest = range(max(start, after - 1), min(stop, after + 1))
        number = min(
            nearest, key=lambda n: abs(self._gaps[n] - place), default=None
        )
        return None if number is None else self._gaps.pop(number)

    def _may_begin_line(self, place):
        # A line that begins with a mark, or with "1.", could begin a list.
        word, *after = self._words[place : place + 2]
        return word[0].isalnum() and not (
            word.isdigit() and after in (["."], [")"])
        )


def _is_emphasis(mark):
    return bool(mark.end) and not mark.piece.raw.strip("*_~=")


def _choose_gaps(marks, space, is_first, has_word):
    """Returns the white space before each mark at one place, and after all."""
    # `space` is the translation's space there. A word is before the marks
    # unless `is_first`; after them is a word, and no punctuation, if
    # `has_word`.
    kinds = [mark.piece.kind for mark in marks]
    # Where the source has white space.
    before = [*(mark.before for mark in marks), ""]
    after = ["", *(mark.after for mark in marks)]
    has_space = [a.isspace() or b.isspace() for a, b in zip(before, after)]
    gaps = [""] * len(has_space)
    if markup.Kind.ATOM in kinds:
        gaps = [" " if is_space else "" for is_space in has_space]
        if is_first:
            gaps[0] = ""
        if not (space or has_word):
            gaps[-1] = ""
        elif has_word and (space or is_first):
            _separate_from_words(gaps, marks, space or " ", is_first)
    if markup.Kind.BREAK in kinds:
        # A line end replaces the white space.
        for number, kind in enumerate(kinds):
            if kind == markup.Kind.BREAK:
                gaps[number] = gaps[number + 1] = ""
    elif space and not any(gaps):
        gaps[has_space.index(True) if any(has_space) else 0] = space
    _move_outside(gaps, kinds)
    return gaps


def _move_outside(gaps, kinds):
    """Moves white space from inside of tags, where Markdown accepts none."""
    for number, kind in enumerate(kinds):
        if kind == markup.Kind.CLOSE and gaps[number]:
            gaps[number], gaps[number + 1] = "", gaps[number + 1] or " "
    for number in reversed(range(len(kinds))):
        if kinds[number] == markup.Kind.OPEN and gaps[number + 1]:
            gaps[number + 1], gaps[number] = "", gaps[number] or " "


def _separate_from_words(gaps, marks, space, is_first):
    """Separates an atom from words where the source had punctuation."""
    kinds = [mark.piece.kind for mark in marks]
    first = kinds.index(markup.Kind.ATOM)
    is_attached = markup.WIDTHLESS.match(marks[first].piece.raw)
    if not (is_attached or is_first or any(gaps[: first + 1])):
        gaps[first] = space
    after = len(kinds) - kinds[::-1].index(markup.Kind.ATOM)
    if not any(gaps[after:]):
        gaps[after] = space


# A start, end or empty tag of XML or HTML, such a tag with a number for a name,
# or a comment.
TAG = re.compile(
    r"</?\d+\s*/?>|</?[A-Za-z][\w:.-]*(?:\s+[^<>\s=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'"
    r"|[^\s<>\"']+))?)*\s*/?>|<!--.{0,2000}?-->"
)
_NAME = re.compile(r"</?([\w:.-]+)")


def make_mark(raw, place, before="", after=""):
    """Returns the `Mark` of something, such as "<b>", that a text lost.

    `place` is the number of characters before it in the text without it;
    `before` and `after` are the characters around it in the text with it.
    """
    kind, name = markup.Kind.ATOM, ""
    if TAG.fullmatch(raw) and not raw.startswith("<!"):
        name = _NAME.match(raw)[1]
        if raw.startswith("</"):
            kind = markup.Kind.CLOSE
        elif not raw.endswith("/>"):
            kind = markup.Kind.OPEN
    return markup.Mark(
        markup.Piece(kind, raw, name=name), place, place, before, after
    )


def insert_marks(text, marks, find_span):
    """Inserts marks, in the order of the source, into a translation.

    `find_span` maps the start and stop of a part of the source to the start and
    stop of its translation. A start tag belongs to the next end tag of its name
    on its level. A tag without a partner stands alone, at the start of its
    part. Nested elements stay nested; others never overlap.
    """

    def find_mark_span(mark):
        start, stop = find_span(mark.start, mark.stop)
        if mark.start == mark.stop:
            return start, start
        # The outer pair must reach as far as the words of an inner pair.
        spans = [(start, stop), *map(find_mark_span, mark.inside)]
        starts, stops = zip(*spans)
        return min(starts), max(stops)

    placed = markup.arrange_marks(
        markup.nest_marks(marks),
        find_mark_span,
        first=0,
        last=len(text),
        # Marks at one place keep the order of the source.
        key=lambda span: span[0],
    )
    return _write(text, placed, 0, len(text), "")


def _write(text, placed, start, limit, written):
    """Appends a part of the text with its marks to `written`."""
    for mark, first, last, inside in placed:
        written += text[start:first]
        # Around words the spaces of the translation are there already.
        is_empty = first == last
        if is_empty and _needs_space(mark, written[-1:], at_end=False):
            written += " "
        written += mark.piece.raw
        if mark.end:
            written = _write(text, inside, first, last, written)
            written += mark.end.piece.raw
        start = last
        following = text[start : min(start + 1, limit)]
        if is_empty and _needs_space(mark, following, at_end=True):
            written += " "
    return written + text[start:limit]


def _needs_space(mark, neighbour, at_end):
    """Returns whether a mark without words needs a space beside it."""
    # The `neighbour` is the character beside it in the translation, or none; it
    # is after the mark if `at_end`, otherwise before it.
    after = (mark.end or mark).after
    if not neighbour.strip():
        return False
    if TAG.fullmatch(mark.piece.raw):
        return not mark.before.strip() and not after.strip()
    # Letters directly beside an address would become a part of it.
    in_source = after if at_end else mark.before
    joins = neighbour.isalnum() and not in_source.isalnum()
    return joins or not in_source.strip()
