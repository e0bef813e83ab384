"""Draws the attention of a trained run.

    kt-attention --output_dir=run/averaged --html=attention.html \\
        --text="A brown dog is running after a red ball."

--html writes a self-contained page to open in a browser. It shows every layer
and head of the encoder, the decoder and cross-attention. --picture draws all
heads of one --attention; its ending, .png, .pdf or .svg, decides the format.
By default the command translates --text, prints the translation to standard
output and shows its attention; --target_text replaces the translation. With a
parsing run, --text is raw text and --target_text is a tree in brackets.

--figure=3, 4 or 5 draws a figure of the paper instead, for any sentence:

    kt-attention --output_dir=run/averaged --figure=3 --word=made \\
        --text="They made the registration process more difficult." \\
        --picture=figure3.png

Figure 3 follows one word in all heads of a layer of the encoder. Figure 4 shows
one head in full, and one word in two heads. Figure 5 shows two heads in full.

--find ranks the heads of the encoder by how diagonal, local and sharp they are,
over the first 200 sentences of a split or text file. With a treebank it also
measures how well they stay within brackets. It prints the best heads. --html
writes all scores and a picture of each head, and --picture draws maps:

    kt-attention --output_dir=run/averaged --find=test --html=heads.html
"""

import dataclasses
import sys

from keras_transformer import registry
from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.text_io import check_outputs
from keras_transformer.errors import UserError
from keras_transformer.visualization.picture import check_picture_path

FLAGS = flags.define(
    """
  output_dir
  checkpoint_step
  text (text): Sentence whose attention is shown.
  html (path): HTML page to write. Default: none.
  picture (path): Picture to write, a .png, .pdf or .svg file. Default: none.
All heads:
  attention (encoder|decoder|cross, default cross): Attention in the picture:
    encoder, decoder or cross.
  target_text (text): Translation whose attention is shown. Default: the run's
    translation.
  beam_size
  alpha
A figure of the paper:
  figure (3|4|5): Figure to draw: 3, 4 or 5. Default: none, which shows all
    heads.
  layer (count, needs figure): Layer to show, from 1. Default: the next to last.
  heads (counts, needs figure): Heads to show, from 1, such as 5,6. Figures 4
    and 5 take two. Default: all heads in figure 3, those that attend most from
    the word to another one in figure 4, and the sharpest in figure 5.
  word (text, needs figure=3 or figure=4): Word that attends in figures 3 and 4;
    its first occurrence counts. Default: the word whose heads attend most to a
    distant one.
A ranking of heads:
  find (path): Sentences to rank the heads over: dev or test, or a file with one
    sentence per line. Default: none.
"""
)
# The flags that apply only to a drawing of all heads.
OF_ALL_HEADS = ("attention", "target_text", "beam_size", "alpha")
MAX_TOKENS = 256  # per sentence, so that a browser can show the page


def main(argv):
    mode = "find" if FLAGS.find else "figure" if FLAGS.figure else "all"
    _check_flags(mode)
    from keras_transformer.decoding.plan import plan_runs

    path = model_flags.single_output_dir(FLAGS, "look into")
    draw = {"find": _rank_heads, "figure": _draw_figure, "all": _draw_all_heads}
    draw[mode](plan_runs(path, FLAGS.checkpoint_step, engine="keras"))
    for name, path in (("Page", FLAGS.html), ("Picture", FLAGS.picture)):
        if path:
            print(f"{name}: {path}", file=sys.stderr)


def _check_flags(mode):
    """Checks all flags before anything is read."""
    flags.require(FLAGS, "output_dir")
    if mode != "all":
        flags.refuse(FLAGS, OF_ALL_HEADS, f"has no effect with --{mode}")
    if mode == "find":
        names = ["text", "figure"]
        flags.refuse(FLAGS, names, "has no effect with --find")
    else:
        flags.require(FLAGS, "text")
        if not FLAGS.html and not FLAGS.picture:
            raise UserError(
                "`--html` or `--picture` must be given. Received: neither. Add "
                "--html=attention.html."
            )
    check_outputs(FLAGS, ["html", "picture"], ["find"])
    if FLAGS.picture:
        check_picture_path(FLAGS.picture, "`--picture`")
    for name in ("text", "target_text"):
        text = FLAGS[name].value
        if text is not None and not text.strip():
            raise UserError(
                f"`--{name}` must be a sentence. Received: --{name}={text!r}. "
                "Put a sentence in quotes."
            )


