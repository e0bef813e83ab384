"""Draws the learning curve of a training run."""

# These have no plot of their own: dev_loss is drawn beside the training loss,
# and perplexity and accuracy move with it.
LOSS_COLUMNS = ("dev_loss", "dev_perplexity", "dev_accuracy")


def plot_learning_curve(rows, path):
    """Draws the losses and scores of each evaluation into a PNG file.

    Args:
        rows: List of the rows of `metrics.csv`, which are dictionaries of
            strings.
        path: Path of the file to write.
    """
    # Imported here so that importing this module does not load matplotlib.
    from matplotlib.figure import Figure

    scores = _score_names(rows)
    num_axes = 1 + len(scores)
    figure = Figure(figsize=(5 * num_axes, 3.6), dpi=120, layout="tight")
    axes = figure.subplots(1, num_axes, squeeze=False)[0]
    for name, label in (("train_loss", "train, smoothed"), ("dev_loss", "dev")):
        axes[0].plot(*_series(rows, name), label=label)
    axes[0].set_title("loss per token")
    axes[0].legend(frameon=False)
    for axis, name in zip(axes[1:], scores):
        axis.plot(*_series(rows, name), color="tab:green")
        title = name.removeprefix("dev_").replace("_", " ")
        axis.set_title(f"dev {title.upper()}")
    for axis in axes:
        axis.set_xlabel("updates")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def _score_names(rows):
    names = dict.fromkeys(name for row in rows for name in row)
    dev = [name for name in names if name.startswith("dev_")]
    return [name for name in dev if name not in LOSS_COLUMNS]


def _series(rows, name):
    # Rows between two evaluations have no scores.
    points = [
        (int(row["step"]), float(row[name])) for row in rows if row.get(name)
    ]
    return tuple(zip(*points)) if points else ((), ())
