"""What a training minimises, on small models and on either backend."""

import dataclasses

import keras
import numpy as np
import pytest
from backend_updates import make_batch
from backend_updates import make_spans
from keras import ops
from layer_checks import to_numpy
from small_transformer import make_transformer

from keras_transformer.hparam import HParams
from keras_transformer.losses import span_loss
from keras_transformer.training.backends.objective import SPAN_WEIGHT
from keras_transformer.training.backends.objective import _keep_tokens
from keras_transformer.training.backends.objective import objective

HPARAMS = HParams(consistency_weight=2.0, token_cutoff=0.3)
KINDS = pytest.mark.parametrize(
    "kind", ["none", "simcut", pytest.param("r_drop", marks=pytest.mark.slow)]
)
TWO_PASSES = pytest.mark.parametrize("kind", ["simcut", "r_drop"])
SEEDS = np.random.default_rng(0).integers(-(2**31), 2**31, 500)


@pytest.fixture(scope="module")
def model():
    return make_transformer(vocab_size=30, dropout=0.3)


@pytest.fixture(scope="module")
def plain_model():
    return make_transformer(vocab_size=30, dropout=0.0)


def part_of(batch, rows=slice(None)):
    return [batch[name][0, 0, rows] for name in ("inputs", "targets", "seeds")]


def part_with_other_targets():
    """Returns a part whose sides differ in their lengths."""
    inputs, targets, seeds = part_of(make_batch())
    return inputs, targets[::-1, 1:], seeds


def figures(model, kind, part, num_positions=64, guidance=None, **changes):
    """Returns loss, cross-entropy and divergence."""
    hparams = dataclasses.replace(HPARAMS, consistency=kind, **changes)
    # In eager mode a custom gradient of TensorFlow may use no variable.
    weights = [(w, ops.convert_to_tensor(to_numpy(w))) for w in model.weights]
    with keras.StatelessScope(state_mapping=weights):
        loss, sums = objective(model, hparams, num_positions, *part, guidance)
    values = (loss, sums["loss_sum"], sums["consistency_sum"])
    return [float(to_numpy(x)) for x in values]


