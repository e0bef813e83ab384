"""Pages for a browser: single files that need no other file and no network."""

import importlib.resources

import jinja2

from keras_transformer.files.writing import atomic_write

_FOLDER = importlib.resources.files("keras_transformer.visualization")


def write_page(path, name, **parts):
    """Writes the page that `make_page` returns for the other arguments."""
    with atomic_write(path) as file:
        file.write(make_page(name, **parts))


def make_page(name, **parts):
    """Returns the HTML of the template `NAME_page.html`, filled with parts.

    Texts among the parts are escaped. The template names the styles and scripts
    that it needs, and page.html, which all pages extend, puts them in.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals.update(read=_read, scripts=[], connects=False)
    return environment.get_template(f"{name}_page.html").render(parts)


def _read(name):
    return _FOLDER.joinpath(name).read_text(encoding="utf-8")
