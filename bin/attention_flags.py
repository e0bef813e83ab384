"""The flags of kt-attention."""

import os

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import output_files
from keras_transformer.data import text_files
from keras_transformer.files.writing import check_writable
from keras_transformer.visualization.paper_figures import FIGURES
from keras_transformer.visualization.picture import check_picture_path

FLAGS = flags.define(
    "output_dir",
    "checkpoint_step",
    flags.text("text", "Sentence whose attention is shown."),
    flags.path("html", "HTML page to write. Default: none."),
    flags.path(
        "png", "Picture to write, a .png, .pdf or .svg file. Default: none."
    ),
    flags.group(
        "All heads",
        flags.choice(
            "attention",
            ["encoder", "decoder", "cross"],
            "Attention in the picture: encoder, decoder or cross.",
            default="cross",
        ),
        flags.text(
            "target_text",
            "Translation whose attention is shown. Default: the run's own "
            "translation.",
        ),
        "beam_size",
        "alpha",
    ),
    flags.group(
        "A figure of the paper",
        flags.choice(
            "figure",
            FIGURES,
            "Figure to draw: 3, 4 or 5. Default: none, which shows all heads.",
        ),
        flags.count(
            "layer", "Layer to show, from 1. Default: the next to last."
        ),
        flags.text(
            "heads",
            "Heads to show, from 1, such as 5,6. Figures 4 and 5 take two. "
            "Default: all heads in figure 3, those that attend most from the "
            "word to another one in figure 4, and the sharpest in figure 5.",
        ),
        flags.text(
            "word",
            "Word that attends in figures 3 and 4, at its first place in the "
            "sentence. Default: the one whose heads attend most to a distant "
            "word.",
        ),
    ),
    flags.group(
        "A ranking of heads",
        flags.path(
            "find",
            "Sentences to rank the heads over: dev or test, or a file with one "
            "sentence per line. Default: none.",
        ),
    ),
)
# What the command can draw, and the flags that apply to it.
FLAGS_OF = {
    "all": ("text", "attention", "target_text", "beam_size", "alpha"),
    "figure": ("figure", "text", "layer", "heads", "word"),
    "find": ("find",),
}


def check():
    """Checks all flags before anything is read.

    Raises:
        ValueError: If one of them is wrong or has no effect.
    """
    flags.require(FLAGS, "output_dir")
    if not FLAGS.find:
        flags.require(FLAGS, "text")
    _check_combination()
    if not FLAGS.html and not FLAGS.png and not FLAGS.find:
        raise ValueError(
            "`--html` or `--png` must be given. Received: neither. Add "
            "--html=attention.html."
        )
    html, png = FLAGS.html, FLAGS.png
    if html and png and os.path.realpath(html) == os.path.realpath(png):
        raise ValueError(
            "`--html` and `--png` must be two files. Received: "
            f"{png} for both. Give the page another name."
        )
    for name in ("html", "png"):
        output_files.check_output(name, FLAGS, ["find"])
    if html:
        check_writable(html, "`--html`")
    if png:
        check_picture_path(png, "`--png`")
    for name in ("text", "target_text"):
        text = FLAGS[name].value
        if text is not None and text_files.is_blank(text):
            raise ValueError(
                f"`--{name}` must hold a sentence. Received: "
                f"--{name}={text!r}. Put a sentence in quotes."
            )


def _check_combination():
    """Checks that no flag is given that would have no effect."""
    mode = "find" if FLAGS.find else "figure" if FLAGS.figure else "all"
    place = "without --figure" if mode == "all" else f"with --{mode}"
    for name in sum(FLAGS_OF.values(), ()):
        if flags.is_changed(FLAGS, name) and name not in FLAGS_OF[mode]:
            raise ValueError(
                "Every flag must have an effect. Received: "
                f"--{name}={FLAGS[name].value} {place}. Remove it; --help says "
                "which flags belong together."
            )
