"""Translates sentences: prepare, encode, search, decode, finish, choose."""

import dataclasses
import functools
import typing
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from keras_transformer import fields
from keras_transformer.decoding.batching import Sentences
from keras_transformer.decoding.engines import Engine
from keras_transformer.decoding.engines import Hypothesis
from keras_transformer.decoding.engines import check_capabilities
from keras_transformer.decoding.engines.automatic import open_engine
from keras_transformer.decoding.scorer import Scorer
from keras_transformer.decoding.selection import Reranker
from keras_transformer.decoding.selection import sort_by_agreement
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.steps import check_translates
from keras_transformer.decoding.steps.affixes import TargetTag
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.glossary import check_glossary
from keras_transformer.decoding.steps.glossary import check_term_lengths
from keras_transformer.decoding.steps.glossary import find_missing_terms
from keras_transformer.decoding.steps.glossary import merge_hypotheses
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import Protection
from keras_transformer.decoding.steps.placeholders import check_protect
from keras_transformer.decoding.texts import prepare_texts
from keras_transformer.decoding.texts import read_windows
from keras_transformer.formats.exported import Paths
from keras_transformer.search.options import DecodeOptions


class CallOptions(typing.TypedDict, total=False):
    """The other arguments of a call of a translator, for type checkers."""

    beam_size: int | None
    alpha: float | None
    extra_length: int | None
    min_length: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    mbr_samples: int | None
    constrained: bool | None
    prefixes: list[str] | None
    seed: int
    glossary: Glossary | None
    protect: Placeholders | None


