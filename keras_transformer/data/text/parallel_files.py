"""Parallel text in one file or two: two text files, TSV or TMX."""

import codecs
import functools
import html.entities
import io
import itertools
import logging
import re
import sys
import xml.etree.ElementTree
from xml.sax import saxutils

from keras_transformer.data.text import text_files
from keras_transformer.errors import UserError

_logger = logging.getLogger(__name__)
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_LINES_AT_ONCE = 100
TAB = "\t"


def detect_kind(paths):
    """Returns the kind of the files of a corpus: "text", "tsv" or "tmx".

    The ending of a single file tells its kind, apart from ".gz".

    >>> detect_kind(("news.en", "news.de")), detect_kind(("news.tmx.gz",))
    ('text', 'tmx')
    """
    if len(paths) == len(set(paths)) == 2 and all(paths):
        return "text"
    ending = paths[0].lower().removesuffix(".gz")[-4:]
    if len(paths) == 1 and ending in (".tsv", ".tmx"):
        return ending[1:]
    raise UserError(
        "A corpus must be two different files with a comma in between, or one "
        "file that ends in .tsv or .tmx; .gz may follow each name. Received: "
        f"{','.join(paths)}. Name it like news.en,news.de or like news.tsv."
    )


def read_pairs(paths, languages=(None, None)):
    """Yields the `(source, target)` of each pair of a corpus.

    `paths` are one or two, see `detect_kind`. Only TMX needs languages.
    """
    kind = detect_kind(paths)
    if kind == "text":
        return text_files.read_rows(*paths)
    if kind == "tsv":
        return read_tsv(*paths, allow_blank=True)
    return _read_tmx(*paths, languages)


def check_pairs(paths, languages=(None, None)):
    """Reads a corpus to the end, which raises an error at any fault.

    A corpus that has no pair with text on both sides is also a fault.
    """
    num_pairs, has_text = 0, False
    for pair in read_pairs(paths, languages):
        num_pairs += 1
        has_text = has_text or all(map(str.strip, pair))
    if not has_text:
        content = f"{num_pairs:,} pairs with an empty side"
        raise UserError(
            f"{','.join(paths)} has no pair with text on both sides, but "
            f"{content if num_pairs else 'nothing at all'}. Check that these "
            "are the right files."
        )


def read_tsv(path, allow_blank=False):
    """Yields the `(source, target)` of each line of a TSV file.

    With `allow_blank`, a blank line is a pair of empty texts, since some
    corpora separate their documents by such lines.
    """
    for number, line in enumerate(text_files.read_lines(path), 1):
        is_empty = allow_blank and not line.strip()
        columns = ["", ""] if is_empty else line.split(TAB, 2)
        if len(columns) != 2:
            raise UserError(
                "Each line of a TSV file must be a source and a target with "
                f"one tab in between. Received: {path}, line {number}, with "
                f"{line.count(TAB)} tabs. Check the file, or choose two "
                "columns, for example with cut -f1,2."
            )
        yield tuple(columns)


def _read_tmx(path, languages):
    if not all(languages):
        raise UserError(
            "A TMX file needs the languages to take from it. Received: "
            f"{path} with {_describe(languages)}. Add --source_language=en "
            "--target_language=de, for example."
        )
    seen, num_pairs = set(), 0
    for number, unit in enumerate(_translation_units(path), 1):
        segments = {}
        for variant in unit.iter():
            for segment in variant:
                if (_name(variant), _name(segment)) == ("tuv", "seg"):
                    # Older versions of TMX write `lang`.
                    code = variant.get(_LANGUAGE) or variant.get("lang") or ""
                    # The first of several variants in one language.
                    segments.setdefault(code, segment)
        seen.update(segments)
        try:
            sides = [_find_text(segments, language) for language in languages]
        except RecursionError as error:
            raise UserError(
                f"{path}, unit {number} has hundreds of nested elements. "
                "Remove the unit, or these elements."
            ) from error
        # A file of many languages may lack some of them in a unit.
        if None not in sides:
            num_pairs += 1
            yield tuple(sides)
    if not num_pairs:
        raise UserError(
            f"{path} has no unit in both languages. Received: "
            f"{_describe(languages)}, while the file has "
            f"{', '.join(sorted(seen)) or 'none'}. Name two languages of the "
            "file."
        )


