"""Certificates: whether another form of a model translates as its run does."""

import dataclasses
import functools
import importlib.metadata
import importlib.util
import logging
import os
import time

from keras_transformer.data.batches.padding import pad
from keras_transformer.data.generation.generation import read_manifest
from keras_transformer.data.text import parallel_files
from keras_transformer.data.text import text_files
from keras_transformer.decoding.loading import load
from keras_transformer.decoding.plan import plan_model
from keras_transformer.errors import UserError
from keras_transformer.formats.html import node
from keras_transformer.formats.onnx.session import OnnxSession
from keras_transformer.formats.onnx.writer import QUANTIZED
from keras_transformer.parsing.target_text import find_linearization
from keras_transformer.runs import data_record
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.scoring.translations import choose_tokenizer
from keras_transformer.token_ids import PAD_ID

NUM_TEXTS = 20  # of dev, unless the user names a file
# Scores are sums over tokens in float32, by kernels that round differently.
MAX_DIFFERENCE = 1e-3
# Rounding decides between translations whose scores differ by less.
TIE = 1e-4
# The part of the translations that must be equal if an export rounds its
# weights, or leaves out subwords.
MIN_SHARE = 0.5
GREEDY = {"beam_size": 1, "alpha": 0.0}
PACKAGES = {
    "saved_model": ["tensorflow"],
    "saved_model_ids": ["tensorflow"],
    "ctranslate2": ["ctranslate2"],
    "onnx": ["onnxruntime", "tokenizers"],
}
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What a comparison of two forms of a model found."""

    num_texts: int
    num_equal: int  # translations that are the same, or tie
    difference: float | None  # the largest of two scores, where both have some
    seconds: tuple[float, float]  # of the run, and of the other form
    bleu: tuple[float, float] | None  # of both, if there are references

    def check(self, is_exact):
        """Raises a `UserError` if the other form is none of the same model."""
        needed = self.num_texts if is_exact else MIN_SHARE * self.num_texts
        difference = self.difference if is_exact and self.difference else 0
        if self.num_equal < needed or difference > MAX_DIFFERENCE:
            raise UserError(
                f"The export does not translate as the run does: {self} "
                f"{needed:.0f} must be equal, and scores of float32 may differ "
                f"by {MAX_DIFFERENCE}. Nothing was written. Report the fault, "
                "or export without this check by --verify=."
            )

    def __str__(self):
        text = f"{self.num_equal} of {self.num_texts} translations are equal"
        if self.difference is not None:
            text += f", with scores that differ by up to {self.difference:.1e}"
        if self.bleu:
            ours, theirs = self.bleu
            text += f"; BLEU is {ours:.2f} for the run and {theirs:.2f} here"
        ours, theirs = self.seconds
        return f"{text}; the run took {ours:.1f} s, and this {theirs:.1f} s."


def compare(ours, theirs, texts, references=()):
    """Compares two functions that translate; returns a `Certificate`.

    Both take a list of texts, and return a list of translations and a list of
    their scores, or None.
    """
    results, seconds = [], []
    for translate in (ours, theirs):
        start = time.monotonic()
        results.append(translate(texts))
        seconds.append(time.monotonic() - start)
    (translations, scores), (others, other_scores) = results
    is_equal = [a == b for a, b in zip(translations, others, strict=True)]
    largest = None
    if scores and other_scores:
        differences = [abs(a - b) for a, b in zip(scores, other_scores)]
        is_equal = [e or d < TIE for e, d in zip(is_equal, differences)]
        of_equal = [d for e, d in zip(is_equal, differences) if e]
        largest = max(of_equal, default=0.0)
    bleu = None
    if references:
        tokenizer = choose_tokenizer(None, references)
        bleu = tuple(
            bleu_report(each, references, tokenizer).scores["bleu"]
            for each in (translations, others)
        )
    return Certificate(len(texts), sum(is_equal), largest, tuple(seconds), bleu)


def plan_certificate(
    run, step, format, options, is_exact, file=None, load_backend=lambda: None
):
    """Returns a function that compares an export with its run.

    The function takes the path of what was written, and returns the text for
    its card. It raises a `UserError` if the export does not translate as the
    run does. `options` are the `DecodeOptions` of the export, and `is_exact`
    tells whether it computes in float32 with all subwords.

    `file` has a text in each line or, if it ends in .tsv, a text, a tab and a
    reference. By default there are `NUM_TEXTS` pairs of dev. `load_backend` is
    called before something needs Keras or TensorFlow.
    """
    texts, references = _read_file(file) if file else _choose_samples(run)
    if obstacle := _find_obstacle(run, format, options, texts):
        text = f"The export was not compared with the run, since {obstacle}."
        _log.warning("%s", text)
        return lambda path: text

    def certify(path):
        # Nothing but Keras computes independently of CTranslate2.
        engine = "keras" if format == "ctranslate2" else "auto"
        plan = plan_model(run.path, step, engine)
        if plan.engine == "keras" or format.startswith("saved_model"):
            load_backend()
        translator = plan.load()
        forms = _list_forms(path, format, translator, options)
        certificates = []
        for ours, theirs, is_float in forms:
            certificates.append(compare(ours, theirs, texts, references))
            certificates[-1].check(is_exact and is_float)
        packages = ["keras-t2t", *PACKAGES.get(format, ())]
        versions = [f"{p} {importlib.metadata.version(p)}" for p in packages]
        sentences = [
            *map(str, certificates),
            f"The files have {_count_bytes(path):,} bytes.",
            f"Versions: {', '.join(versions)}.",
        ]
        return " ".join(sentences)

    return certify


def _read_file(file):
    """Returns the texts of a file, and references if it has some."""
    if file.lower().removesuffix(".gz").endswith(".tsv"):
        rows = parallel_files.read_pairs([file])
    else:
        rows = ((line,) for line in text_files.read_lines(file))
    rows = [row for row in rows if row[0].strip()]
    if not rows:
        raise UserError(
            "`--verify` must name a file of texts. Received: "
            f"--verify={file}, which has none. Name another file."
        )
    texts, *references = zip(*rows)
    return list(texts), list(*references)


def _choose_samples(run):
    """Returns texts and references of dev; none if the data are gone."""
    problem = data_record.find_problem(run)
    if not (problem and problem.data_dir and read_manifest(problem.directory)):
        return [], []
    sides = problem.text_split("dev")
    lengths = map(len, run.source_vocabulary.encode(sides[0]))
    rows = [
        row
        for row, length in zip(zip(*sides), lengths)
        if 1 < length <= run.hparams.max_length
    ]
    rows = rows[:: max(1, len(rows) // NUM_TEXTS)][:NUM_TEXTS]
    texts, references = zip(*rows) if rows else ((), ())
    return list(texts), list(references)


def _find_obstacle(run, format, options, texts):
    """Returns why an export cannot be compared with its run, or None."""
    if find_linearization(run.vocabulary):
        return "it parses"
    if options.is_random:
        return "it draws samples"
    if not texts:
        return "its data are gone. Name a file of texts by --verify"
    if format == "html" and not node.find_node():
        return "Node.js 20 is not installed"
    for name in PACKAGES["onnx"] if format == "onnx" else ():
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    return None


def _list_forms(path, format, translator, options):
    """Yields two functions for `compare`, and whether the second is exact."""
    changes = dataclasses.asdict(options)
    del changes["num_hypotheses"]

    by_ids = functools.partial(translate_ids, translator)
    if format == "onnx":
        for suffix in ("", QUANTIZED):
            theirs = functools.partial(
                OnnxSession(path, suffix).translate,
                extra_length=options.extra_length,
            )
            ours = functools.partial(
                by_ids, extra_length=options.extra_length, **GREEDY
            )
            yield ours, theirs, not suffix
        return
    if format == "saved_model_ids":
        theirs = functools.partial(_translate_by_ids, path, translator.codec)
        yield functools.partial(by_ids, **changes), theirs, True
        return
    ours = functools.partial(translator, return_scores=True, **changes)
    if format == "html":
        yield ours, lambda texts: (node.translate(path, texts), None), False
        return
    theirs = functools.partial(load(path), return_scores=True)
    if format == "marian":  # its files do not state everything
        del changes["beam_size"], changes["alpha"]
        theirs = functools.partial(theirs, **changes)
    yield ours, theirs, True


def translate_ids(translator, texts, **options):
    """Translates as programs do that read a text in the case it is in."""
    sources = translator.codec.source_vocabulary.encode(texts)
    rows = translator.translate_ids(sources, **options)
    return tuple(zip(*[(best.text, best.score) for best, *_ in rows]))


def _translate_by_ids(path, codec, texts):
    """Translates with a SavedModel that takes and returns ids."""
    import tensorflow as tf

    search = tf.saved_model.load(path).signatures["ids"]
    inputs = pad(codec.source_vocabulary.encode(texts))
    outputs = search(inputs=tf.constant(inputs))
    rows = [
        [id_ for id_ in row if id_ != PAD_ID]
        for row in outputs["outputs"][:, 0].numpy().tolist()
    ]
    return codec.vocabulary.decode(rows), outputs["scores"][
        :, 0
    ].numpy().tolist()


def _count_bytes(path):
    folders = os.walk(path) if os.path.isdir(path) else [("", (), [path])]
    return sum(
        os.path.getsize(os.path.join(folder, name))
        for folder, _, names in folders
        for name in names
    )
