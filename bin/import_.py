"""Imports a pretrained translation model as a run.

    kt-import --source=hf://Helsinki-NLP/opus-mt-en-de --output_dir=run
    kt-decoder --output_dir=run

--source is a model in the format of Marian in transformers: a directory with
config.json, model.safetensors, source.spm, target.spm, vocab.json and
tokenizer_config.json, or its name on Hugging Face's hub after hf://. Downloads
need pip install '.[hub]'. --source may also be a directory with a checkpoint of
Tensor2Tensor's transformer, its vocabulary file and the hparams.json and
flags.txt of its trainer, or an adapter.npz that kt-trainer wrote with
lora_rank, which needs --base, the run that it adapts.

Every command takes the run like one trained here. kt-trainer
--warm_start_from=run trains it further, and kt-exporter --format=marian writes
it back. If the model needs a feature that is missing here, the error names it.

--verify compares the greedy translations of the run and of transformers, and
their scores, on texts of random subwords. It needs pip install '.[peers]'. The
command prints the directory of the run to standard output.
"""

import functools
import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.errors import UserError

DEFAULT_PROBLEM = "translate_files"
_ONLY_MARIAN = "needs a model in Marian's format"
FLAGS = flags.define(
    """
  source (path): Directory of the model, or hf:// and its name on the hub, such
    as hf://Helsinki-NLP/opus-mt-en-de, or a file adapter.npz.
  output_dir (path): Directory of the run to write.
  problem (text): Problem whose data the run is evaluated on. Default: the
    model's if it is known here, otherwise translate_files.
  target_space (whole): Row of target_space_embedding of a model of
    Tensor2Tensor, if its files do not tell it.
  base (path): Run that the adapters in --source belong to, as --warm_start_from
    named it. Default: none.
  verify (switch): Compare the run with transformers.
"""
)


def main(argv):
    flags.require(FLAGS, "source", "output_dir")
    from keras_transformer import registry
    from keras_transformer.formats import hub
    from keras_transformer.formats.imported_run import check_output_dir

    registry.get_problem(FLAGS.problem or DEFAULT_PROBLEM)
    check_output_dir(FLAGS.output_dir)
    if FLAGS.source.endswith(".npz"):
        print(_import_adapter().path)
        return
    flags.refuse(FLAGS, ["base"], "needs adapters, a file adapter.npz")
    source = FLAGS.source
    if hub.is_hub_name(source):
        source = hub.download(source)
    origin = FLAGS.source if source != FLAGS.source else None
    import_model = _choose_importer(source)
    if FLAGS.verify:
        from keras_transformer.formats.marian import peer

        peer.require_transformers()
    run = import_model(source, FLAGS.output_dir, origin)
    if FLAGS.verify:
        load_backend()
        from keras_transformer.decoding.certificate import GREEDY
        from keras_transformer.decoding.certificate import compare
        from keras_transformer.decoding.certificate import translate_ids
        from keras_transformer.decoding.translator import Translator

        translator = Translator.load(run.path, engine="keras")
        ours = functools.partial(
            translate_ids, translator, extra_length=peer.EXTRA_LENGTH, **GREEDY
        )
        theirs = peer.Peer(source, run.vocabularies).translate
        texts = peer.make_texts(run.source_vocabulary)
        print(compare(ours, theirs, texts), file=sys.stderr)
    print(run.path)


def _import_adapter():
    from keras_transformer.formats.adapter import import_adapter

    if not FLAGS.base:
        raise UserError(
            "`base` must be the run that the adapters belong to. Received: "
            f"source={FLAGS.source!r} without --base. Add --base=RUN. Marian's "
            "own model.npz must be converted; see docs/pretrained.md."
        )
    flags.refuse(FLAGS, ["verify"], _ONLY_MARIAN)
    problem = FLAGS.problem or DEFAULT_PROBLEM
    return import_adapter(FLAGS.source, FLAGS.base, FLAGS.output_dir, problem)


def _choose_importer(source):
    from keras_transformer.formats.marian import reader as marian
    from keras_transformer.formats.tensor2tensor import reader as tensor2tensor
    from keras_transformer.formats.tensor2tensor import training_files

    if training_files.find_checkpoint(source) is None:
        rule = "needs a checkpoint of Tensor2Tensor"
        flags.refuse(FLAGS, ["target_space"], rule)
        problem = FLAGS.problem or DEFAULT_PROBLEM
        return functools.partial(marian.import_marian, problem=problem)
    flags.refuse(FLAGS, ["verify"], _ONLY_MARIAN)
    return functools.partial(
        tensor2tensor.import_tensor2tensor,
        problem=FLAGS.problem,
        target_space=FLAGS.target_space,
    )


run = command.make_script(main, FLAGS)
