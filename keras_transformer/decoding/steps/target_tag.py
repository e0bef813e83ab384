"""The tag before each text, such as the language to translate into."""

from keras_transformer.data.tags import add_tag
from keras_transformer.data.tags import check_tag
from keras_transformer.data.tags import make_tag_word
from keras_transformer.decoding.steps import Step
from keras_transformer.errors import UserError


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
        place = len(self._word) + 1  # behind the tag and a space
        return links.drop_source(place)


def _suggest_tags(codes):
    if codes:
        return f"Name a language of the model: {', '.join(codes)}."
    return (
        "Name a tag that kt-datagen was given, such as fr in "
        "--train=news.en,news.fr@fr."
    )
