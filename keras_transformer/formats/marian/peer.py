"""The equivalent of a run in transformers, to compare the run with it."""

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
BATCH_SIZE = 20  # sources; their logits take hundreds of megabytes


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


class Peer:
    """A Marian model in transformers that takes and returns our ids."""

    def __init__(self, directory, vocabularies):
        # Torch imports Triton where it can, and Triton crashes beside
        # TensorFlow. None in its place prevents the import.
        sys.modules.setdefault("triton", None)
        # Imported here because it takes seconds.
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self._torch = torch
        self.model = transformers.MarianMTModel.from_pretrained(
            directory, dtype=torch.float32
        ).eval()
        # A special token in a text is ordinary text, as it is here.
        self._tokenizer = transformers.MarianTokenizer.from_pretrained(
            directory, split_special_tokens=True
        )
        self._vocabularies = vocabularies

    def encode(self, texts):
        """Returns our ids of the tokenizer's pieces, lists of lists."""
        ours = np.argsort(self._vocabularies.sources.original_ids)
        return [ours[ids].tolist() for ids in self._tokenizer(texts).input_ids]

    def translate(self, texts):
        """Returns greedy translations and their log-probabilities."""
        sources = self.encode(texts)
        found = [
            result
            for i in range(0, len(sources), BATCH_SIZE)
            for result in self.search(sources[i : i + BATCH_SIZE])
        ]
        targets, scores = zip(*found)
        return self._vocabularies.targets.decode(targets), list(scores)

    def search(self, sources):
        """Yields the ids of the greedy translation of each source.

        Each comes with its log-probability. transformers has one limit for a
        batch. Here each source has one, where the end is forced.
        """
        output = self.generate(
            sources, output_logits=True, return_dict_in_generate=True
        )
        logits = self._torch.stack(output.logits, dim=1)
        log_probs = logits.log_softmax(dim=-1).numpy()
        ids = self._vocabularies.targets.original_ids
        ours = np.argsort(ids)
        # The first id is the start.
        targets = ours[output.sequences.numpy()[:, 1:]].tolist()
        for row, source, target in zip(log_probs, sources, targets):
            end = len(source) + EXTRA_LENGTH - 1
            end = (target[:end] + [END_ID]).index(END_ID)
            target = [*target[:end], END_ID]
            score = row[np.arange(end + 1), ids[target]].sum()
            yield target, float(score)

    def generate(self, sources, num_beams=1, **options):
        """Returns the output of transformers' search, in its own ids."""
        inputs = pad(sources)
        source_ids, ids = (side.original_ids for side in self._vocabularies)
        with self._torch.no_grad():
            return self.model.generate(
                input_ids=self._torch.tensor(source_ids[inputs]),
                attention_mask=self._torch.tensor(inputs != PAD_ID),
                num_beams=num_beams,
                do_sample=False,
                max_length=None,
                max_new_tokens=inputs.shape[1] + EXTRA_LENGTH,
                bad_words_ids=[[int(ids[i])] for i in NEVER_WRITTEN],
                **options,
            )
