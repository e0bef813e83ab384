"""Trees of a parser, or of text in brackets, to be drawn."""

from keras_transformer.errors import UserError
from keras_transformer.parsing.tree import parse_tree
from keras_transformer.parsing.tree import walk
from keras_transformer.studio.models import clean_text

MAX_NODES = 2000


def parse(studio, text: str, run: int = 0, step: int = 0):
    """Parses a sentence; see `draw_tree` for what it returns."""
    parser = studio.get_model(run, step).fast
    if not parser.linearization:
        raise UserError(
            "`run` must be one that parses. Received: one that translates. "
            "Start kt-studio with a parsing run."
        )
    text = clean_text(parser, text)
    if not text:
        return {"brackets": "", "steps": []}
    (brackets,) = parser([text])
    return draw_tree(studio, brackets)


def draw_tree(studio, brackets: str):
    """Returns the `steps` through a tree in brackets; see `tree.walk`."""
    if not brackets.strip():
        return {"brackets": "", "steps": []}
    # Before the tree is built, which takes long for a hostile text.
    if (num_nodes := brackets.count("(")) > MAX_NODES:
        raise UserError(
            f"`brackets` must have at most {MAX_NODES:,} nodes. Received: "
            f"{num_nodes:,}. Use a smaller tree."
        )
    tree = parse_tree(brackets, "`brackets`")
    return {"brackets": str(tree), "steps": list(walk(tree))}
