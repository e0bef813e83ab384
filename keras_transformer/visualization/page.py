"""Pages for a browser: single files that need no other file and no network."""

import base64
import hashlib
import importlib.resources
import re

import jinja2

from keras_transformer.files.writing import write_file

_PACKAGE = importlib.resources.files("keras_transformer")


def write_page(path, template, **parts):
    """Writes the page that `make_page` returns for the other arguments."""
    write_file(path, make_page(template, **parts))


def make_page(template, **parts):
    """Returns the HTML of a template, a path in this package, with its parts.

    Texts among the parts are escaped. The template names the styles and scripts
    that it needs, and page.html, which all pages extend, puts them in.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(
        join=_join, hash=_hash, scripts=[], script_type="module", connects=False
    )
    return environment.get_template(template).render(parts)


def _read(path):
    return _PACKAGE.joinpath(path).read_text(encoding="utf-8")


def _join(names, ending):
    """Returns files as one text, without the exports and imports of modules."""
    text = "\n".join(_read(f"{name}.{ending}") for name in names)
    return re.sub("^(export |import .*\n)", "", text, flags=re.MULTILINE)


def _hash(text):
    """Returns a hash as a policy names it."""
    digest = hashlib.sha256(text.encode()).digest()
    return base64.b64encode(digest).decode("ascii")