class Translator(Scorer):
    """Translates lists of sentences.

    Sentences of similar lengths are decoded together, as many as the memory
    allows. Each sentence gets the translation that it would get alone, and the
    order is that of the input. A batch that does not fit into memory is halved.
    A translation has at most `extra_length` tokens more than its source.

    An engine searches, and steps change the texts before the search and the
    hypotheses after it. `load` puts all of them together.

    Args:
        engine: A `KerasEngine`, `SavedModelEngine` or `CTranslate2Engine`.
        steps: List of `Step`. Defaults to none.
        reranker: A `Reranker`, which reorders the hypotheses. Defaults to None.

    Example:

        translator = Translator.load("runs/ende")  # or a list, an ensemble
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
        translator(["A dog."], num_hypotheses=2, return_scores=True)
        translator(["A dog."], temperature=0.8, top_k=10, seed=3)
    """

    sorts_samples = True  # by how well they agree, as `mbr_samples` asks

    def __init__(
        self,
        engine: Engine,
        steps: Sequence[Step] = (),
        reranker: Reranker | None = None,
    ):
        super().__init__(engine, steps, reranker)
        if reranker:
            reranker.check_translator(self)

    @classmethod
    def load(
        cls,
        path: Paths,
        step: int | str | list[int | str] | None = None,
        precision: str = "float32",
        engine: str = "auto",
        **options,
    ) -> typing.Self:
        """Opens a run, an ensemble or an exported model as a translator.

        The arguments are those of `load`, which returns a `Parser` for a model
        that parses, and those of this class except the engine. Unlike with
        `load`, there are no steps but those that are passed, so emoji are not
        kept. An ensemble has the decoding options of its first run.
        """
        return cls(open_engine(path, step, precision, engine), **options)

    # The last of the overloads is for calls with one of the flags.
    @typing.overload
    def __call__(
        self,
        texts: list[str],
        num_hypotheses: None = None,
        **options: typing.Unpack[CallOptions],
    ) -> list[str]: ...

    @typing.overload
    def __call__(  # type: ignore[overload-overlap]
        self,
        texts: list[str],
        num_hypotheses: int,
        **options: typing.Unpack[CallOptions],
    ) -> list[list[str]]: ...

    @typing.overload
    def __call__(
        self,
        texts: list[str],
        num_hypotheses: int | None = None,
        return_scores: bool = False,
        return_attention: bool = False,
        return_alignments: bool = False,
        return_word_scores: bool = False,
        **options: typing.Unpack[CallOptions],
    ) -> tuple: ...

    def __call__(
        self,
        texts,
        num_hypotheses=None,
        return_scores=False,
        return_attention=False,
        return_alignments=False,
        return_word_scores=False,
        prefixes=None,
        seed=0,
        **options,
    ):
        """Translates a list of sentences.

        Args:
            texts: List of str.
            num_hypotheses: Integer, the number of translations of each
                sentence. Defaults to None, which returns only the best one.
            return_scores: Whether to return the scores as well.
            return_attention: Whether to return the `Attention` of the best
                translations as well.
            return_alignments: Whether to return the links between the words of
                the best translations and their texts as well. Words are
                separated by spaces; see `WordLinks.find_pairs`.
            return_word_scores: Whether to return the log-probabilities of the
                words of the best translations as well, see `WordLinks.scores`.
            prefixes: List of str, one for each text, that the translations
                begin with. Defaults to None.
            seed: Integer seed of the sampler. Defaults to 0.
            **options: Other fields of `DecodeOptions` to change, such as
                `beam_size` (1 is greedy), `alpha` or `temperature`. Also
                `glossary`, a `Glossary` whose terms the translations obey, and
                `protect`, the `Placeholders` that they keep, which excludes
                `prefixes`, attention, alignments and word scores.

        Returns:
            List of str. With `num_hypotheses` it is a list of lists of str,
            best first. The translation of a blank text is empty.

            With one of the flags, a tuple that begins with this list. What
            the flags add follows in the order of the flags. The scores are
            nested in the same way and are log-probabilities divided by the
            length penalty; with `mbr_samples` they are mean chrF, or mean F1
            of trees. Everything else is a list with one entry for each text.
        """
        of_words = {
            "return_attention": return_attention,
            "return_alignments": return_alignments,
            "return_word_scores": return_word_scores,
        }
        check_capabilities(self.engine.capabilities, of_words)
        if protect := options.get("protect"):
            check_protect(protect, self.linearization, **of_words)
        hypotheses = list(
            self.hypotheses(
                texts,
                prefixes=prefixes,
                seed=seed,
                scored=return_scores,
                num_hypotheses=num_hypotheses,
                **options,
            )
        )
        results = [_nest(hypotheses, "text", num_hypotheses)]
        if return_scores:
            results.append(_nest(hypotheses, "score", num_hypotheses))
        if return_attention:
            results.append(self.attention(texts, hypotheses))
        if return_alignments or return_word_scores:
            links = self.word_links(
                texts, hypotheses, scored=return_word_scores
            )
        if return_alignments:
            results.append([each.find_pairs() for each in links])
        if return_word_scores:
            results.append([each.scores for each in links])
        return results[0] if len(results) == 1 else tuple(results)

    def translate(
        self,
        texts: Iterable[str],
        report: Callable[[int], object] | None = None,
        **options,
    ) -> Iterator[str]:
        """Yields the best translation of each of an iterable of texts, a str.

        The other arguments are those of `hypotheses`.
        """
        for best, *_ in self.hypotheses(texts, report, scored=False, **options):
            yield best.text

    def hypotheses(
        self,
        texts: Iterable[str],
        report: Callable[[int], object] | None = None,
        prefixes: Iterable[str] | None = None,
        seed: int = 0,
        start: int = 0,
        glossary: Glossary | None = None,
        protect: Placeholders | None = None,
        scored: bool = True,
        **options,
    ) -> Iterator[list[Hypothesis]]:
        """Yields the hypotheses of each sentence.

        The texts are read in windows. A large file therefore need not fit into
        memory, and the first translations come early.

        Args:
            texts: Iterable of str.
            report: Function that is called with the number of sentences after
                each batch. Defaults to None.
            prefixes: Iterable of str, one for each text. Defaults to None.
            seed, glossary, protect: See `__call__`.
            start: Integer, the number of texts before these. If it is a
                multiple of `texts.WINDOW`, the hypotheses are those of a call
                with all the texts. Defaults to 0.
            scored: Whether the scores are needed. An engine that is faster
                without them leaves them None. Defaults to True.
            **options: Fields of `DecodeOptions` to change.

        Yields:
            List of `Hypothesis` for each text, best first.
        """
        options = self.change_options(**options)
        steps = self.combine_steps(options, prefixes, seed, glossary, protect)
        searched = self.choose_search(options)
        scored = scored or bool(self.reranker)  # which adds to the scores
        # Each sentence has its own seed, so samples do not depend on the batch.
        generator = np.random.default_rng(seed)
        generator.integers(2**31, size=start, dtype="int32")
        for start, raw_texts, raw_prefixes in read_windows(
            texts, prefixes, start
        ):
            prepared, memories = prepare_texts(steps, raw_texts)
            sources = self.codec.encode(prepared, start)
            search: Callable = functools.partial(
                self.translate_ids,
                prefixes=self.codec.encode_prefixes(raw_prefixes, start),
                seeds=generator.integers(
                    2**31, size=len(sources), dtype="int32"
                ),
                scored=scored,
                **dataclasses.asdict(searched),
            )
            hypotheses = search(sources, report)
            if glossary:
                hypotheses = self._enforce_terms(
                    glossary, prepared, start, sources, hypotheses, search
                )
            for step, memory in zip(reversed(steps), reversed(memories)):
                hypotheses = step.finish(hypotheses, memory)
            if self.reranker:
                hypotheses = self.reranker.reorder(
                    raw_texts, hypotheses, options
                )
            yield from hypotheses

    def translate_ids(
        self,
        sources: list[list[int]],
        report: Callable[[int], object] | None = None,
        prefixes: list[list[int]] | None = None,
        seeds: np.ndarray | None = None,
        terms: list | None = None,
        scored: bool = True,
        **options,
    ) -> list[list[Hypothesis]]:
        """Translates the result of `encode` into lists of `Hypothesis`.

        Prefixes, terms and seeds are as in `Sentences`, the other arguments as
        in `hypotheses`. A blank source has one empty hypothesis.
        """
        options = self.change_options(**options)
        sentences = Sentences(sources, prefixes, terms, seeds)
        results = [[Hypothesis("", 0.0, [])] for _ in sources]
        for batch, hypotheses in self.engine.search(
            sentences, options.to_search_options(), scored
        ):
            decoded = self.codec.decode(hypotheses)
            for i, each in zip(batch, decoded):
                if options.mbr_samples and self.sorts_samples:
                    each = sort_by_agreement(each)[: options.num_hypotheses]
                results[i] = each
            if report:
                report(len(batch))
        if report:  # blank sentences are in no batch
            report(sum(not source for source in sources))
        return results

    def choose_search(self, options: DecodeOptions) -> DecodeOptions:
        """Returns the options of the search that a call needs."""
        if not self.reranker:
            return options
        return options.replace(num_hypotheses=options.num_beams)

    def combine_steps(
        self,
        options: DecodeOptions,
        prefixes: Iterable[str] | None = None,
        seed: int = 0,
        glossary: Glossary | None = None,
        protect: Placeholders | None = None,
    ) -> list[Step]:
        """Checks the arguments of a call, and returns its steps."""
        changes: dict = {"glossary": glossary, "protect": protect}
        changes |= {"prefixes": prefixes, "seed": seed}
        check_capabilities(self.engine.capabilities, changes)
        fields.check_seed(seed)
        if prefixes is not None:
            check_translates("prefixes", self.linearization)
        if glossary:
            check_glossary(glossary, options, self.linearization)
            check_term_lengths(glossary, self.count_tokens)
        if not protect:
            return self.steps
        # A tag such as <fr> looks like a part that must be kept.
        tags = {
            "tag": step.tag
            for step in self.steps
            if isinstance(step, TargetTag)
        }
        check_protect(protect, self.linearization, prefixes=prefixes, **tags)
        return [*self.steps, Protection(protect, glossary, self.engine)]

    def _enforce_terms(
        self, glossary, texts, start, sources, hypotheses, search
    ):
        """Searches again for sentences that lack terms of a glossary."""
        terms = find_missing_terms(
            glossary, texts, hypotheses, self.codec.normalize
        )
        if not any(terms):
            return hypotheses
        constrained = search(
            [source if each else [] for source, each in zip(sources, terms)],
            terms=self.codec.encode_terms(terms, start),
        )
        return merge_hypotheses(constrained, hypotheses, terms)


def _nest(hypotheses, field, num_hypotheses):
    values = [[getattr(one, field) for one in each] for each in hypotheses]
    return values if num_hypotheses else [best for best, *_ in values]
