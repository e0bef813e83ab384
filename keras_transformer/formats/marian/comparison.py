"""Comparison of a run with the equivalent model of transformers.

Both search with the sum of log-probabilities as the score, because their length
penalties differ. Batches have sources of one length: transformers has one limit
for a batch, which forces the end, and here each sentence has a limit.
"""

import numpy as np

from keras_transformer.data.batches.padding import pad
from keras_transformer.formats.exported import require_package
from keras_transformer.token_ids import FIRST_SYMBOL_ID
from keras_transformer.token_ids import NEVER_WRITTEN
from keras_transformer.token_ids import PAD_ID

NUM_TEXTS = 100
MAX_TOKENS = 20  # of a random text
EXTRA_LENGTH = 20  # tokens that a translation may be longer than its source
BEAM_SIZE = 4


def require_transformers():
    for name in ("transformers", "torch"):
        require_package(name, name, "'.[peers]'", ", or leave --verify out")


def compare(directory, run, translator, texts=None):
    """Compares a run with the Marian model in a directory of transformers.

    The `translator` is that of the run on Keras. `texts` are sources, by
    default texts of random subwords. Returns lines with the figures: texts with
    equal ids, the largest difference of logits, and equal translations of
    greedy search and of beam search.
    """
    peer = Peer(directory, run.vocabularies)
    texts = texts or make_texts(run.source_vocabulary)
    sources = run.source_vocabulary.encode(texts)
    lines = [_count("ids of the text", sources, peer.encode(texts))]
    greedy = peer.search(sources, beam_size=1)
    lines.append(
        f"logits: the largest difference is "
        f"{compare_logits(translator.engine.model, peer, sources, greedy):.1e}"
    )
    for name, size in (("greedy search", 1), ("beam search", BEAM_SIZE)):
        theirs = greedy if size == 1 else peer.search(sources, size)
        ours = translator.translate_ids(
            sources, beam_size=size, alpha=0.0, extra_length=EXTRA_LENGTH
        )
        ours = [best.ids for best, *_ in ours]
        lines.append(_count(f"translations by {name}", ours, theirs))
    return lines


def compare_logits(model, peer, sources, targets):
    """Returns the largest difference of the logits of pairs of ids."""
    largest = 0.0
    for rows in _group(sources):
        features = {
            "inputs": pad([sources[i] for i in rows]),
            "targets": pad([targets[i] for i in rows]),
        }
        difference = np.abs(np.array(model(features)) - peer(**features))
        largest = max(largest, difference[features["targets"] != PAD_ID].max())
    return largest


def make_texts(vocabulary, number=NUM_TEXTS):
    """Returns texts of random subwords."""
    generator = np.random.default_rng(0)
    rows = [
        generator.integers(FIRST_SYMBOL_ID, vocabulary.vocab_size, length)
        for length in generator.integers(3, MAX_TOKENS, number)
    ]
    # A text of unprintable subwords would be blank.
    return [text.strip() or "?" for text in vocabulary.decode(rows)]


def _count(name, ours, theirs):
    same = sum(list(a) == list(b) for a, b in zip(ours, theirs, strict=True))
    return f"{name}: {same} of {len(ours)} are the same"


def _group(sources):
    """Returns the places of the sources of each length."""
    groups = {}
    for place, source in enumerate(sources):
        groups.setdefault(len(source), []).append(place)
    return groups.values()


class Peer:
    """A Marian model in transformers that takes and returns our ids."""

    def __init__(self, directory, vocabularies):
        # Imported here because it takes seconds.
        import torch
        import transformers

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

    def search(self, sources, beam_size):
        """Returns the ids of the best translation of each source."""
        ours = np.argsort(self._ids)
        results = [None] * len(sources)
        for rows in _group(sources):
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
                results[i] = [int(id_) for id_ in row if id_ != PAD_ID]
        return results

    def _make_inputs(self, inputs):
        return {
            "input_ids": self._torch.tensor(self._source_ids[inputs]),
            "attention_mask": self._torch.tensor(inputs != PAD_ID),
        }
