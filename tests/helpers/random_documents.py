"""Random documents of each format, with much markup in odd places."""

import random

WORDS = (
    "dog cat house Müller río the red of übrigens said 42nd 3.5 it's well-known"
).split()
ENDS = [".", "!", "?", "...", ";", ":"]


def sentence(generator, inline):
    """Returns a sentence whose words may have inline markup."""
    words = [
        inline(generator, generator.choice(WORDS))
        for _ in range(generator.randrange(1, 12))
    ]
    return f"The {' '.join(words)}{generator.choice(ENDS)}"


def paragraph(generator, inline, line_end):
    """Returns sentences with spaces and line ends between."""
    text = sentence(generator, inline)
    for _ in range(generator.randrange(5)):
        text += generator.choice([" ", " ", line_end])
        text += sentence(generator, inline)
    return text


def wrapped(generator, text, line_end):
    """Turns some of the spaces of a text into line ends."""
    return "".join(
        line_end if c == " " and generator.random() < 0.1 else c for c in text
    )


def plain_inline(generator, word):
    return word


def tidy_markdown_inline(generator, word):
    return generator.choice(
        [word] * 8
        + [
            f"*{word}*",
            f"**{word}**",
            f"***{word}***",
            f"~~{word}~~",
            f"**the *{word}* x**",
            f'[{word}](http://a.org/b_c "{word}")',
            f"[*{word}*][label]",
            f"`{word} *x*`",
            f"![{word}](<a b.png>)",
            f"<b>{word}</b>",
            "<http://a.org>",
            "http://a.org/x_y_z",
            "snake_case_x",
        ]
    )


def markdown_inline(generator, word):
    odd = [
        "[label]",
        "[the *label*][]",
        f"<!-- {word} -->",
        r"a \* b",
        "R&amp;D",
        "2 * 3",
        f"*{word}",
        f"un*{word}*s",
        f"[{word}](",
        f"`{word}",
    ]
    tidy = tidy_markdown_inline(generator, word)
    return generator.choice([tidy] * 2 * len(odd) + odd)


def tidy_html_inline(generator, word):
    return generator.choice(
        [word] * 8
        + [
            f"<b>{word}</b>",
            f'<a href="x">the <i>{word}</i></a>',
            f"<code>{word}. X</code>",
            f'<span translate="no">{word}. X</span>',
            f"<img alt='{word}'/>",
            f"<!-- {word}. -->",
            "R&amp;D",
            "x&lt;y",
        ]
    )


def html_inline(generator, word):
    odd = [
        "caf&eacute;",
        "a&nbsp;b",
        "AT&T",
        f"<b>{word}",
        "</i>",
        "<i></i>",
        "a < b",
        f"un<b>{word}</b>s",
        "<broken",
    ]
    tidy = tidy_html_inline(generator, word)
    return generator.choice([tidy] * 2 * len(odd) + odd)


def text_document(seed, is_tidy=False):
    generator = random.Random(seed)
    line_end = generator.choice(["\n", "\r\n"])
    blocks = []
    for _ in range(generator.randrange(8)):
        text = paragraph(generator, plain_inline, line_end)
        marker = generator.choice(["", "", "- ", "1. ", "\t"])
        blocks.append(marker + wrapped(generator, text, line_end))
    end = generator.choice(["", line_end, 2 * line_end])
    return (2 * line_end).join(blocks) + end


def markdown_document(seed, is_tidy=False):
    generator = random.Random(seed)
    inline = tidy_markdown_inline if is_tidy else markdown_inline
    line_end = generator.choice(["\n", "\r\n"])
    blocks = ["---\ntitle: The x. Y\n---"] * (generator.random() < 0.2)
    for _ in range(generator.randrange(9)):
        blocks.append(_markdown_block(generator, inline))
    blocks.append("[label]: http://a.org 'The label.'")
    end = generator.choice(["", "\n", "\n\n"])
    return ("\n\n".join(blocks) + end).replace("\n", line_end)


def _markdown_block(generator, inline):
    text = paragraph(generator, inline, "\n")
    one = sentence(generator, inline)
    cells = [sentence(generator, inline) for _ in range(4)]
    table = "| {} | {} |\n|:--|---|\n| {} | {} x \\| y |".format(*cells)
    return generator.choice(
        [
            text,
            wrapped(generator, text, "\n"),
            wrapped(generator, text, "  \n"),
            f"# {one} #",
            f"## {one}",
            f"{one}\n====",
            "> " + text.replace("\n", "\n> "),
            "> - " + wrapped(generator, one, "\n>   "),
            "- " + text.replace("\n", "\n  ") + f"\n- [ ] {one}",
            f"1. {one}\n   1) {one}\n2. {one}",
            table,
            f"```python\n{one}\n```",
            f"    {one}",
            "***",
            f"<div>\n<p>{sentence(generator, tidy_html_inline)}</p>\n</div>",
        ]
    )


def html_document(seed, is_tidy=False):
    generator = random.Random(seed)
    inline = tidy_html_inline if is_tidy else html_inline
    line_end = generator.choice(["\n", "\r\n"])
    blocks = ["<!DOCTYPE html><html><body>"]
    for _ in range(generator.randrange(9)):
        text = paragraph(generator, inline, "\n")
        one = sentence(generator, inline)
        blocks.append(
            generator.choice(
                [
                    f"<p>{wrapped(generator, text, chr(10) + '  ')}</p>",
                    f"<h1 class='x'>{one}</h1>",
                    f"<ul><li>{one}<li>{one}</ul>",
                    f"<table><tr><td>{one}</td><td>{one}</td></tr></table>",
                    f"<pre>{one}</pre>",
                    "<script>if (a < b) 'The x. Y';</script>",
                    "<style>p { the: x }</style>",
                    f"<div translate=no><div>{one}</div>{one}</div>",
                    f"{one}<br/>{one}",
                ]
            )
        )
    return "\n".join(blocks).replace("\n", line_end)


def subtitles_inline(generator, word):
    return generator.choice([word] * 8 + [f"<i>{word}</i>", "R and D"])


def _subtitles(seed, is_webvtt):
    generator = random.Random(seed)
    blocks = ["WEBVTT - The x\n\nNOTE The x. Y"] * is_webvtt
    for number in range(1, generator.randrange(2, 9)):
        text = sentence(generator, subtitles_inline)
        if generator.random() < 0.3:
            text = f"- {text}\n- {sentence(generator, subtitles_inline)}"
        point = "." if is_webvtt else ","
        blocks.append(
            f"{number}\n00:00:0{number}{point}000 --> 00:00:0{number}{point}900"
            f"{' line:0' * is_webvtt}\n{wrapped(generator, text, chr(10))}"
        )
    line_end = generator.choice(["\n", "\r\n"])
    end = generator.choice(["", "\n", "\n\n"])
    return ("\n\n".join(blocks) + end).replace("\n", line_end)


def srt_document(seed, is_tidy=False):
    return _subtitles(seed, is_webvtt=False)


def vtt_document(seed, is_tidy=False):
    return _subtitles(seed, is_webvtt=True)


DOCUMENTS = {
    "text": text_document,
    "markdown": markdown_document,
    "html": html_document,
    "srt": srt_document,
    "vtt": vtt_document,
}
