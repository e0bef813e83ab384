"""The flags of kt-decoder, and which of them go together."""

import os

from keras_transformer.bin.kt_decoder import constraints
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.text_io import check_output
from keras_transformer.documents.document import FORMATS
from keras_transformer.errors import UserError

FLAGS = flags.define(
    "output_dir",
    "checkpoint_step",
    flags.group(
        "Input and output",
        flags.path(
            "decode_from_file",
            "File to translate, one sentence per line. - means standard "
            "input. Default: standard input.",
        ),
        flags.path(
            "decode_to_file",
            "File to write the translations to, one line for each line of the "
            "input. Default: standard output.",
        ),
        flags.switch(
            "resume",
            "Go on with the output of an earlier call that stopped early.",
        ),
        flags.switch(
            "decode_interactive", "Translate each line that you type."
        ),
        flags.text(
            "target_language",
            "Tag that kt-datagen put before the sources of the language to "
            "translate into, such as fr. Default: no tag.",
        ),
        flags.switch(
            "tokenized",
            "Read the sentences to parse as words separated by spaces, as in "
            "a treebank, instead of raw text.",
        ),
        flags.choice(
            "format",
            ("text", "jsonl"),
            "Format of the lines: text, or jsonl for a JSON object in each "
            "line, with scores and warnings in the output.",
            default="text",
        ),
        flags.switch(
            "split_long",
            "Translate a line that is too long in parts, instead of leaving "
            "its translation empty.",
        ),
        "write_scores",
        flags.switch(
            "write_alignments",
            "Write a tab and the word alignment after each translation, such "
            "as 0-0 2-1: source word 2 is linked to target word 1. In JSON "
            "lines it is the field alignments.",
        ),
        flags.switch(
            "write_word_scores",
            "Write a tab and the log-probability of each word after each "
            "translation. In JSON lines it is the field word_scores.",
        ),
        flags.path(
            "prefix_file",
            "File with the beginning of each translation, one line for each "
            "line of the input. Lines may be empty. Default: none.",
        ),
        flags.path(
            "score_file",
            "File of pairs to score instead of translating. Each line is a "
            "source, a tab and its translation. Default: none.",
        ),
        "glossary",
        flags.switch(
            "protect",
            "Keep tags, URLs, e-mail addresses and placeholders such as {name} "
            "and %s as they are.",
        ),
        flags.path(
            "protected_patterns",
            "File of regular expressions, one on each line. Text that they "
            "match is kept, instead of the placeholders that protect keeps by "
            "default. Tags and addresses are always kept. It implies protect.",
        ),
    ),
    flags.group(
        "Documents",
        flags.switch(
            "document",
            "Translate a whole document: its sentences are translated, and its "
            "paragraphs and markup are kept.",
        ),
        flags.choice(
            "document_format",
            FORMATS,
            "Format of the document: text, markdown or html. Default: by the "
            "suffix of decode_from_file, else text.",
        ),
        flags.text(
            "document_language",
            "Code of the document's language, which decides where sentences "
            "end.",
            default="en",
        ),
        flags.count(
            "max_sentence_tokens",
            "Number of tokens above which a sentence of a document, or a line "
            "with split_long, is translated in parts. Default: the length of "
            "the longest sentences in the run's training, and 256 for an "
            "export.",
        ),
    ),
    flags.group(
        "Decoding",
        "beam_size",
        "alpha",
        "decode_hparams",
        flags.seed("random_seed", "Seed of the sampler.", default=0),
        "precision",
    ),
    flags.group(
        "Reranking",
        flags.path(
            "rerank_by",
            "Run of the opposite direction, or an ensemble of such runs, that "
            "reorders the hypotheses of the beam. Default: none.",
        ),
        flags.amount(
            "rerank_weight",
            "Weight of the score of the runs in rerank_by.",
            default=1.0,
            maximum=1_000,
        ),
    ),
)

# Flags that the output depends on, apart from the text and the options.
SETTINGS = ("precision", "random_seed", "tokenized", "write_scores")
SETTINGS += ("rerank_weight", "target_language")
SETTINGS += ("format", "split_long", "max_sentence_tokens")
# They need the attention of a model for each sentence.
OF_WORDS = ("write_alignments", "write_word_scores")
SETTINGS += OF_WORDS
# Files that are read, which the output must not replace.
_INPUTS = ("decode_from_file", "prefix_file", "score_file")
_INPUTS += ("glossary", "protected_patterns")

