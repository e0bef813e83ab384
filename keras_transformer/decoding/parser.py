"""Parses sentences with a translator whose model writes trees."""

from collections.abc import Sequence

from keras_transformer.decoding.engines.engine import Engine
from keras_transformer.decoding.engines.keras_engine import KerasEngine
from keras_transformer.decoding.preparation import Call
from keras_transformer.decoding.steps import Step
from keras_transformer.decoding.steps.trees import Consensus
from keras_transformer.decoding.steps.trees import Trees
from keras_transformer.decoding.translator import Translator
from keras_transformer.errors import UserError
from keras_transformer.search.options import DecodeOptions


class Parser(Translator):
    """Parses sentences with a trained model.

    The result is always a well-formed tree over the words of the sentence. A
    search that is not constrained to trees (`constrained=False`, or a
    CTranslate2 model) can write something else. The parser repairs it and
    counts it in its attribute `trees.num_malformed`.

    A parser is called like a `Translator`. Its outputs are trees in brackets,
    str that `nltk.Tree.fromstring` accepts.

    Args:
        engine: The engine of a model that was trained to parse.
        tokenized: Whether the sentences are words with spaces between them, as
            in a treebank, instead of raw text. Defaults to False.
        steps: List of `Step` that come before parsing. Defaults to none.

    Example:

        parser = Parser.load("runs/parser")
        parser(["The dog barks."])
        # ["(TOP (S (NP (XX The) (XX dog)) (VP (XX barks)) (. .)))"]
    """

    sorts_samples = False  # a step joins them

    def __init__(
        self,
        engine: Engine,
        tokenized: bool = False,
        steps: Sequence[Step] = (),
    ):
        if engine.codec.linearization is None:
            raise UserError(
                "A parser must have a model that was trained to parse. "
                "Received: one without brackets in its vocabulary. Use it as "
                "a `Translator`."
            )
        self.chart = None  # finds the constituents, if a run can classify them
        if isinstance(engine, KerasEngine):
            # Imported here because it loads Keras.
            from keras_transformer.parsing.chart import make_chart

            models = engine.model.list_models()
            self.chart = make_chart(models, engine.codec.vocabularies)
        self.trees = Trees(engine.codec, tokenized)
        super().__init__(engine, [*steps, self.trees])

    def combine_steps(self, call: Call) -> list[Step]:
        steps = super().combine_steps(call)
        # The first step finishes last, when the samples are trees.
        if call.options.mbr_samples or self._uses_chart(call.options):
            return [Consensus(self, call.options), *steps]
        return steps

    def choose_search(self, options: DecodeOptions) -> DecodeOptions:
        if options.mbr_samples or not self._uses_chart(options):
            return options
        return options.replace(num_hypotheses=options.num_beams)

    def _uses_chart(self, options):
        # Several trees, or samples, come only from the decoder.
        is_single = options.num_hypotheses == 1 and not options.temperature
        return bool(self.chart) and is_single
