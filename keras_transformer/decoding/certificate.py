"""Certificates: whether another form of a model translates as its run does."""

import dataclasses
import importlib.metadata
import importlib.util
import logging
import math
import pathlib
import time
from functools import partial

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.data.text.letter_case import restore_case
from keras_transformer.data.text.parallel_files import TAB
from keras_transformer.data.text.text_files import read_lines
from keras_transformer.decoding.loading import load
from keras_transformer.decoding.loading import load_plan
from keras_transformer.decoding.plan import plan_model
from keras_transformer.errors import UserError
from keras_transformer.formats.html import node
from keras_transformer.formats.litert import writer as litert
from keras_transformer.formats.onnx.session import OnnxSession
from keras_transformer.formats.onnx.writer import QUANTIZED
from keras_transformer.runs import data_record
from keras_transformer.scoring.translations import bleu_report
from keras_transformer.scoring.translations import choose_tokenizer
from keras_transformer.token_ids import PAD_ID

NUM_TEXTS = 20  # of dev, unless the user names a file
# Scores of equal translations may differ by this share in float32, since
# kernels round differently. Marian normalises with another epsilon.
MAX_DIFFERENCE = 5e-4
MAX_DIFFERENCE_OF_MARIAN = 5e-3
# Rounding decides between translations whose scores differ by a smaller share.
TIE = 1e-4
# These shares of the translations must be equal. The first one is for float32.
# It is less than 1 because CTranslate2 ends its search differently, which
# changed 1 of 40 odd sentences of a weak model. The second one is for exports
# that round their weights or leave out subwords.
EXACT_SHARE, MIN_SHARE = 0.8, 0.5
GREEDY = {"beam_size": 1, "alpha": 0.0}
PACKAGES = {
    "saved_model": ["tensorflow"],
    "saved_model_ids": ["tensorflow"],
    "ctranslate2": ["ctranslate2"],
    "onnx": ["onnxruntime", "tokenizers"],
    "litert": ["ai_edge_litert", "tokenizers"],
}
_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Certificate:
    """What a comparison of two forms of a model found."""

    num_texts: int
    num_equal: int  # translations that are the same, or tie
    difference: float | None  # the largest share of scores, of equal ones
    seconds: list[float]  # of the run, and of the other form
    bleu: list[float]  # of both; empty without references

    def check(self, max_difference=None):
        """Raises a `UserError` if the forms seem to be of different models.

        A `max_difference` of scores is for forms that compute in float32.
        """
        share = EXACT_SHARE if max_difference else MIN_SHARE
        needed = math.ceil(share * self.num_texts)
        if self.num_equal < needed:
            rule = f"{needed} must be equal"
        elif max_difference and (self.difference or 0) > max_difference:
            rule = f"Scores may differ by {max_difference:.2%}"
        else:
            return
        raise UserError(
            f"The export does not translate as the run does: {self} {rule}. "
            "Nothing was written. A model with little training is unsure, so "
            "rounding may change what it writes. Train it further, or export "
            "without this check by --verify=. If it is well trained, report "
            "the fault."
        )

    def __str__(self):
        text = f"{self.num_equal} of {self.num_texts} translations are equal"
        if self.difference is not None:
            text += f", with scores that differ by up to {self.difference:.4%}"
        if self.bleu:
            text += "; BLEU is {:.2f} for the run and {:.2f} here".format(
                *self.bleu
            )
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
    translations, scores = zip(*results)
    is_equal = [a == b for a, b in zip(*translations, strict=True)]
    largest = None
    if all(scores):
        differences = [abs(a - b) / max(1, -a) for a, b in zip(*scores)]
        is_equal = [e or d < TIE for e, d in zip(is_equal, differences)]
        of_equal = [d for e, d in zip(is_equal, differences) if e]
        largest = max(of_equal, default=0.0)
    tokenize = choose_tokenizer(None, references)
    bleu = [
        bleu_report(each, references, tokenize).scores["bleu"]
        for each in (translations if references else ())
    ]
    return Certificate(len(texts), sum(is_equal), largest, seconds, bleu)


