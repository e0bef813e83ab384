"""The tables of Tensor2Tensor's names, one for each command.

docs/tutorials/coming_from.md shows them, and `--help` what a command accepts.
"""

import typing


class Table(typing.NamedTuple):
    """What flags of Tensor2Tensor, or its hyper-parameters, are here.

    `name=value` is for one value, and `name=true` also covers `name=false`,
    which then stands for nothing. The flags that have the same name here are
    not listed.
    """

    names: dict  # another name, arguments with --, a command, or "" for nothing
    ignored: dict = {}  # the reason after "because": names without effect
    refused: dict = {}  # the way out: patterns of names that are errors
    pairs: dict = {}  # a flag of ours: the table of the names in its value


_ANY = {"t2t_usr_dir": "usr_dir", "model=transformer": ""}
_CLUSTER = "TF_CONFIG lists the machines, and kt-make-tf-configs prints it."
_NO_MODEL = {"This package has no model but the Transformer.": "model"}
_NO_RESULT = "it changes no result"
_RECORDED = {"the run records it": "hparams hparams_set problem data_dir"}
_WATCH = "kt-evaluate --translations_dir follows a run in training."
_HPARAMS = Table(
    {
        "hidden_size": "d_model",
        "filter_size": "d_ff",
        "num_hidden_layers": "num_layers",
        "num_encoder_layers": "num_layers",
        "layer_prepostprocess_dropout": "dropout",
        "relu_dropout": "activation_dropout",
        "batch_size": "batch_tokens",
        "learning_rate_warmup_steps": "warmup_steps",
        "optimizer_adam_beta1": "adam_beta1",
        "optimizer_adam_beta2": "adam_beta2",
        "optimizer_adam_epsilon": "adam_epsilon",
        "clip_grad_norm": "gradient_clip_norm",
        "layer_preprocess_sequence=n": "norm=pre",
        "layer_preprocess_sequence=none": "norm=post",
        "shared_embedding_and_softmax_weights=true": "tied_embeddings=all",
        "shared_embedding_and_softmax_weights=false": "tied_embeddings=none",
    },
    refused={
        "Use d_k and d_v, which are for one head.": "attention_.*_channels",
        "Use max_relative_position.": "self_attention_type",
        "Use peak_learning_rate, or learning_rate, a factor on the paper's "
        "schedule.": "learning_rate_(constant|schedule)",
        "Use norm.": "layer_p.*process_sequence",
    },
)
_DECODE_HPARAMS = Table(
    {
        "return_beams=true": "num_hypotheses={beam_size}",
        "write_beam_scores=true": "--write_scores",
    },
    {"batches fit the memory": "batch_size"},
)
_TRAINER = Table(
    {
        **_ANY,
        "local_eval_frequency": "eval_frequency",
        "schedule=train": "--eval_steps=0",
        "schedule=continuous_train_and_eval": "",
        "schedule=evaluate": "kt-evaluate --split=dev",
        "xla_compile=true": "--xla=on",
        "gpu_automatic_mixed_precision=true": "--precision=float16",
    },
    {
        "each evaluation also translates dev": "eval_run_autoregressive",
        _NO_RESULT: """
            enable_graph_rewriter eval_throttle_seconds gpu_order
            iterations_per_loop log_device_placement log_step_count_steps
            optionally_use_dist_strat worker_gpu_memory_fraction""",
    },
    {
        **_NO_MODEL,
        "Use train, continuous_train_and_eval or evaluate. " + _WATCH: """
            schedule""",
        _WATCH: "eval_timeout_mins decode_.*",
        "Use kt-evaluate --split=test.": "eval_use_test_set",
        "Use --early_stopping_metric and --early_stopping_patience.": """
            eval_early_stopping_.*""",
        "kt-sweep takes it.": "hparams_range autotune_.*",
        _CLUSTER: """
            master sync worker_(job|replicas|id) ps_.* std_server_protocol""",
        "KERAS_BACKEND=jax uses all TPUs.": "use_tpu.* (cloud_)?tpu_.*",
        "This package starts no jobs in a cloud.": "cloud_mlengine.* job-dir",
        "Use --profile_steps.": "profile dbgprofile",
        "Use kt-exporter.": "export_saved_model.* use_guarantee_const_getter",
        "Set TF_NUM_INTEROP_THREADS or TF_NUM_INTRAOP_THREADS.": """
            int(er|ra)_op_parallelism_threads""",
        "Use --xla=on.": "xla_jit_level",
        "TensorFlow 2 does not have this debugger.": "tfdbg",
    },
    {"hparams": _HPARAMS},
)
_RUN = Table(  # t2t-decoder and t2t-exporter take all flags of t2t-trainer
    _ANY,
    {
        **_TRAINER.ignored,
        **_RECORDED,
        "it concerns training alone": """
            generate_data tmp_dir train_steps warm_start_from worker_gpu
            random_seed schedule local_eval_frequency eval_steps
            save_checkpoints_secs
            keep_checkpoint_max keep_checkpoint_every_n_hours xla_compile
            xla_jit_level gpu_automatic_mixed_precision""",
        "there is nothing to choose": """
            decode_in_memory disable_grappler_optimizations as_text""",
    },
    {
        **_TRAINER.refused,
        _WATCH: "keep_timestamp eval_timeout_mins decode_reference",
        "Use --output_dir and --checkpoint_step.": "checkpoint_path",
        "Divide the file, and call the command for each part.": "decode_shards",
        "Use --format=saved_model.": "export_as_tfhub",
    },
    {"decode_hparams": _DECODE_HPARAMS},
)
TABLES = {
    "kt-trainer": _TRAINER,
    "kt-decoder": _RUN,
    "kt-exporter": _RUN,
    "kt-evaluate": Table(
        {
            **_ANY,
            "model_dir": "output_dir",
            "translation": "hypotheses",
            "reference": "references",
            "bleu_variant=cased": "",
            "bleu_variant=uncased": "--lowercase",
            "eval_use_test_set=true": "--split=test",
        },
        {
            **_RECORDED,
            "the score is that of the whole split": "eval_steps",
            "the curves are in --translations_dir": "event_dir report_zero",
        },
        {
            **_NO_MODEL,
            "Use --wait_minutes.": "eval_timeout_mins",
            "Use cased or uncased.": "bleu_variant",
            "Use another --translations_dir.": "tag_suffix",
            "kt-evaluate translates itself.": "decoder_command",
        },
        {
            "decode_hparams": Table(
                {},
                {
                    **_DECODE_HPARAMS.ignored,
                    "the best translation is scored": """
                        return_beams write_beam_scores""",
                },
            )
        },
    ),
    "kt-datagen": Table(
        {"t2t_usr_dir": "usr_dir"},
        {_NO_RESULT: "num_shards num_concurrent_processes random_seed"},
        {
            "Use --runner.": "task_id.*",
            "List the problems in --problem.": "exclude_problems only_list",
            "Use --train_trees of parsing_files.": "parsing_path",
        },
    ),
    "kt-avg-checkpoints": Table(
        {"n": "num_last_checkpoints", "output_path": "averaged_dir"},
        refused={"Use --output_dir and --averaged_dir.": "model_dir"},
    ),
    "kt-query": Table(
        {"servable_name": "model_name", "inputs_once": "text", **_ANY},
        {"the server has the vocabulary": "problem data_dir"},
    ),
    "kt-sweep": Table(
        {
            **_ANY,
            "autotune_max_trials": "random",
            "hparams_range=transformer_base_range": "--ranges=learning_rate="
            "0.3..3.0 log;warmup_steps=1000,2000,4000,8000,16000;"
            "adam_beta1=0.85..0.95;adam_beta2=0.97..0.99",
        },
        {"all rows have the problem's score": "autotune_objective"},
        {**_NO_MODEL, "Use --ranges.": "hparams_range"},
        {"hparams": _HPARAMS},
    ),
    "kt-make-tf-configs": Table({"masters": "hosts"}, {}, {_CLUSTER: "ps"}),
}