_NOT_WITH_DOCUMENTS = (
    "decode_interactive",
    "prefix_file",
    "protect",
    "protected_patterns",
    "resume",
    "score_file",
    "split_long",
    "tokenized",
    "write_scores",
    *OF_WORDS,
)
_NOT_WITH_SPLIT_LONG = (
    "decode_interactive",
    "prefix_file",
    "score_file",
    "tokenized",
)
_NOT_WITH_JSON = (
    "decode_interactive",
    "document",
    "score_file",
    "write_scores",
)


def check_flags():
    """Checks the flags that need no model."""
    flags.require(FLAGS, "output_dir")
    _check_alone("decode_interactive", "decode_from_file", "decode_to_file")
    _check_alone("decode_interactive", "prefix_file", "score_file")
    _check_alone("score_file", "decode_from_file", "prefix_file")
    _check_alone("score_file", "glossary")
    for name in OF_WORDS:
        _check_alone(name, "decode_interactive", "score_file", "split_long")
        _check_alone(name, "protect", "protected_patterns")
    for name in ("protect", "protected_patterns"):
        _check_alone(name, "score_file", "prefix_file", "rerank_by")
        _check_alone(name, "split_long", "target_language")
    if FLAGS.prefix_file == "-" and FLAGS.decode_from_file in (None, "-"):
        raise UserError(
            "`--prefix_file` and the text must be two inputs. Received: "
            "standard input for both. Name a file for one of them."
        )
    _check_document()
    _check_lines()
    _check_output()


def check_words(checker, changes):
    """Checks that the model can align and score single words."""
    for name in OF_WORDS:
        fault = ""
        if checker.linearization:
            fault = f"a parsing run, {FLAGS.output_dir}"
        elif changes.get("num_hypotheses", 1) > 1:
            fault = f"num_hypotheses={changes['num_hypotheses']}"
        if FLAGS[name].value and fault:
            raise UserError(
                f"`--{name}` must go with one model that translates and with "
                f"one hypothesis. Received: --{name} with {fault}. Remove it."
            )


def _check_document():
    for name in _NOT_WITH_DOCUMENTS:
        _check_alone("document", name)
    if FLAGS.document_format and not FLAGS.document:
        raise UserError(
            "`--document_format` must go with `--document`. Received: "
            f"--document_format={FLAGS.document_format} without it. Add "
            "--document."
        )
    if FLAGS.max_sentence_tokens and not (FLAGS.document or FLAGS.split_long):
        raise UserError(
            "`--max_sentence_tokens` must go with `--document` or "
            "`--split_long`. Received: --max_sentence_tokens="
            f"{FLAGS.max_sentence_tokens} without them. Add one of them."
        )


def _check_lines():
    for name in _NOT_WITH_SPLIT_LONG:
        _check_alone("split_long", name)
    for name in _NOT_WITH_JSON:
        if FLAGS.format == "jsonl" and FLAGS[name].value:
            raise UserError(
                f"`--format=jsonl` must go without `--{name}`. Received: "
                f"--format=jsonl and --{name}={FLAGS[name].value}. Remove one "
                "of them."
            )


def _check_output():
    target = FLAGS.decode_to_file
    if FLAGS.resume and not target:
        raise UserError(
            "`--resume` must go with `--decode_to_file`. Received: --resume "
            "alone. Name the output of the earlier call."
        )
    check_output("decode_to_file", FLAGS, _INPUTS)


def _check_alone(name, *others):
    for other in others:
        if FLAGS[name].value and FLAGS[other].value:
            raise UserError(
                f"`--{name}` must go without `--{other}`. Received: "
                f"--{name}={FLAGS[name].value} and "
                f"--{other}={FLAGS[other].value}. Remove one of them."
            )


def settings(steps, changes, prescribed):
    """Returns everything but the text that the output depends on.

    The dictionary is for `files.partial.open_resumable`; `steps` comes from
    `decoder_model.check_model`.
    """
    return {
        "output_dir": _models("output_dir"),
        "checkpoint_step": _joined(steps.get("output_dir")),
        "rerank_by": _models("rerank_by"),
        "rerank_step": _joined(steps.get("rerank_by")),
        "prefix_file": bool(FLAGS.prefix_file),
        "score_file": bool(FLAGS.score_file),
        **constraints.settings(prescribed),
        **{name: FLAGS[name].value for name in SETTINGS},
        **changes,
    }


def _models(name):
    """Returns the real paths of the models that a flag names, or None."""
    from keras_transformer.decoding.exported import find_newest_version

    if not FLAGS[name].value:
        return None
    paths = map(find_newest_version, model_flags.directories(FLAGS[name].value))
    models = ",".join(map(os.path.realpath, paths))
    return models.encode(errors="backslashreplace").decode()


def _joined(steps):
    """Returns the steps of several runs as text, and that of one as it is."""
    if steps and len(steps) > 1:
        return ",".join(map(str, steps))
    return steps and steps[0]
