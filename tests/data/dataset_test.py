import gc
import json
import subprocess
import sys
import textwrap
import time
import weakref

import numpy as np
import pytest
from number_problem import Numbers
from number_problem import generated
from processes import environment

from keras_transformer.data.batches import batch_plan
from keras_transformer.data.batches.dataset import make_update_dataset
from keras_transformer.data.batches.update_batches import Layout
from keras_transformer.data.batches.update_batches import UpdateBatches
from keras_transformer.errors import UserError


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    return generated(tmp_path_factory.mktemp("data"))


def small_model(**options):
    """Returns a compiled Keras model that takes batches of the dataset."""
    import keras

    inputs = keras.Input((None,), name="inputs", dtype="int32")
    targets = keras.Input((None,), name="targets", dtype="int32")
    embedding = keras.layers.Embedding(320, 4)
    source = keras.layers.GlobalAveragePooling1D(keepdims=True)
    hidden = embedding(targets) + source(embedding(inputs))
    logits = keras.layers.Dense(320)(hidden)
    model = keras.Model({"inputs": inputs, "targets": targets}, logits)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.1), loss=loss, **options)
    return model


class BatchesTest:
    def test_only_train_is_shuffled_by_default(self, problem):
        for split, shuffle in (("train", True), ("dev", False)):
            explicit = problem.batches(split, 60, shuffle=shuffle)
            default = problem.batches(split, 60)
            assert [default[i][0].tolist() for i in range(len(default))] == [
                explicit[i][0].tolist() for i in range(len(explicit))
            ]

    def test_dropping_every_pair_is_an_error(self, problem):
        with pytest.raises(ValueError, match="max_length=1,.*60 pairs"):
            problem.batches("train", 100, max_length=1)

    def test_max_length_counts_both_sides(self, problem):
        plan = problem.batches("train", 100, max_length=15)
        inputs, targets = problem.token_pairs("train")
        longest = np.maximum(inputs.lengths, targets.lengths)
        assert plan.num_dropped == np.sum(longest > 15) > 0

    def test_packed_pairs_share_rows_of_one_shape(self, problem):
        plan = problem.batches("train", 100, packed=True)
        indices, shape = plan[0]
        assert plan.shapes == [shape]
        assert indices.shape[0] == shape[0]
        assert np.sum(indices[0] >= 0) > 1


class DatasetTest:
    @pytest.mark.parametrize("packed", [False, True])
    def test_each_iteration_is_the_next_epoch(self, problem, packed):
        options = {"seed": 3, "packed": packed}
        dataset = problem.dataset("train", batch_tokens=100, **options)
        pairs = problem.token_pairs("train")
        for epoch in range(3):
            plan = problem.batches("train", 100, epoch=epoch, **options)
            assert len(dataset) == len(plan)
            expected = list(batch_plan.pad_batches(pairs, plan))
            for batch, (inputs, targets) in zip(
                dataset.as_numpy_iterator(), expected, strict=True
            ):
                np.testing.assert_array_equal(batch[0]["inputs"], inputs)
                np.testing.assert_array_equal(batch[0]["targets"], targets)
                np.testing.assert_array_equal(batch[1], targets)

    def test_a_keras_model_fits_it(self, problem):
        model = small_model(run_eagerly=True)
        dataset = problem.dataset("train", batch_tokens=400)
        history = model.fit(dataset, epochs=3, verbose=0).history["loss"]
        assert history[-1] < history[0]


def updates_of(problem, layout=Layout(), guidance=None):
    plan = problem.batches("train", 100)
    pairs = problem.token_pairs("train")
    return UpdateBatches(pairs, plan, layout, guidance=guidance)


class Positions:
    """Guidance by the number of the pair and the position of a target."""

    def read(self, token_pairs, rows, shape):
        places = np.broadcast_arrays(rows[:, None], np.arange(shape[2]))
        return np.stack(places, axis=-1).astype("int32")


