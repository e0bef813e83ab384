"""Pictures as files, in the format that the name's ending tells."""

import os
import re
import unicodedata
import warnings

from keras_transformer.errors import UserError
from keras_transformer.files import writing

FORMATS = ("png", "pdf", "svg")
MAX_MARKERS = 40  # a curve with more points has no markers
MAX_CHARACTERS = 18  # of a label
# The columns of metrics.csv are in lower case; these are the usual spellings.
SPELLINGS = {"bleu": "BLEU", "chrf": "chrF", "f1": "F1"}


def check_picture_path(path, name="A picture's name"):
    """Checks that a picture can be written to a path, before it is drawn.

    The message calls the path by `name`, such as "`--picture`".
    """
    if _format(path) not in FORMATS:
        raise UserError(
            f"{name} must end in .png, .pdf or .svg. Received: {path}. Choose "
            "one of these endings."
        )
    writing.check_writable(path, name)


def make_axes(size, rows=1, columns=1, dpi=150, layout="tight", **options):
    """Returns a figure of Matplotlib, and its axes as a matrix.

    The axes have a faint grid and two sides of their frame. The size is in
    inches, and the options are as for `Figure.subplots`.
    """
    # Imported here so that importing this module does not load matplotlib.
    # `Figure` without pyplot needs no display and leaves no global state.
    from matplotlib.figure import Figure

    figure = Figure(size, dpi=dpi, layout=layout)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    for axis in axes.flat:
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes


def write_picture(figure, path, **options):
    """Writes a Matplotlib figure; the file appears once it is complete.

    The options are as for `Figure.savefig`. Characters that are missing in the
    installed fonts appear as boxes.
    """
    check_picture_path(path)
    with writing.atomic_write(path, "wb") as file, warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(file, format=_format(path), **options)


def name_metric(metric):
    """Returns the name of a column of `metrics.csv` as words for a reader.

    >>> name_metric("dev_chrf")
    'dev chrF'
    """
    return " ".join(SPELLINGS.get(word, word) for word in metric.split("_"))


def printable(text):
    """Returns a text in which unprintable characters are replaced.

    An SVG file can hold neither control characters nor half surrogate pairs.
    """
    return re.sub("[\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)


def shorten_label(text):
    """Returns a text as a label of at most `MAX_CHARACTERS` characters."""
    if len(text) > MAX_CHARACTERS:
        text = text[: MAX_CHARACTERS - 1] + "…"
    return printable(text)


def num_columns(text):
    """Returns the width of a text in small Latin letters."""
    # Chinese characters and others are twice as wide, capitals not so much.
    wide = sum(unicodedata.east_asian_width(c) in "FW" for c in text)
    return len(text) + wide + 0.25 * sum(map(str.isupper, text))


def _format(path):
    return os.path.splitext(path)[1][1:].lower()
