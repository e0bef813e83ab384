"""Draws the attention of a trained run.

    kt-attention --output_dir=run/averaged --html=attention.html \\
        --text="A brown dog is running after a red ball."

--html writes a self-contained page to open in a browser. It shows every layer
and head of the encoder, the decoder and cross-attention. --png writes a picture
of all heads of one --attention; its ending, .png, .pdf or .svg, decides the
format. The attention is that of the run's own translation, which the command
prints to standard output, or that of --target_text. With a parsing run, --text
is raw text and --target_text is a tree in brackets.

--figure=3, 4 or 5 draws a figure of the paper instead, for any sentence:

    kt-attention --output_dir=run/averaged --figure=3 --png=figure3.png \\
        --text="They made the registration process more difficult." \\
        --word=made

Figure 3 follows one word in all heads of a layer of the encoder. Figure 4 shows
one head in full, and one word in two heads. Figure 5 shows two heads in full.

--find ranks the heads of the encoder by how diagonal, local and sharp they are,
over the first 200 sentences of a split or of a text file. With the treebank of
a parsing run it also measures how well they stay within brackets. It prints the
best heads. --html writes all scores and a picture of each head, and --png draws
the scores as maps:

    kt-attention --output_dir=run/averaged --find=test --html=heads.html
"""

import sys

from keras_transformer import fields
from keras_transformer.bin import attention_flags
from keras_transformer.bin.attention_flags import FLAGS
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.visualization.paper_figures import View
from keras_transformer.visualization.words import join_weights
from keras_transformer.visualization.words import join_words

MAX_TOKENS = 256  # per sentence, so that a browser can show the page


def main(argv):
    attention_flags.check()
    if FLAGS.find:
        _rank_heads()
    elif FLAGS.figure:
        _draw_figure()
    else:
        _draw_all_heads()
    for name, path in (("Page", FLAGS.html), ("Picture", FLAGS.png)):
        if path:
            print(f"{name}: {path}", file=sys.stderr)


def _draw_all_heads():
    from keras_transformer.decoding.loading import load_checker

    _run()
    _check_lengths(load_checker(FLAGS.output_dir), "text", "target_text")
    translation, attention = _attention(_load())
    if FLAGS.html:
        from keras_transformer.visualization import attention_page

        # One line for each text, whatever line ends it contains.
        texts = [" ".join(text.split()) for text in (FLAGS.text, translation)]
        title = "Attention: {}\n→ {}".format(*texts)
        attention_page.write_attention_page(attention, FLAGS.html, title)
    if FLAGS.png:
        from keras_transformer.visualization import attention_picture

        attention_picture.write_attention_picture(
            attention, FLAGS.png, FLAGS.attention
        )


def _draw_figure():
    from keras_transformer.decoding.loading import load_checker
    from keras_transformer.visualization import paper_figures

    run, view = _run(), _view()
    checker = load_checker(FLAGS.output_dir)
    _check_lengths(checker, "text")
    words = _words(checker, FLAGS.text)
    hparams = run.hparams
    paper_figures.check_view(view, words, hparams.num_layers, hparams.num_heads)
    (attention,) = _word_attention(_load(), [FLAGS.text])
    figure = paper_figures.paper_figure(view, *attention)
    if FLAGS.html:
        from keras_transformer.visualization import paper_page

        paper_page.write_paper_page(figure, FLAGS.html)
    if FLAGS.png:
        from keras_transformer.visualization import paper_picture

        paper_picture.write_paper_picture(figure, FLAGS.png)
    print(f"Figure {figure.number}. {figure.caption}")


def _rank_heads():
    from keras_transformer.bin import head_ranking
    from keras_transformer.decoding.loading import load_checker
    from keras_transformer.visualization.head_table import head_table

    run = _run()
    # The sentences of a treebank are words with spaces between them.
    is_treebank = (
        FLAGS.find in head_ranking.SPLITS
        and load_checker(FLAGS.output_dir).linearization is not None
    )
    checker = load_checker(FLAGS.output_dir, is_treebank)
    sentences, constituents = head_ranking.read_sentences(run, FLAGS.find)
    checker.check_lengths(sentences, FLAGS.find)
    attention = _word_attention(_load(is_treebank), sentences)
    scores, example = head_ranking.score_heads(attention, constituents)
    if FLAGS.html:
        from keras_transformer.visualization import head_page

        head_page.write_head_page(scores, *example, FLAGS.html, FLAGS.find)
    if FLAGS.png:
        from keras_transformer.visualization import head_picture

        head_picture.write_head_picture(scores, FLAGS.png)
    print(head_table(scores))


def _word_attention(translator, texts):
    """Yields the words of each text, and the encoder's attention to them."""
    from keras_transformer.decoding.attention import encoder_attention

    for tokens, weights in encoder_attention(translator, texts):
        words, starts = join_words(tokens, not translator.linearization)
        yield words, join_weights(weights, starts)


def _view():
    """Returns the `View` that the flags of the figure describe."""
    heads = None
    if FLAGS.heads:
        try:
            heads = [fields.parse_integer(n) for n in FLAGS.heads.split(",")]
        except ValueError as error:
            raise ValueError(
                "`--heads` must be numbers separated by commas. Received: "
                f"--heads={FLAGS.heads}. Write, for example, --heads=5,6."
            ) from error
    return View(FLAGS.figure, FLAGS.layer, heads, FLAGS.word)


def _run():
    """Returns the run, whose checkpoint is checked."""
    from keras_transformer.runs.run_directory import RunDirectory
    from keras_transformer.runs.weights import check_checkpoint

    run = RunDirectory(model_flags.single_output_dir(FLAGS, "look into"))
    check_checkpoint(run, FLAGS.checkpoint_step)
    return run


def _check_lengths(checker, *names):
    for name in names:
        text = FLAGS[name].value or ""
        is_target = name == "target_text"
        if text and is_target and checker.linearization:
            text = checker.symbols(text, f"`--{name}`")
        (num_tokens,) = checker.num_tokens([text], is_target)
        if num_tokens > MAX_TOKENS:
            raise ValueError(
                f"`--{name}` must have at most {MAX_TOKENS} tokens. Received: "
                f"{num_tokens:,} tokens. Use a shorter sentence."
            )


def _load(tokenized=False):
    # Loading the backend takes seconds, so everything that can fail without it
    # has been checked.
    load_backend()
    from keras_transformer.decoding.loading import load

    return load(FLAGS.output_dir, FLAGS.checkpoint_step, tokenized=tokenized)


def _words(checker, text):
    """Returns the words of a text, which need no model."""
    if checker.linearization:
        return checker.words(text)
    vocabulary = checker.source_vocabulary
    ids = vocabulary.encode([text])[0]
    return join_words(vocabulary.pieces(ids[:-1]))[0]


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
    attention = attention_of(
        translator.model,
        translator.vocabulary,
        *translator.source_vocabulary.encode([text]),
        *translator.vocabulary.encode([target_text]),
        translator.source_vocabulary,
    )
    return FLAGS.target_text, attention


def run(argv=None):
    command.run(main, FLAGS, argv)


if __name__ == "__main__":
    run()
