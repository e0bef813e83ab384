"""The comparison of two systems as a page for a browser."""

import dataclasses
import functools
import html

from keras_transformer.visualization import page

ORDERS = {1: "word alone", 2: "two words", 3: "three words", 4: "four or more"}


@dataclasses.dataclass(frozen=True)
class Translation:
    """A translation with the words that match its reference."""

    words: list  # of str
    orders: list  # of each word's longest matching n-gram, see `match_orders`
    score: float


@dataclasses.dataclass(frozen=True)
class Example:
    """A sentence that two systems translate differently."""

    number: int  # line in the text, from 1
    source: str | None  # None if only references are known
    reference: str
    this: Translation
    other: Translation


def make_systems_page(
    texts, num_sentences, differences, by_length, by_frequency, examples
):
    """Returns the HTML of a page that compares two systems on one text.

    The page is a single HTML file that needs neither another file nor a network
    nor JavaScript. It follows the light or dark theme of the system.

    The `texts` by name are `text_name`, such as "test"; `this` and `other`, the
    names of the systems; the `meaning` of the p-values; `side`, "source" or
    "reference", whose length counts; and `counted_text`, whose words are
    counted. The `differences` are of `scoring.comparison.Difference`, and
    `by_length` and `by_frequency` of `scoring.analysis.Group`. The examples are
    two lists of `Example`: those on which this system is better, and those on
    which the other is.
    """
    parts = {name: html.escape(text) for name, text in texts.items()}
    names = texts["this"], texts["other"]
    example = functools.partial(_example, names=names)
    better, worse = (
        _lines(example, some) or "<p>None.</p>" for some in examples
    )
    parts |= {
        "title": f"Two systems on {parts['text_name']}",
        "num_sentences": f"{num_sentences:,}",
        "scores": _lines(_scores, differences),
        "in_words": "\n".join(
            f"<li>{html.escape(row.explain(names))}</li>" for row in differences
        ),
        "signatures": "\n".join(
            html.escape(f"{row.title}: {row.signature}") for row in differences
        ),
        "by_length": _lines(_group, by_length),
        "by_frequency": _lines(_group, by_frequency),
        "legend": ", ".join(_mark(text, n) for n, text in ORDERS.items()),
        "better": better,
        "worse": worse,
    }
    styles = ["paper_page", "head_page", "systems_page"]
    return page.make_page("systems", parts, styles)


def _lines(function, items):
    return "\n".join(map(function, items))


def _scores(row):
    this, interval, other, other_interval, *rest = row.cells
    cells = [f"{this}<small>{interval}</small>"]
    cells += [f"{other}<small>{other_interval}</small>", *rest]
    cells = "".join(f"<td>{cell}</td>" for cell in cells)
    return f"<tr><th>{html.escape(row.title)}</th>{cells}</tr>"


def _group(group):
    bars = "".join(
        f'<td class="bar {name}" style="--score:{value / 100:.4f}">'
        f"{value:.1f}</td>"
        for name, value in (("this", group.this), ("other", group.other))
    )
    return (
        f"<tr><th>{html.escape(group.title)}</th><td>{group.count:,}</td>"
        f"{bars}<td>{group.this - group.other:+z.1f}</td></tr>"
    )


def _example(example, names):
    rows = [("source", html.escape(example.source))] if example.source else []
    rows.append(("reference", html.escape(example.reference)))
    sides = ("this", example.this), ("other", example.other)
    for name, (side, translation) in zip(names, sides):
        title = f'<span class="{side}">{html.escape(name)}</span>'
        words = map(_mark, translation.words, translation.orders)
        rows.append((f"{title} {translation.score:.1f}", " ".join(words)))
    cells = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows)
    difference = example.this.score - example.other.score
    return (
        f"<section><h4>Line {example.number:,}, {difference:+z.1f}</h4>"
        f"<dl>{cells}</dl></section>"
    )


def _mark(word, order):
    word = html.escape(word)
    if not order:
        return word
    return f'<mark style="--order:{order}">{word}</mark>'
