"""The tables of Tensor2Tensor's names, which its page and `--help` show.

A row has names, of flags or of `name=value` pairs, and what they are here: a
name, arguments with --, another command, `accepted` for nothing, or why they
have no effect or are left out. The first row that fits a name counts. A name
may be a pattern, and `name=value` is for one value. The names that are the same
here are not listed.
"""

import re

# Hyper-parameters in --hparams.
_HPARAMS = """
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
"""
_DECODE_HPARAMS = """
return_beams=true: num_hypotheses={beam_size}
write_beam_scores=true: --write_scores
batch_size: no effect: batches fit the memory
"""
_ANY = """
t2t_usr_dir: --usr_dir
model=transformer: accepted
model: left out: This package has no model but the Transformer.
"""
_TRAINER_ALONE = """
local_eval_frequency: --eval_frequency
schedule=train: --eval_steps=0
schedule=continuous_train_and_eval: accepted
schedule=evaluate: kt-evaluate --split=dev
xla_compile=true: --xla=on
gpu_automatic_mixed_precision=true: --precision=float16
"""
# t2t-decoder and t2t-exporter take all flags of t2t-trainer.
_TRAINER = """
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
"""
_TRAINING = """
hparams hparams_set problem data_dir: no effect: the run records it
generate_data tmp_dir train_steps warm_start_from worker_gpu random_seed
  schedule local_eval_frequency eval_steps save_checkpoints_secs
  keep_checkpoint_max keep_checkpoint_every_n_hours xla_compile xla_jit_level
  gpu_automatic_mixed_precision: no effect: it concerns training alone
"""
_RUN = f"""{_ANY}{_TRAINING}
decode_in_memory disable_grappler_optimizations as_text: no effect: there is
  nothing to choose
checkpoint_path: left out: Use --output_dir and --checkpoint_step.
decode_shards: left out: Divide the file, and call the command for each part.
export_as_tfhub: left out: Use --format=saved_model.
{_TRAINER}"""
_TEXTS = {
    "kt-trainer": _ANY + _TRAINER_ALONE + _TRAINER,
    "kt-trainer --hparams": _HPARAMS,
    "kt-decoder": _RUN,
    "kt-decoder --decode_hparams": _DECODE_HPARAMS,
    "kt-exporter": _RUN,
    "kt-exporter --decode_hparams": _DECODE_HPARAMS,
    "kt-evaluate": f"""{_ANY}
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
{_TRAINING}{_TRAINER}""",
    "kt-evaluate --decode_hparams": """
batch_size: no effect: batches fit the memory
return_beams write_beam_scores: no effect: the best translation is scored
""",
    "kt-datagen": """
t2t_usr_dir: --usr_dir
num_shards num_concurrent_processes random_seed: no effect: it changes no result
task_id.*: left out: Use --runner.
exclude_problems only_list: left out: List the problems in --problem.
parsing_path: left out: Use --train_trees of parsing_files.
""",
    "kt-avg-checkpoints": """
n: --num_last_checkpoints
output_path: --averaged_dir
model_dir: left out: Use --output_dir and --averaged_dir.
""",
    "kt-query": f"""{_ANY}
servable_name: --model_name
inputs_once: --text
problem data_dir: no effect: the server has the vocabulary
""",
    "kt-sweep": f"""{_ANY}
autotune_max_trials: --random
hparams_range=transformer_base_range: --ranges=learning_rate=0.3..3.0 log;
  warmup_steps=1000,2000,4000,8000,16000;
  adam_beta1=0.85..0.95;adam_beta2=0.97..0.99
autotune_objective: no effect: all rows have the problem's score
hparams_range: left out: Use --ranges.
""",
    "kt-sweep --hparams": _HPARAMS,
    "kt-make-tf-configs": """
masters: --hosts
ps: left out: TF_CONFIG lists the machines, and kt-make-tf-configs prints it.
""",
}


def _read(text):
    rows = re.findall(r"^(.+?): (.+)", re.sub(r"\n +", " ", text), re.MULTILINE)
    return [(names.split(), here) for names, here in rows]


TABLES = {command: _read(text) for command, text in _TEXTS.items()}
