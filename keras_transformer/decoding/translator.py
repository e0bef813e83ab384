"""Translates sentences: prepare, encode, search, decode, finish, choose."""

import dataclasses
import functools
import typing
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence

import numpy as np

from keras_transformer.decoding import preparation
from keras_transformer.decoding.engines.engine import Engine
from keras_transformer.decoding.engines.engine import Hypothesis
from keras_transformer.decoding.engines.engine import Sentences
from keras_transformer.decoding.engines.engine import check_capabilities
from keras_transformer.decoding.plan import plan_model
from keras_transformer.decoding.repair import repair_translations
from keras_transformer.decoding.selection import sort_by_agreement
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders
from keras_transformer.decoding.steps.placeholders import Protection
from keras_transformer.decoding.steps.placeholders import check_protect
from keras_transformer.decoding.term_search import enforce_terms
from keras_transformer.decoding.translation import TOO_LONG
from keras_transformer.decoding.translation import CallOptions
from keras_transformer.decoding.translation import Extras
from keras_transformer.decoding.translation import Translation
from keras_transformer.decoding.translation import translate_parts
from keras_transformer.decoding.translation_model import Reranker
from keras_transformer.decoding.translation_model import TranslationModel
from keras_transformer.errors import UserError
from keras_transformer.formats.exported import Paths
from keras_transformer.search.options import DecodeOptions


class Translator(TranslationModel):
    """Translates lists of sentences.

    Sentences of similar lengths are decoded together, as many as the memory
    allows. Each sentence gets the translation that it would get alone, and the
    order of the input stays. A batch that does not fit into memory is halved. A
    translation has at most `extra_length` tokens more than its source.

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
        reverse = reranker and reranker.reverse
        super().__init__(engine, engine.codec, steps, reverse)
        # What the engine can do decides which other methods it has.
        self.engine: typing.Any = engine
        self.reranker = reranker

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

        Takes the arguments of `load`, which returns a `Parser` for a model that
        parses, and of this class except the engine. Unlike with `load`, there
        are no steps but those that are passed, so emoji are not kept. An
        ensemble has the decoding options of its first run.
        """
        plan = plan_model(path, step, engine, precision)
        return cls(plan.open_engine(), **options)

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
                `prefixes`, attention, alignments and word scores, and `repair`,
                whether doubtful translations are searched again; see `repair`.

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
        check_capabilities(self.capabilities, of_words)
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
        """Yields the best translation of each text as a str.

        The other arguments are as in `hypotheses`.
        """
        for best, *_ in self.hypotheses(texts, report, scored=False, **options):
            yield best.text

    def hypotheses(
        self,
        texts: Iterable[str],
        report: Callable[[int], object] | None = None,
        prefixes: Iterable[str] | None = None,
        start: int = 0,
        repair: bool = False,
        **arguments,
    ) -> Iterator[list[Hypothesis]]:
        """Yields the hypotheses of each sentence.

        The texts are read in windows. A large file therefore need not fit into
        memory, and the first translations come early.

        Args:
            texts: Iterable of str.
            report: Function that is called with the number of sentences after
                each batch. Defaults to None.
            prefixes: Iterable of str, one for each text. Defaults to None.
            start: Integer, the number of texts before these. If it is a
                multiple of `preparation.WINDOW`, the hypotheses are as in a
                call with all the texts. Defaults to 0.
            repair: See `__call__`. Defaults to False.
            **arguments: Arguments of `translate_window`.

        Yields:
            List of `Hypothesis` for each text, best first.
        """
        extras = Extras(warns=repair, repairs=repair)
        for window in preparation.read_windows(texts, prefixes, start):
            for translation in self.translate_window(
                window, report, extras=extras, **arguments
            ):
                yield translation.hypotheses

    def translate_window(
        self,
        window: preparation.Window,
        report: Callable[[int], object] | None = None,
        seed: int = 0,
        glossary: Glossary | None = None,
        protect: Placeholders | None = None,
        scored: bool = True,
        extras: Extras = Extras(),
        **options,
    ) -> list[Translation]:
        """Translates the texts of a `Window`.

        The `report` is as in `hypotheses`. An engine that is faster without
        scores leaves them None unless they are needed, `scored`. The `extras`
        ask for more than hypotheses. All else is as in `__call__`.
        """
        options = self.change_options(**options)
        call = preparation.Call(
            options, window.prefixes, seed, glossary, protect
        )
        self.check_call(call)
        steps = self.combine_steps(call)
        texts, long = self._set_aside(window.texts, extras.max_tokens)
        prepared, memories = preparation.prepare_texts(steps, texts)
        sources = self.codec.encode(prepared, window.start)
        prefixes = self.codec.encode_prefixes(window.prefixes, window.start)
        search: Callable = functools.partial(
            self.translate_ids,
            prefixes=prefixes,
            seeds=window.draw_seeds(seed) if options.is_random else None,
            # A reranker adds to the scores.
            scored=scored or bool(self.reranker),
            **dataclasses.asdict(self.choose_search(options)),
        )
        hypotheses = search(sources, report)
        if glossary:
            hypotheses = enforce_terms(
                self, call, window, prepared, sources, hypotheses, search
            )
        hypotheses = preparation.finish_hypotheses(steps, hypotheses, memories)
        if self.reranker:
            hypotheses = self.reranker.reorder(texts, hypotheses, options)
        most = options.extra_length, self.max_length
        limits = Sentences(sources, prefixes).limit_lengths(*most)
        translations = self.describe(texts, hypotheses, limits, call, extras)
        translations = repair_translations(
            self, window, translations, call, extras
        )
        for i in long:
            translations[i] = translations[i]._replace(warnings=[TOO_LONG])
        if long and extras.splits:
            in_parts = translate_parts(self, window.select(long), extras, call)
            for i, translation in zip(long, in_parts):
                translations[i] = translation
        return translations

    def _set_aside(self, texts, max_tokens):
        """Makes texts with too many tokens blank, and returns their places."""
        counts = self.count_tokens(texts) if max_tokens else []
        long = [i for i, count in enumerate(counts) if count > max_tokens]
        return ["" if i in long else t for i, t in enumerate(texts)], long

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
                if not each:  # a search keeps no beam whose score is NaN
                    raise UserError(
                        "The model computes NaN for a sentence, "
                        f"{self.codec.describe(sources[i])}. Compute in a "
                        "precision with a larger range, such as float32."
                    )
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

    def combine_steps(self, call: preparation.Call) -> list[Step]:
        """Returns the steps of a call."""
        if not call.protect:
            return self.steps
        protection = Protection(call.protect, call.glossary, self.engine)
        return [*self.steps, protection]


def _nest(hypotheses, field, num_hypotheses):
    values = [[getattr(one, field) for one in each] for each in hypotheses]
    return values if num_hypotheses else [best for best, *_ in values]
