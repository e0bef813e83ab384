"""Tags of a text, put back into its translation so that they nest."""

import re
import typing

# A start, end or empty tag of XML or HTML, a comment, or an entity.
TAG = re.compile(
    r"</?[A-Za-z][\w:.-]*(?:\s+[^<>\s=]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'"
    r"|[^\s<>\"']+))?)*\s*/?>|<!--.*?-->"
)
_NAME = re.compile(r"</?([\w:.-]+)")


class Inserted(typing.NamedTuple):
    """Something that was taken out of a text."""

    text: str  # such as "<b>"
    place: int  # in the text without it
    before: str = ""  # the character before it in the text, none at the start
    after: str = ""  # the character after it, none at the end


class Element(typing.NamedTuple):
    """A pair of tags, or something that stands alone."""

    start: Inserted
    end: Inserted  # None if it stands alone
    inner: list  # of `Element`, in the order of the source


def elements_of(inserted):
    """Returns what was taken out of a text as a list of trees.

    A start tag belongs to the next end tag of its name on its level. A tag
    whose partner is missing stands alone.

    Args:
        inserted: List of `Inserted`, in the order of the source.

    Returns:
        List of `Element`.
    """
    elements, place = [], 0
    while place < len(inserted):
        one = inserted[place]
        end = _partner(inserted, place)
        if end is None:
            elements.append(Element(one, None, []))
            place += 1
        else:
            inner = elements_of(inserted[place + 1 : end])
            elements.append(Element(one, inserted[end], inner))
            place = end + 1
    return elements


def insert(text, elements, find_span):
    """Inserts elements into a translation.

    Args:
        text: The translation, a str.
        elements: List of `Element`.
        find_span: Function `(start, end) -> (start, end)` from a part of the
            source to the part of the translation that belongs to it. Something
            that stands alone goes to the start of the part.

    Returns:
        The translation with all elements. Elements that are in each other in
        the source are so in the translation, and others do not overlap.
    """
    pieces = []
    end = _write(text, elements, find_span, 0, len(text), pieces)
    return "".join([*pieces, text[end:]])


def _partner(inserted, start):
    """Returns the index of the end tag of a start tag, or None."""
    if not _is_start(inserted[start].text):
        return None
    name = _NAME.match(inserted[start].text)[1]
    depth = 0
    for place in range(start, len(inserted)):
        text = inserted[place].text
        match = _NAME.match(text)
        if match and match[1] == name:
            depth += _is_start(text) - text.startswith("</")
            if not depth:
                return place
    return None


def _is_start(text):
    is_tag = TAG.fullmatch(text) and not text.startswith(("</", "<!"))
    return bool(is_tag) and not text.endswith("/>")


def _span(element, find_span):
    """Returns the part of the translation that an element is around."""
    source_end = element.end.place if element.end else element.start.place
    start, end = find_span(element.start.place, source_end)
    if element.start.place == source_end:
        return start, start
    for inner in element.inner:
        inner_start, inner_end = _span(inner, find_span)
        start, end = min(start, inner_start), max(end, inner_end)
    return start, end


def _write(text, elements, find_span, start, limit, pieces):
    """Writes the text from `start` on with elements; returns where it is."""
    spans = [(_span(element, find_span), element) for element in elements]
    spans.sort(key=lambda pair: pair[0][0])  # stable, so equals keep order
    for (first, last), element in spans:
        first = min(max(first, start), limit)
        last = min(max(last, first), limit)
        pieces.append(text[start:first])
        # Around words the spaces of the translation are there already.
        is_empty = first == last
        written = "".join(pieces[-3:])
        if is_empty and _needs_space(element, written[-1:], at_end=False):
            pieces.append(" ")
        pieces.append(element.start.text)
        start = first
        if element.end:
            start = _write(text, element.inner, find_span, first, last, pieces)
            pieces += [text[start:last], element.end.text]
            start = last
        following = text[start:limit]
        if is_empty and _needs_space(element, following[:1], at_end=True):
            pieces.append(" ")
    return start


def _needs_space(element, neighbour, at_end):
    """Returns whether an element without words needs a space beside it.

    Args:
        element: An `Element`.
        neighbour: The character beside it in the translation, or none.
        at_end: Whether this character is after the element, not before it.
    """
    before = element.start.before
    after = (element.end or element.start).after
    if not neighbour.strip():
        return False
    if TAG.fullmatch(element.start.text):
        return not before.strip() and not after.strip()
    # Letters directly beside an address would become a part of it.
    in_source = after if at_end else before
    joins = neighbour.isalnum() and not in_source.isalnum()
    return joins or not in_source.strip()
