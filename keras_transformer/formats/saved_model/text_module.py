"""The TensorFlow graphs of an exported model, from text to text."""

import functools
import logging

import tensorflow as tf

from keras_transformer.formats import exported
from keras_transformer.formats.saved_model import tokenization
from keras_transformer.parsing.tree_constraint import make_constraint
from keras_transformer.runs.model import model_variables
from keras_transformer.search.beam_search import Finished
from keras_transformer.search.hypotheses import find_hypotheses
from keras_transformer.search.hypotheses import score_targets
from keras_transformer.search.options import MAX_TERM_TOKENS
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import PAD_ID

_log = logging.getLogger(__name__)
TEXTS = tf.TensorSpec([None], tf.string)
IDS = tf.TensorSpec([None, None], tf.int32)
LISTS = tf.TensorSpec([None, None], tf.string)
NOT_A_ROW_EACH = (
    "`terms` must have one row for each text. Received: batches of two sizes. "
    "Send a row of empty strings for a text without terms."
)
TERM_IDS = tf.TensorSpec([None, None, None], tf.int32)


class TextModule(tf.Module):
    """A model and its vocabularies as the functions that are exported.

    The module holds the bare variables. The Keras model stays in the closures
    of the functions, because `tf.saved_model.save` would try to export it too.
    Each function of text makes new tokenizers, so the function of ids
    depends on none. A source has at most `max_tokens`.
    """

    def __init__(self, model, sources, targets, options, max_tokens):
        super().__init__(name="translator")
        self._sources = sources
        self._targets = targets
        self._is_shared = sources.sha256 == targets.sha256
        # `tf.saved_model.save` saves the variables in attributes.
        self._weights = [
            variable.value for variable in model_variables(model).values()
        ]
        self._vocab_size = sources.vocab_size
        self._max_tokens = max_tokens
        self._options = options
        constraint = make_constraint(options, targets, sources)
        self._find = _make_search(model, options, constraint)
        self._find_with_terms = None
        if not (constraint or options.temperature or options.beam_size < 2):
            self._find_with_terms = _make_search(
                model, options, vocabulary=targets
            )
        self._score = functools.partial(_score, model, options)

    def make_signatures(self, of_text=True):
        """Traces the functions; returns concrete functions by name.

        Without `of_text` there is only `ids`, also as the default signature.

        - `serving_default` from `text` to `translations` and `scores`;
        - `with_terms` from `text` and `terms` to the same, where each row of
          `terms` has the terms that a translation must hold, and empty strings.
          Only a translator that searches with several beams has it;
        - `ids` from `inputs` to `outputs` and `scores`;
        - `score` from `text` and `targets` to `scores`;
        - `lengths` from `text` to `lengths` in tokens;
        - `target_lengths`, the same for targets with a separate vocabulary.
        """
        if not of_text:
            ids = _trace(self._translate_ids, {"inputs": IDS})
            return {"serving_default": ids, "ids": ids}
        specs = {
            "serving_default": (self._translate, {"text": TEXTS}),
            "ids": (self._translate_ids, {"inputs": IDS}),
            "score": (self._score_texts, {"text": TEXTS, "targets": TEXTS}),
            "lengths": (_make_counter(self._sources), {"text": TEXTS}),
        }
        if self._find_with_terms:
            specs["with_terms"] = (
                self._translate_with_terms,
                {"text": TEXTS, "terms": LISTS},
            )
        if not self._is_shared:
            counter = _make_counter(self._targets)
            specs["target_lengths"] = (counter, {"text": TEXTS})
        functions = {}
        for number, (name, spec) in enumerate(specs.items(), 1):
            _log.info("Graph %d of %d: %s", number, len(specs), name)
            functions[name] = _trace(*spec)
        return functions

    def _tokenizers(self):
        """Makes the tokenizers of source and target, which may be one."""
        sources = tokenization.make_tokenizer(self._sources)
        if self._is_shared:
            return sources, sources
        return sources, tokenization.make_tokenizer(self._targets)

    def _translate(self, text):
        return self._translate_by(self._find, text, *self._tokenizers())

    def _translate_with_terms(self, text, terms):
        sizes = tf.shape(text)[0], tf.shape(terms)[0]
        checks = [
            tf.debugging.assert_equal(*sizes, NOT_A_ROW_EACH),
            _check_at_most(exported.MAX_TERMS, tf.shape(terms)[1], "terms"),
        ]
        sources, targets = self._tokenizers()
        with tf.control_dependencies(checks):
            ids = tokenization.encode_terms(targets, terms)
        # `encode_terms` adds a column.
        num_tokens = tf.shape(ids)[2] - 1
        check = _check_at_most(MAX_TERM_TOKENS, num_tokens, "tokens")
        with tf.control_dependencies([check]):
            ids = tf.identity(ids)
        return self._translate_by(
            self._find_with_terms, text, sources, targets, ids
        )

    def _translate_by(self, find, text, sources, targets, *terms):
        inputs, lengths, blank = self._encode(sources, text, "text")
        limits = lengths + self._options.extra_length
        # A limit of 1 ends the row of a blank text at the first step.
        limits = tf.where(blank, 1, limits)
        finished = find(inputs, limits, *terms)
        texts = tokenization.decode(targets, finished.sequences)
        blank = blank[:, None]  # (batch, 1)
        translations = tf.where(blank, "", texts)
        scores = tf.where(blank, 0.0, finished.scores)
        return {"translations": translations, "scores": scores}

    def _translate_ids(self, inputs):
        lengths = self._check_ids(inputs)
        empty = tf.equal(lengths, 0)
        limits = tf.where(empty, 1, lengths + self._options.extra_length)
        finished = self._find(inputs, limits)
        empty = empty[:, None]  # (batch, 1)
        outputs = tf.where(empty[:, :, None], PAD_ID, finished.sequences)
        scores = tf.where(empty, 0.0, finished.scores)
        return {"outputs": outputs, "scores": scores}

    def _score_texts(self, text, targets):
        sizes = tf.shape(text)[0], tf.shape(targets)[0]
        same = tf.debugging.assert_equal(*sizes, exported.NOT_PAIRED)
        of_source, of_target = self._tokenizers()
        # In a graph, a check runs only if something depends on it.
        with tf.control_dependencies([same]):
            inputs, _, blank = self._encode(of_source, text, "text")
            outputs, _, _ = self._encode(of_target, targets, "targets")
        scores = self._score(inputs, outputs)
        return {"scores": tf.where(blank, 0.0, scores)}

    def _encode(self, tokenizer, text, name):
        """Returns the padded ids, their numbers, and which texts are blank."""
        ids, blank = tokenization.tokenize(tokenizer, text)
        lengths = ids.row_lengths()
        check = self._check_lengths(lengths, name)
        with tf.control_dependencies([check]):
            return ids.to_tensor(), lengths, blank  # ids: (batch, input_len)

    def _check_ids(self, inputs):
        """Checks ids and returns the lengths of their rows, `(batch,)`."""
        real = tf.not_equal(inputs, PAD_ID)
        lengths = tf.reduce_sum(tf.cast(real, tf.int32), axis=1)
        places = tf.range(tf.shape(inputs)[1])[None, :]
        last = tf.equal(places, lengths[:, None] - 1)
        checks = [
            self._check_lengths(lengths, "inputs"),
            tokenization.assert_all(
                (inputs >= 0) & (inputs < self._vocab_size),
                exported.describe_unknown_ids(self._vocab_size),
            ),
            tokenization.assert_all(
                tf.equal(last, tf.equal(inputs, END_ID)), exported.NO_END
            ),
            tokenization.assert_all(
                tf.equal(real, places < lengths[:, None]),
                exported.EARLY_PADDING,
            ),
        ]
        # Only operations that are created inside the block wait for the checks.
        with tf.control_dependencies(checks):
            return tf.identity(lengths)

    def _check_lengths(self, lengths, name):
        # The 0 is the maximum of an empty batch.
        longest = tf.reduce_max(tf.concat([lengths, [0]], axis=0))  # scalar
        most = self._max_tokens
        message = exported.describe_long_sentence(name, most)
        return tf.debugging.assert_less_equal(longest, most, message)


