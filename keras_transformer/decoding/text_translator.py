"""The base class of all translators."""

from keras_transformer.decoding.arrays import length_limit
from keras_transformer.decoding.placeholders import check_alone
from keras_transformer.decoding.windows import check_pairs
from keras_transformer.decoding.windows import windows
from keras_transformer.decoding.word_links import SPACED_WORD
from keras_transformer.search.options import MAX_SOURCE_TOKENS


class TextTranslator:
    """Translates lists of sentences.

    A subclass implements `hypotheses` and sets `options`, the `DecodeOptions`
    that apply unless a call changes them. It also implements `score`, or
    `encode` and `score_ids`, which `score` calls. If its model parses, it sets
    `linearization` to the one of `symbols.LINEARIZATIONS` that the model
    writes; see `Parser`.

    Attributes:
        max_tokens: The greatest number of tokens of a text, the end included.
        trained_length: The number of tokens up to which the model was trained.
        has_attention: Whether `attention` and `word_links` return weights.
    """

    linearization = None
    max_tokens = MAX_SOURCE_TOKENS
    trained_length = 256
    has_attention = False

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
                sentence. Defaults to None, which returns the best one alone.
            return_scores: Whether to return the scores as well. Defaults to
                False.
            return_attention: Whether to return the attention weights of the
                best translations as well. Defaults to False.
            return_alignments: Whether to return the links between the words
                of the best translations and their texts as well, see
                `WordLinks.pairs`. Words are separated by spaces. Defaults to
                False.
            return_word_scores: Whether to return the log-probabilities of the
                words of the best translations as well, see `WordLinks.scores`.
                Defaults to False.
            prefixes: List of str, one for each text, that the translations
                begin with. Defaults to None.
            seed: Integer seed of the sampler. Defaults to 0.
            **options: Other fields of `DecodeOptions` to change, such as
                `beam_size` (1 is greedy), `alpha` or `temperature`. Also
                `glossary`, a `Glossary` whose terms the translations obey, and
                `protect`, the `Placeholders` that they keep, which goes
                without `prefixes`, attention, alignments and word scores.

        Returns:
            List of str. With `num_hypotheses` it is a list of lists of str,
            best first. The translation of a blank text is empty.

            With one of the flags, a tuple that begins with this list. What
            the flags add follows in the order of the flags. The scores are
            nested in the same way and are log-probabilities divided by the
            length penalty; with `mbr_samples` they are mean chrF, or mean F1
            of trees. Everything else is a list with one entry for each text.
        """
        if options.get("protect"):
            check_alone(
                return_attention=return_attention,
                return_alignments=return_alignments,
                return_word_scores=return_word_scores,
            )
        find = self.hypotheses if return_scores else self.unscored_hypotheses
        hypotheses = list(
            find(
                texts,
                prefixes=prefixes,
                seed=seed,
                num_hypotheses=num_hypotheses,
                **options,
            )
        )
        results = [_nested(hypotheses, "text", num_hypotheses)]
        if return_scores:
            results.append(_nested(hypotheses, "score", num_hypotheses))
        if return_attention:
            results.append(self.attention(texts, hypotheses))
        if return_alignments or return_word_scores:
            links = self.word_links(texts, hypotheses)
        if return_alignments:
            results.append([each.find_pairs() for each in links])
        if return_word_scores:
            results.append([each.scores for each in links])
        return results[0] if len(results) == 1 else tuple(results)

    def translate(self, texts, report=None, **options):
        """Yields the best translation of each sentence.

        Args:
            texts: Iterable of str, see `hypotheses`.
            report: Function, see `hypotheses`. Defaults to None.
            **options: See `hypotheses`.

        Yields:
            Str.
        """
        for best, *_ in self.unscored_hypotheses(texts, report, **options):
            yield best.text

    def hypotheses(
        self, texts, report=None, prefixes=None, seed=0, start=0, **options
    ):
        """Yields the hypotheses of each sentence.

        The texts are read in windows. A large file therefore need not fit into
        memory, and the first translations come early.

        Args:
            texts: Iterable of str.
            report: Function that is called with the number of sentences after
                each batch. Defaults to None.
            prefixes: Iterable of str, one for each text, that the translations
                begin with. Defaults to None.
            seed: Integer seed of the sampler. Defaults to 0.
            start: Integer, the number of texts before these, a multiple of
                `windows.WINDOW`. The hypotheses are then those of a call with
                all the texts. Defaults to 0.
            **options: Fields of `DecodeOptions` to change. Also `glossary`, a
                `Glossary` whose terms the translations obey, and `protect`, the
                `Placeholders` that they keep.

        Yields:
            List of `Hypothesis` for each text, best first.
        """
        raise NotImplementedError

    def unscored_hypotheses(self, *arguments, **options):
        """Yields the hypotheses of each sentence, perhaps without scores.

        It is called like `hypotheses`. A translator that is faster without
        the scores leaves them None.
        """
        return self.hypotheses(*arguments, **options)

    def score(self, texts, translations, alpha=None):
        """Scores translations as the search would score them.

        Args:
            texts: List of str.
            translations: List of str, one for each text.
            alpha: Float, exponent of the length penalty. Defaults to the
                model's.

        Returns:
            List of float: log-probabilities divided by the length penalty, and
            0 for a blank text.
        """
        check_pairs(texts, translations)
        sources = self.encode(list(enumerate(texts, 1)))
        targets = self.encode_targets(list(enumerate(translations, 1)))
        return self.score_ids(sources, targets, alpha)

    def score_ids(self, sources, targets, alpha=None):
        """Scores translations that are encoded already.

        Args:
            sources: List of lists of ids with the end id. An empty list gets
                the score 0.
            targets: List of lists of ids with the end id, one for each source.
            alpha: Float, see `score`.

        Returns:
            List of float, see `score`.
        """
        raise NotImplementedError

    def changed_options(self, **changes):
        """Returns the translator's options with some of them changed.

        Args:
            **changes: See `DecodeOptions.replace`.

        Returns:
            A `DecodeOptions`.

        Raises:
            ValueError: If the model cannot decode with these options.
        """
        return self.options.replace(**changes)

    def check_lengths(self, texts, name="the input"):
        """Reads texts to the end and checks that none is too long.

        Args:
            texts: Iterable of str.
            name: What an error message calls them, such as their file.

        Returns:
            The number of texts.

        Raises:
            ValueError: If a text has too many tokens.
        """
        return _check_lengths(self.encode, texts, name)

    def check_translations(self, translations, name="the input"):
        """Checks texts as `check_lengths` does, for the side of the target."""
        return _check_lengths(self.encode_targets, translations, name)

    def num_tokens(self, texts, of_targets=False):
        """Returns the number of tokens of each text, however long it is.

        Args:
            texts: List of str.
            of_targets: Whether they are targets. Defaults to False.
        """
        side = self.vocabulary if of_targets else self.source_vocabulary
        return list(map(len, side.encode(texts)))

    def length_limit(self, text, prefix="", **options):
        """Returns the greatest number of tokens of a text's translation.

        Args:
            text: Str.
            prefix: Str that the translation begins with. Defaults to none.
            **options: Fields of `DecodeOptions` to change.
        """
        (source_len,) = self.num_tokens([text])
        (prefix_len,) = self.num_tokens([prefix], True) if prefix else (1,)
        extra_length = self.changed_options(**options).extra_length
        return length_limit(source_len, prefix_len, extra_length)

    def encode(self, numbered):
        """Encodes (number, text) pairs of sources, and checks their lengths."""
        raise NotImplementedError

    def encode_targets(self, numbered):
        """Encodes (number, text) pairs of targets, and checks their lengths."""
        return self.encode(numbered)

    def attention(self, texts, hypotheses):
        """Returns the attention weights of the best translations.

        Args:
            texts: List of str.
            hypotheses: List of the items that `hypotheses` yields for these
                texts.

        Returns:
            List of `Attention`.
        """
        raise ValueError(
            "`return_attention` needs the model itself. Received: an exported "
            "model. Load the run's directory."
        )

    def word_links(self, texts, hypotheses, pattern=SPACED_WORD):
        """Returns the links between texts and their best translations.

        Args:
            texts: List of str.
            hypotheses: List of the items that `hypotheses` yields for these
                texts.
            pattern: Compiled regular expression of a word. Defaults to words
                that are separated by spaces.

        Returns:
            List of `WordLinks`.
        """
        raise ValueError(
            "Word links need the model itself. Received: an exported model. "
            "Load the run's directory."
        )


def _nested(hypotheses, field, num_hypotheses):
    values = [[getattr(one, field) for one in each] for each in hypotheses]
    return values if num_hypotheses else [best for best, *_ in values]


def _check_lengths(encode, texts, name):
    count = 0
    for window, _ in windows(texts):
        encode([(f"{name}, line {n}", text) for n, text in window])
        count += len(window)
    return count
