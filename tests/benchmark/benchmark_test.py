import json
import random
import subprocess
import sys
import time

import measure
import numpy as np
import pytest
import sentencepiece
from measurements import machine
from measurements import train as training
from measurements import workload
from processes import environment

from keras_transformer.data.batches.batch_plan import pad_batch
from keras_transformer.data.batches.update_batches import UpdateBatches
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.hparam import HParams

VOCAB_SIZE = 280
BATCH_TOKENS = 64
HPARAMS = "num_layers=1,d_model=16,d_ff=32,num_heads=2,batch_tokens=64"
WORDS = "ab cde fghi jk lmn op".split()


def make_lines(seed):
    generator = random.Random(seed)
    return [
        " ".join(generator.choices(WORDS, k=generator.randint(1, 15)))
        for _ in range(200)
    ]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Returns the paths of source text, target text and a vocabulary.

    The vocabulary has the special ids of many models: padding 0, unknown 1,
    begin 2 and end 3.
    """
    folder = tmp_path_factory.mktemp("text")
    texts = [make_lines(seed) for seed in (1, 2)]
    for name, lines in zip(("source", "target"), texts):
        (folder / name).write_text("".join(line + "\n" for line in lines))
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts[0] + texts[1]),
        model_prefix=str(folder / "own"),
        model_type="bpe",
        vocab_size=28,
        pad_id=0,
        unk_id=1,
        bos_id=2,
        eos_id=3,
        minloglevel=2,
    )
    return [str(folder / name) for name in ("source", "target", "own.model")]


@pytest.fixture(scope="module")
def text(paths):
    return workload.load_text(*paths)[0]


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(machine, "SECONDS_TO_WAIT", 0)
    monkeypatch.setattr(machine, "MATRIX_SIZE", 64)


def sentences(rows):
    """Returns all sentences in rows of ids, each with its end id."""
    ids = rows[rows != 0]
    parts = np.split(ids, np.flatnonzero(ids == 1) + 1)
    assert not len(parts.pop())  # nothing follows the last end
    return [tuple(part.tolist()) for part in parts]


def pairs_of(batch):
    """Returns the sorted sentence pairs of a batch, packed or not."""
    both = [sentences(rows) for rows in batch]
    return sorted(zip(*both, strict=True))


class LoadTextTest:
    def test_ids_change_places_so_that_the_end_is_1(self, paths, text):
        processor = sentencepiece.SentencePieceProcessor(model_file=paths[2])
        new_ids = {}
        for side, path in zip(text, paths):
            with open(path) as file:
                lines = file.read().splitlines()
            assert len(lines) == len(side)
            for line, ids in zip(lines, side):
                old = [*processor.encode(line), processor.eos_id()]
                assert ids[-1] == 1
                for before, after in zip(old, ids.tolist(), strict=True):
                    assert new_ids.setdefault(before, after) == after
        assert len(set(new_ids.values())) == len(new_ids)
        assert set(new_ids.values()) <= set(range(1, 28))

    def test_without_a_vocabulary_one_is_trained(self, paths):
        pairs, vocab_size = workload.load_text(*paths[:2], None, VOCAB_SIZE)
        assert vocab_size == VOCAB_SIZE
        assert all(ids[-1] == 1 and ids.min() > 0 for ids in pairs.targets)

    def test_a_vocabulary_without_padding_is_an_error(self, paths, tmp_path):
        prefix = str(tmp_path / "default")
        sentencepiece.SentencePieceTrainer.train(
            input=paths[0],
            model_prefix=prefix,
            model_type="bpe",
            vocab_size=26,
            minloglevel=2,
        )
        with pytest.raises(ValueError, match="pad=-1, end=2"):
            workload.load_text(*paths[:2], prefix + ".model")

    def test_text_without_a_line_is_an_error(self, paths, tmp_path):
        (tmp_path / "empty").write_text("")
        path = str(tmp_path / "empty")
        with pytest.raises(ValueError, match="are empty"):
            workload.load_text(path, path, paths[2])


class FixedPlanTest:
    def test_one_full_batch_of_each_length(self, text):
        plan = workload.plan_lengths(text, BATCH_TOKENS)
        shapes = [(64 // length, length, length) for length in (16, 24, 32)]
        assert plan.shapes == shapes
        num_tokens = 0
        for i, (rows, length, _) in enumerate(shapes):
            batch = pad_batch(text, *plan[i])
            longer = max((ids != 0).sum(axis=1).max() for ids in batch)
            assert length - 8 < longer <= length
            assert len(pairs_of(batch)) == rows
            num_tokens += sum(np.count_nonzero(ids) for ids in batch)
        positions = sum(rows * 2 * length for rows, length, _ in shapes)
        assert plan.padding_share == 1 - num_tokens / positions

    def test_packed_rows_hold_the_same_pairs(self, text):
        plans = [
            workload.plan_lengths(text, 2 * BATCH_TOKENS, packed=packed)
            for packed in (False, True)
        ]
        assert len(plans[0]) == len(plans[1]) == 3
        for i in range(3):
            plain, packed = (pad_batch(text, *plan[i]) for plan in plans)
            assert pairs_of(plain) == pairs_of(packed)
            assert len(packed[0]) < len(plain[0])
        tokens = [
            [batch["num_tokens"] for batch in UpdateBatches(text, plan)]
            for plan in plans
        ]
        assert tokens[0] == tokens[1]

    def test_a_large_model_takes_the_middle_batch_alone(self, text):
        plans = [
            workload.plan_lengths(text, BATCH_TOKENS, workload.lengths_for(hp))
            for hp in (HParams(d_model=256), HParams(d_model=512))
        ]
        assert [len(plan) for plan in plans] == [3, 1]
        assert plans[1][0][0].tolist() == plans[0][1][0].tolist()

    def test_too_little_text_is_an_error(self, text):
        with pytest.raises(ValueError, match="no full batch of 16 tokens"):
            workload.plan_lengths(text, 100_000)


class MachineTest:
    def test_short_runs_are_repeated(self, small_machine):
        repetitions = []

        def run(num_times):
            repetitions.append(num_times)
            time.sleep(0.01 * num_times)

        passes = machine.time_passes(run, 3, min_seconds=0.1)
        assert repetitions[0] == 1
        assert repetitions[1] in range(2, 11)
        assert repetitions[1:] == 3 * repetitions[1:2]
        assert all(0.01 <= seconds < 0.1 for seconds in passes.seconds)
        assert passes.num_quiet + passes.num_disturbed == 3

    def test_rate_is_the_median_and_the_range(self):
        passes = machine.Passes([1.0, 2.0, 5.0], 3, 0, 0.0)
        assert passes.rate(10) == (5.0, (2.0, 10.0))

    def test_a_busy_neighbour_disturbs(self, small_machine):
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
        try:
            time.sleep(0.1)
            passes = machine.time_passes(
                lambda num_times: time.sleep(0.5), 1, min_seconds=0.1
            )
        finally:
            busy.kill()
            busy.wait()
        assert passes.num_disturbed == 1
        assert passes.foreign_cores > machine.QUIET_CORES
        assert len(passes.seconds) == 1

    def test_the_start_is_that_of_the_process(self):
        script = (
            "import time; time.sleep(0.3)\n"
            "from measurements import machine\n"
            "print(machine.seconds_since_start())"
        )
        begin = time.monotonic()
        output = subprocess.check_output(
            [sys.executable, "-c", script], env=environment(__file__)
        )
        assert 0.3 <= float(output) <= time.monotonic() - begin + 0.02

    def test_matrix_products_have_a_rate(self, small_machine):
        one, two = (
            machine.matrix_product_rate("float32", num_devices, num_passes=1)
            for num_devices in (1, 2)
        )
        assert one > 0
        assert two < 20 * one  # a processor counts once


def run_benchmark(paths, *flags, hparams=HPARAMS):
    source, target, vocabulary = paths
    arguments = [
        f"--train_source={source}",
        f"--train_target={target}",
        f"--vocabulary={vocabulary}",
        "--hparams_set=transformer_tiny",
        f"--hparams={hparams}",
        "--num_passes=1",
    ]
    with pytest.raises(SystemExit) as error:
        measure.run(["measure.py", *arguments, *flags])
    return error.value.code or 0


class BenchmarkTest:
    def test_train_prints_one_line_of_json(
        self, paths, text, small_machine, capsys
    ):
        flags = ["--mode=train", "--precision=float32"]
        assert run_benchmark(paths, *flags) == 0
        (line,) = capsys.readouterr().out.splitlines()
        figures = json.loads(line)
        plan = workload.plan_lengths(text, BATCH_TOKENS)
        assert figures["batches"] == [list(shape) for shape in plan.shapes]
        assert figures["padding_share"] == round(plan.padding_share, 4)
        low, high = figures["target_tokens_per_second_range"]
        assert 0 < low <= figures["target_tokens_per_second"] <= high
        rows = np.concatenate([plan[i][0].ravel() for i in range(3)])
        num_tokens = text.targets.lengths[rows[rows >= 0]].sum()
        updates_per_second = (
            figures["target_tokens_per_second"] / num_tokens * 3
        )
        assert figures["step_ms"] * updates_per_second == pytest.approx(
            1000, rel=0.01
        )
        assert figures["matrix_product_share"] == pytest.approx(
            figures["flops_per_second"]
            / figures["matrix_product_flops_per_second"],
            abs=1e-4,
        )
        # A data sheet names no peak for the processor.
        assert figures["model_flops_utilization"] is None
        assert figures["startup_seconds"] > 0
        assert figures["peak_memory_bytes"] > 1e7
        assert not figures["packed"]
        assert (figures["mode"], figures["precision"]) == ("train", "float32")
        assert figures["versions"]["keras"]
        assert figures["versions"]["keras_transformer"]

    @pytest.mark.parametrize("flags", [[], ["--packed"]])
    def test_input_prints_pairs_per_second(
        self, paths, small_machine, capsys, flags
    ):
        assert run_benchmark(paths, "--mode=input", *flags) == 0
        figures = json.loads(capsys.readouterr().out)
        assert figures["num_pairs"] == 200
        assert figures["pairs_per_second"] > 0
        assert 0 < figures["planning_share"] < 1

    def test_input_segments_the_text_anew(
        self, paths, small_machine, capsys, tmp_path
    ):
        flags = ["--mode=input", "--hparams=subword_dropout=0.1"]
        assert run_benchmark(paths, *flags) == 2
        assert "pad=0, end=1" in capsys.readouterr().err
        vocabulary = str(tmp_path / "vocab.model")
        train_subwords(WORDS * 9, VOCAB_SIZE, vocabulary)
        assert run_benchmark([*paths[:2], vocabulary], *flags) == 0
        figures = json.loads(capsys.readouterr().out)
        assert figures["pairs_per_second"] > 0

    def test_too_little_text_is_one_line_and_exit_2(self, paths, capsys):
        hparams = "batch_tokens=99999"
        assert run_benchmark(paths, "--mode=train", hparams=hparams) == 2
        assert "no full batch of 16" in capsys.readouterr().err

    def test_input_without_any_pair_is_one_line_and_exit_2(self, paths, capsys):
        flags = ["--mode=input", "--hparams=max_length=1"]
        assert run_benchmark(paths, *flags) == 2
        assert "max_length=1, 200 pairs" in capsys.readouterr().err

    def test_several_workers_are_refused_before_any_waits(
        self, paths, capsys, monkeypatch
    ):
        """The engine of a worker waits for the others."""
        cluster = {"worker": ["localhost:1", "localhost:2"]}
        task = {"type": "worker", "index": 0}
        config = json.dumps({"cluster": cluster, "task": task})
        monkeypatch.setenv("TF_CONFIG", config)
        monkeypatch.setattr(training, "make_backend", None)
        assert run_benchmark(paths, "--mode=train") == 2
        assert "TF_CONFIG with 2 workers" in capsys.readouterr().err

    @pytest.mark.slow
    def test_it_runs_on_jax_without_tensorflow(self, paths):
        pytest.importorskip("jax")
        script = (
            "import sys\n"
            "from measurements import machine, workload\n"
            "machine.SECONDS_TO_WAIT, machine.MATRIX_SIZE = 0, 64\n"
            "workload.LENGTHS = (24,)  # one is quicker to compile\n"
            "from benchmark_test import run_benchmark\n"
            f"flags = {paths}, '--mode=train', '--packed'\n"
            "assert run_benchmark(*flags) == 0\n"
            "assert 'tensorflow' not in sys.modules\n"
        )
        output = subprocess.check_output(
            [sys.executable, "-c", script],
            env=environment(
                __file__,
                KERAS_BACKEND="jax",
                XLA_FLAGS="--xla_backend_optimization_level=0",
            ),
            text=True,
        )
        figures = json.loads(output)
        assert figures["backend"] == "jax"
        assert figures["packed"]
        assert len(figures["batches"]) == 1
