"""Exports a trained run as a model that a server can load.

    kt-exporter --output_dir=run --export_dir=run/export

The command prints the directory that it wrote to standard output. --format
chooses what it writes:

  saved_model      A SavedModel that takes text and returns text, for
                   TensorFlow Serving, kt-serve, or Python with tensorflow
                   and tensorflow-text.
  saved_model_ids  The same for servers without the operations of
                   tensorflow-text. It takes and returns ids of vocab.model,
                   a file in its folder assets.extra. If vocab.source.model
                   is there too, it takes the ids of that.
  ctranslate2      A model for CTranslate2 and kt-serve, with weights stored
                   as --quantization says.
  marian           A model that transformers opens by
                   MarianMTModel.from_pretrained, in --export_dir itself. Not
                   every model can be expressed in this format.
  html             A page that translates in a browser, without a server or a
                   network: index.html in --export_dir, or --export_dir itself
                   if it ends in .html. Its weights have 8 bits.
  onnx             A model for ONNX Runtime and transformers.js, in float32
                   and in 8 bits. It needs pip install '.[onnx]'.
  litert           A model for LiteRT on phones, with the search in it and
                   weights in float32 or, with --quantization=int8, in 8 bits.

The model becomes the next version in --export_dir: 1, 2, and so on, except with
--format=marian and --format=html.

The exported model translates as the run does. --beam_size, --alpha and
--decode_hparams change that during the export. A CTranslate2 model also accepts
them when it translates; a SavedModel does not. A SavedModel computes in
float32, or in the format that --precision names.

--shortlist=train.en,train.de makes a CTranslate2 model faster. It learns from
the training text which target subwords belong to which source subwords.
Translations then use only these and frequent subwords.

A SavedModel includes requests with which TensorFlow Serving and kt-serve warm
it up.

--push_to_hub=OWNER/NAME also uploads the model to Hugging Face's hub, with the
token of huggingface_hub, which pip install '.[hub]' installs. A new model there
is public, so state a --licence.
"""

import importlib
import os
import sys

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import corpus_flags
from keras_transformer.bin.shared import flags
from keras_transformer.bin.shared import model_flags
from keras_transformer.bin.shared.backend import load_backend
from keras_transformer.bin.shared.backend import read_backend

FLAGS = flags.define(
    f"""
  output_dir
  checkpoint_step
  export_dir (path): Directory to write to. Each version gets a folder in it,
    except with --format=marian and --format=html. Default: export, export_ids,
    export_ctranslate2, export_marian, export_html, export_onnx or export_litert
    inside output_dir, by format.
  format (saved_model|saved_model_ids|ctranslate2|marian|html|onnx|litert,
    default saved_model): Format of the exported model: saved_model,
    saved_model_ids, ctranslate2, marian, html, onnx or litert.
  quantization
    (float32|float16|bfloat16|int16|int8|int8_float32|int8_float16|int8_bfloat16,
    default float32): Number format of the weights of a CTranslate2 model:
    float32, float16, bfloat16, int16, int8, int8_float32, int8_float16 or
    int8_bfloat16. A model of LiteRT takes float32 and int8.
  precision (auto|float32|bfloat16, default auto): Number format that a
    SavedModel computes in: float32, bfloat16, or auto, which is float32.
  beam_size
  alpha
  decode_hparams
  verify (path): File of texts that the run and the export translate, one in
    each line; a tab and a reference may follow. The card says how many
    translations are equal. An export that differs is not written. Empty: no
    comparison. Default: 20 pairs of dev.
Shortlist of a CTranslate2 model:
  shortlist (corpus, needs format=ctranslate2): Text that the run was trained
    on, named as for kt-datagen: two files with a comma in between, or one that
    ends in .tsv or .tmx. Repeat the flag for several corpora. A translation
    then consists of subwords that are frequent in the text or belong to the
    subwords of the source, which is faster. Default: none, which allows all
    subwords.
  shortlist_size (count, default 40, maximum {flags.MAX_VOCAB_SIZE}, needs
    shortlist): Number of target subwords for each source subword. A larger
    number is slower but excludes fewer translations.
  source_language
  target_language
Model card and hub:
  licence (text): Licence of the model for its card, as hubs name it, such as
    apache-2.0. Default: none, which states no licence.
  datasets (names): Name on the hub of data that the model was trained on, for
    its card. Repeat the flag for several. Default: those that the problem
    names, if any.
  push_to_hub (text): Name on Hugging Face's hub to upload the model to, such as
    OWNER/NAME. Default: none, which uploads nothing.
""",
    corpus=corpus_flags.CORPORA,
    names=flags.several(str, "a name on the hub"),
)