def _describe(languages):
    source, target = (language or "(not given)" for language in languages)
    return f"source_language={source} and target_language={target}"


# Characters that XML forbids, references to characters in a row, and names.
_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DOUBTFUL = re.compile(
    rf"{_FORBIDDEN.pattern}|&(?P<name>[A-Za-z]\w*;)"
    r"|(?P<references>(?:&#(?:x[\da-fA-F]{1,8}|\d{1,8});)+)"
)
_REFERENCE = re.compile("&#(?:x(.+?)|(.+?));")


def _read_xml_lines(path):
    """Yields the lines of an XML file, repaired where XML would refuse them.

    Memories have control characters from the texts of other programs, which
    become spaces, emoji as references to two halves, and names of HTML. What
    XML takes stays as it is, since it may be in CDATA, which has no references.
    """
    faulty = []  # numbers of lines

    def repair(match):
        text = match[0]
        if match["name"]:
            # A name that HTML lacks may belong to an entity of the file.
            text = html.entities.html5.get(match["name"], "&")
            if text in "<>&\"'":
                return match[0]
        elif match["references"]:
            text = "".join(map(_character, _REFERENCE.finditer(text)))
            if not _FORBIDDEN.search(text):
                return match[0]
        # Two halves in a row are one character.
        text = text.encode("utf-16", "surrogatepass")
        text = text.decode("utf-16", "surrogatepass")
        allowed = _FORBIDDEN.sub(" ", text)
        if allowed != text:
            faulty.append(number)
        return saxutils.escape(allowed)

    recode = functools.partial(_recode, path)
    lines = text_files.read_lines(path, recode=recode)
    for number, line in enumerate(lines, 1):
        yield _DOUBTFUL.sub(repair, line) + "\n"
    if faulty:
        _warn_of_forbidden(path, len(faulty), faulty[0])


def _character(reference):
    hexadecimal, decimal = reference.groups()
    code = int(hexadecimal, 16) if hexadecimal else int(decimal)
    return chr(code) if code <= sys.maxunicode else "\0"


@functools.cache  # a file is read more than once
def _warn_of_forbidden(path, number, line):
    _logger.warning(
        "%s has characters that XML forbids, which are read as spaces: %d of "
        "them, the first in line %d.",
        path,
        number,
        line,
    )


def _translation_units(path):
    """Yields the `tu` elements of a TMX file as a stream."""
    # A parser that is fed with text ignores the declaration of the encoding.
    lines = _read_xml_lines(path)
    parser = xml.etree.ElementTree.XMLPullParser(["start", "end"])
    body, depth = None, 0
    num_lines = _LINES_AT_ONCE
    try:
        while chunk := list(itertools.islice(lines, num_lines)):
            parser.feed("".join(chunk))
            events = list(parser.read_events())
            # An unfinished comment is parsed again from its start.
            num_lines = _LINES_AT_ONCE if events else 2 * num_lines
            for event, element in events:
                if body is None and _name(element) == "body":
                    body = element
                if _name(element) != "tu":
                    continue
                depth += 1 if event == "start" else -1
                if depth == 0:  # a unit within a unit is a part of it
                    yield element
                    # Otherwise the whole file would stay in memory.
                    if body is not None:
                        body.clear()
        parser.close()
    except xml.etree.ElementTree.ParseError as error:
        line, _ = error.position
        fault = str(error).split(":")[0]
        raise UserError(
            f"{path}, line {line} is not well-formed XML: {fault}. Export or "
            "copy the file again."
        ) from error


def _find_text(segments, language):
    """Returns the text in a language, or None; `en` also stands for `en-US`."""
    parts = _parts(language)
    # A unit may have both; sorting puts the shorter code first.
    for code, segment in sorted(segments.items(), key=lambda v: len(v[0])):
        if _parts(code)[: len(parts)] == parts:
            text = _plain_text(segment)
            # Without the lookbehind, each space of a run would begin a search.
            return re.sub(r"(?<!\s)\s*[\t\r\n]\s*", " ", text).strip()
    return None