class UpdateDatasetTest:
    @pytest.mark.parametrize(
        "layout", [Layout(), Layout(2, 3, 0, 3), Layout(2, 3, 1, 2)], ids=str
    )
    @pytest.mark.parametrize("start", [0, 2])
    @pytest.mark.parametrize(
        "guidance", [None, Positions()], ids=["", "guided"]
    )
    def test_replicas_take_the_parts_of_each_batch_in_turn(
        self, problem, layout, start, guidance
    ):
        updates = updates_of(problem, layout, guidance)
        parts = make_update_dataset(updates, start).as_numpy_iterator()
        for number in range(start, len(updates)):
            for replica in range(layout.local_replicas):
                part = next(parts)
                for name, array in updates[number].items():
                    if name != "num_tokens":
                        array = array[:, replica]
                    np.testing.assert_array_equal(part[name], array)
                    assert part[name].dtype == array.dtype

    def test_only_the_number_of_rounds_is_fixed(self, problem):
        dataset = make_update_dataset(updates_of(problem, Layout(2, 3, 0, 3)))
        shapes = {k: v.shape.as_list() for k, v in dataset.element_spec.items()}
        assert shapes == {
            "inputs": [2, None, None],
            "targets": [2, None, None],
            "seeds": [2, None],
            "num_tokens": [],
        }

    def test_it_has_no_end_for_tensorflow_to_handle(self, problem):
        updates = updates_of(problem)
        dataset = make_update_dataset(updates, len(updates) - 1)
        assert dataset.cardinality() == -1  # infinite
        last, again = dataset.take(2).as_numpy_iterator()
        np.testing.assert_array_equal(last["inputs"], again["inputs"])

    # Whoever closes a dataset that is tuned waits for a thread that sleeps.
    def test_no_dataset_is_tuned(self, problem, streamed):
        for dataset in (
            make_update_dataset(updates_of(problem)),
            problem.dataset("train", 200),
            streamed.streaming_dataset("train", 200),
        ):
            assert dataset.options().autotune.enabled is False

    def test_a_dataset_that_is_done_frees_its_plan(self, problem):
        updates = updates_of(problem)
        plan = weakref.ref(updates.plan)
        for _ in make_update_dataset(updates).take(len(updates) + 1):
            pass
        del updates, _
        end = time.monotonic() + 60
        while plan() and time.monotonic() < end:  # a thread may be using it
            gc.collect()
        assert plan() is None


# A process of its own, since the backend cannot change within one.
FIT_SCRIPT = """
    import sys
    from dataset_test import small_model
    from number_problem import Numbers

    problem = Numbers(data_dir=sys.argv[1])
    dataset = problem.dataset("train", batch_tokens=400, fixed_shapes=True)
    model = small_model(jit_compile=True)
    history = model.fit(dataset, epochs=3, verbose=0).history["loss"]
    assert history[-1] < history[0], history
"""


class FixedShapesDatasetTest:
    def test_every_batch_has_one_of_few_shapes(self, problem):
        dataset = problem.dataset("train", 200, fixed_shapes=True)
        plan = problem.batches("train", 200, fixed_shapes=True)
        shapes = {
            (*inputs["inputs"].shape, targets.shape[1])
            for _ in range(2)
            for inputs, targets in dataset.as_numpy_iterator()
        }
        assert shapes == set(plan.shapes)
        assert len(shapes) <= batch_plan.FEW_SHAPES

    def test_padding_changes_no_loss(self, problem):
        from keras_transformer.hparam import HParams
        from keras_transformer.losses import smoothed_cross_entropy
        from keras_transformer.masks import padding_mask
        from keras_transformer.runs.model import build_transformer

        hparams = HParams(num_layers=1, d_model=8, d_ff=8, num_heads=2)
        model = build_transformer(hparams.model, problem.vocabulary.vocab_size)

        def loss_of_epoch(fixed_shapes):
            sums = []
            dataset = problem.dataset("train", 200, fixed_shapes=fixed_shapes)
            for inputs, targets in dataset.as_numpy_iterator():
                losses = smoothed_cross_entropy(targets, model(inputs))
                is_token = np.asarray(padding_mask(targets))
                sums.append(np.asarray(losses)[is_token].sum())
            return np.sum(sums)

        assert loss_of_epoch(True) == pytest.approx(loss_of_epoch(False), 1e-6)

    def test_packed_batches_have_one_shape_anyway(self, problem):
        plans = [
            problem.batches("train", 200, packed=True, fixed_shapes=fixed)
            for fixed in (False, True)
        ]
        assert plans[0].shapes == plans[1].shapes
        assert len(plans[1].shapes) == 1

    @pytest.mark.slow
    @pytest.mark.parametrize("backend", ["tensorflow", "jax"])
    def test_a_compiled_keras_model_fits_it(self, problem, backend):
        pytest.importorskip(backend)
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(FIT_SCRIPT)]
            + [problem.data_dir],
            env=environment(__file__, KERAS_BACKEND=backend),
            check=True,
        )


class Streamed(Numbers):
    """The numbers in two corpora, in a vocabulary file."""

    def text_corpora(self, split, tmp_dir):
        half = len(self.pairs[split]) // 2
        return [iter(self.pairs[split][:half]), iter(self.pairs[split][half:])]


def pairs_in(batches):
    """Returns the pairs of padded batches, sorted, without empty rows."""
    rows = [
        tuple(tuple(ids[ids > 0].tolist()) for ids in row)
        for inputs, targets in batches
        for row in zip(inputs["inputs"], targets)
    ]
    return sorted(row for row in rows if row != ((), ()))


