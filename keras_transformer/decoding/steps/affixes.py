"""The language tag before a text, and the emoji in it and after it."""

import itertools
import re

from keras_transformer.data.text.tags import add_tag
from keras_transformer.data.text.tags import check_tag
from keras_transformer.data.text.tags import make_tag_word
from keras_transformer.decoding.steps import Step
from keras_transformer.errors import UserError

# A character of an emoji that needs no variant: pictographs, dingbats, watches,
# clocks, and single squares, stars and circles.
_PICTOGRAPH = "\u2600-\u27bf\U0001f000-\U0001faff\u231a\u231b\u23e9-\u23f3"
_PICTOGRAPH += "\u25fd\u25fe\u2b1b\u2b1c\u2b50\u2b55"
# Arrows and other signs, which are no emoji by themselves.
_SIGN = "\u2190-\u21ff\u2300-\u23ff\u25a0-\u25ff\u2900-\u297f\u2b00-\u2bff"
# A keycap such as 1️⃣, or any sign that the variant U+FE0F makes an emoji.
_VARIANT = "[#*0-9]\ufe0f?\u20e3|\\S\ufe0f"
# A joiner, variants, and the letters of a flag such as that of Wales.
_MARK = "\u200d\ufe0e\ufe0f\U000e0020-\U000e007f"
_EMOJI = re.compile(
    rf"(?:[{_PICTOGRAPH}]|{_VARIANT})[\U0001f3fb-\U0001f3ff{_MARK}]*"
    rf"(?:(?<=\u200d)[{_PICTOGRAPH}{_SIGN}][\U0001f3fb-\U0001f3ff{_MARK}]*)*"
)
_RUN = re.compile(rf"(?:[\s{_PICTOGRAPH}{_SIGN}{_MARK}]|{_VARIANT})+")
_ONLY_MARKS = re.compile(rf"[\s{_MARK}]*")


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
            remedy = f"a language of the model: {', '.join(self._codes or ())}."
            if not self._codes:
                remedy = "a tag that kt-datagen was given, such as fr in "
                remedy += "--train=news.en,news.fr@fr."
            raise UserError(
                "`target_language` must be a tag that the model was trained "
                f"with. Received: {tag}, but {word} has no id in the "
                f"vocabulary. Name {remedy}"
            )

    def prepare(self, texts):
        return [add_tag(text, self.tag, self._codes) for text in texts], None

    def finish_links(self, links):
        place = len(self._word) + 1  # after the tag and a space
        return links.drop_source(place)


class FinalEmoji(Step):
    """Moves the emoji at the end of each text to the end of its translations.

    A vocabulary spells a rare emoji in bytes, and a model that has seen none
    often translates the words before it badly as well. Arrows and similar signs
    at the end go with them. The model reads emoji elsewhere in a text; those
    that a translation lacks are added to its end, since no emoji may be lost.

    >>> step = FinalEmoji()
    >>> step.prepare(["Hello! 👋🏽", "100 % 😀 sure", "👍"])
    (['Hello!', '100 % 😀 sure', ''], [([], ' 👋🏽'), (['😀'], ''), ([], '👍')])
    """

    def prepare(self, texts):
        bodies = self.prepare_targets(texts)
        ends = [text[len(body) :] for text, body in zip(texts, bodies)]
        return bodies, [
            (_EMOJI.findall(body), end.rstrip() if body else end.strip())
            for body, end in zip(bodies, ends)
        ]

    def prepare_targets(self, texts):
        return list(map(_drop, texts))

    def finish(self, hypotheses, memory):
        return [
            [
                one._replace(text=_add_missing(one.text, emoji) + end)
                for one in row
            ]
            for row, (emoji, end) in zip(hypotheses, memory)
        ]


def _drop(text):
    *_, last = itertools.chain([None], _RUN.finditer(text))
    if not last or last.end() < len(text) or _ONLY_MARKS.fullmatch(last[0]):
        return text
    return text[: last.start()]


def _add_missing(translation, emoji):
    """Returns a translation with the emoji that it lacks."""
    rest, missing = translation.replace("\ufe0f", ""), []
    for one in emoji:
        plain = one.replace("\ufe0f", "")
        if plain not in rest:
            missing.append(one)
        rest = rest.replace(plain, "", 1)
    return " ".join([translation, "".join(missing)]) if missing else translation
