import subprocess
import sys
import textwrap

import numpy as np
import pytest
from number_problem import generated
from processes import environment

from keras_transformer.data import batch_plan


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
            expected = list(batch_plan.padded_batches(pairs, plan))
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
        from keras_transformer.transformer import build_transformer

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
