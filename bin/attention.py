"""Draws the attention of a trained run for one sentence.

    kt-attention --output_dir=run/averaged --html=attention.html \\
        --text="A brown dog is running after a red ball."

--html writes a self-contained page to open in a browser. It shows every layer
and head of the encoder, the decoder and cross-attention. --png writes a picture
of all heads of cross-attention; its ending, .png, .pdf or .svg, decides the
format.

The attention is that of the run's own translation, which the command prints to
standard output, or that of --target_text. With a parsing run, --text is raw
text and --target_text is a tree in brackets.
"""

import sys

from keras_transformer.bin import command
from keras_transformer.bin import flags
from keras_transformer.data import text_files
from keras_transformer.files.writing import check_writable
from keras_transformer.visualization.picture import check_picture_path

FLAGS = flags.define(
    "output_dir",
    "checkpoint_step",
    flags.text("text", None, "Sentence whose attention is shown."),
    flags.text(
        "target_text",
        None,
        "Translation whose attention is shown. Default: the run's own "
        "translation.",
    ),
    flags.path("html", None, "HTML page to write. Default: none."),
    flags.path(
        "png",
        None,
        "Picture to write, a .png, .pdf or .svg file. Default: none.",
    ),
    "beam_size",
    "alpha",
)
MAX_TOKENS = 256  # per sentence, so that a browser can show the page


def main(argv):
    flags.require(FLAGS, "output_dir", "text")
    _check_flags()
    translator = _load()
    translation, attention = _attention(translator)
    if FLAGS.html:
        from keras_transformer.visualization import attention_page

        # One line for each text, whatever line ends it contains.
        texts = [" ".join(text.split()) for text in (FLAGS.text, translation)]
        title = "Attention: {}\n→ {}".format(*texts)
        attention_page.write_attention_page(attention, FLAGS.html, title)
        print(f"Page: {FLAGS.html}", file=sys.stderr)
    if FLAGS.png:
        from keras_transformer.visualization import attention_picture

        attention_picture.write_attention_picture(attention, FLAGS.png)
        print(f"Picture: {FLAGS.png}", file=sys.stderr)


def _check_flags():
    """Checks all flags before the model is loaded."""
    if not FLAGS.html and not FLAGS.png:
        raise ValueError(
            "`--html` or `--png` must be given. Received: neither. Add "
            "--html=attention.html."
        )
    if FLAGS.html == FLAGS.png:
        raise ValueError(
            "`--html` and `--png` must be two files. Received: "
            f"{FLAGS.png} for both. Give the page another name."
        )
    if FLAGS.html:
        check_writable(FLAGS.html, "`--html`")
    if FLAGS.png:
        check_picture_path(FLAGS.png, "`--png`")
    for name in ("text", "target_text"):
        text = FLAGS[name].value
        if text is not None and text_files.is_blank(text):
            raise ValueError(
                f"`--{name}` must hold a sentence. Received: "
                f"--{name}={text!r}. Put a sentence in quotes."
            )


def _load():
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.runs.weights import check_checkpoint

    # Loading the backend takes seconds, so everything that can fail without it
    # is checked first.
    run = RunDirectory(FLAGS.output_dir)
    check_checkpoint(run, FLAGS.checkpoint_step)
    for name in ("text", "target_text"):
        num_tokens = len(run.vocabulary.encode([FLAGS[name].value or ""])[0])
        if num_tokens > MAX_TOKENS:
            raise ValueError(
                f"`--{name}` must have at most {MAX_TOKENS} tokens. Received: "
                f"{num_tokens:,} tokens. Use a shorter sentence."
            )
    command.load_backend()
    from keras_transformer.decoding.loading import load

    return load(FLAGS.output_dir, FLAGS.checkpoint_step)


def _attention(translator):
    """Returns the translation, or the target text, and the attention."""
    if FLAGS.target_text is None:
        translations, attentions = translator(
            [FLAGS.text],
            beam_size=FLAGS.beam_size,
            alpha=FLAGS.alpha,
            return_attention=True,
        )
        print(translations[0])
        return translations[0], attentions[0]
    from keras_transformer.decoding.attention import attention_of

    # One decoder pass over the target replaces the search for a translation.
    text, target_text = FLAGS.text, FLAGS.target_text
    # The model of a parser reads words and writes symbols instead of brackets.
    if translator.linearization:
        text = " ".join(translator.words(text))
        target_text = translator.symbols(target_text)
        translator = translator.translator
    source, target = translator.vocabulary.encode([text, target_text])
    attention = attention_of(
        translator.model, translator.vocabulary, source, target
    )
    return FLAGS.target_text, attention


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
