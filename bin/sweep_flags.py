"""The flags of kt-sweep."""

from keras_transformer.bin.shared import flags
from keras_transformer.sweep.scales import SCALES

FLAGS = flags.define(
    flags.group(
        "Getting started",
        flags.text(
            "problem",
            "Name of the problem. The suffix _rev swaps source and target, and "
            "_both stands for both directions together.",
        ),
        flags.path(
            "data_dir",
            "Directory of the generated data, with one folder for each "
            "problem.",
        ),
        flags.path(
            "output_dir",
            "Directory of the sweep: its table, its picture, and a run for "
            "each row.",
        ),
        flags.count(
            "train_steps",
            "Number of updates of each row. Default: train_steps of its "
            "hparams set.",
        ),
        "registry_help",
    ),
    flags.group(
        "Rows",
        flags.choice(
            "table",
            ["3", "4"],
            "Table of the paper to repeat: 3 for its models, or 4 for its "
            "parser. Default: none.",
        ),
        flags.text(
            "hparams_sets",
            "Names of hparams sets to train, separated by commas. Default: "
            "none.",
        ),
        flags.text(
            "hparams_set",
            "Name of the hparams set that --grid or --random changes, or that "
            "--table=4 trains. Default: transformer_parsing for --table=4.",
        ),
        flags.text(
            "grid",
            "Values to combine, such as 'dropout=0.1,0.3;num_layers=2,4'. "
            "Default: none.",
        ),
        flags.count(
            "random",
            "Number of combinations to draw from --ranges. Default: none.",
            maximum=10_000,
        ),
        flags.text(
            "ranges",
            "Ranges or values to draw from, such as 'learning_rate=0.3..3.0 "
            "log;num_layers=2..6;norm=pre,post'. Default: none.",
        ),
        flags.text(
            "rows",
            "Names of the rows to train now, separated by commas, such as "
            "base,a_h1. Default: all rows.",
        ),
    ),
    flags.group(
        "Recipe",
        flags.choice(
            "scale",
            SCALES,
            "Size of the models: none as the hparams set states, or tiny, "
            "which divides d_model, d_ff, d_k, d_v and warmup_steps by 4, "
            "effective_batch_tokens by 40 and learning_rate by 2.",
            default="none",
        ),
        flags.text(
            "hparams",
            "Changes to the hparams sets of all rows, after --scale, such as "
            "attention_dropout=0.1.",
            default="",
        ),
        flags.count(
            "seeds", "Number of seeds for each row.", default=1, maximum=100
        ),
        flags.count(
            "base_seeds",
            "Number of seeds for the row base of Table 3.",
            default=1,
            maximum=100,
        ),
        flags.seed(
            "random_seed",
            "First seed of each row, and the seed that --random draws with.",
            default=0,
        ),
        "precision",
    ),
    flags.group(
        "Evaluation",
        flags.text(
            "splits",
            "Splits to evaluate, separated by commas: dev, test or both. "
            "Default: those of the problem.",
        ),
    ),
    flags.group(
        "Data",
        flags.path(
            "semi_data_dir",
            "Directory of the generated data of the semi-supervised row of "
            "--table=4: the treebank and parsed text. Default: none, which "
            "leaves the row out.",
        ),
        "usr_dir",
    ),
)
# Each of these names the rows of a sweep.
KINDS = ("table", "hparams_sets", "grid", "random")
# Flags that only some sweeps read.
GOES_WITH = {
    "hparams_set": ("grid", "random", "table=4"),
    "ranges": ("random",),
    "base_seeds": ("table=3",),
    "semi_data_dir": ("table=4",),
}


def kind_of_rows():
    """Returns which of `KINDS` names the rows, once the flags fit together.

    Raises:
        ValueError: If none or several of them are given, or if a flag has no
            effect on rows of this kind.
    """
    kinds = [name for name in KINDS if FLAGS[name].value]
    if len(kinds) != 1:
        received = " and ".join(f"--{n}={FLAGS[n].value}" for n in kinds)
        raise ValueError(
            f"A sweep must have one of --{', --'.join(KINDS)}. Received: "
            f"{received or 'none of them'}. Give one of them."
        )
    (kind,) = kinds
    if kind in ("grid", "random"):
        flags.require(FLAGS, "hparams_set", by=kind)
    if kind == "random":
        flags.require(FLAGS, "ranges", by="random")
    at = f"{kind}={FLAGS.table}" if kind == "table" else kind
    for name, places in GOES_WITH.items():
        if flags.is_changed(FLAGS, name) and at not in places:
            raise ValueError(
                f"`--{name}` must go with --{' or --'.join(places)}. Received: "
                f"--{name}={FLAGS[name].value} and --{kind}="
                f"{FLAGS[kind].value}. Remove it."
            )
    return kind
