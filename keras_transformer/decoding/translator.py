"""Sentences in, translations out: batches, search, order restored."""

import numpy as np

from keras_transformer.decoding import threads
from keras_transformer.decoding.batches import CACHE_POSITIONS
from keras_transformer.decoding.batches import WINDOW
from keras_transformer.decoding.batches import check_pairs
from keras_transformer.decoding.batches import encode
from keras_transformer.decoding.batches import encode_prefixes
from keras_transformer.decoding.batches import in_parallel
from keras_transformer.decoding.batches import plan_batches
from keras_transformer.decoding.batches import search_costs
from keras_transformer.decoding.batches import windows
from keras_transformer.decoding.text_translator import Hypothesis
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.trees.target_text import linearization_of


class Translator(TextTranslator):
    """Translates sentences with a trained model.

    Sentences of similar lengths are decoded together, as many as fit the
    memory; the result is that of decoding each alone, in the order of the
    input. A translation has at most `extra_length` tokens more than its
    source. The search is compiled at the first call and follows the model's
    weights: a model in training can be translated with again and again.

    Args:
        model: a `Transformer`.
        vocabulary: its `Subwords`.
        hparams: its `HParams`, for `beam_size`, `alpha` and `extra_length`.
        num_threads: batches that are decoded side by side.

    Example:

        translator = Translator.load("runs/ende")
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
        translator(["A dog."], num_hypotheses=2, return_scores=True)
        translator(["A dog."], temperature=0.8, top_k=10, seed=3)
    """

    def __init__(self, model, vocabulary, hparams, num_threads=1):
        self.model = model
        self.vocabulary = vocabulary
        self.num_threads = num_threads
        self.options = DecodeOptions.of(hparams)
        self.linearization = linearization_of(vocabulary)
        self._searches = {}
        self._scorings = {}

    @classmethod
    def load(cls, path, step=None, precision="float32"):
        """Makes the translator of a run's directory or of an exported model.

        Args:
            path: the directory that kt-trainer, kt-avg-checkpoints or
                kt-exporter wrote.
            step: of a run's checkpoint, or "best"; by default the newest.
            precision: "float32", "bfloat16" or "float16", of a run's model; an
                exported one has its own.

        Returns:
            a `Translator`, `SavedModelTranslator` or `CTranslate2Translator`.
            All are called alike.
        """
        from keras_transformer.decoding import exported

        form = exported.export_format(path)
        if form == "ctranslate2":
            from keras_transformer.decoding import ctranslate2_translator

            return ctranslate2_translator.CTranslate2Translator(path)
        if form == "saved_model":
            from keras_transformer.decoding import saved_model_translator

            return saved_model_translator.SavedModelTranslator(path)
        from keras_transformer.runs.run_directory import RunDirectory
        from keras_transformer.runs.weights import load_model

        run = RunDirectory(path)
        model = load_model(run, step, precision)
        return cls(model, run.vocabulary, run.hparams, threads.num_threads())

    def hypotheses(self, texts, report=None, prefixes=None, seed=0, **options):
        generator = np.random.default_rng(seed)
        for window, window_prefixes in windows(texts, prefixes, WINDOW):
            seeds = generator.integers(2**31, size=len(window), dtype="int32")
            yield from self.translate_ids(
                encode(self.vocabulary, window),
                report,
                encode_prefixes(self.vocabulary, window_prefixes),
                seeds,
                **options,
            )

    def translate_ids(
        self, sources, report=None, prefixes=None, seeds=None, **options
    ):
        """Translates sentences that are encoded already.

        Args:
            sources: list of lists of ids, with the end id.
            report: as in `hypotheses`.
            prefixes: list of lists of ids, without the end id.
            seeds: int32 array, a random number for each, to draw samples with.
            **options: fields of `DecodeOptions` to change.

        Returns:
            list of lists of `Hypothesis`, best first; an empty source gives
            one that is empty.
        """
        options = self.options.replace(**options)
        search = self._search(options)

        def find(batch):
            lengths = [len(sources[i]) for i in batch]
            batch_prefixes = None
            if prefixes:
                batch_prefixes = _pad([prefixes[i] for i in batch])
                shortest = [len(prefixes[i]) + 1 for i in batch]
                lengths = np.maximum(lengths, shortest)
            return search(
                _pad([sources[i] for i in batch]),
                np.array(lengths, "int32") + options.extra_length,
                batch_prefixes,
                None if seeds is None else seeds[batch],
            )

        results = [[Hypothesis("", 0.0, [])] for _ in sources]
        planned = self._batches(sources, options)
        for batch, found in in_parallel(find, planned, self.num_threads):
            for i, sequences, scores in zip(batch, *found):
                results[i] = self._hypotheses(sequences, scores.tolist())
            if report:
                report(len(batch))
        if report:
            report(sum(not ids for ids in sources))
        return results

    def score(self, texts, translations, alpha=None):
        """Scores given translations as the search would have scored them.

        Of trees, as a search that is not `constrained` would have; one that is
        shares the probability of what is illegal among the legal.

        Args:
            texts: list of str.
            translations: list of str, one for each.
            alpha: exponent of the length penalty, by default that of the run.

        Returns:
            list of float: log-probabilities divided by the length penalty.
        """
        check_pairs(texts, translations)
        sources = encode(self.vocabulary, list(enumerate(texts, 1)))
        targets = encode(self.vocabulary, list(enumerate(translations, 1)))
        return self.score_ids(sources, targets, alpha)

    def score_ids(self, sources, targets, alpha=None):
        """Scores translations that are encoded already, see `score`.

        Args:
            sources, targets: lists of lists of ids, with the end ids; a source
                without any gives 0.
            alpha: see `score`.
        """
        alpha = self.options.alpha if alpha is None else alpha
        if alpha not in self._scorings:
            self._scorings[alpha] = _compiler().compile_scoring(
                self.model, alpha
            )
        longest = [
            max(len(source), len(target)) if source else 0
            for source, target in zip(sources, targets, strict=True)
        ]
        scoring = self._scorings[alpha]

        def find(batch):
            return scoring(
                *(
                    _pad([(ids[i] or [END_ID]) for i in batch])
                    for ids in (sources, targets)
                )
            )

        scores = [0.0] * len(sources)
        planned = self._fitting(longest, CACHE_POSITIONS // 2)
        for batch, found in in_parallel(find, planned, self.num_threads):
            for i, score in zip(batch, found.tolist()):
                scores[i] = score
        return scores

    def _batches(self, sources, options):
        """Indices of sentences to decode together, longest first."""
        lengths = map(len, sources)
        costs = search_costs(lengths, options, self.linearization)
        return self._fitting(costs, CACHE_POSITIONS)

    def _fitting(self, costs, budget):
        fitting_rows = _compiler().fitting_rows
        return plan_batches(costs, budget, self.num_threads, fitting_rows)

    def _hypotheses(self, sequences, scores):
        # Where fewer than asked for exist, the others never scored.
        ids = [
            _until_end(sequence)
            for sequence, score in zip(sequences, scores)
            if score > float("-inf")
        ]
        return [
            # A model can spell a line's end in bytes; a line stays one.
            Hypothesis(text.replace("\n", " "), *rest)
            for text, *rest in zip(self.vocabulary.decode(ids), scores, ids)
        ]

    def attention(self, texts, found):
        from keras_transformer.decoding.attention import attention_of

        sources = encode(self.vocabulary, list(enumerate(texts, 1)))
        return [
            attention_of(
                self.model,
                self.vocabulary,
                ids or [END_ID],
                best.ids or [END_ID],
            )
            for ids, (best, *_) in zip(sources, found)
        ]

    def _search(self, options):
        """The compiled search, one for all batches."""
        if options not in self._searches:
            self._searches[options] = _compiler().compile_search(
                self.model, options, self.vocabulary
            )
        return self._searches[options]


def _compiler():
    # Late, since exported models are translated with without Keras.
    from keras_transformer.decoding import compiled_search

    return compiled_search


def _pad(sequences):
    padded = np.zeros((len(sequences), max(map(len, sequences))), "int32")
    for row, ids in zip(padded, sequences):
        row[: len(ids)] = ids
    return padded


def _until_end(sequence):
    ids = sequence.tolist()
    return ids[: ids.index(END_ID) + 1] if END_ID in ids else ids
