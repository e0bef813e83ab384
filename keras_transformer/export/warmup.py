"""Writes requests that TensorFlow Serving runs before it serves a model."""

import os

import tensorflow as tf

from keras_transformer.data import generation
from keras_transformer.files.standard_error import silence_stderr
from keras_transformer.runs.model_card import facts
from keras_transformer.serving.messages import PredictionLog
from keras_transformer.serving.messages import to_proto

FILE_NAME = "tf_serving_warmup_requests"
BATCH_SIZES = (1, 4, 16)
MAX_LENGTH = 100  # tokens of a text; longer ones would delay the start


def make_warmup_texts(run, max_tokens):
    """Returns pairs of str to warm up a model with, for the largest batch.

    They come from the problem's dev split if its files exist and have sentences
    that are short enough. Otherwise they are made of tokens of the vocabulary.
    """
    artificial = [(text, text) for text in _make_artificial_texts(run)]
    longest = min(MAX_LENGTH, max_tokens)
    pairs = _select_fitting(_read_dev_pairs(run), run, longest)
    pairs = pairs or _select_fitting(artificial, run, longest)
    return pairs[: max(BATCH_SIZES)]


def _select_fitting(pairs, run, longest):
    """Returns the pairs whose sides have words and not too many tokens."""
    sides = run.source_vocabulary, run.vocabulary
    encoded = [side.encode(texts) for side, texts in zip(sides, zip(*pairs))]
    lengths = [max(map(len, pair)) for pair in zip(*encoded)]
    return [
        pair
        for pair, length in zip(pairs, lengths)
        if length <= longest and all(map(str.strip, pair))
    ]


def write_warmup(directory, signatures, pairs, vocabulary):
    """Writes the requests and the model's answers as a TFRecord file."""
    with tf.io.TFRecordWriter(os.path.join(directory, FILE_NAME)) as writer:
        for name, inputs in _list_requests(pairs, vocabulary):
            if "score" not in signatures and name != "ids":
                continue  # an export of ids has no signature of texts
            log = PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = name
            response = log.predict_log.response
            response.model_spec.signature_name = name
            # SentencePiece logs at its first use.
            with silence_stderr():
                outputs = signatures[name](**inputs)
            _fill(request.inputs, inputs)
            _fill(response.outputs, outputs)
            writer.write(log.SerializeToString())


def _list_requests(pairs, vocabulary):
    """Yields the names of signatures and their inputs."""
    for size in BATCH_SIZES:
        texts, references = zip(*pairs[:size])
        ids = tf.ragged.constant(vocabulary.encode(texts), tf.int32)
        texts, references = map(tf.constant, (texts, references))
        yield "serving_default", {"text": texts}
        yield "ids", {"inputs": ids.to_tensor()}  # (batch, length)
        yield "score", {"text": texts, "targets": references}


def _fill(protos, tensors):
    for name, tensor in tensors.items():
        protos[name].CopyFrom(to_proto(tensor.numpy()))


def _read_dev_pairs(run):
    # An export must work without the data, for example on another machine.
    problem = facts.find_problem(run)
    if problem is None or problem.data_dir is None:
        return []
    manifest = generation.read_manifest(problem.directory)
    if manifest is None or "dev" not in manifest["splits"]:
        return []
    return list(zip(*problem.text_split("dev")))


def _make_artificial_texts(run):
    vocabulary = run.source_vocabulary
    first = vocabulary.vocab_size // 2  # skips bytes, which may be no text
    count = vocabulary.vocab_size - first
    for number in range(max(BATCH_SIZES)):
        # The factors have no meaning; they make the sentences differ.
        ids = [first + (7 * i + 31 * number) % count for i in range(number + 1)]
        yield vocabulary.decode([ids])[0]
