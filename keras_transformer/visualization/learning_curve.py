"""Draws the learning curve of a training run."""

from keras_transformer.visualization.picture import MAX_MARKERS
from keras_transformer.visualization.picture import spelled
from keras_transformer.visualization.picture import write_picture

# These have no plot of their own: dev_loss is drawn beside the training loss,
# and perplexity and accuracy move with it.
LOSS_COLUMNS = ("dev_loss", "dev_perplexity", "dev_accuracy")


def plot_learning_curve(rows, path, label_smoothing=0.0):
    """Draws the losses and scores in the rows of `metrics.csv` as one picture.

    The legend mentions the label smoothing of the training loss, because the
    loss on dev has none.
    """
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    scores = _score_names(rows)
    num_axes = 1 + len(scores)
    figure = Figure(figsize=(5 * num_axes, 3.6), dpi=120, layout="tight")
    axes = figure.subplots(1, num_axes, sharex=True, squeeze=False)[0]
    train = "train, with label smoothing" if label_smoothing else "train"
    for name, label in (("train_loss", train), ("dev_loss", "dev")):
        _plot(axes[0], rows, name, label=label)
    axes[0].set_title("loss per token")
    axes[0].legend(frameon=False)
    for axis, name in zip(axes[1:], scores):
        _plot(axis, rows, name, color="tab:green")
        axis.set_title(spelled(name))
    for axis in axes:
        axis.set_xlabel("updates")
        axis.xaxis.set_major_formatter("{x:,.10g}")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_xlim(left=0)  # and so in all, which share the axis
    write_picture(figure, path)


def _score_names(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    dev = [name for name in names if name.startswith("dev_")]
    return [name for name in dev if name not in LOSS_COLUMNS]


def _plot(axis, rows, name, **options):
    # Rows between two evaluations have no scores.
    rows = [row for row in rows if row.get(name)]
    axis.plot(
        [int(row["step"]) for row in rows],
        [float(row[name]) for row in rows],
        marker="." if len(rows) <= MAX_MARKERS else None,
        **options,
    )
