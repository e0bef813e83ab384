"""The model that the flags of kt-decoder name."""

from keras_transformer.bin.kt_decoder import constraints
from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.bin.kt_decoder.decoder_flags import check_words
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend


def check_model(changes, prescribed):
    """Checks the model that the flags name, before the backend loads.

    Loading takes seconds, and a faulty run or option fails without it.

    Args:
        changes: Dictionary of decoding options that differ from the model's.
        prescribed: What `constraints.read` returned.

    Returns:
        What `loading.load_checker` returns, which is None for an exported
        model, and a dictionary with the steps of the checkpoints: a list by the
        flag that names the runs.

    Raises:
        ValueError: If the model cannot do what the flags ask for.
    """
    from keras_transformer.decoding import ensembles
    from keras_transformer.decoding.loading import check_export
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.loading import load_checker

    paths = model_flags.output_dirs(FLAGS)
    if check_loadable(paths, FLAGS.checkpoint_step):
        chosen = {
            name: FLAGS[name].value
            for name in FLAGS
            if flags.is_changed(FLAGS, name)
        }
        check_export(paths[0], chosen, changes)
        return None, {}
    checker = _tagging(load_checker(paths, FLAGS.tokenized))
    if FLAGS.rerank_by:
        checker = _reranker(checker, load_checker)
    options = checker.changed_options(**changes)
    check_words(checker, changes)
    constraints.check(prescribed, options, checker.linearization)
    for name in ("document", "split_long"):
        if FLAGS[name].value:
            check_translates(checker, name)
    if FLAGS.prefix_file and checker.linearization:
        raise ValueError(
            "`--prefix_file` must go with a model that translates. Received: "
            f"--prefix_file={FLAGS.prefix_file} with a parsing run, "
            f"{FLAGS.output_dir}. Remove it."
        )
    runs = ensembles.open_runs(paths)
    steps = {"output_dir": ensembles.find_steps(runs, FLAGS.checkpoint_step)}
    if FLAGS.rerank_by:
        runs = ensembles.open_runs(model_flags.directories(FLAGS.rerank_by))
        steps["rerank_by"] = ensembles.find_steps(runs)
    return checker, steps


def check_translates(translator, name):
    """Checks that a model translates instead of parsing.

    Args:
        translator: A `TextTranslator`, perhaps without a model.
        name: Name of the flag that needs it.

    Raises:
        ValueError: If it parses.
    """
    if translator.linearization:
        raise ValueError(
            f"`--{name}` must go with a model that translates. Received: "
            f"--{name} with one that parses. Remove it."
        )


def load_model(steps):
    """Opens what the flags name as a translator or a parser.

    Args:
        steps: Dictionary that `check_model` returned.
    """
    from keras_transformer.decoding import ensembles

    paths = model_flags.output_dirs(FLAGS)
    format = ensembles.format_of(paths)
    precision = FLAGS.precision  # exported models ignore it
    if format == "saved_model":
        load_backend("tensorflow")
    elif not format:
        load_backend()
        hparams = ensembles.open_runs(paths)[0].hparams
        precision = model_flags.decode_precision(FLAGS, hparams)
        from keras_transformer.decoding import threads

        # A single sentence is faster when one batch uses all cores.
        if not FLAGS.decode_interactive:
            threads.give_each_a_core()
    from keras_transformer.decoding.loading import load

    translator = _tagging(
        load(paths, steps.get("output_dir"), precision, FLAGS.tokenized)
    )
    if not FLAGS.rerank_by:
        return translator
    return _reranker(
        translator, lambda paths: load(paths, steps["rerank_by"], precision)
    )


def _tagging(translator):
    if not FLAGS.target_language:
        return translator
    from keras_transformer.decoding.tagging import TaggingTranslator

    return TaggingTranslator(translator, FLAGS.target_language)


def _reranker(translator, load_reverse):
    """Puts a translator together with the one that `--rerank_by` names.

    Args:
        translator: A `Translator`, perhaps without a model.
        load_reverse: Function that opens a list of directories.
    """
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.reranking import Reranker

    paths = model_flags.directories(FLAGS.rerank_by)
    if check_loadable(paths):
        raise ValueError(
            "`--rerank_by` must be the directory of a run. Received: "
            f"--rerank_by={FLAGS.rerank_by}, an exported model. Name the run."
        )
    return Reranker(translator, load_reverse(paths), FLAGS.rerank_weight)
