"""What all translators have in common, whatever does the work."""

import typing


class Hypothesis(typing.NamedTuple):
    """A translation, its score, and its ids with the end id, if known."""

    text: str
    score: float
    ids: list = ()


class TextTranslator:
    """Translates lists of sentences.

    Subclasses write `hypotheses`, and hold the `options`, a `DecodeOptions`,
    that apply where a call changes nothing. What a model that parses writes is
    the `linearization` of trees, one of its `LINEARIZATIONS`; see
    `Parser`.
    """

    linearization = None

    def __call__(
        self,
        texts,
        num_hypotheses=None,
        return_scores=False,
        return_attention=False,
        prefixes=None,
        seed=0,
        **options,
    ):
        """Translates a list of sentences.

        Args:
            texts: list of str.
            num_hypotheses: how many translations of each to return.
            return_scores: whether to return the scores as well.
            return_attention: whether to return the attention weights as well,
                those of the best translations.
            prefixes: list of str that the translations begin with.
            seed: of samples.
            **options: other fields of `DecodeOptions` to change, such as
                `beam_size` (1 is greedy), `alpha`, `temperature`.

        Returns:
            list of str, or with `num_hypotheses` a list of lists of str, best
            first; a blank text gives an empty one. With `return_scores` a
            tuple of that and the scores in the same form: log-probabilities
            divided by the length penalty. With `return_attention` the tuple
            ends in a list of `Attention`.
        """
        found = list(
            self.hypotheses(
                texts,
                prefixes=prefixes,
                seed=seed,
                num_hypotheses=num_hypotheses,
                **options,
            )
        )
        results = [_in_form(found, "text", num_hypotheses)]
        if return_scores:
            results.append(_in_form(found, "score", num_hypotheses))
        if return_attention:
            results.append(self.attention(texts, found))
        return results[0] if len(results) == 1 else tuple(results)

    def translate(self, texts, report=None, **options):
        """Yields the best translations of any number of sentences, str.

        Args:
            texts, report, **options: see `hypotheses`.
        """
        for found in self.hypotheses(texts, report, **options):
            yield found[0].text

    def hypotheses(self, texts, report=None, prefixes=None, seed=0, **options):
        """Yields the translations of any number of sentences.

        Reads `texts` a window at a time, so that a large file need not fit
        into memory, and its first translations come early.

        Args:
            texts: iterable of str.
            report: function that is told the number of sentences after each
                batch.
            prefixes: iterable of str, as many as texts, that the translations
                begin with.
            seed: of samples.
            **options: fields of `DecodeOptions` to change.

        Yields:
            list of `Hypothesis` of each text, best first.
        """
        raise NotImplementedError

    def attention(self, texts, found):
        """Returns the attention weights of the best translations.

        Args:
            texts: list of str.
            found: what `hypotheses` yielded for them.

        Returns:
            list of `Attention`.
        """
        raise ValueError(
            "`return_attention` needs the model itself. Received: an exported "
            "one. Load the run's directory."
        )


def _in_form(found, field, num_hypotheses):
    values = [[getattr(one, field) for one in each] for each in found]
    return values if num_hypotheses else [best for best, *_ in values]
