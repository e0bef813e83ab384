"""Each flag of each command refuses what it cannot take.

One parser serves all flags of a kind, and tests/bin/flags_test.py tests it with
many malformed values. Here each flag meets one.
"""

import configparser
import importlib
import re

import pytest
from box import Box
from machine import judge
from machine import run_here
from rows import row
from source_files import ROOT

# One value for each flag that does not take any text. What follows the value
# are words of the message: the choices of the flag, or what it expects.
WRONG_VALUES = {
    "attention": """
        alpha=nan
        attention=self encoder decoder cross
        beam_size=0
        checkpoint_step=last best
        figure=6 3 4 5
        heads=1,x
        layer=0
        registry_help=2
    """,
    "avg_checkpoints": """
        checkpoints=all evaluated timed
        evaluate=maybe
        num_last_checkpoints=five
        registry_help=2
        start_share=1.5
    """,
    "clean": """
        max_length=0
        max_ratio=nan
        registry_help=2
    """,
    "datagen": """
        augmentation_rounds=-1
        character_coverage=2
        clean=maybe
        dev=a.en a.en,a.de
        linearization=prolog normalised tagged
        normalize_text=maybe
        registry_help=2
        runner=spork dataflow
        shared_vocabulary=maybe
        skip_bad=maybe
        source_vocab_size=0
        source_vocabulary_type=letters subwords characters words
        test=a.en a.en,a.de
        tokenized=maybe
        train=a.en a.en,a.de
        treebank_weight=0
        vocab_size=0
        vocabulary_temperature=0.5
        vocabulary_type=letters subwords characters words
    """,
    "decoder": """
        alpha=0,6
        beam_size=x
        checkpoint_step=1,500 best
        decode_interactive=maybe
        document=page.html
        document_format=pdf text markdown html
        engine=torch auto keras ctranslate2
        format=json text jsonl
        max_sentence_tokens=all
        precision=half bfloat16
        protect=maybe
        repair=maybe
        random_seed=1.5
        registry_help=2
        rerank_weight=1e9 1,000
        resume=maybe
        split_long=yes
        tokenized=maybe
        translate_attributes=maybe
        unknown=keep copy omit
        write_alignments=0.5
        write_origins=5
        write_scores=yes
        write_word_scores=all
    """,
    "evaluate": """
        alpha=inf
        beam_size=-1
        calibrate=maybe
        checkpoint_step=0 best
        engine=torch auto keras ctranslate2
        evalb_files=maybe
        lowercase=TRUE!
        measure=bleurt bleu f1
        min_steps=-1
        registry_help=2
        split=valid train dev test
        stress=maybe
        tokenize=moses 13a
        wait_minutes=soon
    """,
    "exporter": """
        alpha=-1
        beam_size=1.5
        checkpoint_step=BEST best
        format=tflite saved_model ctranslate2 onnx litert
        precision=float16 bfloat16
        quantization=int4 int8_float32
        registry_help=2
        shortlist=a.en a.en,a.de
        shortlist_size=0
    """,
    "import_": """
        registry_help=2
        target_space=-1
        verify=maybe
    """,
    "make_tf_configs": """
        index=-1
        registry_help=2
    """,
    "plot": """
        registry_help=2
        x_axis=time step seconds epoch pairs
    """,
    "query": """
        model_version=latest
        protocol=http grpc rest
        registry_help=2
        timeout_secs=nan
        write_scores=maybe
    """,
    "serve": """
        batch_timeout_micros=2ms
        max_batch_size=0
        max_models_memory=0
        metrics=maybe
        port=65536 65,535
        registry_help=2
        rest_api_port=99999999999999999999 65,535
    """,
    "studio": """
        checkpoint_step=first best
        port=65536 65,535
        registry_help=2
    """,
    "sweep": """
        precision=half bfloat16
        random=0
        random_seed=-1
        registry_help=2
        scale=small none tiny
        seeds=0
        table=2 3 4
        train_steps=1k
    """,
    "trainer": """
        batch_tokens=many auto
        early_stopping_metric=accuracy ter f1 loss
        early_stopping_patience=0
        effective_batch_tokens=-5
        eval_frequency=never
        eval_steps=all
        generate_data=2
        keep_checkpoint_every_n_hours=nan
        keep_checkpoint_max=all
        measure=accuracy bleu chrf ter f1 loss
        precision=fp16 bfloat16
        random_seed=abc
        registry_help=2
        save_checkpoints_secs=10m
        timed_checkpoint_minutes=10min
        train_minutes=0
        train_steps=1e5
        worker_gpu=all
        xla=true auto on off
    """,
}
ANYTHING = "?!"  # which only flags for any text or path take


def cases(command):
    """Yields the name of a flag, a wrong value, and words of the message."""
    for line in WRONG_VALUES[command].split("\n"):
        if line.strip():
            flag, *words = line.split()
            name, value = flag.split("=")
            yield name, value, words


def takes(flag, value):
    try:
        flag.parser.parse(value)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("command", WRONG_VALUES)
class EachFlagTest:
    def test_every_flag_that_may_refuse_is_tested(self, command):
        module = importlib.import_module(f"keras_transformer.bin.{command}")
        refusing = {
            name
            for name in module.FLAGS
            if not takes(module.FLAGS[name], ANYTHING)
        }
        assert {name for name, _, _ in cases(command)} == refusing

    def test_each_flag_refuses_a_wrong_value_in_one_line(
        self, command, templates, tmp_path, monkeypatch
    ):
        faults = []
        script = f"kt-{command.rstrip('_').replace('_', '-')}"
        for name, value, words in cases(command):
            case = row(f"{script} --{name}={value}", says=(f"--{name}", *words))
            with (
                Box(tmp_path / name, templates) as box,
                monkeypatch.context() as patch,
            ):
                try:
                    judge(case, run_here(case, box, patch))
                except AssertionError as error:
                    faults.append(str(error))
        assert not faults, "\n".join(faults)


def test_every_command_is_tested():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    scripts = config["options.entry_points"]["console_scripts"]
    assert set(re.findall(r"bin\.(\w+):", scripts)) == WRONG_VALUES.keys()
