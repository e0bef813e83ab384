"""Searches with the model of a run, or an ensemble of runs, on Keras."""

import itertools

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.data.vocabulary.vocabularies import Vocabularies
from keras_transformer.decoding.engines import batching
from keras_transformer.decoding.engines import engine
from keras_transformer.decoding.engines.attention import compute_attention
from keras_transformer.decoding.engines.attention import find_links
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID

_NEAR_ROWS = 16  # sentences, each with the states of some translations
_SUPPORTED = ("choice_of_samples", "glossary", "placeholders", "prefixes")
_SUPPORTED += ("reranking", "run", "samples", "seeds")
ENSEMBLE = engine.Capabilities("An ensemble", "one of its runs", _SUPPORTED)
# Only a single model has attention that can be shown.
RUN = engine.Capabilities(
    "A run", "another run", (*_SUPPORTED, "attention", "word_links")
)


class KerasEngine(engine.AttentiveEngine):
    """Searches with a model on each device of the machine.

    The search is compiled at the first call. It reads the current weights of
    the model, so an engine can follow a model through its training.

    The model is a built `Transformer`, or an `Ensemble` of several. The
    `vocabulary`, a `Subwords`, serves both sides unless there is a
    `source_vocabulary`. The `HParams` set the defaults of decoding, and
    `num_threads` batches run at the same time. `replicas` are `Replica`s, the
    first with the model; by default there is only the model.
    """

    max_length = None

    def __init__(
        self,
        model,
        vocabulary,
        hparams,
        num_threads=1,
        source_vocabulary=None,
        replicas=None,
    ):
        self.model = model
        self.codec = engine.Codec(
            Vocabularies(source_vocabulary or vocabulary, vocabulary)
        )
        self.capabilities = ENSEMBLE if len(model.list_models()) > 1 else RUN
        self.options = DecodeOptions.from_hparams(hparams)
        self.trained_length = hparams.max_length
        self.num_threads = num_threads
        self.replicas = replicas or [_compiler().Replica(model)]
        self._runner = batching.BatchRunner(num_threads)

    @classmethod
    def load(cls, runs, steps, precision="float32"):
        """Opens a list of runs, with a copy of the model on each GPU.

        `steps` are integers, the step of each run's checkpoint.
        """
        # Imported here because they load Keras.
        from keras_transformer.runs.model import load_model
        from keras_transformer.search.ensemble import Ensemble

        def load():
            models = [
                load_model(run, step, precision)
                for run, step in zip(runs, steps)
            ]
            return models[0] if len(models) == 1 else Ensemble(models)

        replicas = _compiler().load_replicas(load)
        return cls(
            replicas[0].model,
            runs[0].vocabulary,
            runs[0].hparams,
            max(batching.count_threads(), len(replicas)),
            runs[0].source_vocabulary,
            replicas,
        )

    def search(self, sentences, options, scored=True):
        """Yields pairs of a batch and its lists of `Hypothesis` without texts.

        `scored` is ignored, since scores cost nothing here.
        """
        linearization = self.codec.linearization
        if not linearization:  # no trees, whatever the options say
            options = options.replace(constrained=False)
        searches = [
            replica.search(options, self.codec.vocabularies)
            for replica in self.replicas
        ]
        costs = batching.estimate_search_costs(
            map(len, sentences.sources), options, linearization
        )
        batches = self._run(
            searches,
            sentences.sources,
            costs,
            self._min_positions(options),
            lambda batch: sentences.make_arrays(batch, options.extra_length),
        )
        return itertools.starmap(
            lambda batch, found: (batch, read_hypotheses(*found)), batches
        )

    def search_near(self, sources, pairs, options):
        """Returns lists of `Hypothesis` near existing translations.

        `pairs` has a list of pairs of encoded source and target for each
        source; see `search.neighbours`. Returns None for an ensemble and on
        JAX, which cannot do this.
        """
        search = self.replicas[0].search_near(options)
        if not search:
            return None
        rows = []
        # Sentences of similar lengths end at about the same step.
        order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
        for start in range(0, len(order), _NEAR_ROWS):
            batch = order[start : start + _NEAR_ROWS]
            arrays = engine.Sentences(sources).make_arrays(
                batch, options.extra_length
            )
            found = search(*arrays[:2], [pairs[i] for i in batch])
            rows += zip(batch, self.codec.decode(read_hypotheses(*found)))
        return [row for _, row in sorted(rows, key=lambda each: each[0])]

    def score(self, sources, targets, options):
        """Yields pairs of a batch and the list of its scores.

        The sources and targets are lists of lists of ids with the end id; a
        blank one has none. Only `alpha` of the options counts.
        """
        sides = sources, targets
        return self._run(
            [each.get_scorer(options.alpha) for each in self.replicas],
            sources,
            batching.estimate_scoring_costs(sources, targets),
            # Encoder and decoder hold all positions at once.
            max(1, self._min_positions(options) // 2),
            # A blank translation is only the end.
            lambda batch: [
                pad([side[i] or [END_ID] for i in batch]) for side in sides
            ],
        )

    def attend(self, sources, target_ids):
        """Returns the `Attention` of each sentence and its translation."""
        # Attention needs a token, and a blank text has only the end.
        return [
            compute_attention(
                self.model,
                self.codec.vocabularies,
                source or [END_ID],
                target or [END_ID],
            )
            for source, target in zip(sources, target_ids, strict=True)
        ]

    def link_words(self, sources, target_ids, pattern, scored=True):
        # An ensemble links words by the attention of its first model.
        first = self.model.list_models()[0]
        return find_links(
            first, self.codec.vocabularies, sources, target_ids, pattern
        )

    def _min_positions(self, options):
        return min(one.count_cache_positions(options) for one in self.replicas)

    def _run(self, compiled, sources, costs, budget, make_arrays):
        return self._runner.run(
            compiled,
            costs,
            budget,
            lambda i: self.codec.describe(sources[i]),
            make_arrays,
            fit_rows=_compiler().fit_rows,
        )


def read_hypotheses(sequences, scores):
    """Returns the hypotheses of each sentence of a batch, without texts.

    The arguments are arrays: ids of shape `(batch, num_hypotheses, length)`,
    and scores of shape `(batch, num_hypotheses)`.
    """
    # A score of -inf marks a hypothesis that does not exist.
    return [
        [
            engine.Hypothesis("", score, cut_after_end(sequence.tolist()))
            for sequence, score in zip(*row)
            if score > float("-inf")
        ]
        for row in zip(sequences, scores.tolist())
    ]


def cut_after_end(ids):
    """Returns the ids up to the first end id, or all without one."""
    return ids[: ids.index(END_ID) + 1] if END_ID in ids else ids


def _compiler():
    # Imported here because a vocabulary is opened before Keras is loaded.
    from keras_transformer.decoding.engines import compiled_search

    return compiled_search
