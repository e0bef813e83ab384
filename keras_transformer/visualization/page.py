"""Pages for a browser: single files that need no other file and no network."""

import importlib.resources
import json
import re

from keras_transformer.files.writing import atomic_write


def write_page(path, *arguments, **options):
    """Writes the page that `make_page` returns for the other arguments."""
    with atomic_write(path) as file:
        file.write(make_page(*arguments, **options))


def make_page(name, parts, styles, scripts=(), connects=False):
    """Returns the body `NAME_page.html` in the frame that all pages share.

    The `parts` are HTML. They fill the places of the body, and "title" is the
    title of the page. The styles and the scripts are names of files without
    their endings. `connects` tells whether the page may ask the server that it
    came from.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    script = ""
    if scripts:
        policy += "; script-src 'unsafe-inline'; img-src data:"
        policy += "; connect-src 'self'" if connects else ""
        text = _read_all(scripts, "js")
        script = f'<script type="module">\n{text}\n</script>\n'
    frame = {
        "policy": policy,
        "title": parts["title"],
        "style": _read_all(styles, "css"),
        "body": _fill(_read(f"{name}_page.html"), parts),
        "script": script,
    }
    return _fill(_read("page.html"), frame)


def embeddable_json(values):
    """Returns JSON that cannot close the HTML element around it."""
    text = json.dumps(values, separators=(",", ":"))  # ASCII only
    # A token such as "</script>" would end the element.
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _fill(template, parts):
    """Returns a template with each `{{name}}` replaced by the named part."""
    # One pass replaces all places, so that a token such as "{{script}}" in one
    # part is not replaced in turn.
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def _read_all(names, ending):
    return "".join(_read(f"{name}.{ending}") for name in names)


def _read(name):
    folder = importlib.resources.files("keras_transformer.visualization")
    return folder.joinpath(name).read_text(encoding="utf-8")
