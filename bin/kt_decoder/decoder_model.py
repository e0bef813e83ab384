"""Opens the model that kt-decoder's flags name, and reads its constraints."""

import functools
import os
import sys

from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.bin.kt_decoder.decoder_flags import OF_WORDS
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend
from keras_transformer.bin.shared.model_flags import decode_precision
from keras_transformer.bin.shared.model_flags import directories
from keras_transformer.errors import UserError

# Flags that the output depends on, apart from the text and the options.
SETTINGS = ("precision", "random_seed", "tokenized", "write_scores")
SETTINGS += ("rerank_weight", "target_language")
SETTINGS += ("format", "split_long", "max_sentence_tokens", *OF_WORDS)
# Flags that only a model that translates can take.
OF_TRANSLATION = (*OF_WORDS, "document", "split_long")


def read_constraints():
    """Reads the files of `--glossary` and `--protected_patterns`.

    Returns those of the arguments `glossary` and `protect` of
    `Translator.hypotheses` that the flags set.
    """
    from keras_transformer.decoding.steps.glossary import Glossary
    from keras_transformer.decoding.steps.placeholders import Placeholders

    constraints = {}
    if FLAGS.glossary:
        constraints["glossary"] = Glossary.read(FLAGS.glossary)
    if FLAGS.protected_patterns:
        constraints["protect"] = Placeholders.read(FLAGS.protected_patterns)
    elif FLAGS.protect:
        constraints["protect"] = Placeholders()
    return constraints


def check_model(changes, constraints):
    """Checks the model that the flags name, before the backend loads.

    Loading takes seconds, and a faulty run or option fails without it. Returns
    a checker from `loading.load_checker`, and the `load_options`: the steps of
    checkpoints by the flag that names their runs, and the `engine`. For an
    exported model the two are None and empty.
    """
    from keras_transformer.decoding.engines import automatic
    from keras_transformer.decoding.engines import check_capabilities
    from keras_transformer.decoding.engines import keras_engine
    from keras_transformer.decoding.loading import check_export
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.loading import load_checker

    paths = directories(FLAGS.output_dir)
    changed_flags = {
        name: FLAGS[name].value
        for name in FLAGS
        if flags.is_changed(FLAGS, name)
    }
    num_hypotheses = changes.get("num_hypotheses", 1)
    if num_hypotheses > 1:
        rule = f"cannot be combined with num_hypotheses={num_hypotheses}"
        flags.refuse(FLAGS, OF_WORDS, rule)
    if check_loadable(paths, FLAGS.checkpoint_step):
        check_export(paths[0], changed_flags, changes)
        return None, {}
    checker = load_checker(paths, **_make_arguments(load_checker))
    check_capabilities(checker.engine.capabilities, changed_flags, "--")
    options = checker.change_options(**changes)
    _check_translates(checker, (*OF_TRANSLATION, "prefix_file"))
    checker.combine_steps(options, **constraints)
    runs = keras_engine.open_runs(paths)
    steps = keras_engine.find_steps(runs, FLAGS.checkpoint_step)
    load_options = {"output_dir": steps}
    if FLAGS.rerank_by:
        reverse = keras_engine.open_runs(directories(FLAGS.rerank_by))
        load_options["rerank_by"] = keras_engine.find_steps(reverse)
    load_options["engine"] = automatic.choose_engine(
        runs, FLAGS.engine, FLAGS.precision, {**changed_flags, **changes}
    ).engine
    return checker, load_options


def _warn_of_direction():
    """Warns if `--rerank_by` names a run of the same direction."""
    # The data of some problems hold both directions, or tell them by tags.
    from keras_transformer.decoding.engines.keras_engine import open_runs

    problems = {
        run.problem_name
        for run in open_runs(directories(FLAGS.output_dir))
        if not run.problem_name.endswith("_both")
        and not run.source_vocabulary.language_codes
    }
    for run in open_runs(directories(FLAGS.rerank_by)):
        if run.problem_name in problems:
            print(
                # Paths may hold bytes that are not UTF-8.
                f"kt-decoder: warning: --rerank_by={FLAGS.rerank_by!r} and "
                f"--output_dir are both of {run.problem_name}, but reranking "
                "needs a run of the reverse direction. Train it with "
                f"--problem={run.problem_name}_rev.",
                file=sys.stderr,
            )


