"""The model that the flags of kt-decoder name."""

from keras_transformer.bin.kt_decoder import constraints
from keras_transformer.bin.kt_decoder.decoder_flags import FLAGS
from keras_transformer.bin.kt_decoder.decoder_flags import check_words
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.errors import UserError


def check_model(changes, prescribed):
    """Checks the model that the flags name, before the backend loads.

    Loading takes seconds, and a faulty run or option fails without it. Returns
    what `loading.load_checker` returns, which is None for an exported model,
    and the steps of the checkpoints, a list by the flag that names the runs.
    """
    from keras_transformer.decoding.engines import check_capabilities
    from keras_transformer.decoding.engines import keras_engine
    from keras_transformer.decoding.loading import check_export
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.loading import load_checker

    paths = model_flags.output_dirs(FLAGS)
    chosen = {
        name: FLAGS[name].value
        for name in FLAGS
        if flags.is_changed(FLAGS, name)
    }
    if check_loadable(paths, FLAGS.checkpoint_step):
        check_export(paths[0], chosen, changes)
        return None, {}
    checker = _assemble(load_checker, paths)
    check_capabilities(checker.engine.capabilities, chosen, "--")
    options = checker.change_options(**changes)
    check_words(checker, changes)
    constraints.check(prescribed, options, checker.linearization)
    for name in ("document", "split_long"):
        if FLAGS[name].value:
            check_translates(checker, name)
    if FLAGS.prefix_file and checker.linearization:
        raise UserError(
            "`--prefix_file` must go with a model that translates. Received: "
            f"--prefix_file={FLAGS.prefix_file} with a parsing run, "
            f"{FLAGS.output_dir}. Remove it."
        )
    runs = keras_engine.open_runs(paths)
    steps = {"output_dir": keras_engine.find_steps(runs, FLAGS.checkpoint_step)}
    if FLAGS.rerank_by:
        runs = keras_engine.open_runs(model_flags.directories(FLAGS.rerank_by))
        steps["rerank_by"] = keras_engine.find_steps(runs)
    return checker, steps


def check_translates(translator, name):
    """Raises a `UserError`, which names a flag, for a model that parses."""
    if translator.linearization:
        raise UserError(
            f"`--{name}` must go with a model that translates. Received: "
            f"--{name} with one that parses. Remove it."
        )


def load_model(steps):
    """Opens what the flags name as a translator or a parser.

    `check_model` returned the `steps`.
    """
    from keras_transformer.decoding import exported

    paths = model_flags.output_dirs(FLAGS)
    format = exported.find_format(paths)
    precision = FLAGS.precision  # exported models ignore it
    if format == "saved_model":
        load_backend("tensorflow")
    elif not format:
        load_backend()
        from keras_transformer.decoding import batching
        from keras_transformer.decoding.engines import keras_engine

        hparams = keras_engine.open_runs(paths)[0].hparams
        precision = model_flags.decode_precision(FLAGS, hparams)

        # A single sentence is faster when one batch uses all cores.
        if not FLAGS.decode_interactive:
            batching.give_each_a_core()
    from keras_transformer.decoding.loading import load

    def load_steps(paths, **options):
        name = "output_dir" if options else "rerank_by"
        return load(paths, steps.get(name), precision, **options)

    return _assemble(load_steps, paths)


def _assemble(load, paths):
    """Opens what the flags name, together with the run of `--rerank_by`.

    `load` is `loading.load_checker`, or a function like it.
    """
    from keras_transformer.decoding.loading import check_loadable
    from keras_transformer.decoding.selection import Reranker

    reranker = None
    if FLAGS.rerank_by:
        reverse_paths = model_flags.directories(FLAGS.rerank_by)
        if check_loadable(reverse_paths):
            raise UserError(
                "`--rerank_by` must be the directory of a run. Received: "
                f"--rerank_by={FLAGS.rerank_by}, an exported model. Name the "
                "run."
            )
        reranker = Reranker(load(reverse_paths), FLAGS.rerank_weight)
    return load(
        paths,
        tokenized=FLAGS.tokenized,
        target_language=FLAGS.target_language,
        reranker=reranker,
    )
