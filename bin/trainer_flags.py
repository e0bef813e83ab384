"""The flags of kt-trainer."""

from keras_transformer.bin.shared import flags
from keras_transformer.training.options import TrainingOptions

MEASURES = ["bleu", "chrf", "ter", "f1", "loss"]
FLAGS = flags.define(
    flags.group(
        "Getting started",
        flags.text(
            "problem",
            "Name of the problem. The suffix _rev swaps source and target, and "
            "_both stands for both directions together. "
            "Default: the problem of the run in output_dir.",
        ),
        flags.switch(
            "generate_data",
            "Generate the data first, unless data_dir holds it already.",
        ),
        "data_dir",
        "output_dir",
        flags.text(
            "hparams_set",
            "Name of the hparams set, which fixes the model and its training. "
            "Default: the set of the run in output_dir.",
        ),
        "hparams",
        flags.count(
            "train_steps",
            "Total number of updates, which includes those before a resume. "
            "Default: train_steps of the hparams set.",
        ),
        # In the first group, since it lists the values of --problem and
        # --hparams_set.
        "registry_help",
    ),
    flags.group("Data", "tmp_dir", "usr_dir"),
    flags.group(
        "Model",
        flags.path(
            "warm_start_from",
            "Directory of a run with the same dimensions, whose weights a new "
            "run starts from. Default: none.",
        ),
        flags.seed(
            "random_seed",
            "Seed of the initial weights, of dropout and of the order of the "
            "data. Default: the seed of the run in output_dir, or 0.",
        ),
    ),
    flags.group(
        "Batch",
        # Text because of auto. `_batch_tokens` reads the number.
        flags.text(
            "batch_tokens",
            "Maximum number of positions per side that a device processes at "
            "once, or auto for the most that fit into its memory. Default: "
            "batch_tokens of the hparams set.",
        ),
        flags.whole(
            "effective_batch_tokens",
            "Mean number of tokens in an update, on any number of devices. "
            "Padding does not count. Source or target counts, whichever has "
            "more. Gradients are accumulated over as many rounds as needed. 0 "
            "makes an update of batch_tokens positions. Default: "
            "effective_batch_tokens of the hparams set.",
        ),
    ),
    # The defaults are those of a `Trainer` in Python.
    flags.group(
        "Checkpoints",
        flags.count(
            "eval_frequency",
            "Number of updates between two evaluations. Each evaluation "
            "writes a checkpoint.",
            default=TrainingOptions.eval_frequency,
        ),
        flags.amount(
            "timed_checkpoint_minutes",
            "Minutes of training between two checkpoints for "
            "kt-avg-checkpoints --checkpoints=timed; 0 makes none. They are "
            "not evaluated.",
            default=TrainingOptions.timed_checkpoint_minutes,
        ),
        flags.choice(
            "measure",
            MEASURES,
            "Figure on dev that decides which checkpoint is best: bleu, chrf, "
            "ter, f1 or loss. Default: the measure of the run in output_dir, "
            "or the problem's, which is bleu or f1.",
        ),
        flags.count(
            "keep_checkpoint_max",
            "Number of newest evaluated checkpoints to keep, and of newest "
            "timed ones.",
            default=TrainingOptions.keep_checkpoint_max,
        ),
        flags.amount(
            "keep_checkpoint_every_n_hours",
            "Hours of training between two checkpoints that are kept for "
            "ever; 0 keeps none for ever.",
            default=TrainingOptions.keep_checkpoint_every_n_hours,
        ),
        flags.amount(
            "save_checkpoints_secs",
            "Maximum number of seconds between two checkpoints, if "
            "evaluations are less frequent.",
            default=TrainingOptions.save_checkpoints_secs,
        ),
    ),
    flags.group(
        "Stopping",
        flags.choice(
            "early_stopping_metric",
            ["none", "measure", *MEASURES],
            "Metric on dev that must improve for the training to continue: "
            "measure for that of --measure, loss, a score of the problem (ter "
            "only with --measure=ter), or none to train for all train_steps.",
            default=TrainingOptions.early_stopping_metric,
        ),
        flags.count(
            "early_stopping_patience",
            "Number of evaluations in a row without an improvement after "
            "which the training stops.",
            default=TrainingOptions.early_stopping_patience,
        ),
    ),
    flags.group(
        "Devices",
        "worker_gpu",
        "precision",
        "xla",
        flags.text(
            "device",
            "Device that the training cost is computed for, such as P100, or "
            "its sustained FLOP/s, such as 9.5e12. Without it, the GPU "
            "is recognised by its name.",
            default=TrainingOptions.device,
        ),
    ),
    flags.group(
        "Debugging",
        flags.text(
            "profile_steps",
            "First and last update to profile for TensorBoard, such as 10,20. "
            "Default: none.",
        ),
    ),
)
