"""Corrections that clients send, and the translations that they replace."""

import itertools

from keras_transformer.errors import UserError
from keras_transformer.memory.fitting import recall
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError


class Corrections:
    """The `TranslationMemory` of some pairs of codes.

    Anybody may be given a correction, but only clients with a key may make one.
    """

    def __init__(self, memories, needs_key):
        self._memories = memories or {}
        self._needs_key = needs_key
        self.are_taken = bool(self._memories and needs_key)

    def check_taken(self):
        """Raises an error that names the flag without which none is taken."""
        if not self.are_taken:
            missing = "--memory" if self._needs_key else "--api_keys"
            raise RequestError(
                "PERMISSION_DENIED",
                "Corrections need a server with --memory and --api_keys. "
                f"Received: one to a server without {missing}. Ask the "
                "operator for it.",
            )

    def recall(self, languages, sentences, answers):
        """Returns the `Answer`s to sentences, with corrections as the best."""
        memory = self._memories.get((languages[0], languages[-1]))
        if not memory:
            return answers
        recalled = []
        for sentence, answer in zip(sentences, answers):
            best, *_ = texts = answer.texts
            if one := recall(memory, sentence, best):
                texts = [one.target, *texts][: len(texts)]
                answer = type(answer)(texts)  # nothing else is known of it
            recalled.append(answer)
        return recalled

    def keep(self, languages, *sides):
        """Keeps the sentences of corrected texts, and their corrections.

        Each of the two `sides` has a list of sentences for each text.
        """
        counts = [list(map(len, side)) for side in sides]
        if counts[0] != counts[1]:
            raise InvalidRequest(
                "Each text of `q` must have as many sentences as that of `s`. "
                f"Received: {counts[0]} and {counts[1]}. Send one sentence."
            )
        memory = self._memories.get(languages)
        if not memory:
            raise InvalidRequest(
                "Corrections need a pair with a model. Received: "
                f"{'-'.join(languages)}. GET /languages lists the codes."
            )
        pairs = zip(*map(itertools.chain.from_iterable, sides))
        try:
            memory.remember_all(pairs, "kt-serve")
        except UserError as error:  # such as a full disk
            raise RequestError("UNAVAILABLE", str(error)) from error
