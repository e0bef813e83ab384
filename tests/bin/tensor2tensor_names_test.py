"""Tensor2Tensor's names of flags and hyper-parameters, in our commands."""

import configparser

import pytest
from commands import assert_fails
from commands import call
from source_files import ROOT

from keras_transformer import hparam
from keras_transformer.bin import decoder
from keras_transformer.bin import make_tf_configs
from keras_transformer.bin import query
from keras_transformer.bin import sweep
from keras_transformer.bin import trainer
from keras_transformer.bin.kt_sweep.rows import draw_points
from keras_transformer.bin.shared import tensor2tensor
from keras_transformer.errors import parse_changes
from keras_transformer.registry import TENSOR2TENSOR
from keras_transformer.search.options import parse_decode_hparams


def translate(module, *arguments):
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    return tensor2tensor.translate(f"kt-{name}", module.FLAGS, arguments)


class TranslateTest:
    @pytest.mark.parametrize(
        "module, theirs, ours",
        [
            (trainer, ["--t2t_usr_dir=mine"], ["--usr_dir=mine"]),
            (trainer, ["--t2t_usr_dir", "mine"], ["--usr_dir=mine"]),
            (trainer, ["-local_eval_frequency=9"], ["--eval_frequency=9"]),
            (trainer, ["--model=transformer"], []),
            (trainer, ["--model", "transformer", "--xla=on"], ["--xla=on"]),
            (trainer, ["--schedule=train"], ["--eval_steps=0"]),
            (
                trainer,
                ["--schedule=Train", "--eval_steps=9", "--problem=copy"],
                ["--eval_steps=9", "--problem=copy", "--eval_steps=0"],
            ),
            (trainer, ["--schedule=continuous_train_and_eval"], []),
            (trainer, ["--xla_compile"], ["--xla=on"]),
            (trainer, ["--xla_compile=False"], []),
            (trainer, ["--noxla_compile"], []),
            (trainer, ["--nouse_tpu", "--use_tpu=false"], []),
            (trainer, ["--nogenerate_data"], ["--nogenerate_data"]),
            (trainer, ["--gpu_order=9", "--worker_gpu=2"], ["--worker_gpu=2"]),
            (query, ["--inputs_once=Hello world."], ["--text=Hello world."]),
            (decoder, ["news.en", "--", "-"], ["news.en", "--", "-"]),
            (sweep, ["--autotune_max_trials=7"], ["--random=7"]),
            (
                decoder,
                [
                    "--problem=copy",
                    "--hparams=hidden_size=8",
                    "--train_steps",
                    "-1",
                    "--score_file=pairs",
                ],
                ["--score_file=pairs"],
            ),
        ],
    )
    def test_a_flag_of_theirs_becomes_ours(self, module, theirs, ours):
        assert translate(module, *theirs)[1] == ours

    def test_one_line_names_what_has_no_effect_and_why(self, capsys):
        translate(decoder, "--problem=copy", "--data_dir=d", "--gpu_order=1 0")
        assert capsys.readouterr().err.splitlines() == [
            "kt-decoder ignores --problem, --data_dir, because the run records "
            "it.",
            "kt-decoder ignores --gpu_order, because it changes no result.",
        ]

    def test_their_hparams_become_ours_and_one_line_names_them(self, capsys):
        text = "hidden_size=32, layer_preprocess_sequence=n,dropout=0.2,"
        text += "relu_dropout=0.1"
        _, (flag,) = translate(trainer, f"--hparams={text}")
        text = flag.removeprefix("--hparams=")
        assert parse_changes(hparam.HParams, text, "hparams") == {
            "d_model": 32,
            "norm": "pre",
            "dropout": 0.2,
            "activation_dropout": 0.1,
        }
        (line,) = capsys.readouterr().err.splitlines()
        assert "reads hidden_size as d_model, relu_dropout as act" in line

    @pytest.mark.parametrize("beam, number", [("beam_size=6,", 6), ("", 4)])
    def test_beams_are_hypotheses_with_scores(self, beam, number):
        text = f"{beam}alpha=0.5,batch_size=8,return_beams=True,extra_length=9"
        text += ",write_beam_scores=True"
        _, (flag, scores) = translate(decoder, f"--decode_hparams={text}")
        changes = parse_decode_hparams(flag.removeprefix("--decode_hparams="))
        changes.pop("beam_size", None)
        expected = {"alpha": 0.5, "num_hypotheses": number, "extra_length": 9}
        assert (changes, scores) == (expected, "--write_scores")

    def test_their_range_is_one_that_a_sweep_draws_from(self):
        range_flag = "--hparams_range=transformer_base_range"
        _, (flag,) = translate(sweep, range_flag)
        points = draw_points(flag.removeprefix("--ranges="), 3, seed=0)
        for point in points:
            assert 0.3 <= point["learning_rate"] <= 3
            assert point["warmup_steps"] in (1000, 2000, 4000, 8000, 16000)
            hparam.HParams(**point)

    def test_evaluate_becomes_the_other_command_with_its_flags(self, capsys):
        command, arguments = translate(
            trainer,
            "--schedule=evaluate",
            "--train_steps=9",
            "--problem=copy",
            "--output_dir",
            "run",
            "--t2t_usr_dir=mine",
        )
        assert command == "kt-evaluate"
        expected = ["--split=dev", "--output_dir=run", "--usr_dir=mine"]
        assert arguments == expected
        assert capsys.readouterr().err.splitlines() == [
            "kt-trainer becomes kt-evaluate --split=dev.",
            "kt-evaluate ignores --train_steps, because it concerns training "
            "alone.",
            "kt-evaluate ignores --problem, because the run records it.",
        ]
        status = call(trainer, "--schedule=evaluate", "--output_dir=no/run")
        assert status == 2
        assert "kt-evaluate: error: `output_dir`" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "module, flag, words",
        [
            (trainer, "--model=universal_transformer", "no model but the"),
            (trainer, "--model=transformer_encoder", "no model but the"),
            (trainer, "--schedule=continuous_eval", "--translations_dir"),
            (trainer, "--schedule=run_std_server", "evaluate"),
            (trainer, "--hparams_range=transformer_base_range", "kt-sweep"),
            (trainer, "--hparams=attention_key_channels=64", "d_k and d_v"),
            (trainer, "--ps_replicas=2", "kt-make-tf-configs"),
            (decoder, "--checkpoint_path=run/model.ckpt-9", "--checkpoint_st"),
            (decoder, "--cloud_mlengine", "no jobs in a cloud"),
            (make_tf_configs, "--ps=a:1", "TF_CONFIG lists"),
        ],
    )
    def test_what_is_left_out_is_refused_with_a_reason(
        self, capsys, module, flag, words
    ):
        received = flag.removeprefix("--hparams=")
        assert_fails(capsys, [f"Received: {received}. ", words], module, flag)


