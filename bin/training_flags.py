"""The flags of data and of training."""

import os
import tempfile

from keras_transformer.bin import flag_kinds as kinds

TRAINING_FLAGS = {
    "problem": (
        kinds.text,
        None,
        "Name of the problem; a trailing _rev swaps its languages. Default: "
        "that of output_dir, where it holds a run.",
    ),
    "data_dir": (
        kinds.path,
        None,
        "Directory of the generated data, with one folder for each problem. "
        "Default: that of output_dir, where it holds a run.",
    ),
    "tmp_dir": (
        kinds.path,
        os.path.join(tempfile.gettempdir(), "keras_transformer"),
        "Directory of downloads and of raw text that you place there.",
    ),
    "output_dir": (
        kinds.path,
        None,
        "Directory of the run: its checkpoints, hyper-parameters, vocabulary, "
        "metrics and pictures.",
    ),
    "hparams_set": (
        kinds.text,
        None,
        "Name of the hparams set. Default: the one that output_dir was "
        "trained with.",
    ),
    "hparams": (
        kinds.text,
        "",
        "Changes to the hparams set, such as dropout=0.3,d_ff=1024.",
    ),
    "usr_dir": (
        kinds.path,
        None,
        "Directory with your own problems and hparams sets; its __init__.py "
        "imports them. Default: none.",
    ),
    "registry_help": (
        kinds.switch,
        False,
        "List all problems and hparams sets, then stop.",
    ),
    "generate_data": (
        kinds.switch,
        False,
        "Generate the data first, where data_dir does not hold it yet.",
    ),
    "train_steps": (
        kinds.count,
        None,
        "Updates in all, resumed ones included. Default: that of the hparams "
        "set.",
    ),
    "eval_frequency": (
        kinds.count,
        1000,
        "Updates between two evaluations; each writes a checkpoint.",
    ),
    "keep_checkpoint_max": (
        kinds.count,
        20,
        "Number of newest checkpoints to keep.",
    ),
    "keep_checkpoint_every_n_hours": (
        kinds.amount,
        0.0,
        "Hours of training after which another checkpoint is kept for good; 0 "
        "keeps none.",
    ),
    "save_checkpoints_secs": (
        kinds.amount,
        600.0,
        "Most seconds between two checkpoints, where evaluations are rarer.",
    ),
    "early_stopping_metric": (
        kinds.stopping,
        "none",
        "What must get better for the training to go on: none, bleu, f1 or "
        "loss, on dev.",
    ),
    "early_stopping_patience": (
        kinds.count,
        10,
        "Evaluations without a better early_stopping_metric that end the "
        "training.",
    ),
    "warm_start_from": (
        kinds.path,
        None,
        "Directory of a run whose weights a new run begins with; it must have "
        "the same vocabulary. Default: none.",
    ),
    "batch_tokens": (
        kinds.text,
        None,
        "Most positions per side that a device takes at once: a number, or "
        "auto for the most that fits into its memory. Default: that of the "
        "hparams.",
    ),
    "effective_batch_tokens": (
        kinds.whole,
        None,
        "Most positions per side in an update, on any number of devices; "
        "gradients are summed over as many rounds as that takes. 0 means "
        "batch_tokens. Default: that of the hparams.",
    ),
    "precision": (
        kinds.precision,
        "auto",
        "Numbers to compute with: float32, bfloat16, float16 or auto. In "
        "training that is bfloat16 where the device is fast at it, with "
        "weights in float32; in decoding it is float32.",
    ),
    "xla": (
        kinds.xla,
        "auto",
        "Compilation with XLA: on, off or auto, which is where it pays.",
    ),
    "worker_gpu": (
        kinds.whole,
        0,
        "Number of devices to use on this machine; 0 means all.",
    ),
    "profile_steps": (
        kinds.text,
        None,
        "First and last update to profile for TensorBoard, such as 10,20. "
        "Default: none.",
    ),
    "random_seed": (
        kinds.whole,
        None,
        "Seed of initial weights, dropout, the order of the data, and samples. "
        "Default: that of output_dir, where training goes on, or 0.",
    ),
    "checkpoint_step": (
        kinds.step,
        None,
        "Updates after which the checkpoint to use was written, or best for "
        "the one with the best score on dev. Default: the newest.",
    ),
    "num_last_checkpoints": (
        kinds.count,
        5,
        "Number of newest checkpoints to average.",
    ),
    "averaged_dir": (
        kinds.path,
        None,
        "Directory for the averaged run. Default: averaged, inside output_dir.",
    ),
    "train_source": (kinds.path, None, "Source side of the training text."),
    "train_target": (kinds.path, None, "Target side of the training text."),
    "dev_source": (kinds.path, None, "Source side of the development text."),
    "dev_target": (kinds.path, None, "Target side of the development text."),
    "test_source": (
        kinds.path,
        None,
        "Source side of the test text. Default: none.",
    ),
    "test_target": (
        kinds.path,
        None,
        "Target side of the test text. Default: none.",
    ),
    "train_trees": (
        kinds.path,
        None,
        "Trees to train on: files or directories with commas between them; "
        "wsj:02-21 means the folders or files of these numbers in wsj.",
    ),
    "dev_trees": (kinds.path, None, "Trees for development."),
    "test_trees": (kinds.path, None, "Trees for the test. Default: none."),
    "linearization": (
        kinds.linearization,
        "normalised",
        "How a tree becomes a sequence: normalised, with XX for every word, "
        "tagged, with its tag, or lexicalised, with the word itself.",
    ),
    "augmentation_rounds": (
        kinds.whole,
        0,
        "How often an epoch goes through the training trees and others that "
        "are made of their parts; 0 for the trees alone.",
    ),
    "skip_bad": (
        kinds.switch,
        False,
        "Name what is no tree and leave it out, instead of ending.",
    ),
    "vocab_size": (
        kinds.count,
        None,
        "Number of subwords of the vocabulary that both languages share. "
        "Default: that of the problem.",
    ),
}
