"""Two checkpoints on the splits of their data."""

import itertools
import os

from keras_transformer import registry
from keras_transformer.decoding import outputs
from keras_transformer.decoding.test_sets import get_split
from keras_transformer.errors import UserError
from keras_transformer.runs.scores import read_scores
from keras_transformer.scoring import comparison
from keras_transformer.scoring.translations import sentence_chrf
from keras_transformer.studio.models import Frame
from keras_transformer.studio.training_view import name_runs
from keras_transformer.visualization.systems_report import Systems
from keras_transformer.visualization.systems_report import make_systems_report

SPLITS = ("test", "dev")
AT_ONCE = 32  # sentences of a request; others are answered between two


def list_texts(
    studio, run: int = 0, step: int = 0, other: int = 0, other_step: int = 0
):
    """Lists the `texts` that can be decoded with two checkpoints.

    Each has its `name`, its number of sentences as `total`, and for both
    checkpoints how many are `decoded` and the step that kt-evaluate decoded,
    or None, as `evaluated`.
    """
    pairs = [(run, step), (other, other_step)]
    texts = []
    for name in SPLITS:
        try:
            text = _get_text(studio, name, run)
        except UserError:  # the data are not on this machine
            continue
        both = [_find_outputs(studio, text, *pair) for pair in pairs]
        texts.append(
            {
                "name": name,
                "total": len(text.sources),
                "decoded": list(map(len, both)),
                "evaluated": [
                    _find_evaluated(studio.get_run(n), name) for n, _ in pairs
                ],
            }
        )
    return {"texts": texts}


def decode(studio, name: str, of: int = 0, run: int = 0, step: int = 0):
    """Decodes the next sentences of a split; returns how many are `decoded`.

    The split belongs to the run `of`. The outputs stay in memory, and nothing
    is written into the run.
    """
    text = _get_text(studio, name, of)
    key = run, studio.get_step(run, step), text.place
    done = _find_outputs(studio, text, run, step)
    sources = text.sources[len(done) : len(done) + AT_ONCE]
    problem = _get_problem(studio, of)
    hypotheses = studio.get_model(run, step).fast.hypotheses(sources)
    studio.decoded[key] = done + [
        problem.output(source, best.text)
        for source, (best, *_) in zip(sources, hypotheses)
    ]
    return {"decoded": len(studio.decoded[key])}


def compare_texts(
    studio,
    name: str,
    run: int = 0,
    step: int = 0,
    other: int = 0,
    other_step: int = 0,
):
    """Compares the outputs of two checkpoints for a split.

    Returns the `sentences`, each with its `source`, `reference` and the `texts`
    and chrF `scores` of both, and the name of a `frame` with the page of
    `kt-evaluate --html`.
    """
    texts = _get_text(studio, name, run)
    pairs = [(run, step), (other, other_step)]
    both = tuple(_find_outputs(studio, texts, *pair) for pair in pairs)
    if min(map(len, both)) < len(texts.sources):
        raise UserError(
            f"Both checkpoints must have decoded {name}. Received: "
            f"{len(both[0])} and {len(both[1])} of {len(texts.sources)} "
            "sentences. Decode it first."
        )
    run_names = name_runs(studio)
    names = tuple(
        f"{run_names[number]}, step {studio.get_step(number, one)}"
        for number, one in pairs
    )
    tokenizer = _get_problem(studio, run).bleu_tokenizer
    differences = comparison.compare(
        both[0], both[1], texts.references, tokenizer
    )
    page = make_systems_report(Systems(texts, names, both), differences)
    scores = [sentence_chrf(each, texts.references) for each in both]
    columns = [map(list, zip(*each)) for each in (both, scores)]
    rows = zip(itertools.count(1), texts.sources, texts.references, *columns)
    fields = ("number", "source", "reference", "texts", "scores")
    return {
        "sentences": [dict(zip(fields, row)) for row in rows],
        "frame": studio.add_frame(Frame(page)),
    }


def _get_problem(studio, run):
    record = studio.get_run(run).record
    problem = registry.get_problem(record["problem"], record.get("data_dir"))
    if problem.measure != "bleu":
        raise UserError(
            "`run` must be one that translates. Received: one that parses. "
            "Compare parsers with kt-evaluate."
        )
    return problem


def _get_text(studio, name, run):
    if name not in SPLITS:
        raise UserError(
            f"`name` must be one of {', '.join(SPLITS)}. Received: {name!r}. "
            "Choose another one."
        )
    return get_split(_get_problem(studio, run), name)


def _find_evaluated(run, name):
    """Returns the step whose outputs for a split the run holds, or None."""
    # The newest record is of the evaluation that wrote the outputs.
    entries = read_scores(run).get(name)
    if entries and os.path.isfile(outputs.outputs_path(run.path, name)):
        return entries[-1]["step"]
    return None


def _find_outputs(studio, texts, run, step):
    """Returns a checkpoint's outputs so far, of kt-evaluate or of `decode`."""
    directory, step = studio.get_run(run), studio.get_step(run, step)
    # Another problem has another text of this name.
    is_same = texts.place.startswith(f"{directory.problem_name}, ")
    if is_same and _find_evaluated(directory, texts.name) == step:
        return outputs.read_others(directory.path, texts)
    return studio.decoded.get((run, step, texts.place), [])
