"""The flags of kt-decoder, and which of them go together."""

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.text_io import check_outputs
from keras_transformer.documents.document import FORMATS

FLAGS = flags.define(
    f"""
  output_dir
  checkpoint_step
Input and output:
  decode_from_file (path): File to translate, one sentence per line. - means
    standard input. Default: standard input.
  decode_to_file (path): File to write the translations to, one line for each
    line of the input. Default: standard output.
  resume (switch): Go on with the output of an earlier call that stopped early.
  decode_interactive (switch): Translate each line that you type.
  target_language (text): Tag of the language to translate into, such as fr,
    which kt-datagen put before its sources. Default: no tag.
  tokenized (switch): Read the sentences to parse as words separated by spaces,
    as in a treebank, instead of raw text.
  format (text|jsonl, default text): Format of the lines: text, or jsonl for a
    JSON object in each line, with scores and warnings in the output.
  split_long (switch): Translate a line that is too long in parts, instead of
    leaving its translation empty.
  repair (switch, default true): Whether to search again for a translation that
    is doubtful, and to copy a doubtful one of text without words.
  write_scores
  write_alignments (switch): Write a tab and the word alignment after each
    translation, such as 0-0 2-1: source word 2 is linked to target word 1. In
    JSON lines it is the field alignments.
  write_word_scores (switch): Write a tab and the log-probability of each word
    after each translation. In JSON lines it is the field word_scores.
  prefix_file (path): File with the beginning of each translation, one line for
    each line of the input. Lines may be empty. Default: none.
  score_file (path): File of pairs to score instead of translating. Each line is
    a source, a tab and its translation. Default: none.
  glossary
  memory (path): File of corrections, as kt-serve and load write it, which the
    sentences that they fit get. Default: none.
  protect (switch): Keep tags, URLs, e-mail addresses and placeholders such as
    {{name}} and %s as they are.
  protected_patterns (path): File of regular expressions, one on each line. Text
    that they match is kept, instead of the placeholders that protect keeps by
    default. Tags and addresses are always kept. It implies protect.
  unknown (copy|omit): What to do with symbols that the vocabulary lacks: copy
    them to the translation, or omit them. Default: the model reads one id for
    all.
Documents:
  document (switch): Translate a whole document: its sentences are translated,
    and its paragraphs and markup are kept.
  document_format ({"|".join(FORMATS)}): Format of the document: text, markdown,
    html, srt or vtt. Default: by the suffix of decode_from_file, else text.
  document_language (text, default en): Code of the language of a document or
    JSON lines, which decides where sentences end.
  translate_attributes (switch, default true): Whether to translate texts inside
    the markup of a document: descriptions of images, titles, labels and the
    description of the page.
  max_sentence_tokens (count): Number of tokens above which a sentence of a
    document, or a line with split_long, is translated in parts. Default: the
    length of the longest sentences in the run's training, and 256 for an
    export.
Decoding:
  beam_size
  alpha
  decode_hparams
  random_seed (seed, default 0): Seed of the sampler.
  engine
  precision (auto|float32|bfloat16|float16|int8, default auto): Number format to
    compute in: float32, bfloat16, float16, int8 with CTranslate2, or auto. That
    is float32 with CTranslate2. With Keras it is bfloat16 on devices that are
    fast at it, for runs whose d_model is 512 or more, and float32 for all
    others.
Reranking:
  rerank_by (path): Run of the opposite direction, or an ensemble of such runs,
    that reorders the hypotheses of the beam. Default: none.
  rerank_weight (amount, default 1.0, maximum 1_000): Weight of the score of the
    runs in rerank_by.
"""
)

# They need the attention of a model for each sentence.
OF_WORDS = ("write_alignments", "write_word_scores")
# Input files, which the output must not replace.
_INPUTS = ("decode_from_file", "prefix_file", "score_file")
_INPUTS += ("glossary", "memory", "protected_patterns")
# The flags that exclude others.
_KEEPS = "protect protected_patterns unknown"
_OF_WORDS_EXCLUDES = f"decode_interactive score_file split_long {_KEEPS}"
_PROTECT_EXCLUDES = "score_file prefix_file rerank_by split_long"
_PROTECT_EXCLUDES += " target_language"
_EXCLUDES = {
    "decode_interactive": "decode_from_file decode_to_file prefix_file "
    "score_file",
    "score_file": "decode_from_file prefix_file glossary memory",
    **dict.fromkeys(OF_WORDS, _OF_WORDS_EXCLUDES),
    **dict.fromkeys(_KEEPS.split(), _PROTECT_EXCLUDES),
    "document": "decode_interactive prefix_file resume score_file split_long "
    "tokenized write_scores write_alignments write_word_scores",
    "split_long": "decode_interactive prefix_file score_file tokenized",
}
_NOT_WITH_JSON = ("decode_interactive", "document", "score_file")
_NOT_WITH_JSON += ("write_scores",)


def check_flags():
    """Checks the flags that need no model."""
    flags.require(FLAGS, "output_dir")
    for name, others in _EXCLUDES.items():
        flags.exclude(FLAGS, name, *others.split())
    if FLAGS.format == "jsonl":
        flags.refuse(
            FLAGS, _NOT_WITH_JSON, "cannot be combined with --format=jsonl"
        )
    if FLAGS.prefix_file == "-" and FLAGS.decode_from_file in (None, "-"):
        rule = "and the text must be two inputs, not standard input for both"
        way_out = "Name a file for one of them."
        flags.refuse(FLAGS, ["prefix_file"], rule, way_out)
    if not FLAGS.document:
        names = ["document_format", "translate_attributes"]
        flags.refuse(FLAGS, names, "needs `--document`")
        if not FLAGS.split_long:
            rule = "needs `--document` or `--split_long`"
            flags.refuse(FLAGS, ["max_sentence_tokens"], rule)
    if not FLAGS.decode_to_file:
        rule = "needs `--decode_to_file`"
        way_out = "Name the output of the earlier call."
        flags.refuse(FLAGS, ["resume"], rule, way_out)
    check_outputs(FLAGS, ["decode_to_file"], _INPUTS)
