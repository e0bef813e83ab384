"""Uses CTranslate2 to find the hypotheses that our beam search finds.

CTranslate2 keeps the same beams, but it stops, ends and ranks differently:

- It stops at `beam_size` finished hypotheses, while we continue until no beam
  can win. We therefore give it patience.
- It divides log-probabilities by a power of the length. We rank all its
  hypotheses again by our length penalty.
- It stops at the length limit. We add the end there and score the result.
- It writes padding and the unknown id where a model prefers them. We search
  such sentences again without these ids, and score the results.

One difference remains. Among the candidates of a step we accept an end that is
one of the best `2 * beam_size`, and CTranslate2 only one of the best
`beam_size`. A hypothesis with such an unlikely end seldom wins. In about one
sentence of a thousand it does, and CTranslate2 misses it.
"""

import contextlib
import dataclasses
import itertools
import math
import typing

import numpy as np

from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.errors import UserError
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import NEVER_WRITTEN

BATCH_ROWS = 64
INT8_BATCH_ROWS = 32  # products of 8-bit numbers are faster with fewer rows
BATCH_TOKENS = 2048  # of the sources, padding included
# The search ends after this many times `beam_size` finished hypotheses.
# Compared with a search without this limit, patience 1 changes 9 of 1,000
# translations, 1.5 changes 1, and 2 or more changes none.
PATIENCE = 2.0
# With few ids, the end is often among the best of a step, and too early. With
# the nine ids of SCAN, patience 2 changes 20 of 100 translations, and 8 none.
MAX_PATIENCE = 8.0
_SILENT_IDS = frozenset(NEVER_WRITTEN)


@dataclasses.dataclass
class Request:
    """A sentence to translate, and the hypotheses found so far."""

    source: list  # ids with the end id
    prefix: list  # ids that the translation begins with, without the end id
    limit: int  # maximum length of the translation with its end id
    log_probs: dict | None = None  # by tuple of ids; None = unknown

    def is_cut(self):
        """Returns whether a hypothesis has no end or exceeds the limit."""
        return any(self._is_cut(ids) for ids in self.log_probs)

    def has_silent_ids(self):
        """Returns whether a hypothesis holds ids that stand for no text."""
        return not all(
            _SILENT_IDS.isdisjoint(ids[len(self.prefix) :])
            for ids in self.log_probs
        )

    def end_at_limit(self):
        """Ends every hypothesis at the limit or before."""
        ended = {}
        for ids, log_prob in self.log_probs.items():
            if self._is_cut(ids):
                ids, log_prob = (*ids[: self.limit - 1], END_ID), None
            ended[ids] = log_prob
        self.log_probs = ended

    def select(self, options):
        """Returns the best `num_hypotheses` without their texts, best first."""
        # Only a search for a single hypothesis may leave its score unknown.
        if None in self.log_probs.values():
            return [Hypothesis("", None, list(ids)) for ids in self.log_probs]
        hypotheses = [
            Hypothesis(
                "", log_prob / ((5 + len(ids)) / 6) ** options.alpha, list(ids)
            )
            for ids, log_prob in self.log_probs.items()
        ]
        hypotheses.sort(key=lambda one: -one.score)
        return hypotheses[: options.num_hypotheses]

    def _is_cut(self, ids):
        return ids[-1] != END_ID or len(ids) > self.limit


@contextlib.contextmanager
def _explain_missing_libraries():
    """Says what to do if CTranslate2 sees a GPU but no library for it."""
    try:
        yield
    except RuntimeError as error:
        if "Library " not in str(error):
            raise
        raise UserError(
            "CTranslate2 does not find the libraries of CUDA to use a GPU: "
            f"{' '.join(str(error).split())}. Install "
            "nvidia-cublas-cu12 and name its folder in LD_LIBRARY_PATH, or "
            "set CUDA_VISIBLE_DEVICES=-1 to use the processor."
        ) from error


