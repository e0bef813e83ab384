"""The flags of kt-decoder, and the model that they name."""

import dataclasses
import os
import sys

from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.bin.shared.text_io import StandardOutput
from keras_transformer.bin.shared.text_io import check_outputs
from keras_transformer.documents.document import FORMATS
from keras_transformer.files.partial import open_resumable

FLAGS = flags.define(
    f"""
  output_dir
  checkpoint_step
Input and output:
  decode_from_file (path): File to translate, one sentence per line. - means
    standard input. Default: standard input.
  decode_to_file (path): File to write the translations to, one line for each
    line of the input. Default: standard output.
  resume (switch, needs decode_to_file): Go on with the output of an earlier
    call that stopped early.
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
  write_origins (switch, needs format=jsonl): In JSON lines, write the field
    origins: five pairs of the training text that may have taught the words of
    the translation.
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
  document_format ({"|".join(FORMATS)}, needs document): Format of the document:
    text, markdown, html, srt or vtt. Default: by the suffix of
    decode_from_file, else text.
  document_language (text, default en): Code of the language of a document or
    JSON lines, which decides where sentences end.
  translate_attributes (switch, default true, needs document): Whether to
    translate texts inside the markup of a document: descriptions of images,
    titles, labels and the description of the page.
  max_sentence_tokens (count, needs document or split_long): Number of tokens
    above which a sentence of a document, or a line with split_long, is
    translated in parts. Default: the length of the longest sentences in the
    run's training, and 256 for an export.
Decoding:
  beam_size
  alpha
  decode_hparams
  random_seed (seed, default 0): Seed of the sampler.
  engine
  precision (auto|float32|bfloat16|float16|int8, default auto): Number format to
    compute in: float32, bfloat16, float16, int8 with CTranslate2, or auto. That
    is float32 with CTranslate2. With Keras it is bfloat16 on devices that are
    fast at it, for runs with d_model 512 or more, and float32 for all others.
Reranking:
  rerank_by (path): Run of the opposite direction, or an ensemble of such runs,
    that reorders the hypotheses of the beam. Default: none.
  rerank_weight (amount, default 1.0, maximum 1_000): Weight of the score of the
    runs in rerank_by.
"""
)

# These flags need the attention of a model for each sentence.
OF_WORDS = ("write_alignments", "write_word_scores")
# Input files, which the output must not replace.
_INPUTS = ("decode_from_file", "prefix_file", "score_file")
_INPUTS += ("glossary", "memory", "protected_patterns")
# Each of the first flags excludes each of the others.
_EXCLUSIONS = {
    "decode_interactive": "decode_from_file decode_to_file prefix_file "
    "score_file",
    "score_file": "decode_from_file prefix_file glossary memory",
    "write_alignments write_word_scores": "decode_interactive score_file "
    "split_long protect protected_patterns unknown",
    "protect protected_patterns unknown": "score_file prefix_file rerank_by "
    "split_long target_language",
    "document": "decode_interactive prefix_file resume score_file split_long "
    "tokenized write_scores write_alignments write_word_scores",
    "split_long": "decode_interactive prefix_file score_file tokenized",
}
_NOT_WITH_JSON = "decode_interactive document score_file write_scores"
# Flags that the output depends on, apart from the text and the options.
SETTINGS = ("precision", "random_seed", "tokenized", "write_scores")
SETTINGS += ("rerank_weight", "target_language", "document_language")
SETTINGS += ("format", "split_long", "max_sentence_tokens", "repair")
SETTINGS += ("unknown", "write_origins", *OF_WORDS)
# What earlier versions did not record.
NEW_SETTINGS = ("document_language", "output_dir's content", "repair")
NEW_SETTINGS += ("rerank_by's content", "quality.json", "unknown", "memory")
NEW_SETTINGS += ("write_origins",)


def check_flags():
    """Checks the flags that need no model."""
    flags.require(FLAGS, "output_dir")
    flags.require_given(FLAGS, "memory")
    for names, others in _EXCLUSIONS.items():
        for name in names.split():
            flags.exclude(FLAGS, name, *others.split())
    if FLAGS.format == "jsonl":
        rule = "cannot be combined with --format=jsonl"
        flags.refuse(FLAGS, _NOT_WITH_JSON.split(), rule)
    if FLAGS.prefix_file == "-" and FLAGS.decode_from_file in (None, "-"):
        rule = "and the text must be two inputs, not standard input for both"
        way_out = "Name a file for one of them."
        flags.refuse(FLAGS, ["prefix_file"], rule, way_out)
    check_outputs(FLAGS, ["decode_to_file"], _INPUTS)


