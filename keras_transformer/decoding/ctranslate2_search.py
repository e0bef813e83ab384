"""Finds with CTranslate2 what our own beam search finds.

CTranslate2 keeps the same beams step by step, but it stops, ends and ranks
otherwise. It stops once it has `beam_size` finished hypotheses, where we go on
until no beam can win: it is given patience. It divides log-probabilities by a
power of the length: all that it finds is ranked again. At the limit it breaks
off: the end is put there and scored. One thing remains: of a step's candidates
we take an end that is among the best `2 * beam_size`, CTranslate2 one that is
among the best `beam_size`. So unlikely a hypothesis seldom wins; where it does,
about once in a thousand sentences, CTranslate2 misses it.
"""

import dataclasses
import itertools

from keras_transformer.decoding.text_translator import Hypothesis
from keras_transformer.token_ids import END_ID

BATCH_ROWS = 32
BATCH_TOKENS = 2048  # of sources, filled up to one length
# Ends the search at so many times `beam_size` hypotheses. Of 1,000
# translations 1 changes 9, 1.5 changes 1, and more than 2 none.
PATIENCE = 2.0


@dataclasses.dataclass
class Request:
    """A sentence to translate, and what is found for it."""

    source: list  # ids with the end id
    prefix: list  # ids that the translation begins with, without the end id
    limit: int  # greatest length of the translation, the end counted
    found: dict = None  # ids, a tuple, to log-probability; None = unknown

    def is_cut(self):
        """Tells whether the search broke off, or went beyond the limit."""
        return any(self._is_cut(ids) for ids in self.found)

    def end(self):
        """Ends all hypotheses at the limit at the latest."""
        ended = {}
        for ids, log_prob in self.found.items():
            if self._is_cut(ids):
                ids, log_prob = (*ids[: self.limit - 1], END_ID), None
            ended[ids] = log_prob
        self.found = ended

    def best(self, options):
        """Returns the `num_hypotheses` best, texts left out, best first."""
        hypotheses = [
            Hypothesis(
                "", log_prob / ((5 + len(ids)) / 6) ** options.alpha, list(ids)
            )
            for ids, log_prob in self.found.items()
        ]
        hypotheses.sort(key=lambda one: -one.score)
        return hypotheses[: options.num_hypotheses]

    def _is_cut(self, ids):
        return ids[-1] != END_ID or len(ids) > self.limit


class CTranslate2Search:
    """Searches for translations of encoded sentences.

    Args:
        engine: a `ctranslate2.Translator`.
        pieces: list of str, the text of each id.
    """

    def __init__(self, engine, pieces):
        self.engine = engine
        self.pieces = pieces
        self.ids = {piece: id_ for id_, piece in enumerate(pieces)}

    def __call__(self, requests, options):
        """Finds the hypotheses of sentences.

        Args:
            requests: list of `Request`.
            options: a `DecodeOptions`.

        Returns:
            for each a list of `Hypothesis` without text, best first:
            `num_hypotheses`, or fewer where fewer exist.
        """
        order = sorted(requests, key=lambda request: -request.limit)
        self._run(_batches(order), options)
        if options.beam_size > 1 and not options.temperature:
            # A batch has one limit. What met it, or went beyond its own, is
            # searched again among its equals.
            cut = [request for request in order if request.is_cut()]
            equal = itertools.groupby(cut, lambda request: request.limit)
            for _, group in equal:
                self._run(_batches(list(group)), options)
        for request in requests:
            request.end()
        self.score(requests)
        return [request.best(options) for request in requests]

    def score(self, requests):
        """Computes the log-probabilities that are unknown.

        Args:
            requests: list of `Request` with `found`.
        """
        unknown = [
            (request, ids)
            for request in requests
            for ids, log_prob in request.found.items()
            if log_prob is None
        ]
        if not unknown:
            return
        results = self.engine.score_batch(
            [self._texts(request.source) for request, _ in unknown],
            [self._texts(ids[:-1]) for _, ids in unknown],
            max_input_length=0,
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
        )
        for (request, ids), result in zip(unknown, results):
            request.found[ids] = sum(result.log_probs)

    def _run(self, batches, options):
        # Those of CTranslate2 are of what is left after sharpening, and after
        # the end is forbidden.
        scores_differ = options.temperature or options.min_length
        started = [(batch, self._start(batch, options)) for batch in batches]
        for batch, results in started:
            for request, result in zip(batch, results):
                request.found = self._hypotheses(result.result(), options)
                if request.prefix or scores_differ:
                    # CTranslate2 gives a prefix the probability 1.
                    request.found = dict.fromkeys(request.found)

    def _start(self, batch, options):
        """Begins to translate a batch, up to its greatest limit."""
        limit = max(1, max(request.limit for request in batch) - 1)
        arguments = {
            "beam_size": options.beam_size,
            "num_hypotheses": options.num_hypotheses,
        }
        if options.temperature:
            arguments["beam_size"] = 1
            arguments["sampling_temperature"] = options.temperature
            arguments["sampling_topk"] = options.top_k
            arguments["sampling_topp"] = options.top_p
        elif options.beam_size > 1:
            arguments["patience"] = PATIENCE
            arguments["num_hypotheses"] = round(PATIENCE * options.beam_size)
        prefixes = None
        if any(request.prefix for request in batch):
            prefixes = [self._texts(request.prefix) for request in batch]
        return self.engine.translate_batch(
            [self._texts(request.source) for request in batch],
            prefixes,
            length_penalty=options.alpha,
            max_input_length=0,  # any
            max_decoding_length=limit,
            min_decoding_length=min(options.min_length, limit),
            return_scores=True,
            return_end_token=True,
            asynchronous=True,
            **arguments,
        )

    def _hypotheses(self, result, options):
        found = {}
        for texts, score in zip(result.hypotheses, result.scores):
            ids = tuple(map(self.ids.__getitem__, texts))
            found[ids] = score * len(ids) ** options.alpha
        return found

    def _texts(self, ids):
        return [self.pieces[id_] for id_ in ids]


def _batches(requests):
    """Yields batches of requests that are sorted by length."""
    while requests:
        longest = max(len(request.source) for request in requests[:BATCH_ROWS])
        rows = max(1, min(BATCH_ROWS, BATCH_TOKENS // longest))
        yield requests[:rows]
        requests = requests[rows:]
