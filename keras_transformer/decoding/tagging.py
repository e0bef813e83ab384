"""Translation by models that read a tag, such as the target language."""

from keras_transformer.data.tags import check_tag
from keras_transformer.data.tags import tagged
from keras_transformer.data.tags import word_of
from keras_transformer.decoding.placeholders import check_alone
from keras_transformer.decoding.text_translator import TextTranslator
from keras_transformer.decoding.windows import check_pairs
from keras_transformer.decoding.windows import check_texts
from keras_transformer.decoding.word_links import SPACED_WORD


class TaggingTranslator(TextTranslator):
    """Puts a tag before each text, such as the language to translate into.

    It is called like the translator that it gives the texts to.

    Args:
        translator: A `TextTranslator`, such as a `Translator`.
        tag: Str, one of the tags that the model was trained with.

    Raises:
        ValueError: If the model's vocabulary does not have the tag.

    Example:

        french = TaggingTranslator(load("runs/many"), "fr")
        french(["A dog runs."])  # translates "<fr> A dog runs."
    """

    def __init__(self, translator, tag):
        check_tag(tag, "`target_language`")
        self.translator = translator
        self.tag = tag
        self.options = translator.options
        self.linearization = translator.linearization
        self.max_tokens = translator.max_tokens
        self.trained_length = translator.trained_length
        # One token for the tag, and one for the end.
        if translator.num_tokens([word_of(tag)]) != [2]:
            raise ValueError(
                "`target_language` must be a tag that the model was trained "
                f"with. Received: {tag}, but {word_of(tag)} has no id in the "
                "vocabulary. Name a tag that kt-datagen was given, such as fr "
                "in --train=news.en,news.fr@fr."
            )

    @property
    def has_attention(self):
        return self.translator.has_attention

    def hypotheses(self, texts, *arguments, **options):
        texts = self._tagged_texts(texts, options)
        return self.translator.hypotheses(texts, *arguments, **options)

    def unscored_hypotheses(self, texts, *arguments, **options):
        texts = self._tagged_texts(texts, options)
        return self.translator.unscored_hypotheses(texts, *arguments, **options)

    def score(self, texts, translations, alpha=None):
        check_pairs(texts, translations)
        texts = list(map(self._tagged, texts))
        return self.translator.score(texts, translations, alpha)

    def score_ids(self, sources, targets, alpha=None):
        # `encode` has put the tag before the sources.
        return self.translator.score_ids(sources, targets, alpha)

    def changed_options(self, **changes):
        return self.translator.changed_options(**changes)

    def check_translations(self, translations, name="the input"):
        return self.translator.check_translations(translations, name)

    def encode(self, numbered):
        return self.translator.encode(
            [(number, self._tagged(text)) for number, text in numbered]
        )

    def encode_targets(self, numbered):
        return self.translator.encode_targets(numbered)

    def num_tokens(self, texts, of_targets=False):
        # Only sources begin with the tag.
        texts = texts if of_targets else list(map(self._tagged, texts))
        return self.translator.num_tokens(texts, of_targets=of_targets)

    def length_limit(self, text, prefix="", **options):
        text = self._tagged(text)
        return self.translator.length_limit(text, prefix, **options)

    def attention(self, texts, hypotheses):
        return self.translator.attention(
            list(map(self._tagged, texts)), hypotheses
        )

    def word_links(self, texts, hypotheses, pattern=SPACED_WORD):
        links = self.translator.word_links(
            list(map(self._tagged, texts)), hypotheses, pattern
        )
        place = len(word_of(self.tag)) + 1  # behind the tag and a space
        return [each.drop_source(place) for each in links]

    def _tagged_texts(self, texts, options):
        check_texts(texts)
        if options.get("protect"):
            check_alone(tag=self.tag)
        return map(self._tagged, texts)

    def _tagged(self, text):
        return tagged(text, self.tag) if isinstance(text, str) else text
