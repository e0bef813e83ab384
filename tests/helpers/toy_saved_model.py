"""A small SavedModel with the signatures of an exported model.

Its first translation is the version followed by the text in capitals, and its
second one the unchanged text. Scores are lengths. It rejects the text "poison",
and takes over half a second for the text "slow". With terms, the first
translation ends with those that are no empty strings.
"""

import os
import time

import tensorflow as tf
import tensorflow_text

from keras_transformer.serving.server import Server

STEPS_OF_SLOW = 300_000  # an empty loop of this many steps takes 0.6 s


class ToyModule(tf.Module):
    def __init__(self, version):
        super().__init__()
        self._version = str(version)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def translate(self, text):
        is_slow = tf.reduce_any(text == "slow")
        steps = tf.where(is_slow, STEPS_OF_SLOW, 0)
        count = tf.while_loop(lambda i: i < steps, lambda i: [i + 1], [0])[0]
        checks = [
            tf.debugging.assert_none_equal(text, "poison"),
            tf.debugging.assert_equal(count, steps),
        ]
        with tf.control_dependencies(checks):
            # Without TensorFlow Text, loading this operation fails.
            text = tensorflow_text.normalize_utf8(text, "NFC")
        best = tf.strings.join(
            [self._version, tf.strings.upper(text, "utf-8")], ":"
        )
        translations = tf.stack([best, text], axis=1)
        return {"translations": translations, "scores": _lengths(translations)}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            tf.TensorSpec([None, None], tf.string, "terms"),
        ]
    )
    def translate_with_terms(self, text, terms):
        free = self.translate(text)["translations"]
        ends = tf.where(terms == "", "", tf.strings.join([" ", terms]))
        end = tf.strings.reduce_join(ends, axis=1)
        best = tf.strings.join([free[:, 0], end])
        translations = tf.stack([best, free[:, 1]], axis=1)
        return {"translations": translations, "scores": _lengths(translations)}

    @tf.function(
        input_signature=[tf.TensorSpec([None, None], tf.int32, "inputs")]
    )
    def translate_ids(self, inputs):
        outputs = tf.stack([inputs, -inputs], axis=1)
        sums = tf.reduce_sum(outputs, axis=2)
        return {"outputs": outputs, "scores": tf.cast(sums, tf.float32)}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "text"),
            tf.TensorSpec([None], tf.string, "targets"),
        ]
    )
    def score(self, text, targets):
        return {"scores": _lengths(text) - _lengths(targets)}


def _lengths(strings):
    return tf.cast(tf.strings.length(strings, unit="UTF8_CHAR"), tf.float32)


def best(text, version=1):
    """Returns the best translation that the model gives to a text."""
    return f"{version}:{text.upper()}"


def write_version(export_dir, version):
    """Writes a version aside and renames it, as kt-exporter does."""
    module = ToyModule(version)
    path = os.path.join(export_dir, str(version))
    tf.saved_model.save(
        module,
        path + ".incomplete",
        signatures={
            "serving_default": module.translate,
            "with_terms": module.translate_with_terms,
            "ids": module.translate_ids,
            "score": module.score,
        },
    )
    os.rename(path + ".incomplete", path)
    return path


def start_server(export_dir, num_versions=1, **ports):
    """Writes versions and returns a `Server` that has loaded all of them."""
    for version in range(1, num_versions + 1):
        write_version(export_dir, version)
    server = Server(export_dir, "toy", **ports)
    server.start()
    server.watch()
    while any(
        version.state != version.AVAILABLE
        for version in server.service.get_status("toy").model_version_status
    ):
        time.sleep(0.01)
    return server