class ObjectiveTest:
    def test_simcut_adds_the_weighted_divergence(self, model):
        part = part_of(make_batch())
        expected, *_ = figures(model, "none", part)
        loss, cross_entropy, divergence = figures(model, "simcut", part)
        assert divergence > 0.1
        assert loss == pytest.approx(cross_entropy + 2 * divergence, rel=1e-5)
        # The first pass has the noise of a training without consistency.
        assert cross_entropy == pytest.approx(expected, rel=1e-5)

    def test_r_drop_keeps_the_ratio_of_its_paper(self, model):
        loss, cross_entropy, divergence = figures(
            model, "r_drop", part_of(make_batch())
        )
        assert divergence > 0.1
        papers = 2 * cross_entropy + HPARAMS.consistency_weight * divergence
        assert loss == pytest.approx(papers / 2, rel=1e-5)

    def test_without_consistency_the_loss_is_cross_entropy(self, model):
        loss, cross_entropy, divergence = figures(
            model, "none", part_of(make_batch())
        )
        assert loss == cross_entropy
        assert divergence == 0.0

    @KINDS
    def test_a_bias_of_the_logits_counts_and_learns(self, kind):
        model = make_transformer(vocab_size=30, output_bias=True)
        part = part_of(make_batch())
        _, plain, _ = figures(model, kind, part)
        # As much for every id changes no probability.
        model.embedding.bias.assign(np.full(30, 2.0))
        _, shifted, _ = figures(model, kind, part)
        assert shifted == pytest.approx(plain, rel=1e-5)
        model.embedding.bias.assign(np.arange(30) == 29)
        _, biased, _ = figures(model, kind, part)
        assert abs(biased - plain) > 0.1

    @TWO_PASSES
    def test_passes_without_noise_do_not_diverge(self, plain_model, kind):
        part = part_of(make_batch())
        expected, *_ = figures(plain_model, "none", part)
        loss, _, divergence = figures(plain_model, kind, part, token_cutoff=0)
        assert divergence == pytest.approx(0.0, abs=1e-4)
        assert loss == pytest.approx(expected, rel=1e-5)

    def test_token_cutoff_alone_makes_passes_diverge(self, plain_model):
        part = part_of(make_batch())
        small, large = (
            figures(plain_model, "simcut", part, token_cutoff=rate)[2]
            for rate in (0.05, 0.5)
        )
        assert 0.0 <= small < large

    def test_guidance_adds_the_alignment_loss_of_the_last_layer(
        self, plain_model
    ):
        batch = make_batch()
        part = inputs, targets, _ = part_of(batch)
        links = np.eye(inputs.shape[1], dtype=int) * (inputs > 1)[..., None]
        plain, *_ = figures(plain_model, "none", part)
        loss, cross_entropy, _ = figures(
            plain_model, "none", part, guided_alignment=0.7, guidance=links
        )
        _, weights = plain_model(
            {"inputs": inputs, "targets": targets}, return_weights=True
        )
        attention = to_numpy(weights["cross"][-1]).mean(axis=1)
        shares = (attention * links).sum(axis=-1)
        expected = -np.log(shares[links.any(axis=-1)]).sum()
        assert cross_entropy == pytest.approx(plain, rel=1e-5)
        assert loss - plain == pytest.approx(0.7 * expected, rel=1e-3)

    def test_a_model_with_spans_adds_their_loss(self, plain_model):
        part = inputs, *_ = part_with_other_targets()
        model = make_transformer(vocab_size=30, dropout=0.0, span_labels=3)
        # The weights of the classifier are the last ones.
        for weight, value in zip(model.weights, plain_model.get_weights()):
            weight.assign(value)
        spans = make_spans(inputs, num_labels=3)
        plain, *_ = figures(plain_model, "none", part)
        loss, cross_entropy, _ = figures(model, "none", part, guidance=spans)
        encoded, padding_mask = model.encode(inputs)
        expected = span_loss(model.spans(encoded), spans, padding_mask)
        assert cross_entropy == pytest.approx(plain, rel=1e-5)
        assert loss - plain == pytest.approx(
            SPAN_WEIGHT * float(to_numpy(expected)), rel=1e-4
        )
        assert loss - plain > 10

    def test_dropout_falls_on_the_vectors_of_spans_in_training(self):
        model = make_transformer(vocab_size=30, dropout=0.0, span_labels=3)
        part = part_of(make_batch())
        spans = make_spans(part[0], num_labels=3)
        plain, cross_entropy, _ = figures(model, "none", part, guidance=spans)
        model.spans.dropout_layer.rate = 0.5
        loss, same, _ = figures(model, "none", part, guidance=spans)
        assert same == cross_entropy
        assert abs(loss - plain) > 1e-2

    def test_neither_parts_nor_padding_change_the_loss_of_spans(self):
        model = make_transformer(vocab_size=30, dropout=0.3, span_labels=3)
        part = part_with_other_targets()
        spans = make_spans(part[0], num_labels=3)
        expected = figures(model, "none", part, guidance=spans)
        parts = [
            figures(
                model, "none", [x[rows] for x in part], guidance=spans[rows]
            )
            for rows in (slice(0, 3), slice(3, 7))
        ]
        np.testing.assert_allclose(np.sum(parts, axis=0), expected, rtol=1e-5)
        wide = [np.pad(ids, [(0, 2), (0, 3)]) for ids in part[:2]]
        wide.append(np.pad(part[2], [(0, 2)]))
        widths = [(0, 2), (0, 3), (0, 0)]
        spans = np.pad(spans, widths, constant_values=-1)
        np.testing.assert_allclose(
            figures(model, "none", wide, guidance=spans), expected, rtol=1e-5
        )

    @KINDS
    def test_parts_add_up_to_the_whole(self, model, kind):
        batch = make_batch()
        whole = figures(model, kind, part_of(batch))
        parts = [
            figures(model, kind, part_of(batch, rows))
            for rows in (slice(0, 3), slice(3, 7))
        ]
        np.testing.assert_allclose(np.sum(parts, axis=0), whole, rtol=1e-5)

    @KINDS
    def test_chunks_and_padding_change_nothing(self, model, kind):
        part = part_of(make_batch())
        expected = figures(model, kind, part)
        wide = [np.pad(ids, [(0, 2), (0, 3)]) for ids in part[:2]]
        wide.append(np.pad(part[2], [(0, 2)]))
        for other, num_positions in ((part, 5000), (wide, 64)):
            np.testing.assert_allclose(
                figures(model, kind, other, num_positions), expected, rtol=1e-5
            )


class KeptTokensTest:
    RATE = 0.2

    def kept(self, seeds, length=40):
        ids = np.ones((len(seeds), length), "int32")
        kept = _keep_tokens({"inputs": ids, "targets": ids}, seeds, self.RATE)
        return [ops.convert_to_numpy(kept[n]) for n in ("inputs", "targets")]

    def test_the_first_pass_keeps_all_and_the_second_cuts_the_rate(self):
        num_rows = len(SEEDS)
        for kept in self.kept(SEEDS):
            assert kept[:num_rows].all()
            share = 1 - kept[num_rows:].mean()
            deviation = np.sqrt(self.RATE * (1 - self.RATE) / (num_rows * 40))
            assert abs(share - self.RATE) < 4 * deviation

    def test_source_and_target_are_cut_independently(self):
        inputs, targets = (
            kept[len(SEEDS) :].ravel() for kept in self.kept(SEEDS)
        )
        correlation = np.corrcoef(inputs, targets)[0, 1]
        assert abs(correlation) < 5 / np.sqrt(inputs.size)

    def test_a_row_is_cut_alike_in_any_batch_and_at_any_length(self):
        whole, part = self.kept(SEEDS), self.kept(SEEDS[7:9], 50)
        for large, small in zip(whole, part):
            rows = large[len(SEEDS) :][7:9]
            np.testing.assert_array_equal(small[2:, :40], rows)