@dataclasses.dataclass
class CTranslate2Search:
    """Searches for translations of encoded sentences."""

    engine: typing.Any  # a `ctranslate2.Translator`
    source_pieces: list  # texts of the ids of the source
    pieces: list  # texts of the ids of the target
    adds_end: bool  # whether the engine adds the end to each source
    has_shortlist: bool = False  # for searches without a prefix

    def __post_init__(self):
        self.ids = {piece: id_ for id_, piece in enumerate(self.pieces)}
        is_int8 = self.engine.compute_type.startswith("int8")
        self.batch_rows = INT8_BATCH_ROWS if is_int8 else BATCH_ROWS

    @_explain_missing_libraries()
    def __call__(self, requests, options, scored=True):
        """Finds the hypotheses of each `Request`, without texts, best first.

        A request gets `num_hypotheses`, or fewer if fewer exist. Without
        `scored`, greedy search and a single sample leave the scores None, which
        saves a softmax over the vocabulary at each step.
        """
        # With several hypotheses, the scores tell which one is the best.
        is_search = options.beam_size > 1 and not options.temperature
        scored = scored or is_search or options.num_hypotheses > 1
        # CTranslate2 translates no source without tokens. Its translation
        # consists of the prefix and the end.
        for request in requests:
            if request.source == [END_ID]:
                request.log_probs = {(*request.prefix, END_ID): None}
        searched = [each for each in requests if each.source != [END_ID]]
        # A batch has a single limit, so similar limits are searched together.
        by_limit = sorted(searched, key=lambda request: -request.limit)
        # These options change the distribution. CTranslate2 then returns the
        # scores of the changed one, while ours always come from the model.
        # Suppressing ids changes it too, but trained models avoid them anyway.
        changes = options.temperature, options.min_length
        if any(changes) or options.no_repeat_ngram_size:
            self._find(by_limit, options, scored, suppress=True)
        else:
            self._find(by_limit, options, scored)
            silent = [
                request for request in by_limit if request.has_silent_ids()
            ]
            self._find(silent, options, scored, suppress=True)
        for request in requests:
            request.end_at_limit()
            # A shortlist gives other scores than the whole vocabulary, so the
            # hypotheses of a request are compared by one of the two.
            if self.has_shortlist and None in request.log_probs.values():
                request.log_probs = dict.fromkeys(request.log_probs)
        if scored:
            self.score(requests)
        return [request.select(options) for request in requests]

    @_explain_missing_libraries()
    def score(self, requests):
        """Computes the log-probabilities that are unknown in requests."""
        unknown = [
            (request, ids)
            for request in requests
            for ids, log_prob in request.log_probs.items()
            if log_prob is None
        ]
        if not unknown:
            return
        results = self._score_tokens(
            (request.source, ids[:-1]) for request, ids in unknown
        )
        for (request, ids), log_probs in zip(unknown, results):
            request.log_probs[ids] = sum(log_probs)

    @_explain_missing_libraries()
    def attend(self, pairs, scored=True):
        """Returns the attention and the log-probabilities of translations.

        Args:
            pairs: List of pairs of ids: a source with the end id, and its
                translation without it.

        Returns:
            List of pairs of arrays. The first is cross-attention, the mean over
            the heads of the last layer, of shape `(target_len, source_len)`.
            The second has the log-probabilities of the tokens and of the end,
            of shape `(target_len + 1,)`; without `scored` it is None.
        """
        sources, targets = zip(*pairs)
        results = self.engine.translate_batch(
            list(map(self._source, sources)),
            list(map(self._tokens, targets)),
            beam_size=1,
            max_input_length=0,
            # The search adds at least one token to those that are given.
            max_decoding_length=max(map(len, targets)) + 1,
            return_attention=True,
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
        )
        attended = []
        for source, target, result in zip(sources, targets, results):
            weights = np.zeros((len(target), len(source)))
            # CTranslate2 leaves out the end if it has added it to the source.
            for row, attention in zip(weights, result.attention[0]):
                row[: len(attention)] = attention
            attended.append(weights)
        log_probs = [None] * len(pairs)
        if scored:
            log_probs = map(np.array, self._score_tokens(pairs))
        return list(zip(attended, log_probs))

    def _score_tokens(self, pairs):
        results = self.engine.score_batch(
            *zip(*((self._source(a), self._tokens(b)) for a, b in pairs)),
            # CTranslate2 adds the end to a target, and scores it.
            max_input_length=0,  # no limit; by default 1,024 tokens are read
            max_batch_size=BATCH_TOKENS,
            batch_type="tokens",
        )
        return [result.log_probs for result in results]

    def _find(self, by_limit, options, scored, suppress=False):
        """Searches for hypotheses of requests that are sorted by limit."""
        # With `suppress`, it excludes the ids of `NEVER_WRITTEN`, and the
        # log-probabilities stay unknown.
        self._run(self._split(by_limit), options, scored, suppress)
        if options.beam_size > 1 and not options.temperature:
            # A sentence that reached the limit of its batch, or exceeded its
            # own, is searched again together with others of the same limit.
            cut = [request for request in by_limit if request.is_cut()]
            batches = itertools.chain.from_iterable(
                self._split(list(group))
                for _, group in itertools.groupby(cut, lambda one: one.limit)
            )
            self._run(batches, options, scored, suppress)

    def _run(self, batches, options, scored, suppress):
        # All batches start before the first result is awaited, so that each of
        # CTranslate2's threads has work.
        started = []
        for batch in batches:
            arguments = self._arguments(batch, options, scored, suppress)
            results = self.engine.translate_batch(**arguments)
            started.append((batch, results))
        for batch, results in started:
            for request, result in zip(batch, results):
                request.log_probs = self._log_probs(result.result(), options)
                if request.prefix or suppress:
                    # CTranslate2 gives a prefix the probability 1.
                    request.log_probs = dict.fromkeys(request.log_probs)

    def _arguments(self, batch, options, scored, suppress):
        """Returns the arguments that translate a batch up to its limit."""
        # Our limit counts the end, which `end_at_limit` adds to cut hypotheses.
        limit = max(1, max(request.limit for request in batch) - 1)
        arguments = {
            "beam_size": options.beam_size,
            "num_hypotheses": options.num_hypotheses,
        }
        if options.temperature:
            arguments["beam_size"] = 1
            arguments["sampling_temperature"] = options.temperature
            # CTranslate2 refuses more than there are.
            arguments["sampling_topk"] = min(options.top_k, len(self.pieces))
            arguments["sampling_topp"] = options.top_p
        elif options.beam_size > 1:
            patience = min(PATIENCE + limit / len(self.pieces), MAX_PATIENCE)
            number = round(patience * options.beam_size)
            arguments["patience"] = number / options.beam_size
            arguments["num_hypotheses"] = number
        if suppress:
            arguments["suppress_sequences"] = [
                [self.pieces[id_]] for id_ in NEVER_WRITTEN
            ]
        prefixes = None
        if any(request.prefix for request in batch):
            prefixes = [self._tokens(request.prefix) for request in batch]
        # CTranslate2 4.8 takes wrong ids from prefixes if it has a shortlist,
        # and samples are drawn from the distribution of the model.
        is_free = not (prefixes or options.temperature)
        return {
            "source": [self._source(request.source) for request in batch],
            "target_prefix": prefixes,
            "length_penalty": options.alpha,
            "max_input_length": 0,
            "max_decoding_length": limit,
            "min_decoding_length": min(options.min_length, limit),
            "no_repeat_ngram_size": options.no_repeat_ngram_size,
            "return_scores": scored,
            "return_end_token": True,
            "use_vmap": self.has_shortlist and is_free,
            "asynchronous": True,
            **arguments,
        }

    def _log_probs(self, result, options):
        # Each use of these attributes makes new lists.
        hypotheses, scores = result.hypotheses, result.scores
        log_probs = {}
        for tokens, score in itertools.zip_longest(hypotheses, scores):
            ids = tuple(map(self.ids.__getitem__, tokens))
            if score is not None:
                # Undoes CTranslate2's length penalty.
                score *= len(ids) ** options.alpha
            log_probs[ids] = score
        return log_probs

    def _source(self, ids):
        if self.adds_end:
            ids = ids[:-1]
        return [self.source_pieces[id_] for id_ in ids]

    def _tokens(self, ids):
        return [self.pieces[id_] for id_ in ids]

    def _split(self, requests):
        # A few sentences are shared by all threads.
        share = math.ceil(len(requests) / self.engine.num_translators)
        max_rows = min(self.batch_rows, share)
        while requests:
            # All rows are padded to the longest, so it decides how many fit.
            longest = max(len(one.source) for one in requests[:max_rows])
            rows = max(1, min(max_rows, BATCH_TOKENS // longest))
            yield requests[:rows]
            requests = requests[rows:]
