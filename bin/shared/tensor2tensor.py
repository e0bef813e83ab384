"""Puts our flags in place of Tensor2Tensor's, as its tables say.

Its page and `--help` show the tables. A row has names, of flags or of
`name=value` pairs, and what they are here: a name, arguments with --, another
command, `accepted` for nothing, or why they have no effect or are left out. The
first row that fits a name counts. A name may be a pattern, and `name=value` is
for one value. The names that are the same here are not listed.
"""

import importlib
import re
import sys
import textwrap

from keras_transformer.bin.shared.flags import join_lines
from keras_transformer.errors import UserError

ACCEPTED = "accepted"
LEFT_OUT = "left out"
# Titles have the commands of the rows below, or flags of theirs with pairs.
# t2t-decoder and t2t-exporter take all flags of t2t-trainer.
_TEXT = """
kt-trainer, kt-decoder, kt-exporter, kt-evaluate, kt-query, kt-sweep
  t2t_usr_dir: --usr_dir
  model=transformer: accepted
  model: left out: This package has no model but the Transformer.
kt-trainer
  local_eval_frequency: --eval_frequency
  schedule=train: --eval_steps=0
  schedule=continuous_train_and_eval: accepted
  schedule=evaluate: kt-evaluate --split=dev
  xla_compile=true: --xla=on
  gpu_automatic_mixed_precision=true: --precision=float16
kt-evaluate
  model_dir: --output_dir
  translation: --hypotheses
  reference: --references
  bleu_variant=cased: accepted
  bleu_variant=uncased: --lowercase
  eval_use_test_set=true: --split=test
  eval_steps: no effect: the score is that of the whole split
  event_dir report_zero: no effect: the curves are in --translations_dir
  eval_timeout_mins: left out: Use --wait_minutes.
  tag_suffix: left out: Use another --translations_dir.
  decoder_command: left out: kt-evaluate translates itself.
kt-decoder, kt-exporter, kt-evaluate
  hparams hparams_set problem data_dir: no effect: the run records it
  generate_data tmp_dir train_steps warm_start_from worker_gpu random_seed
    schedule local_eval_frequency eval_steps save_checkpoints_secs
    keep_checkpoint_max keep_checkpoint_every_n_hours xla_compile xla_jit_level
    gpu_automatic_mixed_precision: no effect: it concerns training alone
kt-decoder, kt-exporter
  decode_in_memory disable_grappler_optimizations as_text: no effect: there is
    nothing to choose
  checkpoint_path: left out: Use --output_dir and --checkpoint_step.
  decode_shards: left out: Divide the file, and call the command for each part.
  export_as_tfhub: left out: Use --format=saved_model.
kt-trainer, kt-decoder, kt-exporter, kt-evaluate
  eval_run_autoregressive: no effect: each evaluation also translates dev
  enable_graph_rewriter eval_throttle_seconds gpu_order iterations_per_loop
    log_device_placement log_step_count_steps optionally_use_dist_strat
    worker_gpu_memory_fraction: no effect: it changes no result
  schedule: left out: Use train, continuous_train_and_eval or evaluate.
    kt-evaluate --translations_dir follows a run in training.
  eval_timeout_mins decode_.* keep_timestamp: left out: kt-evaluate
    --translations_dir follows a run in training.
  eval_use_test_set: left out: Use kt-evaluate --split=test.
  eval_early_stopping_.*: left out: Use --early_stopping_metric and
    --early_stopping_patience.
  hparams_range autotune_.*: left out: kt-sweep takes it.
  master sync worker_(job|replicas|id) ps_.* std_server_protocol: left out:
    TF_CONFIG lists the machines, and kt-make-tf-configs prints it.
  use_tpu.* (cloud_)?tpu_.*: left out: KERAS_BACKEND=jax uses all TPUs.
  cloud_mlengine.* job-dir: left out: This package starts no jobs in a cloud.
  profile dbgprofile: left out: Use --profile_steps.
  export_saved_model.* use_guarantee_const_getter: left out: Use kt-exporter.
  int(er|ra)_op_parallelism_threads: left out: Set TF_NUM_INTEROP_THREADS or
    TF_NUM_INTRAOP_THREADS.
  xla_jit_level: left out: Use --xla=on.
  tfdbg: left out: TensorFlow 2 does not have this debugger.
kt-datagen
  t2t_usr_dir: --usr_dir
  num_shards num_concurrent_processes random_seed: no effect: it changes no
    result
  task_id.*: left out: Use --runner.
  exclude_problems only_list: left out: List the problems in --problem.
  parsing_path: left out: Use --train_trees of parsing_files.
kt-avg-checkpoints
  n: --num_last_checkpoints
  output_path: --averaged_dir
  model_dir: left out: Use --output_dir and --averaged_dir.
kt-query
  servable_name: --model_name
  inputs_once: --text
  problem data_dir: no effect: the server has the vocabulary
kt-sweep
  autotune_max_trials: --random
  hparams_range=transformer_base_range: --ranges=learning_rate=0.3..3.0 log;
    warmup_steps=1000,2000,4000,8000,16000;
    adam_beta1=0.85..0.95;adam_beta2=0.97..0.99
  autotune_objective: no effect: all rows have the problem's score
  hparams_range: left out: Use --ranges.
kt-make-tf-configs
  masters: --hosts
  ps: left out: TF_CONFIG lists the machines, and kt-make-tf-configs prints it.
kt-trainer --hparams, kt-sweep --hparams
  hidden_size: d_model
  filter_size: d_ff
  num_hidden_layers: num_layers
  num_encoder_layers: num_layers
  layer_prepostprocess_dropout: dropout
  relu_dropout: activation_dropout
  batch_size: batch_tokens
  learning_rate_warmup_steps: warmup_steps
  optimizer_adam_beta1: adam_beta1
  optimizer_adam_beta2: adam_beta2
  optimizer_adam_epsilon: adam_epsilon
  clip_grad_norm: gradient_clip_norm
  layer_preprocess_sequence=n: norm=pre
  layer_preprocess_sequence=none: norm=post
  shared_embedding_and_softmax_weights=true: tied_embeddings=all
  shared_embedding_and_softmax_weights=false: tied_embeddings=none
  attention_.*_channels: left out: Use d_k and d_v, which are for one head.
  self_attention_type: left out: Use max_relative_position.
  learning_rate_(constant|schedule): left out: Use peak_learning_rate, or
    learning_rate, a factor on the paper's schedule.
  layer_p.*process_sequence: left out: Use norm.
kt-decoder --decode_hparams, kt-exporter --decode_hparams
  return_beams=true: num_hypotheses={beam_size}
  write_beam_scores=true: --write_scores
  batch_size: no effect: batches fit the memory
kt-evaluate --decode_hparams
  batch_size: no effect: batches fit the memory
  return_beams write_beam_scores: no effect: the best translation is scored
"""
_FLAG = re.compile(r"--?([A-Za-z][\w-]*)(?:=(.*))?", re.DOTALL)


