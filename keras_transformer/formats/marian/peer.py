"""The equivalent of a run in transformers, to compare the run with it.

It searches with the sum of log-probabilities as the score, because its length
penalty differs. With a beam, batches have sources of one length: transformers
has one limit for a batch, which forces the end, and here each sentence has a
limit. What is written greedily does not depend on it.
"""

import sys

import numpy as np

from keras_transformer.data.generation.token_arrays import pad
from keras_transformer.errors import require_package
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import NEVER_WRITTEN
from keras_transformer.token_ids import PAD_ID

NUM_TEXTS = 100
MAX_TOKENS = 20  # of a random text
EXTRA_LENGTH = 20  # tokens that a translation may be longer than its source
SCORED_AT_ONCE = 10  # pairs, whose logits take hundreds of megabytes


def require_transformers():
    for name in ("transformers", "torch"):
        require_package(name, name, "'.[peers]'", ", or leave --verify out")


def make_texts(vocabulary, number=NUM_TEXTS):
    """Returns texts of random subwords."""
    generator = np.random.default_rng(0)
    rows = [
        generator.integers(FIRST_SYMBOL_ID, vocabulary.vocab_size, length)
        for length in generator.integers(3, MAX_TOKENS, number)
    ]
    # A text of unprintable subwords would be blank.
    return [text.strip() or "?" for text in vocabulary.decode(rows)]


def _group(sources):
    groups = {}
    for place, source in enumerate(sources):
        groups.setdefault(len(source), []).append(place)
    return groups.values()


class Peer:
    """A Marian model in transformers that takes and returns our ids."""

    def __init__(self, directory, vocabularies):
        self._vocabulary = vocabularies.targets
        # Torch imports Triton where it can, which crashes beside TensorFlow.
        # None in its place prevents the import.
        sys.modules.setdefault("triton", None)
        # Imported here because it takes seconds.
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self._torch = torch
        self._model = transformers.MarianMTModel.from_pretrained(
            directory, dtype=torch.float32
        ).eval()
        # A special token in a text is ordinary text, as it is here.
        self._tokenizer = transformers.MarianTokenizer.from_pretrained(
            directory, split_special_tokens=True
        )
        self._source_ids, self._ids = (
            side.original_ids for side in vocabularies
        )

    def encode(self, texts):
        """Returns our ids of the tokenizer's pieces, lists of lists."""
        ours = np.argsort(self._source_ids)
        return [ours[ids].tolist() for ids in self._tokenizer(texts).input_ids]

    def __call__(self, inputs, targets):
        """Returns logits `(batch, target_len, vocab_size)` in our order."""
        start = self._model.config.decoder_start_token_id
        shifted = self._ids[targets]
        shifted = np.insert(shifted[:, :-1], 0, start, axis=1)
        torch = self._torch
        with torch.no_grad():
            logits = self._model(
                **self._make_inputs(inputs),
                decoder_input_ids=torch.tensor(shifted),
            ).logits
        return logits.numpy()[:, :, self._ids]

    def translate(self, texts):
        """Returns greedy translations and their log-probabilities."""
        sources = self.encode(texts)
        targets = self.search(sources, beam_size=1)
        scores = [
            score
            for i in range(0, len(texts), SCORED_AT_ONCE)
            for score in self.score(
                *(rows[i : i + SCORED_AT_ONCE] for rows in (sources, targets))
            )
        ]
        return self._vocabulary.decode(targets), scores

    def score(self, sources, targets):
        """Returns the log-probabilities of lists of ids."""
        torch, targets = self._torch, pad(targets)
        logits = torch.tensor(self(pad(sources), targets), dtype=torch.float64)
        losses = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1),
            torch.tensor(targets).long().flatten(),
            ignore_index=PAD_ID,
            reduction="none",
        )
        return (-losses.reshape(targets.shape).sum(axis=1)).tolist()

    def search(self, sources, beam_size):
        """Returns the ids of the best translation of each source.

        Without a beam, the end is always forced at the limit, as it is here.
        """
        ours = np.argsort(self._ids)
        results = [None] * len(sources)
        is_greedy = beam_size == 1
        for rows in [range(len(sources))] if is_greedy else _group(sources):
            inputs = pad([sources[i] for i in rows])
            with self._torch.no_grad():
                sequences = self._model.generate(
                    **self._make_inputs(inputs),
                    num_beams=beam_size,
                    do_sample=False,
                    length_penalty=0.0,
                    early_stopping=False,
                    max_length=None,
                    max_new_tokens=inputs.shape[1] + EXTRA_LENGTH,
                    bad_words_ids=[[int(self._ids[i])] for i in NEVER_WRITTEN],
                )
            # The first id is the start.
            for i, row in zip(rows, ours[sequences.numpy()[:, 1:]]):
                ids = [int(id_) for id_ in row if id_ != PAD_ID]
                if is_greedy:
                    limit = len(sources[i]) + EXTRA_LENGTH
                    ids = [*ids[:limit][:-1], END_ID]
                results[i] = ids
        return results

    def _make_inputs(self, inputs):
        return {
            "input_ids": self._torch.tensor(self._source_ids[inputs]),
            "attention_mask": self._torch.tensor(inputs != PAD_ID),
        }