def plan_decoding():
    """Returns the `Plan` of the model, and the arguments of its calls.

    Loading takes seconds, and a faulty run or option fails without it.
    """
    from keras_transformer.data.memory.store import TranslationMemory
    from keras_transformer.decoding.engines.engine import check_capabilities
    from keras_transformer.decoding.plan import plan_model
    from keras_transformer.decoding.preparation import Call
    from keras_transformer.runs.run_directory import RunDirectory

    changes = model_flags.decode_changes(FLAGS)
    constraints = _read_constraints()
    changed_flags = {
        name: FLAGS[name].value
        for name in FLAGS
        if flags.is_changed(FLAGS, name)
    }
    num_hypotheses = changes.get("num_hypotheses", 1)
    if num_hypotheses > 1:
        rule = f"cannot be combined with num_hypotheses={num_hypotheses}"
        flags.refuse(FLAGS, (*OF_WORDS, "document"), rule)
    plan = plan_model(
        model_flags.directories(FLAGS.output_dir),
        FLAGS.checkpoint_step,
        FLAGS.engine,
        FLAGS.precision,
        {**changed_flags, **changes},
        target_language=FLAGS.target_language,
        memory=FLAGS.memory and TranslationMemory(FLAGS.memory, True),
    )
    check_capabilities(plan.capabilities, changed_flags, "--")
    if FLAGS.rerank_by:
        paths = model_flags.directories(FLAGS.rerank_by)
        if not all(map(RunDirectory.exists, paths)):
            rule = "must be an existing run, not an exported model"
            flags.refuse(FLAGS, ["rerank_by"], rule, "Name the run.")
        plan = dataclasses.replace(
            plan,
            reverse=plan_model(paths, engine="keras"),
            rerank_weight=FLAGS.rerank_weight,
        )
    if plan.linearization:
        rule = "needs a model that translates, not a parsing run"
        names = (*OF_WORDS, "document", "split_long", "prefix_file")
        flags.refuse(FLAGS, names, rule)
        plan = dataclasses.replace(plan, tokenized=FLAGS.tokenized)
    else:
        flags.refuse(FLAGS, ["tokenized"], "needs a model that parses")
    options = plan.change_options(**changes)
    if plan.checker:
        plan.checker.check_call(Call(options, **constraints))
    return plan, {"seed": FLAGS.random_seed, **constraints, **changes}


def _read_constraints():
    from keras_transformer.decoding.steps.glossary import Glossary
    from keras_transformer.decoding.steps.placeholders import Placeholders

    constraints = {}
    if FLAGS.glossary:
        constraints["glossary"] = Glossary.read(FLAGS.glossary)
    unknown = FLAGS.unknown
    if path := FLAGS.protected_patterns:
        constraints["protect"] = Placeholders.read(path, unknown)
    elif FLAGS.protect:
        constraints["protect"] = Placeholders(unknown=unknown)
    elif unknown:
        constraints["protect"] = Placeholders(None, unknown=unknown)
    return constraints


def report_settings(plan):
    """Warns of a reranker of the same direction, and reports a wider beam."""
    # The data of some problems hold both directions, or tell them by tags.
    problems = {
        run.problem_name
        for run in plan.runs
        if not run.problem_name.endswith("_both")
        and not run.source_vocabulary.language_codes
    }
    for run in plan.reverse.runs if plan.reverse else []:
        if run.problem_name in problems:
            print(
                # Paths may hold bytes that are not UTF-8.
                f"kt-decoder: warning: --rerank_by={FLAGS.rerank_by!r} and "
                f"--output_dir are both of {run.problem_name}, but reranking "
                "needs a run of the reverse direction. Train it with "
                f"--problem={run.problem_name}_rev.",
                file=sys.stderr,
            )
    changes = model_flags.decode_changes(FLAGS)
    options, width = plan.change_options(**changes), plan.options.beam_size
    is_wider = "beam_size" not in changes and options.beam_size > width
    if is_wider and not options.is_random:
        print(
            f"kt-decoder: the beam is {options.beam_size} wide instead of "
            f"{width}, because num_hypotheses={options.num_hypotheses} needs "
            "it.",
            file=sys.stderr,
        )


def load_model(plan):
    """Loads what `plan_decoding` has planned, and the backend that it needs."""
    from keras_transformer.decoding.loading import load_plan

    if plan.engine == "saved_model":
        load_backend("tensorflow")
    elif plan.engine == "ctranslate2":
        read_backend()  # Keras may translate a long text later on
    else:
        load_backend()
        from keras_transformer.decoding.engines import batching

        precision = model_flags.decode_precision(FLAGS, plan.runs[0].hparams)
        plan = dataclasses.replace(plan, precision=precision)
        # A single sentence is faster when one batch uses all cores.
        if not FLAGS.decode_interactive:
            batching.give_each_a_core()
    return load_plan(plan)


def open_output(plan, call, quality=None):
    """Opens the output, before the model: a faulty path fails at once."""
    if not FLAGS.decode_to_file:
        return StandardOutput()
    glossary, protect = call.get("glossary"), call.get("protect")
    # All that the output depends on, except the text.
    settings = {
        **_describe_models(plan, "output_dir", "checkpoint_step"),
        **_describe_models(plan.reverse, "rerank_by", "rerank_step"),
        "quality.json": quality and quality.sha256,
        "engine": None if plan.format else plan.engine,
        "glossary": glossary and glossary.sha256,
        "protect": protect and "\n".join(protect.patterns),
        "memory": plan.memory and plan.memory.count(),
        "prefix_file": bool(FLAGS.prefix_file),
        "score_file": bool(FLAGS.score_file),
        **{name: FLAGS[name].value for name in SETTINGS},
        **model_flags.decode_changes(FLAGS),
    }
    path = FLAGS.decode_to_file
    return open_resumable(path, settings, FLAGS.resume, NEW_SETTINGS)


def _describe_models(plan, name, name_of_step):
    """Returns what identifies the models of a plan, or nothing without one."""
    from keras_transformer.formats.exported import find_newest_version

    if not plan:
        return {}
    paths = map(os.path.realpath, map(find_newest_version, plan.paths))
    step, *others = plan.steps or [None]
    return {
        name: ",".join(paths).encode(errors="backslashreplace").decode(),
        name_of_step: ",".join(map(str, plan.steps)) if others else step,
        # Checkpoints may be averaged again under the same name and step.
        f"{name}'s content": plan.hash_content(),
    }
