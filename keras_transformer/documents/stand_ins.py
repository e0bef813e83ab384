"""Hides templates and extensions of Markdown from the parsers of documents.

The parsers of HTML and Markdown do not know them and would take them for prose.
Before a document is parsed, each of their characters is replaced by a stand-in
character. The text keeps its length and its lines, so `Document` can restore
the original characters by their positions.
"""

import bisect
import math
import re

# Characters of an ancient script, which are punctuation as most of what they
# stand for. `ATOM` stands within a sentence, `WALL` between two sentences, and
# a `TAIL` belongs to the markup before it.
ATOM, WALL, TAIL = "\U00010a50", "\U00010a51", "\U00010a52"
_MAX_SIZE = 1000  # of a template, in characters; keeps the search linear

# Jinja, Liquid, Handlebars, Vue, Go and Hugo; ERB, JSP and PHP.
_OPENINGS = re.compile(
    r"(?P<open>\{\{\{?|\{%|\{#(?=\s)|<%|<\?(?:php|=))"
    # ${name} of JSP, %{name} or #{name}, but not the start of a formula
    r"|[$%#]\{[A-Za-z_][\w.]{0,100}\}(?![^\s$]{0,100}\$)"
)
_ENDS = {"{{{": "}}}", "{{": "}}", "{%": "%}", "{#": "#}", "<%": "%>"}
# These show no text, so they may separate sentences.
_IS_CONTROL = re.compile(r"\{%|\{\{[<%#/!^]|\{#|<%(?!=)|<\?php")
_BLOCK = re.compile(r"\{%-?\s*(end)?(raw|verbatim|comment|highlight|code)\b")

