"""Hides templates and extensions of Markdown from the parsers of documents.

The parsers of HTML and Markdown do not know them and would take them for prose.
Before a document is parsed, each of their characters is replaced by a stand-in
character. The text keeps its length and its lines, so `Document` can restore
the original characters by their positions.
"""

import bisect
import re

# Characters that Unicode will never assign. `ATOM` stands within a sentence,
# `WALL` between two sentences.
ATOM, WALL = "\ufdd2", "\ufdd3"
_MAX_SIZE = 1000  # of a template, in characters; keeps the search linear

# Jinja, Liquid, Handlebars, Vue, Go and Hugo; ERB, JSP and PHP.
_TEMPLATES = re.compile(
    r"\{\{\{(?:(?!\}\}\}).){0,%d}\}\}\}" % _MAX_SIZE
    + r"|\{\{(?:(?!\}\}).){0,%d}\}\}" % _MAX_SIZE
    + r"|\{%%(?:(?!%%\}).){0,%d}%%\}" % _MAX_SIZE
    + r"|\{#(?=\s)(?:(?!#\}).){0,%d}#\}" % _MAX_SIZE
    + r"|<%%(?:(?!%%>).){0,%d}%%>" % _MAX_SIZE
    + r"|<\?(?:php|=)(?:(?!\?>).){0,%d}\?>" % _MAX_SIZE
    # ${name} of JSP and Thymeleaf, but not the start of a formula
    + r"|\$\{[A-Za-z_][\w.]{0,100}\}(?![^\s$]{0,100}\$)",
    re.DOTALL,
)
# These show no text, so they may separate sentences.
_IS_CONTROL = re.compile(r"\{%|\{\{[<%#/!^]|\{#|<%(?!=)|<\?php")
_BLOCK = re.compile(r"\{%-?\s*(end)?(raw|verbatim|comment|highlight|code)\b")

_MARKDOWN_WALLS = re.compile(
    r"^[ \t>]*(?::{3,}.*|(?:!{3}|\?{3}\+?|={3})[ \t]+\S.*"  # ::: note, !!! note
    r"|\[\[?_?TOC_?\]\]?[ \t]*|\\[a-z]+(?:\{[^{}\n]*\})?[ \t]*"  # \newpage
    r"|import[ \t][^\n]*['\"];?[ \t]*|export[ \t](?:const|default)\b.*)$"  # MDX
    r"|^[ \t]*(?:>[ \t]*)+\[![\w-]+\][-+]?"  # > [!NOTE]
    r"|^ {0,3}[:~](?=[ \t]+\S)"  # a definition
    r"|^\*\[[^\[\]\n]+\]:",  # an abbreviation
    re.MULTILINE | re.IGNORECASE,
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
    r"|\{[a-z][\w:-]{0,100}\}(?=`)"  # a role of MyST
    r"|\+\+[a-z0-9-]{1,40}(?:\+[a-z0-9-]{1,40}){0,5}\+\+"  # ++ctrl+c++
    r"|\{[:#.](?=[\w\s.:#])[^{}\n]{0,300}\}"  # {#name .class}
    r"|!?\[\[[^\[\]\n]{1,300}\]\]"  # a link of a wiki
    r"|(?<![\w:]):[a-z][a-z0-9_+-]*:(?![\w:])"  # :smile:
    r"|(?<!\w)\w{1,40}(?:\^[^\s^]{1,40}\^|~[^\s~]{1,40}~)\w+"  # H~2~O
    r"|(?<=\w)(?:\^[^\s^]{1,40}\^|~[^\s~]{1,40}~(?!~))"  # x^2^
    r"|\[@[^\[\]\n]{1,300}\]|%%[^%\n]{1,300}%%"
)
_MATHS = re.compile(r"[\\^_={}+*/<>|]|^\$\S+$")


def hide(text, format):
    """Returns a text of the same length without templates and extensions."""
    # Stand-ins in the text itself could not be told from ours.
    if ATOM in text or WALL in text:
        return text
    text = _hide_templates(text)
    if format == "html":
        text = re.sub(_MATHJAX, _hide_atom, text)
    if format == "markdown":
        text = _hide_directives(text)
        text = _DISPLAYED_MATHS.sub(_make_filler(WALL), text)
        text = _MARKDOWN_WALLS.sub(_make_filler(WALL), text)
        text = _MARKDOWN_ATOMS.sub(_hide_atom, text)
    return text


def _hide_templates(text):
    """Hides templates, and blocks such as `{% raw %}` up to their end tags."""
    matches = list(_TEMPLATES.finditer(text))
    ends = {}  # the places of the end tags of each kind of block
    for match in matches:
        tag = _BLOCK.match(match[0])
        if tag and tag[1]:
            ends.setdefault(tag[2], []).append(match.end())
    parts, done = [], 0
    for match in matches:
        start, stop = match.span()
        if start < done:  # inside a block that is kept
            continue
        tag = _BLOCK.match(match[0])
        if tag and not tag[1]:
            places = ends.get(tag[2], [])
            place = bisect.bisect(places, stop)
            stop = places[place] if place < len(places) else stop
        raw = text[start:stop]
        is_wall = _IS_CONTROL.match(raw) and _is_alone(text, start, stop)
        stand_in = WALL if is_wall or "\n\n" in raw else ATOM
        parts += [text[done:start], _fill(raw, stand_in)]
        done = stop
    return "".join([*parts, text[done:]])


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
    parts, done = [], 0
    for start, stop in sorted(spans):
        stop = _OPTIONS.match(text, stop).end()
        wall = _LINE.sub(_make_filler(WALL), text[start:stop])
        parts += [text[done:start], wall]
        done = stop
    return "".join([*parts, text[done:]])


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