def _read_tables(text):
    """Returns the rows of each title, as lists of names and what they are."""
    tables, titles = {}, []
    for line in join_lines(text):
        names, _, here = line.strip().partition(": ")
        if not here:
            titles = line.split(", ")
        for title in titles if here else ():
            tables.setdefault(title, []).append((names.split(), here))
    return tables


TABLES = _read_tables(_TEXT)


def translate(command, values, arguments):
    """Returns a command and its arguments, with our names in them.

    `values` are the flags of the command. Lines on standard error say which
    names of Tensor2Tensor have no effect or another name. A name that is left
    out is a `UserError`.
    """
    if command not in TABLES:
        return command, arguments
    result, notes = [], {}
    pieces = list(_split(arguments, values))
    for name, value, text in pieces:
        _, here = find(command, name, value)
        if here.startswith("kt-"):
            # Another command does what was asked, and has a table of its own.
            print(f"{command} becomes {here}.", file=sys.stderr)
            other, flag = here.split()
            rest = [each for _, _, each in pieces if each != text]
            return translate(other, find_module(other).FLAGS, [flag, *rest])
        table = f"{command} --{name}"
        if table in TABLES and value is not None:
            result += _translate_pairs(name, value, table, notes)
        elif name in values:  # our flags keep their meaning
            result.append(text)
        else:
            result += _replace(command, name, value, text, notes)
    # The last flag counts: what a value of theirs means, not ours.
    result.sort(key=[here for _, here in TABLES[command]].__contains__)
    for (verb, reason), names in notes.items():
        line = f"{command} {verb} {', '.join(names)}{reason}."
        print(line, file=sys.stderr)
    return command, result