def report_settings(translator, changes):
    """Warns of a reranker of the same direction, and reports a wider beam.

    The beam grows with the number of hypotheses.
    """
    if FLAGS.rerank_by:
        _warn_of_direction()
    before, after = translator.options, translator.change_options(**changes)
    is_beam = not (after.temperature or after.mbr_samples)
    if is_beam and "beam_size" not in changes:
        if after.beam_size > before.beam_size:
            print(
                f"kt-decoder: the beam is {after.beam_size} wide instead of "
                f"{before.beam_size}, because num_hypotheses="
                f"{after.num_hypotheses} needs it.",
                file=sys.stderr,
            )


def read_quality(load_options, changes):
    """Returns the `Quality` that kt-evaluate has fitted to the run, or None.

    It fits only scores of a search with this run alone, at its checkpoint.
    """
    is_other = FLAGS.rerank_by or changes.get("mbr_samples")
    if is_other or len(load_options.get("output_dir", ())) != 1:
        return None
    from keras_transformer.evaluation.quality import Quality

    return Quality.read(FLAGS.output_dir, *load_options["output_dir"])


def _check_translates(translator, names):
    """Raises a `UserError` if a flag is given for a model that parses."""
    if translator.linearization:
        rule = "needs a model that translates, not a parsing run"
        flags.refuse(FLAGS, names, rule)


def load_model(load_options):
    """Opens the model as a translator or a parser.

    `check_model` returned the `load_options`.
    """
    from keras_transformer.formats import exported

    paths = directories(FLAGS.output_dir)
    format = exported.find_format(paths)
    precision = FLAGS.precision  # exported models ignore it
    engine = FLAGS.engine
    if format == "saved_model":
        load_backend("tensorflow")
    elif load_options.get("engine") == "ctranslate2":
        read_backend()  # Keras may translate a long text later on
        precision = "int8" if precision == "int8" else "float32"
    elif not format:
        engine = "keras"
        load_backend()
        from keras_transformer.decoding import batching
        from keras_transformer.decoding.engines import keras_engine

        hparams = keras_engine.open_runs(paths)[0].hparams
        precision = decode_precision(FLAGS, hparams)

        # A single sentence is faster when one batch uses all cores.
        if not FLAGS.decode_interactive:
            batching.give_each_a_core()
    from keras_transformer.decoding.loading import load

    load_run = functools.partial(load, precision=precision, engine=engine)
    load_reverse = functools.partial(
        load_run, step=load_options.get("rerank_by")
    )
    translator = load_run(
        paths,
        load_options.get("output_dir"),
        **_make_arguments(load_reverse),
    )
    # It is known only now whether an exported model parses.
    _check_translates(translator, OF_TRANSLATION)
    return translator


def _make_arguments(load):
    """Returns the arguments of a translator or a parser that the flags set.

    The function `load` opens the runs of `--rerank_by`.
    """
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.selection import Reranker

    reranker = None
    if FLAGS.rerank_by:
        paths = directories(FLAGS.rerank_by)
        if check_loadable(paths):
            raise UserError(
                "`--rerank_by` must be the directory of a run. Received: "
                f"--rerank_by={FLAGS.rerank_by}, an exported model. Name the "
                "run."
            )
        reranker = Reranker(load(paths), FLAGS.rerank_weight)
    return {
        "tokenized": FLAGS.tokenized,
        "target_language": FLAGS.target_language,
        "reranker": reranker,
    }


def list_settings(load_options, changes, constraints):
    """Returns all that the output depends on, except the text.

    It is for `files.partial.open_resumable`. `check_model` returned the
    `load_options`.
    """
    glossary, protect = map(constraints.get, ("glossary", "protect"))
    return {
        "output_dir": _find_models("output_dir"),
        "checkpoint_step": _join_steps(load_options.get("output_dir")),
        "rerank_by": _find_models("rerank_by"),
        "rerank_step": _join_steps(load_options.get("rerank_by")),
        "engine": load_options.get("engine"),
        "prefix_file": bool(FLAGS.prefix_file),
        "score_file": bool(FLAGS.score_file),
        "glossary": glossary and glossary.sha256,
        "protect": protect and "\n".join(protect.patterns),
        **{name: FLAGS[name].value for name in SETTINGS},
        **changes,
    }


def _find_models(name):
    """Returns the real paths of the models that a flag names, or None."""
    from keras_transformer.formats.exported import find_newest_version

    if not FLAGS[name].value:
        return None
    paths = map(find_newest_version, directories(FLAGS[name].value))
    models = ",".join(map(os.path.realpath, paths))
    return models.encode(errors="backslashreplace").decode()


def _join_steps(steps):
    """Returns the step of a single run, or the steps of several as text."""
    if steps and len(steps) > 1:
        return ",".join(map(str, steps))
    return steps and steps[0]