def _parts(code):
    return code.lower().replace("_", "-").split("-")


def _name(element):
    """Returns the name of an element without its namespace."""
    return element.tag.rpartition("}")[2]


# Elements that hold codes of a layout, such as "<b>". All others hold text.
_CODES = frozenset("bpt ept it ph ut".split())
_BREAKING_ELEMENTS = frozenset("br lb".split())
_BREAKING_TYPES = re.compile(
    r"(?:x-)?(?:lb|pb|br|tab|(?:line-?|new)break)", re.I
)
# A line end, a tag of HTML that begins a line, or a control word of RTF.
_BREAKING_CODE = re.compile(
    r"[\r\n]|\\[nrt]$|</?(?:br|div|h[1-6]|hr|li|p|t[dhr])\b|\\(?:line|par|tab)\b",
    re.IGNORECASE,
)


def _plain_text(segment):
    """Returns the text of a segment without the codes of a layout."""
    # A code that breaks the line is a line end.
    texts = [segment.text or ""]
    for child in segment:
        if _breaks_line(child):
            texts.append("\n")
        elif _name(child) not in _CODES:
            texts.append(_plain_text(child))
        texts.append(child.tail or "")
    return "".join(texts)


def _breaks_line(element):
    if _name(element) in _BREAKING_ELEMENTS:
        return True
    kind = element.get("type") or element.get("ctype") or ""
    if _BREAKING_TYPES.fullmatch(kind):
        return True
    code = "".join(element.itertext()) if _name(element) in _CODES else ""
    code += element.get("equiv-text", "")
    return bool(_BREAKING_CODE.search(code))


_START_BYTES = 1024
# Codecs of Python that are not encodings of text.
_NO_ENCODINGS = ("idna", "punycode", "raw_unicode_escape", "unicode_escape")
# The first bytes of XML in UTF-32 and UTF-16, the longer ones first; see
# appendix F of the standard. A byte order mark is read away by the codec.
_STARTS = {
    start.encode(f"{name}-{order}"): f"{name}-{order}" if start == "<" else name
    for name in ("utf-32", "utf-16")
    for start in ("\ufeff", "<")
    for order in ("le", "be")
}
_EBCDIC_START = "<?xml".encode("cp037")
_DECLARED = re.compile(r"<\?xml[^>]*?encoding\s*=\s*[\"']([^\"'>]*)[\"']")


def _recode(path, file):
    """Returns a buffered file of XML, in any encoding, as a file in UTF-8."""
    start = file.peek(_START_BYTES)[:_START_BYTES]
    for mark, encoding in _STARTS.items():
        if start.startswith(mark):
            return _Utf8File(file, encoding, path)
    is_ebcdic = start.startswith(_EBCDIC_START)
    declared = _DECLARED.search(
        start.decode("cp037" if is_ebcdic else "latin1")
    )
    encoding = declared[1].lower() if declared else "utf-8"
    # The declaration of a file that was converted may name the old encoding.
    is_utf8 = encoding.startswith(("utf-8", "utf-16", "utf-32", "us-ascii"))
    if is_utf8 or start.startswith(codecs.BOM_UTF8):
        return file
    return _Utf8File(file, encoding, path)


class _Utf8File:
    """Reads the lines of a file in another encoding as UTF-8."""

    def __init__(self, file, encoding, path):
        self._fault = (
            f"{path} cannot be read in its encoding, {encoding[:40]}. Correct "
            "the XML declaration, or convert the file to UTF-8."
        )
        # Python takes every run of other characters for one underscore.
        if re.sub("[^a-z0-9.]+", "_", encoding).strip("_") in _NO_ENCODINGS:
            raise UserError(self._fault)
        try:
            self._text = io.TextIOWrapper(file, encoding, newline="\n")
        except (LookupError, ValueError) as error:
            raise UserError(self._fault) from error

    def readline(self, size):
        try:
            return self._text.readline(size).encode()
        except UnicodeError as error:
            raise UserError(self._fault) from error
