"""The keyword arguments of a call of a translator, for type checkers."""

import typing

from keras_transformer.decoding.steps.glossary import Glossary
from keras_transformer.decoding.steps.placeholders import Placeholders


class CallOptions(typing.TypedDict, total=False):
    """What `Translator.__call__` takes beside what decides on its result.

    A test compares it with `DecodeOptions`, whose fields mean the same.
    """

    beam_size: int | None
    alpha: float | None
    extra_length: int | None
    min_length: int | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    mbr_samples: int | None
    constrained: bool | None
    prefixes: list[str] | None
    seed: int
    glossary: Glossary | None
    protect: Placeholders | None
