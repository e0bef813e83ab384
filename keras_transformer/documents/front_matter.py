"""Fields of the front matter of Markdown that readers see."""

import functools
import re

from keras_transformer.documents.markup import Kind
from keras_transformer.documents.markup import Piece
from keras_transformer.documents.markup import Value
from keras_transformer.documents.markup import split_pieces
from keras_transformer.documents.plain_text import escape as copy

# A thematic break is no front matter if a blank line follows it.
_FRONT_MATTER = re.compile(
    r"\A(?:(?:\s*^(?=---[ \t]*\n[\w-]+:))?"  # after blank lines
    r"---[ \t]*(?:yaml)?[ \t]*\n(?![ \t]*\n).*?^(?:---|\.\.\.)"
    r"|\+\+\+[ \t]*\n.*?^\+\+\+|\{[ \t]*\n.*?^\}"
    r"|---[ \t]*(?:json|toml)[ \t]*\n.*?^---|;;;[ \t]*\n.*?^;;;"
    r"|%[ \t][^\n]*(?:\n[%\t ][^\n]*){0,9})[ \t]*$",  # % title of Pandoc
    re.DOTALL | re.MULTILINE,
)
_KEY = r"^(?:title|subtitle|description|summary|excerpt)[ \t]*"
_END = r"(?:[ \t]+\#[^\n]*)?[ \t]*$"
_YAML = re.compile(
    rf"""{_KEY}:(?:[ \t]+|[ \t]*\n[ \t]+)(?:
        "(?P<double>(?:[^"\\]|\\.)+)"
        |'(?P<single>(?:[^']|'')+)'
        |[|>][-+\d]*(?:[ \t][^\n]*)?(?P<block>(?:\n+[ \t]+\S[^\n]*)+)
        |(?!(?:true|false|null)[ \t]*$|-[ \t])
        (?P<plain>[^\s"'\#>|&*!%@`\[\]{{}},?:]
            (?:[^:\n]|:(?!\s))*?(?:\n[ \t]+[^\s\#](?:[^:\n]|:(?!\s))*?)*)
    ){_END}""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_TOML = re.compile(
    rf"""{_KEY}=[ \t]*(?:
        \"{{3}}(?P<long_double>(?:[^\\]|\\.)+?)\"{{3}}
        |(?P<long_single>'{{3}}.+?'{{3}})
        |"(?P<double>(?:[^"\\\n]|\\.)+)"
        |(?P<literal>'[^'\n]+')
    ){_END}""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
# What YAML reads as a text without quotation marks.
_UNQUOTED = re.compile(
    r"(?!(?i:y|n|yes|no|on|off|true|false|null)$)"
    r"[^\W\d_](?:[^:#\"\\]|:(?=\S))*"
)
_ESCAPE = re.compile(r"(\\(?:u[0-9a-fA-F]{4}|.))", re.DOTALL)
_PARAGRAPH = re.compile(r"(\n[ \t]*(?:\n\s*|(?:[-*+]|\d+[.)])[ \t]+))")


def read_front_matter(text):
    """Returns the end of the front matter of a document, and its `Value`s."""
    front_matter = _FRONT_MATTER.match(text)
    if not front_matter:
        return 0, []
    pattern = _TOML if text[0] == "+" else _YAML
    fields = pattern.finditer(text, 0, front_matter.end())
    return front_matter.end(), list(map(_make_value, fields))


def _make_value(match):
    style = match.lastgroup
    pattern, read, *spelling = _STYLES[style]
    parse = functools.partial(split_pieces, pattern, read)
    return Value(*match.span(style), parse, *spelling)


def _read_escape(raw):
    if raw == "\\n":
        return Piece(Kind.BREAK, raw)
    text = chr(int(raw[2:], 16)) if raw[2:] else raw[1]
    is_known = raw[2:] and text.isprintable() or text in '"\\/'
    return Piece(Kind.TEXT if is_known else Kind.ATOM, raw, text * is_known)


def _escape_single(word, spellings, begins_line=False):
    return word[0].replace("'", "''")


def _escape_double(word, spellings, begins_line=False):
    return _escape(word[0])


def _escape(text):
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _quote_plain(spelling):
    is_plain = _UNQUOTED.fullmatch(spelling)
    return spelling if is_plain else f'"{_escape(spelling)}"'


def _quote_literal(spelling):
    text = spelling[1:-1]
    return f'"{_escape(text)}"' if "'" in text else spelling


# What is no plain text in each style, how it is read, and how a translation is
# escaped and put into quotation marks.
_keep = functools.partial(Piece, Kind.OUTER)
_read_quote = functools.partial(Piece, Kind.TEXT, text="'")
_STYLES = {
    "double": (_ESCAPE, _read_escape, _escape_double, str),
    "long_double": (_ESCAPE, _read_escape, _escape_double, str),
    "single": ("('')", _read_quote, _escape_single, str),
    "block": (_PARAGRAPH, _keep, copy, str),
    "plain": ("((?!))", _keep, copy, _quote_plain),
    "literal": ("(^'+|'+$)", _keep, copy, _quote_literal),
    "long_single": ("(^'+|'+$)", _keep, copy, str),
}