def plan_certificate(
    run, step, format, options, is_exact, file=None, load_backend=lambda: None
):
    """Returns a function that compares an export with its run.

    The function takes the path of what was written, and returns the text for
    its card. It raises a `UserError` if the export does not translate as the
    run does. `options` are the `DecodeOptions` of the export, and `is_exact`
    tells whether it computes in float32 with all subwords. Each line of `file`
    has a text and perhaps a tab and a reference. By default there are
    `NUM_TEXTS` pairs of dev. `load_backend` is called before something needs
    Keras or TensorFlow.
    """
    texts, references = _read_texts(run, file)
    obstacle = _find_obstacle(run, format, options, texts)

    def certify(path):
        if obstacle:
            text = (
                f"The export was not compared with the run, since {obstacle}."
            )
            _log.warning("%s", text)
            return text
        # Nothing but Keras computes independently of CTranslate2.
        engine = "keras" if format == "ctranslate2" else "auto"
        plan = plan_model(run.path, step, engine)
        if plan.engine == "keras" or format.startswith("saved_model"):
            load_backend()
        translator = load_plan(plan)
        is_marian = format == "marian"
        limit = MAX_DIFFERENCE_OF_MARIAN if is_marian else MAX_DIFFERENCE
        sentences = []
        for ours, theirs, is_float in _list_forms(
            path, format, translator, options
        ):
            certificate = compare(ours, theirs, texts, references)
            certificate.check(is_exact and is_float and limit)
            sentences.append(str(certificate))
        packages = ["keras-t2t", *PACKAGES.get(format, ())]
        versions = [f"{p} {importlib.metadata.version(p)}" for p in packages]
        paths = [pathlib.Path(path), *pathlib.Path(path).rglob("*")]
        size = sum(each.stat().st_size for each in paths if each.is_file())
        sentences.append(f"The files have {size:,} bytes.")
        sentences.append(f"Versions: {', '.join(versions)}.")
        return " ".join(sentences)

    return certify


def _read_texts(run, file):
    """Returns texts, and references if all texts have one.

    Exporting needs no data, so there are no texts if dev cannot be read. Not
    every form restores the case of a text, so that comes first. Blank and long
    texts are left out.
    """
    if file:
        rows = [line.split(TAB) for line in read_lines(file)]
    else:
        problem = data_record.find_problem(run)
        try:
            rows = list(zip(*problem.text_split("dev"))) if problem else []
        except (UserError, OSError):
            return [], []
    vocabulary, longest = run.source_vocabulary, run.hparams.max_length
    texts = restore_case([text for text, *_ in rows], vocabulary)
    lengths = map(len, vocabulary.encode(texts))
    rows = [
        (text, *more)
        for text, (_, *more), n in zip(texts, rows, lengths)
        if 1 < n <= longest
    ]
    if not file:
        rows = rows[:: max(1, len(rows) // NUM_TEXTS)][:NUM_TEXTS]
    elif not rows:
        raise UserError(
            f"`--verify` must name a file of texts of up to {longest} tokens. "
            f"Received: --verify={file}, which has none. Name another file."
        )
    references = [row[1] for row in rows if len(row) > 1]
    has_all = len(references) == len(rows)
    return [row[0] for row in rows], references if has_all else []


def _find_obstacle(run, format, options, texts):
    """Returns why an export cannot be compared with its run, or None."""
    if run.linearization:
        return "it parses"
    if options.is_random:
        return "it draws samples"
    if not texts:
        return "it has no dev text here. Name a file of texts by --verify"
    if format == "html" and not node.find_node():
        return "Node.js 20 is not installed"
    for name in PACKAGES.get(format, ()):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    return None


def _list_forms(path, format, translator, options):
    """Yields two functions for `compare`, and whether the second is exact."""
    changes = dataclasses.asdict(options)
    del changes["num_hypotheses"]
    ours = partial(translator, return_scores=True, **changes)
    if format == "onnx":  # searches greedily
        limit = {"extra_length": options.extra_length}
        ours = partial(translate_ids, translator, **limit, **GREEDY)
        for suffix in ("", QUANTIZED):
            theirs = partial(OnnxSession(path, suffix).translate, **limit)
            yield ours, theirs, not suffix
    elif format in ("saved_model_ids", "litert"):
        ours = partial(translate_ids, translator, **changes)
        theirs = partial(litert.decode, path)
        if format == "saved_model_ids":
            theirs = partial(_translate_by_ids, path, translator.codec)
        yield ours, theirs, True
    elif format == "html":
        yield ours, partial(node.translate, path), False
    else:
        # The files of Marian do not state other options.
        others = {n: v for n, v in changes.items() if n not in GREEDY}
        others = others if format == "marian" else {}
        yield ours, partial(load(path), return_scores=True, **others), True


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
    ids, scores = (
        outputs[name][:, 0].numpy() for name in ("outputs", "scores")
    )
    rows = [row[row != PAD_ID].tolist() for row in ids]
    return codec.vocabulary.decode(rows), scores.tolist()
