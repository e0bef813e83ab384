"""Two runs on a text that kt-evaluate has decoded with both."""

import os

from keras_transformer import registry
from keras_transformer.decoding import outputs
from keras_transformer.decoding.test_sets import get_split
from keras_transformer.errors import UserError
from keras_transformer.scoring import comparison
from keras_transformer.scoring.translations import sentence_chrf
from keras_transformer.studio.models import Frame
from keras_transformer.visualization.systems_report import Systems
from keras_transformer.visualization.systems_report import make_systems_report
from keras_transformer.visualization.systems_report import name_systems

SPLITS = ("test", "dev")


def list_texts(studio, run: int = 0, other: int = 0):
    """Returns the `names` of splits that both runs have decoded."""
    pair = studio.get_run(run), studio.get_run(other)
    return {
        "names": [
            name
            for name in SPLITS
            if all(
                os.path.isfile(outputs.outputs_path(each.path, name))
                for each in pair
            )
        ]
    }


def compare_texts(studio, name: str, run: int = 0, other: int = 0):
    """Compares the outputs of two runs for a split.

    Returns the `sentences`, each with its `source`, `reference` and the texts
    and chrF of both, `this` and `other`, and the name of a `frame` with the
    page of `kt-evaluate --html`.
    """
    pair = studio.get_run(run), studio.get_run(other)
    if name not in SPLITS:
        raise UserError(
            f"`name` must be one of {', '.join(SPLITS)}. Received: {name!r}. "
            "Choose another one."
        )
    record = pair[0].record
    problem = registry.get_problem(record["problem"], record.get("data_dir"))
    if problem.measure != "bleu":
        raise UserError(
            "`run` must be one that translates. Received: one that parses. "
            "Compare parsers with kt-evaluate."
        )
    texts = get_split(problem, name)
    both = tuple(outputs.read_others(each.path, texts) for each in pair)
    names = name_systems([pair[0].path], pair[1].path)
    systems = Systems(texts, names, both)
    differences = comparison.compare(
        both[0], both[1], texts.references, problem.bleu_tokenizer
    )
    page = make_systems_report(systems, differences)
    return {
        "sentences": _score_sentences(texts, both),
        "frame": studio.add_frame(Frame(page)),
    }


def save_comparison(studio, name: str, run: int = 0, other: int = 0):
    """Returns the page of `compare_texts` as `html`."""
    frame = compare_texts(studio, name, run, other)["frame"]
    return {"html": studio.get_frame(frame).html}


def _score_sentences(texts, both):
    scores = [sentence_chrf(each, texts.references) for each in both]
    rows = zip(texts.sources, texts.references, zip(*both), zip(*scores))
    return [
        {
            "number": number,
            "source": source,
            "reference": reference,
            "texts": list(pair),
            "scores": list(scores_of_pair),
        }
        for number, (source, reference, pair, scores_of_pair) in enumerate(
            rows, 1
        )
    ]
