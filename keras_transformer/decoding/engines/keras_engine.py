"""Searches with the model of a run, or an ensemble of runs, on Keras."""

import functools

from keras_transformer.data.vocabularies import Vocabularies
from keras_transformer.decoding import batching
from keras_transformer.decoding.attention import compute_attention
from keras_transformer.decoding.attention import find_links
from keras_transformer.decoding.engines import Capabilities
from keras_transformer.decoding.engines import Hypothesis
from keras_transformer.decoding.texts import Codec
from keras_transformer.errors import UserError
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.trees.target_text import find_linearization

_SUPPORTED = ("checkpoints", "choice_of_samples", "glossary", "placeholders")
_SUPPORTED += ("prefixes", "reranking", "samples", "seeds")
ENSEMBLE = Capabilities("An ensemble", "one of its runs", _SUPPORTED)
# Only a single model has attention that can be shown.
RUN = Capabilities(
    "A run", "another run", (*_SUPPORTED, "attention", "word_links")
)


class KerasEngine:
    """Searches with a model on each device of the machine.

    The search is compiled at the first call. It reads the current weights of
    the model, so an engine can follow a model through its training.

    The model is a built `Transformer`, an `Ensemble` of several, or None if
    nothing is searched. The `vocabulary`, a `Subwords`, serves both sides
    unless there is a `source_vocabulary`. The `HParams` set the defaults of
    decoding, and `num_threads` batches run at the same time. `replicas` are
    `Replica`s, the first with the model; by default there is only the model.
    """

    max_length = None
    # The `Chart` and the `Tagger` of a run that parses, if it has them.
    chart = tagger = None

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
        self.codec = Codec(
            Vocabularies(vocabulary, source_vocabulary or vocabulary)
        )
        self.capabilities = ENSEMBLE if hasattr(model, "models") else RUN
        self.options = DecodeOptions.from_hparams(hparams)
        self.linearization = find_linearization(vocabulary)
        self.trained_length = hparams.max_length
        self.num_threads = num_threads
        self.replicas = replicas or []
        if model is not None and not replicas:
            self.replicas = [_compiler().Replica(model)]
        self._runner = batching.BatchRunner(num_threads)

    @classmethod
    def load(cls, paths, step=None, precision="float32"):
        """Opens a list of runs, with a copy of the model on each GPU."""
        runs = open_runs(paths)
        steps = find_steps(runs, step)
        replicas = _compiler().load_replicas(
            lambda: _load_model(runs, steps, precision)
        )
        model = replicas[0].model
        engine = cls(
            model,
            runs[0].vocabulary,
            runs[0].hparams,
            max(batching.count_threads(), len(replicas)),
            runs[0].source_vocabulary,
            replicas,
        )
        if engine.linearization:
            # Imported here because they load Keras.
            from keras_transformer.decoding.encoder_heads import load_tagger
            from keras_transformer.decoding.encoder_heads import make_chart

            models = getattr(model, "models", [model])
            engine.chart = make_chart(models, engine.codec.vocabularies)
            engine.tagger = load_tagger(runs[0], steps[0], models[0])
        return engine

    @classmethod
    def load_vocabularies(cls, paths):
        """Opens the vocabularies of runs, for work that needs no model."""
        run = open_runs(paths)[0]
        engine = cls(
            None,
            run.vocabulary,
            run.hparams,
            source_vocabulary=run.source_vocabulary,
        )
        engine.capabilities = ENSEMBLE if len(paths) > 1 else RUN
        return engine

    def search(self, sentences, options, scored=True):
        """Yields pairs of a batch and its lists of `Hypothesis` without texts.

        `scored` is ignored, since scores cost nothing here.
        """

        def translate(search, batch):
            arrays = sentences.make_arrays(batch, options.extra_length)
            return read_hypotheses(*search(*arrays))

        if not self.linearization:  # one search serves both values
            options = options.replace(constrained=False)
        searches = [
            replica.search(options, self.codec.vocabularies)
            for replica in self.replicas
        ]
        costs = batching.estimate_search_costs(
            map(len, sentences.sources), options, self.linearization
        )
        budget = self._min_positions(options)
        return self._run(translate, searches, sentences.sources, costs, budget)

    def score(self, sources, targets, options):
        """Yields pairs of a batch and the list of its scores.

        The sources and targets are lists of lists of ids with the end id; a
        blank one has none. Only `alpha` of the options counts.
        """

        def score_pairs(scorer, batch):
            # A blank translation is only the end.
            pairs = [
                batching.pad([side[i] or [END_ID] for i in batch])
                for side in (sources, targets)
            ]
            return scorer(*pairs).tolist()

        scorers = [each.get_scorer(options.alpha) for each in self.replicas]
        costs = batching.estimate_scoring_costs(sources, targets)
        # Encoder and decoder hold all positions at once.
        budget = max(1, self._min_positions(options) // 2)
        return self._run(score_pairs, scorers, sources, costs, budget)

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
        """Returns the `WordLinks` of sentences and their translations.

        Without `scored`, an engine may leave out the scores of the words.
        """
        # An ensemble links words by the attention of its first model.
        (model, *_) = getattr(self.model, "models", [self.model])
        return find_links(
            model, self.codec.vocabularies, sources, target_ids, pattern
        )

    def _min_positions(self, options):
        return min(one.count_cache_positions(options) for one in self.replicas)

    def _run(self, function, compiled, sources, costs, budget):
        return self._runner.run(
            [functools.partial(function, one) for one in compiled],
            costs,
            budget,
            lambda i: self.codec.describe(sources[i]),
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
            Hypothesis("", score, cut_after_end(sequence.tolist()))
            for sequence, score in zip(*row)
            if score > float("-inf")
        ]
        for row in zip(sequences, scores.tolist())
    ]


def cut_after_end(ids):
    """Returns the ids up to the first end id, or all without one."""
    return ids[: ids.index(END_ID) + 1] if END_ID in ids else ids


def open_runs(paths):
    """Opens one run, or the runs of an ensemble, as `RunDirectory`s."""
    first, *others = map(RunDirectory, paths)
    for other in others:
        if other.vocabularies.model_bytes != first.vocabularies.model_bytes:
            raise UserError(
                "The runs of an ensemble must have the same vocabulary. "
                f"Received: {first.path} and {other.path} with different "
                "ones. Train both on the data of one problem."
            )
    return [first, *others]


def _load_model(runs, steps, precision):
    """Builds the model of a list of opened runs, an `Ensemble` if several."""
    # Imported here because they load Keras.
    from keras_transformer.runs import weights
    from keras_transformer.search.ensemble import Ensemble

    models = [
        weights.load_model(run, step, precision)
        for run, step in zip(runs, steps)
    ]
    return models[0] if len(models) == 1 else Ensemble(models)


def find_steps(runs, step=None):
    """Returns the integer step of each run's checkpoint.

    `step` is one for all runs, or a list with an entry for each. The numbers
    stay the same while the runs train on.
    """
    steps = step if isinstance(step, list | tuple) else [step] * len(runs)
    if len(steps) != len(runs):
        raise UserError(
            "`step` must have one entry for each run. Received: "
            f"{len(steps)} steps of {len(runs)} runs. Pass equally many."
        )
    return [run.checkpoints.find(one) for run, one in zip(runs, steps)]


def _compiler():
    # Imported here because a vocabulary is opened before Keras is loaded.
    from keras_transformer.decoding.engines import compiled_search

    return compiled_search
