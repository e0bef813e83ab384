"""Writes a run's model for CTranslate2, a fast inference engine."""

from keras_transformer.formats import exported
from keras_transformer.formats import versions
from keras_transformer.formats.ctranslate2.conversion import convert_run
from keras_transformer.formats.ctranslate2.conversion import find_understood

FORMAT = "ctranslate2"
QUANTIZATIONS = ("float32", "float16", "bfloat16", "int16", "int8")
QUANTIZATIONS += ("int8_float32", "int8_float16", "int8_bfloat16")
PACKAGES = ("keras-t2t", "ctranslate2")


def export_ctranslate2(
    run,
    export_dir,
    options,
    step=None,
    quantization="float32",
    shortlist=None,
    certify=None,
):
    """Writes a checkpoint as the next version of a model for CTranslate2.

    The directory of the version holds:

    - the files that CTranslate2 reads: `model.bin`, `config.json` and
      `shared_vocabulary.json`, or `source_vocabulary.json` and
      `target_vocabulary.json`;
    - the SentencePiece model `vocab.model`, and `vocab.source.model` if the
      source has a separate vocabulary;
    - `vmap.txt`, if translations keep to a `Shortlist`;
    - `export.json`, which says where the model comes from and how to decode;
    - the model card `README.md`.

    The version appears under its number once it is complete; its path is
    returned. Neither TensorFlow nor Keras is needed. The weights are stored in
    the format `quantization`, one of `QUANTIZATIONS`. CTranslate2 converts them
    if the machine cannot compute in it. `certify` takes the directory before
    it appears, and returns a text for the card.
    """
    exported.require_ctranslate2()
    exported.check_understood(
        run.hparams.model,
        find_understood(run.hparams.model),
        "in a model for CTranslate2",
        "Export it with --format=saved_model.",
    )
    export = {
        "format": FORMAT,
        "decode": options,
        "quantization": quantization,
        "shortlist": shortlist is not None,
    }

    def write(directory, step):
        facts = {
            "format": FORMAT,
            "precision": quantization,
            "max_tokens": convert_run(run, step, directory, quantization),
            "num_parameters": run.count_parameters(step),
            "averages_heads": True,
        }
        if shortlist:
            sha256 = shortlist.write(directory, run.vocabularies)
            facts["shortlist_sha256"] = sha256
        return facts

    return versions.write_version(
        run, step, export_dir, export, PACKAGES, write, 1, certify
    )