def find_module(command):
    """Returns the module of a command such as kt-trainer."""
    name = command.removeprefix("kt-").replace("-", "_")
    return importlib.import_module(f"keras_transformer.bin.{name}")


def _split(arguments, values):
    """Yields the name, the value and the text of each argument.

    The value of `--name value` joins its name, and `--noname` is `--name=false`
    if we have no flag of this name.
    """
    rest = list(arguments)
    while rest:
        text = rest.pop(0)
        match = _FLAG.fullmatch(text)
        name, value = match.groups() if match else ("", None)
        if match and value is None:
            if rest and re.match(r"[^-]|-\d", rest[0]):
                value = rest.pop(0)
                text = f"--{name}={value}"
            elif name.startswith("no") and not {name, name[2:]} & {*values}:
                name, value = name[2:], "false"
        yield name, value, text


def _translate_pairs(flag, text, table, notes):
    """Returns a flag with our names in its `name=value` pairs, and others."""
    pairs = [pair.strip().partition("=") for pair in text.split(",")]
    beam_size = {name: value for name, _, value in pairs}.get("beam_size", "4")
    kept, further = [], []
    for name, equals, value in pairs:
        for part in _replace(table, name, value, name + equals + value, notes):
            group = further if part.startswith("--") else kept
            group.append(part.replace("{beam_size}", beam_size))
    return [f"--{flag}={','.join(kept)}", *further]


def find(table, name, value=None):
    """Returns the pattern and the text of the first row that fits a name."""
    for patterns, here in TABLES[table]:
        for pattern in patterns:
            text = f"{name}={(value or 'true').lower()}"
            if re.fullmatch(pattern, text if "=" in pattern else name):
                return pattern, here
    return "", ""


def _replace(table, name, value, text, notes):
    """Returns a list of what stands for a name, or of its text if unknown."""
    prefix = "" if "--" in table else "--"
    pattern, here = find(table, name, value)
    kind, _, reason = here.partition(": ")
    is_off = value and value.lower() == "false" and kind in ("", LEFT_OUT)
    if here == ACCEPTED or (is_off and find(table, name)[1]):
        return []
    if kind == LEFT_OUT:
        raise UserError(
            f"`{prefix}{name}` must be what this command takes over from "
            f"Tensor2Tensor. Received: {text}. {reason}"
        )
    if kind == "no effect":
        note = "ignores", f", because {reason}"
        notes.setdefault(note, []).append(prefix + name)
        return []
    if not here or "=" in pattern:
        return [here or text]
    if not prefix:
        notes.setdefault(("reads", ""), []).append(f"{name} as {here}")
    return [here + ("" if value is None else f"={value}")]


def describe(command, values):
    """Returns the part of a command's help about Tensor2Tensor's names."""
    lines = []
    for table, rows in TABLES.items():
        start, _, flag = table.partition(" ")
        prefix = f"{flag}=" if flag else "--"
        for names, here in rows if start == command else ():
            names = [prefix + name for name in names if name not in values]
            if names and not here.startswith(LEFT_OUT):
                line = f"{', '.join(names)}: {here}"
                lines += textwrap.wrap(line, 74, subsequent_indent="  ")
    part = "".join(f"  {line}\n" for line in lines)
    return part and f"\nNames of tensor2tensor:\n{part}"
