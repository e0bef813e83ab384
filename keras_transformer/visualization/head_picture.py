"""Draws the scores of attention heads as maps."""

import numpy as np

from keras_transformer.visualization.picture import write_picture

# All lengths are in inches.
CELL = 0.45
MARGIN = 0.6


def write_head_picture(scores, path):
    """Draws a map for each score, with a row per layer, a column per head."""
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    maps = scores.by_name()
    num_layers, num_heads = scores.diagonal.shape
    width = max(4, num_heads) * CELL + MARGIN
    height = num_layers * CELL + 2 * MARGIN
    figure = Figure((len(maps) * width, height), dpi=150, layout="constrained")
    axes = figure.subplots(1, len(maps), squeeze=False)[0]
    for axis, (name, values) in zip(axes, maps.items()):
        axis.imshow(values, "Blues", vmin=0, vmax=1)
        axis.set_title(name)
        axis.set_xlabel("head")
        axis.set_ylabel("layer")
        axis.set_xticks(range(num_heads), range(1, num_heads + 1))
        axis.set_yticks(range(num_layers), range(1, num_layers + 1))
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
        for (layer, head), value in np.ndenumerate(values):
            colour = "white" if value > 0.5 else "0.2"
            options = {"ha": "center", "va": "center", "fontsize": 7}
            axis.text(head, layer, f"{value:z.2f}", color=colour, **options)
    write_picture(figure, path)
