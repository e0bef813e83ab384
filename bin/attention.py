"""Shows the attention of a trained run for one sentence.

    kt-attention --output_dir=run/averaged --html=attention.html \\
        --text="A brown dog is running after a red ball."

--html writes one self-contained page with every layer and head of encoder,
decoder and cross-attention, to open in a browser; --png a picture of all heads
of cross-attention. The translation is the run's own, which is printed to
standard output, or that of --target_text; --checkpoint_step is as in
kt-decoder. With a parsing run the text is raw, the target a tree in brackets.
"""

import os
import sys

from keras_transformer.bin import flags
from keras_transformer.data import text_files

flags.define(
    "output_dir",
    "checkpoint_step",
    "text",
    "target_text",
    "html",
    "png",
    "beam_size",
    "alpha",
)
FLAGS = flags.FLAGS
MOST_TOKENS = 256  # of a sentence, for a page that a browser can show


def main(argv):
    flags.require("output_dir", "text")
    _check_flags()
    sys.stdout.reconfigure(encoding="utf-8")
    translator = _load()
    attention = _attention(translator)
    if FLAGS.html:
        from keras_transformer.visualization import attention_page

        title = f"Attention: {FLAGS.text}"
        attention_page.write_attention_page(attention, FLAGS.html, title)
        print(f"Page: {FLAGS.html}", file=sys.stderr)
    if FLAGS.png:
        from keras_transformer.visualization import attention_picture

        attention_picture.write_attention_picture(attention, FLAGS.png)
        print(f"Picture: {FLAGS.png}", file=sys.stderr)


def _check_flags():
    """Finds what is wrong before a model is loaded for it."""
    if not FLAGS.html and not FLAGS.png:
        raise ValueError(
            "`--html` or `--png` must be given. Received: neither. Add "
            "--html=attention.html."
        )
    for name in ("html", "png"):
        path = FLAGS[name].value
        if path and not _can_be_written(path):
            raise ValueError(
                f"`--{name}` must be a file that can be written. Received: "
                f"--{name}={path}. Name a file in a directory that is there."
            )
    for name in ("text", "target_text"):
        _check_text(name, FLAGS[name].value)


def _can_be_written(path):
    directory = os.path.dirname(path) or os.curdir
    is_free = os.path.isfile(path) or not os.path.exists(path)
    return is_free and os.access(directory, os.W_OK)


def _check_text(name, text):
    if text is None:
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f"`--{name}` must be UTF-8. Received: --{name}={text!r}. Check "
            "the terminal's encoding."
        ) from error
    if text_files.is_blank(text):
        raise ValueError(
            f"`--{name}` must hold a sentence. Received: --{name}={text!r}. "
            "Write one, in quotes."
        )


def _load():
    from keras_transformer.runs.run_directory import RunDirectory

    run = RunDirectory(FLAGS.output_dir)  # what is wrong with it shows at once
    for name in ("text", "target_text"):
        tokens = len(run.vocabulary.encode([FLAGS[name].value or ""])[0])
        if tokens > MOST_TOKENS:
            raise ValueError(
                f"`--{name}` must have at most {MOST_TOKENS} tokens to be "
                f"looked at. Received: {tokens:,} tokens. Give one sentence."
            )
    flags.load_backend()
    from keras_transformer.decoding.parser import Parser
    from keras_transformer.decoding.translator import Translator

    translator = Translator.load(FLAGS.output_dir, FLAGS.checkpoint_step)
    return Parser(translator) if translator.linearization else translator


def _attention(translator):
    if FLAGS.target_text is None:
        translations, attentions = translator(
            [FLAGS.text],
            beam_size=FLAGS.beam_size,
            alpha=FLAGS.alpha,
            return_attention=True,
        )
        print(translations[0])
        return attentions[0]
    from keras_transformer.decoding.attention import attention_of

    text, target_text = FLAGS.text, FLAGS.target_text
    if translator.linearization:
        text = " ".join(translator.words(text))
        target_text = translator.symbols(target_text)
        translator = translator.translator
    source, target = translator.vocabulary.encode([text, target_text])
    return attention_of(translator.model, translator.vocabulary, source, target)


def run(argv=None):
    flags.run(main, argv)


if __name__ == "__main__":
    run()
