"""Puts the inline markup of a sentence into its translation."""

from keras_transformer.documents.marks import WORD
from keras_transformer.documents.marks import marks_of
from keras_transformer.documents.marks import plain_text
from keras_transformer.documents.marks import words_of
from keras_transformer.documents.pieces import ATOM
from keras_transformer.documents.pieces import BREAK
from keras_transformer.documents.pieces import CLOSE


def place_markup(pieces, translation, alignment, escape):
    """Returns a translation with the markup of its source.

    Each tag keeps its partner, and pairs of tags never overlap. A pair encloses
    the words that its own words are aligned with. Where there is no alignment,
    the position counts: what stands in the middle of the source stands in the
    middle of the translation.

    Args:
        pieces: List of `Piece`, the source sentence.
        translation: Str.
        alignment: Collection of pairs of integers, a place in `words_of` the
            source and one in `words_of` the translation, or None.
        escape: Function of a format, such as `html_text.escape`.

    Returns:
        Str. If the translation is the same as the source, so is its spelling.
    """
    source = plain_text(pieces)
    if translation == source:
        return "".join(piece.raw for piece in pieces)
    words = list(WORD.finditer(translation))
    stops = [0, *(word.end() for word in words)]
    spaces = [translation[a : b.start()] for a, b in zip(stops, words)] + [""]
    layout = _Layout(
        len(words_of(source)), words_of(translation), spaces, alignment
    )
    groups = [[] for _ in spaces]
    for place, mark in layout.spread(marks_of(pieces), 0, len(words)):
        groups[place].append(mark)
    bare = {c for piece in pieces if piece.raw == piece.text for c in piece.raw}
    result = ""
    for place, (marks, space) in enumerate(zip(groups, spaces)):
        if marks:
            has_word = place < len(words) and words[place][0][0].isalnum()
            gaps = _gaps(marks, space, place == 0, has_word)
            raws = [mark.piece.new or mark.piece.raw for mark in marks]
            result += "".join(map("".join, zip(gaps, [*raws, ""])))
        else:
            result += space
        if place < len(words):
            following = None if result else translation[words[0].end() :]
            result += escape(words[place][0], bare, following)
    return result


class _Layout:
    """Decides before which word of the translation each mark stands."""

    def __init__(self, num_source_words, words, spaces, alignment):
        self._num_source_words = num_source_words
        self._words = words
        self._spaces = spaces
        self._targets = {}
        for source, target in alignment or ():
            self._targets.setdefault(source, []).append(target)

    def spread(self, marks, first, last):
        """Returns pairs of a place and a mark, in their new order.

        Args:
            marks: List of `Mark` that stand between the same tags.
            first, last: The range of places that they may have.
        """
        spans = [self._span(mark) for mark in marks]
        order = range(len(marks))
        # A tag without a partner must stay between its neighbours.
        if all(mark.end or mark.piece.kind in (ATOM, BREAK) for mark in marks):
            order = sorted(order, key=lambda number: spans[number])
        placed = []
        for number in order:
            mark, (start, stop) = marks[number], spans[number]
            start = min(max(start, first), last)
            stop = min(max(stop, start), last)
            if mark.piece.kind == BREAK and not _is_at_atom(mark, marks):
                start = stop = self._gap(start, first, last)
            elif start == stop and mark.start < mark.stop:
                # Tags around words must not end up around nothing.
                start = max(first, min(start, last - 1))
                stop = min(start + 1, last)
            if _is_emphasis(mark):
                start, stop = self._without_punctuation(start, stop)
            placed += self._placed(mark, start, stop)
            first = max(first, stop)
        return placed

    def _placed(self, mark, start, stop):
        inside = self.spread(mark.inside, start, stop)
        if _is_emphasis(mark) and start == stop:
            return inside  # around nothing, it would be no markup
        ends = [(stop, mark.end)] if mark.end else []
        return [(start, mark), *inside, *ends]

    def _without_punctuation(self, start, stop):
        """Returns a range whose edges Markdown accepts for emphasis."""
        while start < stop and self._is_attached(start, start):
            start += 1
        while start < stop and self._is_attached(stop - 1, stop):
            stop -= 1
        return start, stop

    def _is_attached(self, place, edge):
        """Returns whether a word is punctuation without a space at an edge."""
        return (
            not self._words[place][0].isalnum()
            and 0 < edge < len(self._words)
            and not self._spaces[edge]
        )

    def _span(self, mark):
        """Returns the range of a mark's words in the translation."""
        targets = [
            target
            for source in range(mark.start, mark.stop)
            for target in self._targets.get(source, ())
        ]
        if targets:
            return min(targets), max(targets) + 1
        if mark.piece.kind == ATOM:
            # After the word that is before it, or else before the next word.
            if before := self._targets.get(mark.start - 1):
                return max(before) + 1, max(before) + 1
            if after := self._targets.get(mark.start):
                return min(after), min(after)
        return self._by_position(mark.start), self._by_position(mark.stop)

    def _by_position(self, place):
        share = place / max(1, self._num_source_words)
        return round(share * len(self._words))

    def _gap(self, place, first, last):
        """Returns the nearest place for a line end."""
        gaps = [
            gap
            for gap in range(first, min(last + 1, len(self._words)))
            if self._spaces[gap] and self._may_begin_line(gap)
        ]
        return min(gaps, key=lambda gap: abs(gap - place), default=place)

    def _may_begin_line(self, place):
        # A line that begins with a mark, or with "1.", could begin a list.
        word, *after = self._words[place : place + 2]
        return word[0].isalnum() and not (
            word.isdigit() and after in (["."], [")"])
        )


def _is_emphasis(mark):
    return bool(mark.end) and not mark.piece.raw.strip("*_~")


def _is_at_atom(mark, marks):
    # The white space there is that of the atom.
    return any(
        other.piece.kind == ATOM and other.start == mark.start
        for other in marks
    )


def _gaps(marks, space, is_first, has_word):
    """Returns the white space before each mark at one place, and after all.

    Args:
        marks: List of `Mark`.
        space: White space that the translation has there, a str.
        is_first: Whether no word is before them.
        has_word: Whether a word is after them, and not punctuation.
    """
    kinds = [mark.piece.kind for mark in marks]
    # Where the source has white space.
    wanted = [mark.space_before for mark in marks] + [marks[-1].space_after]
    for number, mark in enumerate(marks[:-1], 1):
        wanted[number] = wanted[number] or mark.space_after
    gaps = [""] * len(wanted)
    if ATOM in kinds:
        gaps = [" " if is_wanted else "" for is_wanted in wanted]
        if is_first:
            gaps[0] = ""
        if not (space or has_word):
            gaps[-1] = ""
        elif space and has_word:
            _part_from_words(gaps, kinds, space, is_first)
    if BREAK in kinds:  # a line end takes the place of the white space
        for number, kind in enumerate(kinds):
            if kind == BREAK:
                gaps[number] = gaps[number + 1] = ""
    elif space and not any(gaps):
        # By default after the end tags of the words before.
        is_end = [kind == CLOSE for kind in kinds] + [False]
        default = is_end.index(False)
        gaps[wanted.index(True) if any(wanted) else default] = space
    return gaps


def _part_from_words(gaps, kinds, space, is_first):
    """Separates an atom from words where the source had punctuation."""
    first = kinds.index(ATOM)
    if not (is_first or any(gaps[: first + 1])):
        gaps[first] = space
    after = len(kinds) - kinds[::-1].index(ATOM)
    if not any(gaps[after:]):
        while kinds[after : after + 1] == [CLOSE]:
            after += 1
        gaps[after] = space
