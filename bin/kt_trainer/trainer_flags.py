"""The flags of kt-trainer, and the arguments of `train` that they state."""

from keras_transformer.bin.shared import flags
from keras_transformer.scoring.measures import MEASURES
from keras_transformer.training.options import TrainingOptions
from keras_transformer.training.profiler import parse_steps

FLAGS = flags.define(
    flags.group(
        "Getting started",
        problem=flags.text(
            "Name of the problem. The suffix _rev swaps source and target, and "
            "_both stands for both directions together. Default: the problem "
            "of the run in output_dir."
        ),
        generate_data=flags.switch(
            "Generate the data first, unless data_dir holds it already."
        ),
        data_dir=flags.SHARED,
        output_dir=flags.SHARED,
        hparams_set=flags.text(
            "Name of the hparams set, which fixes the model and its training. "
            "Default: the set of the run in output_dir, or the values of the "
            "run in warm_start_from."
        ),
        hparams=flags.SHARED,
        train_steps=flags.count(
            "Total number of updates, which includes those before a resume. "
            "Default: train_steps of the hparams set."
        ),
        train_minutes=flags.amount(
            "Minutes of training, however many updates they suffice for. The "
            "learning rate falls as a cosine of this time, to 0 at its end. "
            "Compiling counts; evaluations, checkpoints and pauses do not. "
            "Default: --train_steps decides.",
            minimum=0.001,
        ),
        # In the first group, as it lists values of --problem and --hparams_set.
        registry_help=flags.SHARED,
    ),
    flags.group("Data", tmp_dir=flags.SHARED, usr_dir=flags.SHARED),
    flags.group(
        "Model",
        warm_start_from=flags.path(
            "Directory of a run with the same architecture, whose weights a "
            "new run starts from. Default: none."
        ),
        random_seed=flags.seed(
            "Seed of the initial weights, of dropout and of the order of the "
            "data. Default: the seed of the run in output_dir, or 0."
        ),
    ),
    flags.group(
        "Batch",
        batch_tokens=flags.count_or(
            "auto",
            "Maximum number of positions per side that a device processes at "
            "once, or auto for the most that fit into its memory. Default: "
            "batch_tokens of the hparams set.",
        ),
        effective_batch_tokens=flags.whole(
            "Mean number of tokens in an update, on any number of devices. "
            "Padding does not count. Source or target counts, whichever has "
            "more. Gradients are accumulated over as many rounds as needed. 0 "
            "makes an update of batch_tokens positions. Default: "
            "effective_batch_tokens of the hparams set."
        ),
    ),
    # The defaults are those of `train` in Python.
    flags.group(
        "Checkpoints",
        eval_frequency=flags.count(
            "Number of updates between two evaluations. Each evaluation writes "
            "a checkpoint.",
            default=TrainingOptions.eval_frequency,
        ),
        eval_steps=flags.whole(
            "Maximum number of batches of an evaluation; 0 only writes the "
            "checkpoint. Default: all of dev."
        ),
        timed_checkpoint_minutes=flags.amount(
            "Minutes of training between two checkpoints for "
            "kt-avg-checkpoints --checkpoints=timed; 0 makes none. They are "
            "not evaluated.",
            default=TrainingOptions.timed_checkpoint_minutes,
        ),
        measure=flags.choice(
            [*MEASURES, "loss"],
            "Figure on dev that decides which checkpoint is best. Default: the "
            "measure of the run in output_dir, or the problem's, which is "
            "bleu, exact_match or f1.",
        ),
        keep_checkpoint_max=flags.count(
            "Number of newest evaluated checkpoints to keep, and of newest "
            "timed ones.",
            default=TrainingOptions.keep_checkpoint_max,
        ),
        keep_checkpoint_every_n_hours=flags.amount(
            "Hours of training between two checkpoints that are kept for ever; "
            "0 keeps none for ever.",
            default=TrainingOptions.keep_checkpoint_every_n_hours,
        ),
        save_checkpoints_secs=flags.amount(
            "Maximum number of seconds between two checkpoints, if evaluations "
            "are less frequent.",
            default=TrainingOptions.save_checkpoints_secs,
        ),
    ),
    flags.group(
        "Stopping",
        early_stopping_metric=flags.choice(
            ["none", "measure", *MEASURES, "loss"],
            "Metric on dev that must improve for the training to continue: "
            "measure for that of --measure, loss, another score of the "
            "problem, or none to train for all train_steps.",
            default=TrainingOptions.early_stopping_metric,
        ),
        early_stopping_patience=flags.count(
            "Number of evaluations in a row without an improvement after which "
            "the training stops.",
            default=TrainingOptions.early_stopping_patience,
        ),
    ),
    flags.group(
        "Devices",
        worker_gpu=flags.SHARED,
        precision=flags.SHARED,
        xla=flags.SHARED,
        device=flags.text(
            "Device that the training cost is computed for, such as P100, or "
            "its sustained FLOP/s, such as 9.5e12. Without it, the GPU is "
            "recognised by its name.",
            default=TrainingOptions.device,
        ),
    ),
    flags.group(
        "Debugging",
        profile_steps=flags.text(
            "First and last update to profile for TensorBoard, such as 10,20. "
            "Default: none."
        ),
    ),
)


def read_arguments():
    """Returns the arguments of `train` that the flags state, a dictionary."""
    values = {
        name: FLAGS[name].value
        for name in FLAGS
        if name not in flags.EVERYWHERE
    }
    if values.pop("generate_data"):
        values["tmp_dir"] = flags.find_tmp_dir(FLAGS)
    else:
        values["tmp_dir"] = None  # generates nothing
    return {
        "overrides": values.pop("hparams"),
        "hparams": values.pop("hparams_set"),
        "profile_steps": parse_steps(values.pop("profile_steps")),
        **values,
    }
