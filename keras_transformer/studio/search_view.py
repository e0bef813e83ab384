"""Beam search step by step: its candidates, which it kept, and why."""

import numpy as np

from keras_transformer.decoding.engines.engine import Sentences
from keras_transformer.decoding.engines.keras_engine import cut_after_end
from keras_transformer.errors import UserError
from keras_transformer.studio.models import MAX_BEAM
from keras_transformer.studio.models import clean_text
from keras_transformer.token_ids import END_ID
from keras_transformer.token_ids import END_LABEL
from keras_transformer.token_ids import UNKNOWN_ID

NEXT_PIECE = "(word)"


def search(
    studio,
    text: str,
    beam_size: int = 4,
    alpha: float = 0.6,
    run: int = 0,
    step: int = 0,
):
    """Searches for the best translation, and returns every candidate.

    `steps` has a list of candidates for each position, best first. Each has its
    `token`, the number of its `parent` among the candidates of the step before
    (-1 at the first), `log_prob` of the sequence so far, `score` if it ended
    there, and an `outcome`:

    - "kept": it is one of the beams of the next step;
    - "cut": enough other unfinished candidates are likelier;
    - "best" or "worse": it ended, and became the best hypothesis so far or not.

    Also returned are the `text` and `score` of the best hypothesis, its `path`
    of numbers of candidates, and `bounds`: for each beam that was alive at the
    end, the number of its candidate and the score that it could still reach.
    """
    # Imported here because they load Keras.
    from keras_transformer.parsing.tree_constraint import make_constraint
    from keras_transformer.search.hypotheses import find_hypotheses

    if not 1 <= beam_size <= MAX_BEAM:
        raise UserError(
            f"`beam_size` must be from 1 to {MAX_BEAM}. Received: "
            f"beam_size={beam_size}. Use a value such as 4."
        )
    translator = studio.get_model(run, step).exact
    (source,) = translator.encode([clean_text(translator, text)])
    if not source:
        return {"steps": []}
    options = translator.change_options(beam_size=beam_size, alpha=alpha)
    inputs, limits, *_ = Sentences([source]).make_arrays(
        [0], options.extra_length
    )
    sources, targets = translator.codec.vocabularies
    observed: list = []

    def observe(*step):
        observed.append(step)
        studio.job.advance(len(observed), int(limits[0]))

    results = find_hypotheses(
        *(translator.engine.model, options, inputs, limits),
        constraint=make_constraint(options, targets, sources),
        observe=observe,
    )
    ids = cut_after_end(np.asarray(results.sequences)[0, 0].tolist())
    steps, path = _list_steps(targets, observed, alpha)
    limit = int(observed[-1][1].limits[0])
    return {
        "steps": steps,
        "path": path,
        "text": targets.decode([ids])[0],
        "score": float(np.asarray(results.scores)[0, 0]),
        "limit": limit,
        # No beam can have a larger penalty.
        "bounds": _list_bounds(steps[-1], _penalty(limit, alpha)),
    }


def _list_bounds(candidates, penalty):
    return [
        {"candidate": number, "bound": one["log_prob"] / penalty}
        for number, one in enumerate(candidates)
        if one["outcome"] == "kept"
    ]


def _list_steps(vocabulary, observed, alpha):
    """Returns the candidates of each step, and the path of the best one."""
    steps, best, path = [], float("-inf"), []
    beams = [-1]  # for each beam, its candidate of the step before
    paths = {-1: []}
    for number, (candidates, after) in enumerate(observed):
        rows = zip(*(np.asarray(part)[0].tolist() for part in candidates))
        num_beams = after.alive.log_probs.shape[1]
        kept, listed, new_paths = [], [], {}
        for beam, id_, log_prob in rows:
            if log_prob == float("-inf"):
                continue
            here, parent = len(listed), beams[beam]
            score = log_prob / _penalty(number + 1, alpha)
            new_paths[here] = [*paths[parent], here]
            outcome = "kept" if len(kept) < num_beams else "cut"
            if id_ == END_ID:
                outcome = "best" if score > best else "worse"
            if outcome == "best":
                best, path = score, new_paths[here]
            if outcome == "kept":
                kept.append(here)
            listed.append(
                {
                    "token": _label(vocabulary, id_),
                    "parent": parent,
                    "log_prob": log_prob,
                    "score": score,
                    "outcome": outcome,
                }
            )
        steps.append(listed)
        beams, paths = kept, new_paths
    return steps, path


def _label(vocabulary, id_):
    # A parser reads the words from its source: the id stands for the next
    # piece. No other search writes it.
    labels = {END_ID: END_LABEL, UNKNOWN_ID: NEXT_PIECE}
    return labels.get(id_) or vocabulary.pieces([id_])[0]


def _penalty(length, alpha):
    return ((5 + length) / 6) ** alpha
