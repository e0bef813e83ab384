"""The ranking of attention heads as a text table."""

import numpy as np

NUM_ROWS = 10
NEIGHBOURS = {-1: "previous", 0: "itself", 1: "next"}


def head_name(layer, head):
    """Returns the name of a head, such as "5.8" for head 8 of layer 5."""
    return f"{layer + 1}.{head + 1}"


def ranking(values):
    """Returns pairs `(layer, head)` from the highest to the lowest value.

    The values have the shape `(num_layers, num_heads)`.
    """
    order = np.argsort(-values, axis=None, kind="stable")
    return [divmod(int(place), values.shape[1]) for place in order]


def head_notes(scores, head):
    """Returns notes that explain scores of a head, by the scores' names."""
    return {
        "diagonal": NEIGHBOURS[int(scores.offset[head])],
        "local": f"{scores.distance[head]:.1f} words",
    }


def head_table(scores):
    """Returns the `NUM_ROWS` heads with the highest scores of each kind."""
    columns = []
    for name, values in scores.by_name().items():
        best = ranking(values)[:NUM_ROWS]
        columns.append([name, *(_cell(scores, name, head) for head in best)])
    lines = zip(*columns)
    return "\n".join(
        "  ".join(cell.ljust(22) for cell in line).rstrip() for line in lines
    )


def _cell(scores, name, head):
    score = getattr(scores, name)[head]
    note = head_notes(scores, head).get(name, "")
    return f"{head_name(*head)} {score:z6.3f} {note}"
