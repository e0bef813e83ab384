"""Finds bracketed trees in text and reads them step by step.

This module knows only text and steps; `tree` builds trees from the steps.
"""

import re

from keras_transformer.data.text.text_files import make_encoding_error
from keras_transformer.errors import UserError

# A bracket around a tag and its word, which may have no-break spaces inside; an
# opening bracket with its label, which only the root may lack; a closing
# bracket; a word that touches a bracket; a word without a bracket.
_WORD = r"[^\s()]+(?:[^\S \t-\r]+[^\s()]+)*"
_TOKEN = re.compile(
    rf"\(\s*(?:(?P<tag>[^\s()]+)\s+(?P<word>{_WORD})\s*\)|(?P<label>[^\s()]*))"
    r"|(?P<close>\))|(?P<glued>(?<=\))[^\s()]+|[^\s()]+(?=\())"
    r"|(?P<stray>[^\s()]+)"
)
# Text between the trees of a treebank: the comments of NEGRA and TIGER, the
# tags of the Chinese treebank, and the notices of the Penn Treebank.
_COMMENT = re.compile(
    r"%.*|#\s.*|\*x\*.*|(?:</?[A-Za-z!?][^<>()]*>[^<>()]*)+", re.DOTALL
)
MAX_NESTING = 1000  # ten times more than in any treebank
_EXCERPT = 30  # characters of a fault's line in its message
_ESCAPE = "Write a bracket that is text as -LRB- or -RRB-."
_INDENT = "Indent a tree's further lines."
# Rule and way out of each kind of fault, of a wrong token or the whole text.
_FAULTS = {
    "empty": ("A text must hold a tree", "Write one such as (TOP (NN word))."),
    "glued": ("A word must hold no bracket", _ESCAPE),
    "unbalanced": (
        "The brackets of a tree must balance",
        f"Complete the tree. {_ESCAPE} {_INDENT}",
    ),
    "surplus": (
        "A line must hold one tree and nothing else",
        f"Write each tree on a separate line. {_INDENT}",
    ),
    "close": (
        "A tree must hold words, and no empty bracket",
        f"Leave the bracket out. {_ESCAPE}",
    ),
    "stray": (
        "A word must stand alone in a bracket with its tag",
        "Write it as (NN word).",
    ),
    "deep": (
        f"Brackets must be nested at most {MAX_NESTING:,} deep",
        "Check that this is a treebank.",
    ),
    "label": ("Only the root may lack a label", _ESCAPE),
}


def split_blocks(lines):
    """Yields the number of the first line and the text of each tree.

    A tree takes one line or several. The next tree begins at a line that starts
    with a bracket and is indented no further than this tree, even if brackets
    are still open. So a faulty tree never spoils the next one, and the further
    lines of a tree must be indented, as in the Penn Treebank. A comment between
    trees is left out, and also ends a tree if it is indented no further.
    """
    block, first_line, margin, inner, depth = [], 0, 0, 0, 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text:
            indent = len(line.expandtabs()) - len(line.expandtabs().lstrip())
            is_between = not block or depth <= 0 or indent <= margin
            is_comment = is_between and _COMMENT.fullmatch(text)
            if block and (
                is_comment or _is_beginning(text, indent, margin, inner, depth)
            ):
                yield first_line, "\n".join(block)
                block = []
            if is_comment:
                continue
            if not block:
                first_line, margin, depth = number, indent, 0
                # A tree that lost the first bracket of "( (S" starts one column
                # further to the right but does not belong to the tree before.
                inner = indent + (2 if text[0] == "(" else 1)
            elif text[0] == "(":
                inner = min(inner, indent)
            depth += text.count("(") - text.count(")")
        if text or block:
            block.append(line)
    if block:
        yield first_line, "\n".join(block)


def _is_beginning(text, indent, margin, inner, depth):
    if depth > 0:
        return text[0] == "(" and indent <= margin
    return indent < inner and not set(text) <= set(") \t")


def read_steps(text, name="the text", first_line=1):
    """Yields the steps through the one tree that a text holds.

    The steps are as in `tree.walk`; the label of the root may be "". At the
    first fault a `UserError` names the text and the line of its file.
    """
    _check_encoding(text, name, first_line)
    labels = []  # of the open brackets
    is_empty = True  # the innermost open bracket
    is_complete = False
    for match in _TOKEN.finditer(text):
        token, kind = match.lastgroup, None
        if token == "glued":
            kind = token
        elif is_complete:
            kind = "surplus"
        elif token == "stray" or (token == "close" and is_empty):
            kind = token
        elif token == "label" and labels and not match["label"]:
            kind = token
        elif token == "label" and len(labels) == MAX_NESTING:
            kind = "deep"
        if kind:
            raise _make_error(text, match, kind, name, first_line)
        if token == "word":
            yield "leaf", match["tag"], match["word"]
        elif token == "close":
            yield "close", labels.pop(), None
        else:
            labels.append(match["label"])
            yield "open", match["label"], None
        is_empty = token == "label"
        is_complete = not labels
    if not is_complete:
        raise _make_error(text, None, "empty", name, first_line)


def _check_encoding(text, name, first_line):
    """Raises an error if a text was not UTF-8 or holds zero bytes."""
    if text.isascii() and "\0" not in text:
        return
    for number, line in enumerate(text.split("\n"), first_line):
        # Files are read so that an invalid byte becomes a lone surrogate.
        damage = re.search("[\0\ud800-\udfff]", line)
        if damage:
            before = line[: damage.start()].encode()
            content = line.encode(errors="surrogateescape")
            raise make_encoding_error(name, number, content, len(before))


def _make_error(text, match, kind, name, first_line):
    """Returns the error about a text, faulty from `match` on."""
    num_opened, num_closed = text.count("("), text.count(")")
    start = match.start() if match else 0
    excerpt = text[start:].partition("\n")[0].rstrip()
    if len(excerpt) > _EXCERPT:
        excerpt = excerpt[: _EXCERPT - 3] + "..."
    place = f"at {excerpt!r}" if match else "which is empty"
    if kind != "glued" and num_opened != num_closed:
        kind, start = "unbalanced", 0
        place = f"where {num_opened:,} are opened and {num_closed:,} are closed"
    rule, way_out = _FAULTS[kind]
    line = first_line + text.count("\n", 0, start)
    return UserError(
        f"{rule}. Received: {name}, line {line}, {place}. {way_out}"
    )
