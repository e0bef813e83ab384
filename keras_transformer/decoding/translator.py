"""Translates sentences with a trained model: encode, search, decode."""

import numpy as np

from keras_transformer import fields
from keras_transformer.decoding import ensembles
from keras_transformer.decoding import glossary as glossaries
from keras_transformer.decoding import placeholders
from keras_transformer.decoding import threads
from keras_transformer.decoding.arrays import Sentences
from keras_transformer.decoding.hypothesis import Hypothesis
from keras_transformer.decoding.hypothesis import with_texts
from keras_transformer.decoding.minimum_bayes_risk import chosen
from keras_transformer.decoding.protected_texts import protected_hypotheses
from keras_transformer.decoding.replicas import Replica
from keras_transformer.decoding.replicas import Replicas
from keras_transformer.decoding.replicas import load_replicas
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.windows import encode
from keras_transformer.decoding.windows import encode_prefixes
from keras_transformer.decoding.windows import windows
from keras_transformer.decoding.word_links import SPACED_WORD
from keras_transformer.decoding.word_links import find_links
from keras_transformer.search.options import DecodeOptions
from keras_transformer.token_ids import END_ID
from keras_transformer.trees.target_text import find_linearization


class Translator(TextTranslator):
    """Translates sentences with a trained model.

    Sentences of similar lengths are decoded together, as many as the memory
    allows. Each sentence gets the translation that it would get alone, and the
    order is that of the input. A batch that does not fit into memory is halved.
    A translation has at most `extra_length` tokens more than its source.

    The search is compiled at the first call. It reads the current weights of
    the model, so a translator can follow a model through its training.
    `Translator.load` decodes on all GPUs of the machine, with a copy of the
    model on each.

    Args:
        model: A built `Transformer`, or an `Ensemble` of several.
        vocabulary: The `Subwords` of the targets.
        hparams: The model's `HParams`, which set the defaults of `beam_size`,
            `alpha` and `extra_length`.
        num_threads: Integer, the number of batches that are decoded side by
            side. Defaults to 1.
        source_vocabulary: The `Subwords` of the sources. Defaults to None,
            which means `vocabulary`.
        replicas: List of `Replica` that decode, the first with `model`.
            Defaults to None, which means `model` alone.

    Example:

        translator = Translator.load("runs/ende")  # or a list, an ensemble
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
        translator(["A dog."], num_hypotheses=2, return_scores=True)
        translator(["A dog."], temperature=0.8, top_k=10, seed=3)
    """

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
        self.vocabulary = vocabulary
        self.source_vocabulary = source_vocabulary or vocabulary
        self._replicas = Replicas(
            replicas or [Replica(model)],
            num_threads,
            (vocabulary, self.source_vocabulary),
        )
        self.num_threads = num_threads
        self.options = DecodeOptions.from_hparams(hparams)
        self.linearization = find_linearization(vocabulary)
        self.trained_length = hparams.max_length

    @classmethod
    def load(cls, path, step=None, precision="float32"):
        """Opens a run, an ensemble or an exported model as a translator.

        `loading.load` returns a `Parser` for a model that parses; this method
        returns the translator inside it.

        Args:
            path: Directory that kt-trainer, kt-avg-checkpoints or kt-exporter
                wrote. A list of runs with one vocabulary makes an ensemble,
                whose options are those of the first run.
            step: Integer step of a run's checkpoint, or "best". For an ensemble
                it can be a list with an entry for each run. Defaults to the
                newest.
            precision: "float32", "bfloat16" or "float16", the precision that
                a run's model computes in. An exported model has its own.
                Defaults to "float32".

        Returns:
            A `Translator`, `SavedModelTranslator` or `CTranslate2Translator`,
            which are called alike.
        """
        paths = ensembles.directories(path)
        format = ensembles.format_of(paths)
        if format == "ctranslate2":
            from keras_transformer.decoding import ctranslate2_translator

            return ctranslate2_translator.CTranslate2Translator(paths[0])
        if format == "saved_model":
            from keras_transformer.decoding import saved_model_translator

            return saved_model_translator.SavedModelTranslator(paths[0])
        runs = ensembles.open_runs(paths)
        replicas = load_replicas(
            lambda: ensembles.load_model(runs, step, precision)
        )
        return cls(
            replicas[0].model,
            runs[0].vocabulary,
            runs[0].hparams,
            max(threads.num_threads(), len(replicas)),
            runs[0].source_vocabulary,
            replicas,
        )

    def hypotheses(
        self,
        texts,
        report=None,
        prefixes=None,
        seed=0,
        start=0,
        glossary=None,
        protect=None,
        **options,
    ):
        if glossary:
            glossaries.check_goes_with(
                glossary, self.changed_options(**options), self.linearization
            )
        if protect:
            placeholders.check_goes_with(protect, self.linearization)
            placeholders.check_alone(prefixes=prefixes)
            options = dict(options, glossary=glossary)
            yield from protected_hypotheses(
                self, protect, texts, start, report=report, seed=seed, **options
            )
            return
        fields.check_seed(seed)
        generator = np.random.default_rng(seed)
        generator.integers(2**31, size=start, dtype="int32")
        for window, own_prefixes in windows(texts, prefixes, start):
            # Each sentence has a seed of its own, so its samples do not depend
            # on its batch.
            seeds = generator.integers(2**31, size=len(window), dtype="int32")
            prefix_ids = encode_prefixes(self.vocabulary, window, own_prefixes)

            def translate(sources, terms):
                if terms:
                    terms = glossaries.encode_terms(self.vocabulary, terms)
                # The second search, for terms, adds no sentences.
                own_report = None if terms else report
                return self.translate_ids(
                    sources, own_report, prefix_ids, seeds, terms, **options
                )

            sources = self.encode(window)
            terms = glossaries.find_terms(glossary, window)
            yield from glossaries.obeying(translate, sources, terms, blank=[])

    def encode(self, numbered):
        return encode(self.source_vocabulary, numbered)

    def encode_targets(self, numbered):
        return encode(self.vocabulary, numbered)

    def translate_ids(
        self,
        sources,
        report=None,
        prefixes=None,
        seeds=None,
        terms=None,
        **options,
    ):
        """Translates sentences that are encoded already.

        Args:
            sources: List of lists of ids with the end id. An empty list stands
                for a blank sentence.
            report: Function, see `hypotheses`. Defaults to None.
            prefixes: List of lists of ids without the end id. Defaults to
                None.
            seeds: Int32 array of shape `(batch,)`, the seed of the sampler for
                each sentence. Defaults to zeros.
            terms: List with the terms that each translation must hold, which
                are lists of ids without the end id. Defaults to None.
            **options: Fields of `DecodeOptions` to change.

        Returns:
            List of lists of `Hypothesis`, best first. An empty source has one
            empty hypothesis.
        """
        options = self.changed_options(**options)
        searched = self._replicas.search(
            Sentences(sources, prefixes, seeds, terms),
            options.to_search_options(),
            self.linearization,
        )
        results = [[Hypothesis("", 0.0, [])] for _ in sources]
        for batch, hypotheses in searched:
            for i, own in zip(batch, with_texts(hypotheses, self.vocabulary)):
                results[i] = chosen(own, options)
            if report:
                report(len(batch))
        if report:  # blank sentences are in no batch
            report(sum(not ids for ids in sources))
        return results

    def score_ids(self, sources, targets, alpha=None):
        # Trees get the scores of a search that is not constrained, because a
        # constrained one redistributes the probability of illegal symbols.
        alpha = self.options.alpha if alpha is None else alpha
        scored = self._replicas.score(sources, targets, alpha, self.options)
        scores = [0.0] * len(sources)
        for batch, batch_scores in scored:
            for i, score in zip(batch, batch_scores):
                scores[i] = score
        return scores

    @property
    def has_attention(self):
        from keras_transformer.search.ensemble import Ensemble

        return not isinstance(self.model, Ensemble)

    def attention(self, texts, hypotheses):
        from keras_transformer.decoding.attention import attention_of

        self._check_single("return_attention")
        sources = self.encode(list(enumerate(texts, 1)))
        # Attention needs a token, and a blank text has the end alone.
        return [
            attention_of(
                self.model,
                self.vocabulary,
                ids or [END_ID],
                best.ids or [END_ID],
                self.source_vocabulary,
            )
            for ids, (best, *_) in zip(sources, hypotheses)
        ]

    def word_links(self, texts, hypotheses, pattern=SPACED_WORD):
        self._check_single("return_alignments")
        return find_links(
            self.model,
            self.vocabulary,
            self.encode(list(enumerate(texts, 1))),
            [best.ids for best, *_ in hypotheses],
            pattern,
            self.source_vocabulary,
        )

    def _check_single(self, name):
        if not self.has_attention:
            raise ValueError(
                f"`{name}` needs a single model. Received: an ensemble. Load "
                "one of its runs."
            )
