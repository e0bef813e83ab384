"""Pages for a browser: single files that need no other file and no network."""

import importlib.resources
import json
import re


def fill(template, parts):
    """Returns a page: a template with its places filled.

    Args:
        template: Name of a file of this package, in which `{{name}}` is a
            place.
        parts: Dictionary from the name of each place to its text.
    """
    # One pass replaces all places, so that a token such as "{{script}}" in one
    # part is not replaced in turn.
    return re.sub(
        r"\{\{(\w+)\}\}", lambda match: parts[match[1]], asset(template)
    )


def embeddable_json(values):
    """Returns JSON that cannot close the HTML element around it."""
    text = json.dumps(values, separators=(",", ":"))  # ASCII only
    # A token such as "</script>" would end the element.
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def asset(name):
    """Returns the text of a file of this package."""
    folder = importlib.resources.files("keras_transformer.visualization")
    return folder.joinpath(name).read_text(encoding="utf-8")
