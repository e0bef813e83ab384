import tracemalloc

import numpy as np
import pytest

from keras_transformer import hparam
from keras_transformer.data.vocabulary.subwords import train_subwords
from keras_transformer.model_config import list_weights
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runs.weights import carry_over
from keras_transformer.runs.weights import check_checkpoint
from keras_transformer.runs.weights import count_shared_pieces
from keras_transformer.runs.weights import read_weights

HPARAMS = hparam.HParams(num_layers=1, d_model=8, num_heads=2, d_ff=16)
TEXT = ["the cat sat on the mat", "the dog sat on the log", "a cat and a dog"]


@pytest.fixture
def run(tmp_path):
    vocabulary = train_subwords(["some words"], 270, str(tmp_path / "vocab"))
    return RunDirectory.create(
        str(tmp_path / "run"),
        {"problem": "copy"},
        HPARAMS,
        vocabulary.model_bytes,
    )


@pytest.fixture
def arrays(run):
    shapes = list_weights(HPARAMS.model, run.vocabulary.vocab_size)
    return {name: np.ones(shape, "float32") for name, shape in shapes.items()}


class CheckCheckpointTest:
    def test_weights_of_the_model_are_accepted(self, run, arrays):
        average = {n.replace("model", "average"): arrays[n] for n in arrays}
        run.checkpoints.save(1, {**arrays, **average, "log/loss": 1.0})
        check_checkpoint(run)

    @pytest.mark.parametrize(
        "name, array",
        [
            ("model/decoder/layer_1/self_attention/key", np.ones((8, 8))),
            ("model/embedding/embeddings", np.ones((271, 8))),
            ("average/embedding/embeddings", np.ones((271, 8))),
            ("average/embedding", np.ones(8)),
            ("model/embedding/embeddings", np.ones((270, 8), "int32")),
        ],
    )
    def test_other_weights_are_refused_by_name(self, run, arrays, name, array):
        path = run.checkpoints.save(1, {**arrays, name: array})
        with pytest.raises(
            ValueError, match="Use the hparams and the"
        ) as caught:
            check_checkpoint(run)
        assert repr(name) in str(caught.value)
        assert path in str(caught.value)

    def test_missing_weight_is_refused(self, run, arrays):
        del arrays["model/embedding/embeddings"]
        run.checkpoints.save(1, arrays)
        with pytest.raises(ValueError, match="embeddings' is absent"):
            check_checkpoint(run)

    def test_too_large_weights_are_refused_unread(self, run, arrays):
        name = "model/embedding/embeddings"
        run.checkpoints.save(1, {**arrays, name: np.zeros((2**20, 8))})
        tracemalloc.start()
        with pytest.raises(ValueError, match=r"shape \(1048576, 8\)"):
            check_checkpoint(run)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2**21


class ReadWeightsTest:
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_weights_that_are_not_finite_are_refused(self, run, arrays, value):
        arrays["model/embedding/embeddings"][3, 4] = value
        run.checkpoints.save(1, arrays)
        with pytest.raises(
            ValueError, match="ckpt-1.npz, where .*embeddings' holds"
        ):
            read_weights(run.checkpoints)


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory):
    directory = tmp_path_factory.mktemp("vocabularies")
    texts = {"earlier": TEXT, "new": [TEXT[0], "a naïve caté", "ñandú"]}
    return {
        name: train_subwords(text, 290, str(directory / name))
        for name, text in texts.items()
    }


def rows(vocabulary, seed=0):
    generator = np.random.default_rng(seed)
    return generator.normal(size=(vocabulary.vocab_size, 4))


class CarryOverTest:
    def test_same_vocabulary_changes_nothing(self, vocabularies):
        earlier = vocabularies["earlier"]
        embeddings = rows(earlier)
        np.testing.assert_array_equal(
            carry_over(embeddings, earlier, earlier), embeddings
        )

    @pytest.mark.parametrize("reverse", [False, True])
    def test_every_piece_keeps_its_row_or_is_a_mean_of_its_parts(
        self, vocabularies, reverse
    ):
        earlier, new = list(vocabularies.values())[:: -1 if reverse else 1]
        embeddings = rows(earlier)
        carried = carry_over(embeddings, earlier, new)
        assert carried.shape == (new.vocab_size, 4)
        of_piece = dict(zip(earlier.all_pieces(), embeddings))
        shared = 0
        for piece, row in zip(new.all_pieces(), carried):
            if piece in of_piece:
                shared += 1
                np.testing.assert_array_equal(row, of_piece[piece])
            else:
                assert is_mean_of_parts(row, piece, of_piece)
        assert shared == count_shared_pieces(earlier, new) > 260
        assert shared < new.vocab_size

    def test_new_characters_are_spelled_in_bytes(self, vocabularies):
        earlier, new = vocabularies.values()
        embeddings = rows(earlier)
        carried = carry_over(embeddings, earlier, new)
        pieces = new.all_pieces()
        names = earlier.all_pieces()
        assert "ñ" not in names
        of_bytes = [
            embeddings[names.index(f"<0x{b:02X}>")] for b in b"\xc3\xb1"
        ]
        np.testing.assert_allclose(
            carried[pieces.index("ñ")], np.mean(of_bytes, axis=0)
        )


def is_mean_of_parts(row, piece, of_piece):
    """Whether some way to spell a piece has this mean, by enumeration."""
    return any(
        np.allclose(row, np.mean([of_piece[part] for part in parts], axis=0))
        for parts in spellings(piece, of_piece)
    )


def spellings(piece, of_piece):
    if not piece:
        yield []
    for size in range(1, len(piece) + 1):
        parts = None
        if piece[:size] in of_piece:
            parts = [piece[:size]]
        elif size == 1:
            parts = [f"<0x{byte:02X}>" for byte in piece[0].encode()]
        if parts:
            for rest in spellings(piece[size:], of_piece):
                yield parts + rest
