"""Emoji behind a text, which its translations keep."""

import string

from keras_transformer.decoding.steps import Step

_EMOJI = {
    chr(code)
    for codes in (range(0x2600, 0x27C0), range(0x1F000, 0x1FB00))
    for code in codes
}
# What may stand between them and behind them: spaces, and marks that join them
# or choose a variant.
_END = "".join([*_EMOJI, string.whitespace, "\u200d", "\ufe0f"])


class FinalEmoji(Step):
    """Moves the emoji at the end of each text to the end of its translations.

    A vocabulary spells a rare emoji in bytes, and a model that has seen none
    often translates the words before it badly as well.

    >>> step = FinalEmoji()
    >>> step.prepare(["Hello! 👋🏽", "100 %", "👍"])
    (['Hello!', '100 %', ''], [' 👋🏽', '', '👍'])
    """

    def prepare(self, texts):
        bodies = self.prepare_targets(texts)
        ends = [text[len(body) :] for text, body in zip(texts, bodies)]
        return bodies, [
            end.rstrip() if body else end.strip()
            for body, end in zip(bodies, ends)
        ]

    def prepare_targets(self, texts):
        return list(map(_drop, texts))

    def finish(self, hypotheses, memory):
        return [
            [one._replace(text=one.text + end) for one in row]
            for row, end in zip(hypotheses, memory)
        ]


def _drop(text):
    body = text.rstrip(_END)
    return text if _EMOJI.isdisjoint(text[len(body) :]) else body