def _check_at_most(most, number, name):
    owner = "text" if name == "terms" else "term"
    message = (
        f"`terms` must have at most {most} {name} for each {owner}. Received: "
        "more. Send fewer or shorter terms."
    )
    return tf.debugging.assert_less_equal(number, most, message)


def _make_search(model, options, constraint=None, vocabulary=None):
    """Makes the search as one graph that all signatures call."""
    # With the `vocabulary` of the targets, the graph takes terms. It is
    # returned inside a bare function, because `tf.saved_model.save` would save
    # a `tf.function` attribute a second time.
    specs = [IDS, tf.TensorSpec([None], tf.int32)]
    if vocabulary:
        specs.append(TERM_IDS)

    @tf.function(input_signature=specs, autograph=False)
    def find(inputs, limits, terms=None):
        seeds = None
        if options.temperature:  # each call draws other samples
            seeds = tf.random.uniform(
                tf.shape(limits), maxval=tf.int32.max, dtype=tf.int32
            )
        return find_hypotheses(
            model,
            options,
            inputs,
            limits,
            seeds=seeds,
            terms=terms,
            vocabulary=vocabulary,
            constraint=constraint,
        )

    def find_any(inputs, limits, *terms):
        # Unlike the inputs, the limits wait for the checks of the inputs.
        count = tf.shape(limits)[0]
        inputs, *terms = (_fill(ids, count) for ids in (inputs, *terms))
        limits = tf.maximum(_fill(limits, count), 1)
        finished = find(inputs, limits, *terms)
        return Finished(finished.sequences[:count], finished.scores[:count])

    return find_any


def _score(model, options, inputs, targets):
    count = tf.shape(inputs)[0]
    ids = (_fill(each, count) for each in (inputs, targets))
    return score_targets(model, *ids, options.alpha)[:count]


def _fill(ids, count):
    """Pads a batch of no rows, which has no longest one, for a search."""
    missing = tf.cast(tf.equal(count, 0), tf.int32)
    return tf.pad(ids, [[0, missing]] * ids.shape.rank)


def _make_counter(vocabulary):
    def count_tokens(text):
        ids, _ = tokenization.tokenize(
            tokenization.make_tokenizer(vocabulary), text
        )
        return {"lengths": ids.row_lengths()}

    return count_tokens


def _trace(function, arguments):
    # The name of a spec becomes the name of the signature's input.
    function = tf.function(function, autograph=False)
    return function.get_concrete_function(
        **{
            name: tf.TensorSpec(spec.shape, spec.dtype, name)
            for name, spec in arguments.items()
        }
    )
