"""How many positions and chunks a replica computes, without any device."""

import pytest

from keras_transformer.hparam import HParams
from keras_transformer.training.backends.backend import Backend
from keras_transformer.training.backends.objective import count_chunks


def positions_and_chunks(num_replicas, **changes):
    hparams = HParams(**changes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Backend, "__abstractmethods__", frozenset())
        positions = Backend(hparams, "float32", num_replicas).positions_at_once
    return positions, count_chunks(hparams, positions)


class PositionsAtOnceTest:
    @pytest.mark.parametrize(
        "num_replicas, expected",
        [(1, (25000, 25)), (3, (8334, 9)), (8, (3125, 4))],
    )
    def test_replicas_share_a_batch(self, num_replicas, expected):
        assert positions_and_chunks(num_replicas, batch_tokens=25000) == (
            expected
        )

    @pytest.mark.parametrize(
        "num_replicas, expected",
        # One device computes the update in several rounds of `batch_tokens`.
        [(1, (4096, 4)), (6, (4096, 4)), (8, (3125, 4)), (80, (313, 1))],
    )
    def test_replicas_share_an_update(self, num_replicas, expected):
        sizes = {"batch_tokens": 4096, "effective_batch_tokens": 25000}
        assert positions_and_chunks(num_replicas, **sizes) == expected

    def test_an_update_may_be_smaller_than_a_batch(self):
        sizes = {"batch_tokens": 8192, "effective_batch_tokens": 2000}
        assert positions_and_chunks(1, **sizes) == (2000, 2)

    def test_consistency_computes_twice_the_chunks(self):
        sizes = {"batch_tokens": 8192, "consistency": "simcut"}
        assert positions_and_chunks(8, **sizes) == (1024, 2)


class EngineTest:
    def test_a_backend_must_define_all_abstract_methods(self):
        class Half(Backend):
            def build(self, vocab_size, input_vocab_size=None):
                pass

        with pytest.raises(TypeError, match="abstract methods .*update"):
            Half(HParams(), "float32", 1)