_NAMES = r"(?:[\w$]+|\*[ \t]+as[ \t]+[\w$]+|\{[^{}]*\})"
_MARKDOWN_WALLS = re.compile(
    r"^[ \t>]*(?::{3,}.*|(?:!{3}|\?{3}\+?|={3})[ \t]+\S.*"  # ::: note, !!! note
    r"|/{3,}(?:[ \t].*)?"  # /// note
    r"|(?:@import|-+8<-+|<<<)[ \t]+\S.*|\([\w-]+\)=[ \t]*"  # includes, targets
    r"|\\begin\{([a-z]+\*?)\}[\s\S]{0,5000}?\\end\{\1\}[ \t]*"
    r"|\[\[?_?TOC_?\]\]?[ \t]*|\\[a-z]+(?:\{[^{}\n]*\})?[ \t]*"  # \newpage
    rf"|(?-i:import)[ \t]+(?:(?:type[ \t]+)?{_NAMES}(?:,[ \t]*{_NAMES})?[ \t]+"
    r"from[ \t]+)?(?:'[^'\n]+'|\"[^\"\n]+\")(?:[ \t]+with[ \t].*)?;?[ \t]*)$"
    r"|^[ \t>]*\[\^[^\[\]\s]+\]:(?:[ \t]+\S*/\S*[ \t]*$)?"  # a footnote
    r"|^[ \t]*(?:>[ \t]*)+\[![\w-]+\][-+]?"  # > [!NOTE]
    r"|^ {0,3}[:~](?=[ \t]+\S)"  # a definition
    r"|^\*\[[^\[\]\n]+\]:",  # an abbreviation
    re.MULTILINE | re.IGNORECASE,
)
# A brace, the start of an export of MDX, which no prose begins with, a blank
# line or a fence, and code and escapes, whose braces do not count.
_BRACE = re.compile(
    r"(?P<comment>\{/\*(?:(?!\*/\})[\s\S]){0,%d}\*/\})"
    % _MAX_SIZE
    + r"|(?P<open>(?:(?<!\\)\\[a-zA-Z]{1,40})?\{)|(?P<close>\})"
    rf"|(?P<export>(?<![^\n{WALL}]\n)^export[ \t]+"
    r"(?=(?:default[ \t]+)?(?:[({\[*<]"
    r"|(?:async[ \t]+)?function[ \t*]*[\w$]*[ \t]*\("
    r"|(?:class|type|interface)[ \t]+[\w$][^.\n]*[{=]"
    r"|(?:const|let|var)[ \t]+(?:[{\[]|[\w$]+[ \t]*[=:;,])"
    r"|(?<=default )[\w$]+(?:[;(]|\.\w|[ \t]*$(?!\n[^\n])))))"
    r"|(?P<blank>\n[ \t>]*(?:\n|\Z)|^[ \t>]*(?:`{3}|~{3}))|\\[^\n]"
    r"|(?<!`)(`+)(?!`)(?:(?!\n[ \t>]*\n)[\s\S]){0,1000}?(?<!`)\6(?!`)",
    re.MULTILINE,
)
HIDDEN = re.compile(f"[{ATOM}{WALL}{TAIL}]|~~")
_ATTRIBUTES = re.compile(r"\{:?\s*(?:[#.=]|-\s*\}|[\w:-]+=)")
_HIGHLIGHT = re.compile(
    r"(?<![=~0-9A-Za-z_])==(?=[^\s=~])|(?<=[^\s=~])==(?![=~0-9A-Za-z_])"
)
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
# A directive of MyST whose content is prose, and the options that follow it.
_PROSE = re.compile(
    r"\{(?:admonition|attention|caution|danger|error|hint|important|note"
    r"|seealso|tip|warning)\}"
)
_OPTIONS = re.compile(r"(?:\n[ \t>]*:[\w-]+:.*)*")
_LINE = re.compile(".+")
_DISPLAYED_MATHS = re.compile(r"^[ \t>]*\$\$[^$]{0,5000}\$\$[ \t]*$", re.M)
_FORMULA = r"\$(?=[^\s$])(?:[^$`\n\\]|\\.){1,300}?(?<=[^\s$])\$(?![\d$])"
_MATHJAX = (  # up to a tag
    r"\\\((?:(?!\\\)|<[a-zA-Z/!]).){1,300}\\\)"
    r"|\\\[(?:(?!\\\]|<[a-zA-Z/!]).){1,300}\\\]"
)
_MARKDOWN_ATOMS = re.compile(
    rf"(?<![\\$\w]){_FORMULA}"
    rf"|{_MATHJAX}|\$\$[^$`\n]{{1,300}}\$\$"
    r"|\[\^[^\[\]\s]+\](?!\()"  # a footnote
    r"|\+\+[a-z0-9-]{1,40}(?:\+[a-z0-9-]{1,40}){0,5}\+\+"  # ++ctrl+c++
    r"|!?\[\[[^\[\]\n]{1,300}\]\]"  # a link of a wiki
    r"|(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])"  # :smile:
    r"|(?<!\w)\w{1,40}(?:(?:\^[^\s^]{1,40}\^|~[^\s~]{1,40}~)\w{1,40}){1,9}"
    r"|(?<=\w)(?:\^[^\s^]{1,40}\^|~[^\s~]{1,40}~(?!~))"  # x^2^
    r"|\[-?@[^\[\]\n]{1,300}\]"  # [@doe99, p. 3]
    r"|(?<![\w@/])-?@[A-Za-z][\w:./-]*\b"  # @fig-dog, @doe99, @scope/package
    r"|(?<=[ \t])\^[\w-]+[ \t]*$"  # ^block of a note
    r"|%%[^%\n]{1,300}%%|</?>",
    re.MULTILINE,
)
_SCRIPT = r"<(su[bp])\b[^<>]{0,100}>[^<>]{1,40}</%s>"
# Letters, and brackets with a number at their end
_SYMBOLS = r"(?:\w|\((?=[^\s()]{1,200}\)<su[bp])|\)(?=<su[bp])){1,40}"
# C<sub>2</sub>H<sub>5</sub>OH is one word, while dogs<sup>1</sup> has a note.
_CHEMISTRY = re.compile(
    r"(?<![\w&])%s(?:%s(?:%s|(?=<su[bp]))){1,20}(?:%s)?"
    % (_SYMBOLS, _SCRIPT % r"\1", _SYMBOLS, _SCRIPT % r"\2"),
    re.IGNORECASE,
)
_MATHS = re.compile(r"[\\^_={}+*/<>|]|^\$\S+$")


def hide(text, format):
    """Returns a text of the same length without templates and extensions."""
    # Stand-ins in the text itself could not be told from ours.
    if any(stand_in in text for stand_in in (ATOM, WALL, TAIL)):
        return text
    text = _hide_templates(text)
    if format in ("html", "markdown"):
        text = _CHEMISTRY.sub(_hide_atom, text)
    if format == "html":
        text = re.sub(_MATHJAX, _hide_atom, text)
    if format == "markdown":
        text = _hide_directives(text)
        text = _DISPLAYED_MATHS.sub(_make_filler(WALL), text)
        text = _MARKDOWN_WALLS.sub(_make_filler(WALL), text)
        text = _MARKDOWN_ATOMS.sub(_hide_atom, text)
        text = _hide_braces(text)
        # Highlights are read as strikethrough, which the parser knows.
        text = _HIGHLIGHT.sub("~~", text)
    return text