def main(argv):
    flags.require(FLAGS, "output_dir")
    _check_flags()
    from keras_transformer.formats import exported
    from keras_transformer.formats import hub
    from keras_transformer.runs.model_card import FILE_NAME
    from keras_transformer.runs.model_card import make_model_card

    path = model_flags.single_output_dir(FLAGS, "export")
    run = model_flags.open_run(path, FLAGS.checkpoint_step)
    options = model_flags.decode_options(FLAGS, run.hparams)
    exported.check_exportable(options)
    for name in ("licence", "datasets"):  # for the card of this export alone
        value = FLAGS[name].value
        recorded = run.record.get(name) or value
        if value and value != recorded:
            rule = f"must be what the run records, {recorded}"
            flags.refuse(FLAGS, [name], rule)
        run.record[name] = recorded
    make_model_card(run, FLAGS.checkpoint_step)
    if FLAGS.push_to_hub:
        hub.check_upload(FLAGS.push_to_hub)
    export_dir = _find_export_dir(run)
    path = _export(run, export_dir, options, _plan_certificate(run, options))
    print(path)
    if FLAGS.push_to_hub:
        card = os.path.join(export_dir, FILE_NAME)
        files = None
        if FLAGS.format == "marian":
            from keras_transformer.formats.marian import writer as marian

            # Files of the user may lie beside the model.
            files = [*marian.FILES, FILE_NAME]
        address = hub.upload(path, FLAGS.push_to_hub, card, files)
        print(f"The model is at {address}.", file=sys.stderr)


def _find_export_dir(run):
    """Returns the directory to write to, after a first check of it."""
    from keras_transformer.formats import exported
    from keras_transformer.formats import versions

    # Each format has its own directory, since a server takes all folders of one
    # directory as versions of the same model.
    name = FLAGS.format.replace("saved_model", "export")
    name = name if name.startswith("export") else f"export_{name}"
    export_dir = os.path.normpath(FLAGS.export_dir or run.file(name))
    if FLAGS.format == "ctranslate2":
        # Before a shortlist is learnt, which can take a minute.
        exported.require_ctranslate2()
        versions.check_export_dir(export_dir, "ctranslate2")
    elif FLAGS.format.startswith("saved_model"):
        versions.check_backend(read_backend(), "A SavedModel")
        if FLAGS.format == "saved_model":
            exported.require_tensorflow_text(
                "use --format=saved_model_ids or --format=ctranslate2"
            )
        versions.check_export_dir(export_dir, "saved_model")
    elif FLAGS.format == "litert":
        versions.check_backend(read_backend(), "A model of LiteRT")
    return export_dir


def _check_flags():
    rule = f"has no effect with --format={FLAGS.format}"
    is_saved_model = FLAGS.format.startswith("saved_model")
    has_quantization = FLAGS.format in ("ctranslate2", "litert")
    if not is_saved_model:
        way_out = "Use --quantization." if has_quantization else "Remove it."
        flags.refuse(FLAGS, ["precision"], rule, way_out)
    if not has_quantization:
        way_out = "Use --precision." if is_saved_model else "Remove it."
        flags.refuse(FLAGS, ["quantization"], rule, way_out)
    if FLAGS.format == "html":
        flags.refuse(FLAGS, ["push_to_hub"], rule)
    corpus_flags.check_unweighted(FLAGS, "shortlist")
    corpus_flags.read_languages(FLAGS, FLAGS.shortlist or [])


def _learn_shortlist(run):
    if not FLAGS.shortlist:
        return None
    from keras_transformer.formats.ctranslate2 import shortlist

    if run.linearization:
        rule = f"needs a run that translates, but {run.path} parses"
        flags.refuse(FLAGS, ["shortlist"], rule)
    languages = corpus_flags.read_languages(FLAGS, FLAGS.shortlist)
    pairs = shortlist.read_pairs(
        FLAGS.shortlist, languages, run.source_vocabulary
    )
    return shortlist.learn_shortlist(
        pairs, run.vocabularies, FLAGS.shortlist_size
    )


def _plan_certificate(run, options):
    if FLAGS.verify == "":
        return None
    # From the A100 on, products of float32 would have 10 bits otherwise.
    os.environ.setdefault("NVIDIA_TF32_OVERRIDE", "0")
    from keras_transformer.decoding.certificate import plan_certificate

    is_exact = not FLAGS.shortlist and FLAGS.quantization == "float32"
    return plan_certificate(
        run,
        FLAGS.checkpoint_step,
        FLAGS.format,
        options,
        is_exact and FLAGS.precision != "bfloat16",
        FLAGS.verify,
        load_backend,
    )


def _export(run, export_dir, options, certify):
    # Only these formats need a backend; the others read a checkpoint's arrays.
    folder, more = FLAGS.format, {}
    if FLAGS.format == "ctranslate2":
        more["shortlist"] = _learn_shortlist(run)
    elif FLAGS.format == "litert":
        load_backend()
    elif FLAGS.format.startswith("saved_model"):
        load_backend()
        folder = "saved_model"
        is_auto = FLAGS.precision == "auto"
        more["precision"] = "float32" if is_auto else FLAGS.precision
        more["of_text"] = FLAGS.format == "saved_model"
    if FLAGS.format in ("ctranslate2", "litert"):
        more["quantization"] = FLAGS.quantization
    module = f"keras_transformer.formats.{folder}.writer"
    export = getattr(importlib.import_module(module), f"export_{folder}")
    return export(
        *(run, export_dir, options, FLAGS.checkpoint_step),
        certify=certify,
        **more,
    )


run = command.make_script(main, FLAGS)
