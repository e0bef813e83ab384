"""Writes the tables of tensor2tensor's flags in docs/tutorials/coming_from.md.

    python docs/site/coming_from.py

They are made from the tables of the commands, so a test holds the page to them.
"""

import itertools
import os
import pathlib
import re

from keras_transformer.bin.shared import tensor2tensor
from keras_transformer.files.markdown import code
from keras_transformer.files.markdown import table
from keras_transformer.registry import TENSOR2TENSOR
from keras_transformer.registry import find_row

PAGE = pathlib.Path(__file__).parents[1] / "tutorials/coming_from.md"
# All flags of tensor2tensor 1.15.7.
TRAINER = """
    autotune_maximize autotune_max_trials autotune_objective
    autotune_parallel_trials cloud_mlengine cloud_mlengine_master_type
    cloud_tpu_name data_dir dbgprofile decode_from_file decode_hparams
    decode_reference decode_to_file enable_graph_rewriter
    eval_early_stopping_metric eval_early_stopping_metric_delta
    eval_early_stopping_metric_minimize eval_early_stopping_steps
    eval_run_autoregressive eval_steps eval_throttle_seconds eval_timeout_mins
    eval_use_test_set export_saved_model export_saved_model_api_version
    generate_data gpu_automatic_mixed_precision gpu_order hparams hparams_range
    hparams_set inter_op_parallelism_threads intra_op_parallelism_threads
    iterations_per_loop job-dir keep_checkpoint_every_n_hours
    keep_checkpoint_max local_eval_frequency log_device_placement
    log_step_count_steps master model optionally_use_dist_strat output_dir
    problem profile ps_gpu ps_job ps_replicas random_seed registry_help
    save_checkpoints_secs schedule std_server_protocol sync t2t_usr_dir tfdbg
    tmp_dir tpu_infeed_sleep_secs tpu_job_name tpu_num_shards train_steps
    use_guarantee_const_getter use_tpu use_tpu_estimator warm_start_from
    worker_gpu worker_gpu_memory_fraction worker_id worker_job worker_replicas
    xla_compile xla_jit_level
""".split()
# Those that t2t-decoder adds to them.
DECODER = """
    checkpoint_path decode_in_memory decode_interactive decode_shards
    disable_grappler_optimizations keep_timestamp score_file
""".split()
FLAGS = {"kt-trainer": TRAINER, "kt-decoder": [*TRAINER, *DECODER]}


def describe(command, name):
    """Returns what a flag of tensor2tensor is here; "" if it is unknown.

    The second of two values says whether it is left out.
    """
    if name in tensor2tensor.find_module(command).FLAGS:
        return "the same", False
    values = {
        text.partition("=")[2]: here
        for names, here in TENSOR2TENSOR[command]
        for text in names
        if text.startswith(f"{name}=")
    }
    if values:
        return ", ".join(map(_show, values, values.values())), False
    here = find_row(command, name)[1]
    is_left_out = here.startswith(("no effect", "left out"))
    return re.sub(r"(--[\w=.]*\w)", r"`\1`", here), is_left_out


def _show(value, new):
    return code(value) + (f" ({code(new)})" if new != "accepted" else "")


def make_table(command):
    """Returns the table of the flags of one command, a row for each meaning."""
    rows = {}
    for name in FLAGS[command]:
        here, is_left_out = describe(command, name)
        if command == "kt-decoder" and is_left_out:
            # The table of the trainer says the same.
            if name in TRAINER and describe("kt-trainer", name)[0] == here:
                continue
        rows.setdefault(here, []).append(name)
    # What is taken over comes first.
    order = sorted(rows, key=lambda here: (":" in here, here))
    lines = [(" ".join(_join(rows[here])), here) for here in order]
    return table([f"t2t-{command.removeprefix('kt-')}", command], lines)


def _join(names):
    """Returns names as code, such as `ps_{gpu,job}` for those that begin so."""
    parts = []
    for _, group in itertools.groupby(sorted(names), lambda n: n.split("_")[0]):
        group = list(group)
        start = os.path.commonprefix(group).rpartition("_")[0]
        if start and len(group) > 1:
            ends = ",".join(name.removeprefix(start) for name in group)
            group = [f"{start}{{{ends}}}"]
        parts += map(code, group)
    return parts


def list_hparams():
    lines = [
        f"{names[0]}: {here}"
        for names, here in TENSOR2TENSOR["kt-trainer --hparams"]
        if not here.startswith("left out")
    ]
    return "\n".join(["```text", *lines, "```"])


def make_page(text):
    """Returns the text of the page with new tables."""
    parts = {
        "Flags of t2t-trainer": make_table("kt-trainer"),
        "Flags of t2t-decoder": make_table("kt-decoder"),
        "Hyper-parameters": list_hparams(),
    }
    for title, part in parts.items():
        before, heading, rest = text.partition(f"### {title}\n")
        section, rule, after = rest.partition("\n#")
        prose = re.split(r"^(?:\||```)", section, flags=re.MULTILINE)[0]
        section = f"{prose.strip()}\n\n{part}\n".lstrip("\n")
        text = before + heading + section + rule + after
    return text


if __name__ == "__main__":
    PAGE.write_text(make_page(PAGE.read_text("utf-8")), encoding="utf-8")
