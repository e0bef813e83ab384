"""Sentences in, translations out: batches, beam search, order restored."""

import itertools

import numpy as np

from keras_transformer.compiled_search import compile_search
from keras_transformer.compiled_search import fitting_rows
from keras_transformer.data.subwords import END_ID
from keras_transformer.data.text_files import is_blank

WINDOW = 1024  # sentences that are sorted by length together
CACHE_POSITIONS = 16384  # most keys of a layer's cache: rows x beam x length


class Translator:
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

    Example:

        translator = Translator.load("runs/ende")
        translator(["A dog is running.", ""])  # ["Ein Hund läuft.", ""]
    """

    def __init__(self, model, vocabulary, hparams):
        self.model = model
        self.vocabulary = vocabulary
        self.hparams = hparams
        self._searches = {}

    @classmethod
    def load(cls, run_dir, step=None):
        """Makes the translator of a run's directory.

        Args:
            run_dir: path of the directory that kt-trainer or
                kt-avg-checkpoints wrote.
            step: of the checkpoint, by default the newest.

        Returns:
            a `Translator`.
        """
        from keras_transformer.run_directory import RunDirectory
        from keras_transformer.run_directory import load_model

        run = RunDirectory(run_dir)
        return cls(load_model(run, step), run.vocabulary, run.hparams)

    def __call__(self, texts, beam_size=None, alpha=None):
        """Translates a list of sentences.

        Args:
            texts: list of str.
            beam_size: hypotheses kept, by default that of the run; 1 is
                greedy.
            alpha: exponent of the length penalty, by default that of the run.

        Returns:
            list of str; a blank text gives an empty one.
        """
        return list(self.translate(texts, beam_size, alpha))

    def translate(self, texts, beam_size=None, alpha=None, report=None):
        """Yields the translations of any number of sentences.

        Reads `texts` a window at a time, so that a large file need not fit
        into memory, and its first translations come early.

        Args:
            texts: iterable of str.
            beam_size, alpha: as in the call.
            report: function that is told the number of sentences after each
                batch.
        """
        if isinstance(texts, str):
            raise ValueError(
                "`texts` must be a list of str. Received: one str, "
                f"{texts[:40]!r}. Put it into a list."
            )
        texts = iter(texts)
        while window := list(itertools.islice(texts, WINDOW)):
            sources = self.vocabulary.encode(window)
            sources = [
                [] if is_blank(text) else ids
                for text, ids in zip(window, sources)
            ]
            found = self.translate_ids(sources, beam_size, alpha, report)
            for text in self.vocabulary.decode(found):
                # A model can spell a line's end in bytes; a line stays one.
                yield text.replace("\n", " ")

    def translate_ids(self, sources, beam_size=None, alpha=None, report=None):
        """Translates sentences that are encoded already.

        Args:
            sources: list of lists of ids, with the end id.
            beam_size, alpha, report: as in `translate`.

        Returns:
            list of lists of ids, with the end id; empty gives empty.
        """
        beam_size = beam_size or self.hparams.beam_size
        alpha = self.hparams.alpha if alpha is None else alpha
        search = self._search(beam_size, alpha)
        results = [[] for _ in sources]
        for batch in self._batches(sources, beam_size):
            inputs = _pad([sources[i] for i in batch])
            limits = np.array(
                [len(sources[i]) + self.hparams.extra_length for i in batch],
                "int32",
            )
            sequences, _ = search(inputs, limits)
            for i, sequence in zip(batch, sequences):
                results[i] = _until_end(sequence)
            if report:
                report(len(batch))
        if report:
            report(sum(not ids for ids in sources))
        return results

    def _batches(self, sources, beam_size):
        """Yields indices of sentences to decode together, longest first."""
        order = [i for i, ids in enumerate(sources) if ids]
        order.sort(key=lambda i: len(sources[i]), reverse=True)
        while order:
            length = len(sources[order[0]]) + self.hparams.extra_length
            rows = fitting_rows(CACHE_POSITIONS // (length * beam_size))
            yield order[:rows]
            order = order[rows:]

    def _search(self, beam_size, alpha):
        """The compiled search, one for all batches."""
        if (beam_size, alpha) not in self._searches:
            self._searches[beam_size, alpha] = compile_search(
                self.model, beam_size, alpha
            )
        return self._searches[beam_size, alpha]


def _pad(sequences):
    longest = max(map(len, sequences))
    padded = np.zeros((len(sequences), longest), "int32")
    for row, ids in zip(padded, sequences):
        row[: len(ids)] = ids
    return padded


def _until_end(sequence):
    ids = sequence.tolist()
    return ids[: ids.index(END_ID) + 1] if END_ID in ids else ids
