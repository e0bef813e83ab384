"""The language tag before a text, and the emoji after it."""

import string

from keras_transformer.data.tags import add_tag
from keras_transformer.data.tags import check_tag
from keras_transformer.data.tags import make_tag_word
from keras_transformer.decoding.steps import Step
from keras_transformer.errors import UserError

_EMOJI = {
    chr(code)
    for codes in (range(0x2600, 0x27C0), range(0x1F000, 0x1FB00))
    for code in codes
}
# What may come between and after emoji: spaces, and marks that join them or
# choose a variant.
_END = "".join([*_EMOJI, string.whitespace, "\u200d", "\ufe0f"])


class TargetTag(Step):
    """Puts a tag before each text; a blank text stays blank.

    The tag is one that the model was trained with, so it has a token in the
    vocabulary of the engine's `Codec`.

        engine = load("runs/many").engine
        french = Translator(engine, [TargetTag("fr", engine.codec)])
        french(["A dog runs."])  # translates "<fr> A dog runs."
    """

    def __init__(self, tag, codec):
        check_tag(tag, "`target_language`")
        self.tag = tag
        self._codes = codec.language_codes
        self._word = word = make_tag_word(tag, self._codes)
        # One token for the tag, and one for the end.
        if codec.count_tokens([word]) != [2]:
            raise UserError(
                "`target_language` must be a tag that the model was trained "
                f"with. Received: {tag}, but {word} has no id in the "
                f"vocabulary. {_suggest_tags(self._codes)}"
            )

    def prepare(self, texts):
        return [add_tag(text, self.tag, self._codes) for text in texts], None

    def finish_links(self, links):
        place = len(self._word) + 1  # after the tag and a space
        return links.drop_source(place)


def _suggest_tags(codes):
    if codes:
        return f"Name a language of the model: {', '.join(codes)}."
    return (
        "Name a tag that kt-datagen was given, such as fr in "
        "--train=news.en,news.fr@fr."
    )


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