def _draw_all_heads(plan):
    from keras_transformer.visualization import attention_page
    from keras_transformer.visualization import attention_picture

    _check_lengths(plan.checker)
    translator = _load(plan)
    if FLAGS.target_text is None:
        (target,), (attention,) = translator(
            [FLAGS.text],
            beam_size=FLAGS.beam_size,
            alpha=FLAGS.alpha,
            return_attention=True,
        )
        print(target)
    else:
        # One decoder pass over the target replaces the search.
        target = FLAGS.target_text
        (attention,) = translator.engine.attend(
            translator.encode([FLAGS.text]),
            translator.encode([target], of_targets=True),
        )
    if FLAGS.html:
        # One line for each text, even if it contains line breaks.
        texts = [" ".join(text.split()) for text in (FLAGS.text, target)]
        title = "Attention: {}\n→ {}".format(*texts)
        attention_page.write_attention_page(attention, FLAGS.html, title)
    if FLAGS.picture:
        attention_picture.write_attention_picture(
            attention, FLAGS.picture, FLAGS.attention
        )


def _draw_figure(plan):
    from keras_transformer.visualization import paper_figures
    from keras_transformer.visualization.words import join_words

    checker, hparams = plan.checker, plan.runs[0].hparams
    view = paper_figures.View(
        FLAGS.figure, FLAGS.layer, FLAGS.heads, FLAGS.word
    )
    _check_lengths(checker)
    # The words of the text are known before the model is loaded.
    if checker.linearization:
        words = checker.prepare([FLAGS.text])[0].split(" ")
    else:
        vocabulary = checker.codec.source_vocabulary
        (ids,) = vocabulary.encode([FLAGS.text])
        words, _ = join_words(vocabulary.pieces(ids[:-1]))
    paper_figures.check_view(view, words, hparams.num_layers, hparams.num_heads)
    (attention,) = _attend_between_words(plan, [FLAGS.text])
    figure = paper_figures.paper_figure(view, *attention)
    if FLAGS.html:
        paper_figures.write_paper_page(figure, FLAGS.html)
    if FLAGS.picture:
        paper_figures.write_paper_picture(figure, FLAGS.picture)
    print(f"Figure {figure.number}. {figure.caption}")


def _rank_heads(plan):
    from keras_transformer.visualization import head_scores

    problem = None
    if FLAGS.find in head_scores.SPLITS:
        (run,) = plan.runs
        problem = registry.get_problem(
            run.problem_name, run.record.get("data_dir")
        )
        # The sentences of a treebank are words with spaces between them.
        tokenized = plan.linearization is not None
        plan = dataclasses.replace(plan, tokenized=tokenized)
    sentences, constituents = head_scores.read_sentences(FLAGS.find, problem)
    plan.checker.check_lengths(sentences, FLAGS.find)
    attention = _attend_between_words(plan, sentences)
    scores, example = head_scores.score_heads(attention, constituents)
    if FLAGS.html:
        head_scores.write_head_page(scores, *example, FLAGS.html, FLAGS.find)
    if FLAGS.picture:
        head_scores.write_head_picture(scores, FLAGS.picture)
    print(head_scores.head_table(scores))


def _attend_between_words(plan, texts):
    """Yields the words of each text, and the encoder's attention to them."""
    from keras_transformer.decoding.engines import attention
    from keras_transformer.visualization.words import join_weights
    from keras_transformer.visualization.words import join_words

    translator = _load(plan)
    pairs = attention.compute_encoder_attention(translator, texts)
    for tokens, weights in pairs:
        words, starts = join_words(tokens, not translator.linearization)
        yield words, join_weights(weights, starts)


def _check_lengths(checker):
    for name in ("text", "target_text"):
        text, is_target = FLAGS[name].value or "", name == "target_text"
        if text and is_target and checker.linearization:
            checker.check_lengths([text], f"`--{name}`", of_targets=True)
            (text,) = checker.prepare_targets([text])
        (num_tokens,) = checker.count_tokens([text], is_target)
        if num_tokens > MAX_TOKENS:
            raise UserError(
                f"`--{name}` must have at most {MAX_TOKENS} tokens. Received: "
                f"{num_tokens:,} tokens. Use a shorter sentence."
            )


def _load(plan):
    # Loading the backend takes seconds, so everything else is checked first.
    load_backend()
    from keras_transformer.decoding.loading import load_plan

    return load_plan(plan)


run = command.make_script(main, FLAGS)
