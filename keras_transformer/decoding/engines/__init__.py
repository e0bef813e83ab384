"""Engines: what searches and scores, and what each of them can do.

An engine is a run on Keras (`keras_engine`), a SavedModel (`saved_model`) or a
CTranslate2 model (`ctranslate2`); `automatic` has both for a run. It takes
encoded sentences and returns hypotheses; all the rest is `Translator`'s. Each
has

- `codec`, which encodes texts and decodes ids, see `texts.Codec`;
- `capabilities`, a `Capabilities`;
- `options`, the `DecodeOptions` that apply unless a call changes them;
- `linearization`, the one of `symbols.LINEARIZATIONS` that a parsing model
  writes, or None;
- `tagger`, which names parts of speech for a parser, or None;
- `trained_length`, the number of tokens up to which the model was trained;
- `max_length`, the maximum number of tokens of a translation, or None;
- `num_threads`, the number of batches that it runs at the same time;
- `search(sentences, options, scored)`, which yields batches and their
  hypotheses, and `score(sources, targets, options)`, which yields batches and
  their scores. A batch is a list of numbers of sentences; a blank sentence is
  in none.

An engine with attention also has `attend` and `link_words`.
"""

import dataclasses
import typing

from keras_transformer.errors import UserError
from keras_transformer.search.options import DecodeOptions

# The capability that an argument of a translator or a flag of kt-decoder needs.
_NEEDS = {
    "checkpoint_step": "checkpoints",
    "glossary": "glossary",
    "mbr_samples": "choice_of_samples",
    "precision": "checkpoints",
    "prefix_file": "prefixes",
    "prefixes": "prefixes",
    "protect": "placeholders",
    "protected_patterns": "placeholders",
    "random_seed": "seeds",
    "rerank_by": "reranking",
    "return_alignments": "attention",
    "return_attention": "attention",
    "return_word_scores": "attention",
    "seed": "seeds",
    "temperature": "samples",
    "write_alignments": "attention",
    "write_word_scores": "attention",
}


class Hypothesis(typing.NamedTuple):
    """A translation with its score and, if known, its ids with the end id.

    The score is None where a caller needs none and a search saved the time.
    """

    text: str
    score: float
    ids: list = ()


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What an engine can do."""

    description: str  # "A CTranslate2 model", the subject of a sentence
    remedy: str  # what to use in its place, such as "the run's directory"
    supports: tuple  # of the capabilities in `_NEEDS`
    fixed_options: DecodeOptions | None = None  # the only ones it decodes with


def check_capabilities(capabilities, request, prefix=""):
    """Checks that an engine can do what a user asks for.

    It needs no backend, so commands call it before they load one. `request` is
    a dictionary of arguments, flags and decoding options by name; what is not
    asked for is None, False, empty or 0. `prefix` is what precedes the names,
    such as "--" for flags.
    """
    name = find_unsupported(capabilities, request)
    if name:
        raise UserError(
            f"{capabilities.description} does not support "
            f"`{prefix}{name}`. Received: {prefix}{name}="
            f"{request[name]!s:.80}. "
            f"Use {capabilities.remedy}, or leave it out."
        )
    options = capabilities.fixed_options
    for name, fixed in dataclasses.asdict(options).items() if options else ():
        if request.get(name) is None:
            continue
        value = getattr(options.replace(**{name: request[name]}), name)
        is_fewer = name == "num_hypotheses" and value < fixed
        if value != fixed and not is_fewer:
            raise UserError(
                f"{capabilities.description} decodes with the `{name}` that it "
                f"was exported with. Received: {name}={value!r} instead of "
                f"{fixed!r}. Export the run again with "
                f"--decode_hparams={name}={value}."
            )


def find_unsupported(capabilities, request):
    """Returns the first name of a request that an engine lacks, or None."""
    for name, value in request.items():
        need = _NEEDS.get(name)
        if value and need and need not in capabilities.supports:
            return name
    return None
