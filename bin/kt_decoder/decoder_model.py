"""Plans and loads the model that kt-decoder's flags name."""

import dataclasses
import os
import sys

from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.bin.kt_decoder.decoder_flags import OF_WORDS
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.bin.shared.model_flags import decode_changes
from keras_transformer.bin.shared.model_flags import decode_precision
from keras_transformer.bin.shared.model_flags import directories
from keras_transformer.bin.shared.text_io import StandardOutput
from keras_transformer.files.partial import open_resumable

# Flags that the output depends on, apart from the text and the options.
SETTINGS = ("precision", "random_seed", "tokenized", "write_scores")
SETTINGS += ("rerank_weight", "target_language", "document_language")
SETTINGS += ("format", "split_long", "max_sentence_tokens", "repair")
SETTINGS += ("unknown", *OF_WORDS)
# What earlier versions did not record.
NEW_SETTINGS = ("document_language", "output_dir's content", "repair")
NEW_SETTINGS += ("rerank_by's content", "quality.json", "unknown", "memory")


def plan_decoding():
    """Returns the `Plan` of the model, and the arguments of its calls.

    The last result is those of the arguments that are decoding options. Loading
    takes seconds, and a faulty run or option fails without it.
    """
    from keras_transformer.decoding.engines.engine import check_capabilities
    from keras_transformer.decoding.plan import plan_model
    from keras_transformer.decoding.preparation import Call
    from keras_transformer.memory.store import TranslationMemory

    changes = decode_changes(FLAGS)
    constraints = _read_constraints()
    changed_flags = {
        name: FLAGS[name].value
        for name in FLAGS
        if flags.is_changed(FLAGS, name)
    }
    num_hypotheses = changes.get("num_hypotheses", 1)
    if num_hypotheses > 1:
        rule = f"cannot be combined with num_hypotheses={num_hypotheses}"
        flags.refuse(FLAGS, OF_WORDS, rule)
    plan = plan_model(
        directories(FLAGS.output_dir),
        FLAGS.checkpoint_step,
        FLAGS.engine,
        FLAGS.precision,
        {**changed_flags, **changes},
        target_language=FLAGS.target_language,
        memory=FLAGS.memory and TranslationMemory(FLAGS.memory, True),
    )
    check_capabilities(plan.capabilities, changed_flags, "--")
    if FLAGS.rerank_by:
        reverse = plan_model(directories(FLAGS.rerank_by), engine="keras")
        if reverse.format:
            rule = "must be the directory of a run, not an exported model"
            flags.refuse(FLAGS, ["rerank_by"], rule, "Name the run.")
        plan = dataclasses.replace(
            plan, reverse=reverse, rerank_weight=FLAGS.rerank_weight
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
    call = {"seed": FLAGS.random_seed, **constraints, **changes}
    return plan, call, changes


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


def _report_settings(plan, changes):
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
    options, width = plan.change_options(**changes), plan.options.beam_size
    is_wider = "beam_size" not in changes and options.beam_size > width
    if is_wider and not options.is_random:
        print(
            f"kt-decoder: the beam is {options.beam_size} wide instead of "
            f"{width}, because num_hypotheses={options.num_hypotheses} needs "
            "it.",
            file=sys.stderr,
        )


def load_model(plan, changes=None):
    """Loads what `plan_decoding` has planned, and the backend that it needs.

    With decoding options, it reports what they lead to.
    """
    from keras_transformer.decoding.loading import load_plan

    if plan.engine == "saved_model":
        load_backend("tensorflow")
    elif plan.engine == "ctranslate2":
        read_backend()  # Keras may translate a long text later on
    else:
        load_backend()
        from keras_transformer.decoding.engines import batching

        precision = decode_precision(FLAGS, plan.runs[0].hparams)
        plan = dataclasses.replace(
            plan,
            precision=precision,
            reverse=plan.reverse
            and dataclasses.replace(plan.reverse, precision=precision),
        )
        # A single sentence is faster when one batch uses all cores.
        if not FLAGS.decode_interactive:
            batching.give_each_a_core()
    translator = load_plan(plan)
    if changes is not None:
        _report_settings(plan, changes)
    return translator


def make_extras(translator, quality=None):
    # Imported here because it needs NumPy; bad input fails sooner.
    from keras_transformer.decoding import translation

    max_tokens = translator.max_tokens
    if FLAGS.split_long or FLAGS.document:
        max_tokens = translation.limit_part_tokens(
            translator, FLAGS.max_sentence_tokens
        )
    return translation.Extras(
        max_tokens,
        splits=FLAGS.split_long or FLAGS.document,
        warns=True,
        repairs=FLAGS.repair,
        links_words=FLAGS.write_alignments,
        scores_words=FLAGS.write_word_scores,
        quality=quality,
    )


def open_output(plan, call, quality=None):
    """Opens the output, before the model: a faulty path fails at once."""
    if not FLAGS.decode_to_file:
        return StandardOutput()
    settings = _list_settings(plan, quality, **call)
    path = FLAGS.decode_to_file
    return open_resumable(path, settings, FLAGS.resume, NEW_SETTINGS)


def _list_settings(
    plan, quality, seed=None, glossary=None, protect=None, **changes
):
    """Returns all that the output depends on, except the text."""
    # Models are recorded by their content, because checkpoints may be averaged
    # again under the same name and step.
    reverse = plan.reverse
    return {
        "output_dir": _find_models("output_dir"),
        "checkpoint_step": _join_steps(plan.steps),
        "output_dir's content": plan.hash_content(),
        "quality.json": quality and quality.sha256,
        "rerank_by": _find_models("rerank_by"),
        "rerank_step": reverse and _join_steps(reverse.steps),
        "rerank_by's content": reverse and reverse.hash_content(),
        "engine": None if plan.format else plan.engine,
        "prefix_file": bool(FLAGS.prefix_file),
        "score_file": bool(FLAGS.score_file),
        "glossary": glossary and glossary.sha256,
        "protect": protect and "\n".join(protect.patterns),
        "memory": plan.memory and plan.memory.count(),
        **{name: FLAGS[name].value for name in SETTINGS},
        **changes,
    }


def _find_models(name):
    from keras_transformer.formats.exported import find_newest_version

    if not FLAGS[name].value:
        return None
    paths = map(find_newest_version, directories(FLAGS[name].value))
    models = ",".join(map(os.path.realpath, paths))
    return models.encode(errors="backslashreplace").decode()


def _join_steps(steps):
    if len(steps) > 1:
        return ",".join(map(str, steps))
    return steps[0] if steps else None