@pytest.fixture
def streamed(problem):
    streamed = Streamed(data_dir=None)
    streamed.vocabulary_path = f"{problem.directory}/vocab.model"
    return streamed


class StreamingDatasetTest:
    def stream(self, problem, split="train", **options):
        sizes = {"batch_tokens": 100, "max_length": 50, "shuffle_buffer": 60}
        return problem.streaming_dataset(split, None, **{**sizes, **options})

    @pytest.mark.parametrize("reverse", [False, True])
    def test_it_has_the_pairs_of_the_generated_data(self, problem, reverse):
        for split in ("dev", "test"):
            streamed = Streamed(reverse=reverse)
            streamed.vocabulary_path = f"{problem.directory}/vocab.model"
            turned = Numbers(problem.data_dir, reverse=reverse)
            expected = turned.dataset(split).as_numpy_iterator()
            stream = self.stream(streamed, split).as_numpy_iterator()
            assert pairs_in(stream) == pairs_in(expected)

    def test_training_pairs_come_again_and_again_in_random_order(
        self, problem, streamed
    ):
        known = pairs_in(problem.dataset("train").as_numpy_iterator())
        first, again, other = (
            pairs_in([batch])
            for seed in (1, 1, 2)
            for batch in self.stream(streamed, seed=seed)
            .take(1)
            .as_numpy_iterator()
        )
        assert first == again != other
        batches = self.stream(streamed).take(150).as_numpy_iterator()
        pairs = pairs_in(batches)
        assert len(pairs) > 2 * len(known)
        assert set(pairs) == set(known)

    def test_batches_keep_to_the_budget_and_the_length(self, streamed):
        dataset = self.stream(streamed, batch_tokens=64, max_length=30)
        for inputs, targets in dataset.take(30).as_numpy_iterator():
            assert max(inputs["inputs"].size, targets.size) <= 64
            assert max(inputs["inputs"].shape[1], targets.shape[1]) <= 30

    def test_rows_are_a_multiple_of_the_replicas(self, streamed):
        stream = self.stream(streamed, "dev", batch_tokens=150, num_replicas=3)
        sizes = [len(targets) for _, targets in stream.as_numpy_iterator()]
        assert not any(size % 3 for size in sizes)
        assert sum(sizes) > len(Numbers.pairs["dev"])  # some rows are empty

    def test_a_length_beyond_the_share_of_a_replica_is_an_error(self, streamed):
        with pytest.raises(UserError, match="max_length=50.*num_replicas=3"):
            self.stream(streamed, num_replicas=3)

    def test_a_keras_model_fits_it(self, streamed):
        model = small_model(run_eagerly=True)
        dataset = self.stream(streamed, batch_tokens=400)
        history = model.fit(dataset, epochs=3, steps_per_epoch=5, verbose=0)
        assert history.history["loss"][-1] < history.history["loss"][0]

    @pytest.fixture(scope="class")
    def process(self, problem):
        """A process that fits a model on two devices and ends."""
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(MIRRORED_SCRIPT)]
            + [f"{problem.directory}/vocab.model"],
            env=environment(__file__),
            stdout=subprocess.PIPE,
            text=True,
            timeout=300,
        )

    @pytest.mark.slow
    def test_several_devices_fit_it_without_a_further_update(self, process):
        losses = json.loads(process.stdout.splitlines()[0])
        assert losses[-1] < losses[0]
        assert process.stdout.splitlines()[1] == "15 updates"

    @pytest.mark.slow
    def test_iterators_in_use_let_the_process_end(self, process):
        assert process.stdout.splitlines()[2] == "8 batches"
        assert process.returncode == 0


# A process of its own, since devices cannot be divided later.
MIRRORED_SCRIPT = """
    import json
    import sys
    from keras_transformer.bin.shared.backend import load_backend

    load_backend()

    import tensorflow as tf

    cpus = tf.config.list_physical_devices("CPU")
    devices = [tf.config.LogicalDeviceConfiguration()] * 2
    tf.config.set_logical_device_configuration(cpus[0], devices)

    from dataset_test import Streamed, small_model

    problem = Streamed()
    problem.vocabulary_path = sys.argv[1]
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    num_replicas = strategy.num_replicas_in_sync
    dataset = problem.streaming_dataset(
        "train", None, 400, 50, 0, 60, num_replicas=num_replicas
    )
    with strategy.scope():
        # XLA would compile an update for each of the many shapes.
        model = small_model(jit_compile=False)
    history = model.fit(dataset, epochs=3, steps_per_epoch=5, verbose=0)
    print(json.dumps(history.history["loss"]))
    print(int(model.optimizer.iterations.numpy()), "updates")
    # Eight, since a single one aborts the process only now and then.
    held = [iter(dataset) for _ in range(8)]
    print(len(list(map(next, held))), "batches", flush=True)
"""