class TablesTest:
    def test_every_name_here_is_a_flag_of_its_command(self):
        config = configparser.ConfigParser()
        config.read(ROOT / "setup.cfg", encoding="utf-8")
        scripts = config["options.entry_points"]["console_scripts"]
        for command, rows in TENSOR2TENSOR.items():
            if not command.startswith("kt-"):
                assert command in ("corpora", "hparams_set", "problem")
                continue
            command, _, flag = command.partition(" --")
            assert f"{command} = " in scripts
            values = tensor2tensor.find_module(command).FLAGS
            if flag:  # `decode_hparams` has a test of its own
                assert flag in values
                continue
            for names, here in rows:
                if here.startswith("--"):
                    flag = here.removeprefix("--").partition("=")[0]
                    assert flag in values, (command, here)
                    assert names[0].partition("=")[0] not in values, names

    def test_each_hparam_is_a_field_with_a_value_that_fits(self):
        for (name,), here in TENSOR2TENSOR["kt-trainer --hparams"]:
            field, equals, _ = here.partition("=")
            if not here.startswith("left out"):
                assert field in hparam.HParams.__dataclass_fields__, name
            if equals:
                hparam.parse_overrides(hparam.HParams(), here)

    def test_help_lists_the_names_and_what_they_are(self, capsys):
        assert call(trainer, "--help") == 0
        part = capsys.readouterr().out.split("\nNames of tensor2tensor:\n")[1]
        assert "  --local_eval_frequency: --eval_frequency\n" in part
        assert "  --schedule=evaluate: kt-evaluate --split=dev\n" in part
        assert "hidden_size" in part