def _hide_templates(text):
    """Hides templates, and blocks such as `{% raw %}` up to their end tags."""
    templates = list(_find_templates(text))
    ends = {}  # the places of the end tags of each kind of block
    for start, stop in templates:
        tag = _BLOCK.match(text, start)
        if tag and tag[1]:
            ends.setdefault(tag[2], []).append(stop)
    spans, done = [], 0
    for start, stop in templates:
        if start < done:  # inside a block that is kept
            continue
        tag = _BLOCK.match(text, start)
        if tag and not tag[1]:
            places = ends.get(tag[2], [])
            place = bisect.bisect(places, stop)
            stop = places[place] if place < len(places) else stop
        raw = text[start:stop]
        is_wall = _IS_CONTROL.match(raw) and _is_alone(text, start, stop)
        stand_in = WALL if is_wall or "\n\n" in raw else ATOM
        spans.append((start, stop, _fill(raw, stand_in)))
        done = stop
    return _replace(text, spans)


def _find_templates(text):
    """Yields where each template begins and ends.

    One expression for all of it would hold up other threads for minutes if a
    text of some megabytes opened templates only.
    """
    place, following = 0, {}  # the next place of each end
    while opening := _OPENINGS.search(text, place):
        start, stop = opening.span()
        place = start + 1
        mark = opening["open"]
        if mark is None:
            place = stop
            yield start, stop
            continue
        # Without its end, {{{ is {{ before a brace.
        for mark in (mark, mark[:2]):
            first = start + len(mark)
            end = _ENDS.get(mark, "?>")
            if following.get(end, 0) < first:
                last = text.find(end, first)
                following[end] = last if last >= 0 else math.inf
            if following[end] - first <= _MAX_SIZE:
                place = following[end] + len(end)
                yield start, place
                break


def _hide_directives(text):
    """Hides the fences of ```{note} and the like around their prose."""
    opened, spans = [], []
    for match in _FENCE.finditer(text):
        fence, info = match[1], match[2].strip()
        last = opened[-1] if opened else None
        holds_prose = last and _PROSE.match(last[2])
        if last and not info and fence.startswith(last[1]):
            opened.pop()
            if holds_prose:
                spans += [last.span(), match.span()]
        elif not last or holds_prose:
            opened.append(match)
    walls = []
    for start, stop in sorted(spans):
        stop = _OPTIONS.match(text, stop).end()
        wall = _LINE.sub(_make_filler(WALL), text[start:stop])
        walls.append((start, stop, wall))
    return _replace(text, walls)


def _hide_braces(text):
    """Hides expressions and exports of MDX, and attributes such as {.name}."""
    opened, spans = [], []
    export = stop = None  # an export ends at a blank line outside of braces
    for match in _BRACE.finditer(text):
        kind, start = match.lastgroup, match.start()
        if kind == "open":
            opened.append(start)
        elif kind == "close" and opened:
            first = opened.pop()
            if not opened and export is None:
                hidden = _fill_braces(text, first, match.end())
                spans.append((first, match.end(), hidden))
        elif kind == "comment" and not opened and export is None:
            spans.append((start, match.end(), _fill(match[0], ATOM)))
        elif kind == "export" and not opened:
            export, stop = start, None
        elif kind == "blank":
            stop = (opened and stop) or start
            if export is None or not opened or match[0][-1] in "`~":
                spans += _hide_export(text, export, stop)
                export = stop = None
                opened.clear()
    stop = (opened and stop) or len(text)
    spans += _hide_export(text, export, stop)
    return _replace(text, spans)


def _hide_export(text, start, stop):
    if start is None:
        return []
    return [(start, stop, _fill(text[start:stop], WALL))]


def _replace(text, spans):
    """Returns a text in which each of the spans has become something else."""
    parts, done = [], 0
    for start, stop, new in spans:
        parts += [text[done:start], new]
        done = stop
    return "".join([*parts, text[done:]])


def _fill_braces(text, start, stop):
    raw = text[start:stop]
    before = text[max(0, start - 300) : start]
    if not (_ATTRIBUTES.match(raw) and re.search(r"[)\]`*_~>]$", before)):
        return _fill(raw, ATOM)
    if before[-1] != "]" or "\n" in raw or re.search(r"\]\[[^][]*\]$", before):
        return _fill(raw, TAIL)
    # The parser reads the attributes of [some text]{.name} as an address.
    return f"({_fill(raw[1:-1], ATOM)})"


def _is_alone(text, start, stop):
    before = text[max(0, start - 80) : start].rpartition("\n")[2]
    after = text[stop : stop + 80].partition("\n")[0]
    return not before.strip(" \t>") and not after.strip()


def _fill(raw, stand_in):
    return re.sub(r"[^\r\n]", stand_in, raw)


def _make_filler(stand_in):
    def replace(match):
        # Indentation and quote marks stay, because the parser needs them.
        inner = match[0].lstrip(" \t>")
        kept = match[0][: len(match[0]) - len(inner)]
        return kept + _fill(inner, stand_in)

    return replace


def _hide_atom(match):
    raw = match[0]
    # "$5 and US$" is not a formula.
    if raw[0] == "$" and raw[1] != "$" and not _MATHS.search(raw):
        return raw
    return _fill(raw, ATOM)
