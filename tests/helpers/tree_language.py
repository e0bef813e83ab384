"""A language small enough to compare beam search with enumeration."""

import itertools
import typing

import numpy as np
from keras import ops

from keras_transformer.search.beam_search import beam_search
from keras_transformer.search.beams import gather_beams
from keras_transformer.token_ids import END_ID as END


class PrefixState(typing.NamedTuple):
    """The node of a `TreeLanguage` that each beam has reached."""

    sentence: typing.Any  # (batch, beam)
    node: typing.Any  # a list of (batch, beam, 1): states may be nested

    def reorder(self, beams):
        sentence, node = gather_beams((self.sentence, self.node), beams)
        return self._replace(sentence=sentence, node=node)


class TreeLanguage:
    """Random next-word logits that depend on the sentence and whole prefix.

    A prefix is a node of the tree of all sequences. The state holds the node
    and the sentence, so that a state in the wrong order gives wrong scores.

    Args:
        vocab_size: Number of words, the end included.
        length: Greatest length of a hypothesis with its end.
        num_sentences: Number of sentences. Defaults to 4.
        seed: Seed of the logits. Defaults to 0.
        end: Number added to the logit of the end everywhere. Defaults to 0.
    """

    def __init__(self, vocab_size, length, num_sentences=4, seed=0, end=0.0):
        self.vocab_size = vocab_size
        num_nodes = sum(vocab_size**depth for depth in range(length))
        rng = np.random.default_rng(seed)
        shape = (num_sentences, num_nodes, vocab_size)
        self.logits = rng.normal(0.0, 2.0, shape).astype("float32")
        self.logits[..., END] += end
        shares = np.exp(self.logits.astype("float64"))
        self.log_probs = np.log(shares / shares.sum(-1, keepdims=True))
        self.num_steps = 0
        self.batches = []

    def search(self, sentences, beam_size, limits, shrinking=False, **options):
        """Returns the hypotheses of each sentence, as tuples, and the scores.

        Args:
            sentences: Numbers of sentences.
            beam_size: Number of beams.
            limits: Greatest length of all sentences or of each.
            shrinking: Whether sentences leave the batch once they are done.
            **options: Arguments of `beam_search`.
        """
        sentences = np.asarray(sentences, "int32")
        limits = np.broadcast_to(np.asarray(limits), sentences.shape)
        return self.to_tuples(
            *beam_search(
                self.step,
                self.state(sentences, beam_size),
                beam_size,
                ops.convert_to_tensor(limits, dtype="int32"),
                fixed_length=None if shrinking else int(limits.max()),
                **options,
            )
        )

    def state(self, sentences, beam_size):
        sentences = ops.cast(sentences, "int32")[:, None]
        sentences = ops.repeat(sentences, beam_size, axis=1)
        node = ops.zeros_like(sentences)[:, :, None]
        return PrefixState(sentences, [node])

    def step(self, ids, position, state):
        self.num_steps += 1
        self.batches.append(ids.shape[0])
        _, num_nodes, vocab_size = self.logits.shape
        node = state.node[0][:, :, 0] * vocab_size + ids + 1
        node = ops.where(position == 0, 0, node)
        logits = ops.take(
            ops.reshape(self.logits, (-1, vocab_size)),
            state.sentence * num_nodes + node,
            axis=0,
        )
        return logits, state._replace(node=[node[:, :, None]])

    def to_tuples(self, sequences, scores):
        hypotheses = [
            [
                tuple(row[: list(row).index(END) + 1].tolist())
                for row in sentence
                if END in row
            ]
            for sentence in ops.convert_to_numpy(sequences)
        ]
        return hypotheses, ops.convert_to_numpy(scores)

    def next_log_probs(self, sentence, prefix):
        node = 0
        for word in prefix:
            node = node * self.vocab_size + word + 1
        return self.log_probs[sentence, node]

    def log_prob(self, sentence, sequence):
        return sum(
            self.next_log_probs(sentence, sequence[:i])[word]
            for i, word in enumerate(sequence)
        )

    def score(self, sentence, sequence, alpha=0.6):
        penalty = ((5 + len(sequence)) / 6) ** alpha
        return self.log_prob(sentence, sequence) / penalty

    def enumerate(self, sentence, max_length, alpha=0.6):
        """Returns all hypotheses with their scores, best first."""
        words = [word for word in range(self.vocab_size) if word != END]
        hypotheses = [
            (*prefix, END)
            for length in range(max_length)
            for prefix in itertools.product(words, repeat=length)
        ]
        scored = [(self.score(sentence, h, alpha), h) for h in hypotheses]
        return sorted(scored, reverse=True)

    def plain_search(self, sentence, beam_size, max_length):
        """Searches with lists, for beams narrower than the language."""
        alive, finished = [()], []
        for length in range(1, max_length + 1):
            words = [END] if length == max_length else range(self.vocab_size)
            candidates = [(*a, word) for a in alive for word in words]
            candidates.sort(key=lambda c: -self.log_prob(sentence, c))
            candidates = candidates[: 2 * beam_size]
            finished += [c for c in candidates if c[-1] == END]
            alive = [c for c in candidates if c[-1] != END][:beam_size]
        return sorted(finished, key=lambda h: -self.score(sentence, h))

    def greedy(self, sentence, max_length):
        sequence = ()
        while len(sequence) < max_length - 1 and END not in sequence:
            log_probs = self.next_log_probs(sentence, sequence)
            sequence = (*sequence, int(np.argmax(log_probs)))
        return sequence if END in sequence else (*sequence, END)
