"""Pages for a browser: single files that need no other file and no network."""

import importlib.resources
import json
import re


def fill(template, parts):
    """Returns a template with each `{{name}}` replaced by the named part."""
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
