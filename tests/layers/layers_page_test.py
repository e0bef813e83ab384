import pathlib
import re

import keras
import numpy as np
import pytest
from layer_checks import random_array
from layer_checks import randomize
from layer_checks import to_numpy

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "layers.md"
# To compile an update with XLA takes longer than these trainings.
COMPILED = ('metrics=["accuracy"]', "SmoothedCrossEntropy(0.0)")


def code_blocks():
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """Returns the variables of the blocks of the page, run one by one."""
    keras.utils.set_random_seed(0)
    names = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("page"))
        for block in code_blocks():
            if keras.backend.backend() == "tensorflow":
                for end in COMPILED:
                    block = block.replace(end, f"{end}, jit_compile=False")
            exec(compile(block, str(PAGE), "exec"), names)
    return names


class LayersPageTest:
    def test_the_classifier_learns_and_loads_again(self, names):
        guesses = names["classifier"].predict(names["sentences"], verbose=0)
        same_guesses = names["same"].predict(names["sentences"], verbose=0)
        np.testing.assert_allclose(same_guesses, guesses, atol=1e-6)
        is_right = (guesses[:, 0] > 0.5) == names["is_question"]
        assert is_right.mean() > 0.95

    def test_the_language_model_has_learned_its_language(self, names):
        continued = [[5, 9, 5, 9, 5, 9], [3, 8, 3, 8, 3, 0]]
        for found in (names["words"], names["found"]):
            np.testing.assert_array_equal(found[:, 0], continued)
        assert names["samples"].shape == (2, 8, 6)
        logits = keras.ops.convert_to_numpy(names["model"](names["text"]))
        predicted = logits.argmax(-1)[:, 1:-1]
        assert (predicted == names["text"][:, 2:]).mean() > 0.95

    def test_the_language_model_takes_about_fifteen_lines(self):
        (block,) = [code for code in code_blocks() if "causal=True" in code]
        lines = [line for line in block.splitlines() if line.strip()]
        assert len(lines) <= 17

    @pytest.mark.parametrize(
        "name, growing, size",
        [
            ("RotaryAttention", True, 4),
            ("AlibiAttention", False, 0),
            *(
                pytest.param(*row, marks=pytest.mark.slow)
                for row in (
                    ("RotaryAttention", False, 0),
                    ("RotaryAttention", False, 4),
                    ("RotaryAttention", True, 0),
                    ("AlibiAttention", False, 4),
                    ("AlibiAttention", True, 0),
                    ("AlibiAttention", True, 4),
                )
            ),
        ],
    )
    def test_relative_attention_is_the_same_step_by_step(
        self, names, name, growing, size
    ):
        """Beams fork on the way, and each is computed as a whole as well."""
        encoder = names["layers"].Encoder(
            num_layers=2,
            d_model=8,
            num_heads=2,
            d_ff=16,
            causal=True,
            attention=names[name],
            neighbourhood_size=size,
        )
        x = random_array(2, 3, 7, 8)  # of three beams
        encoder.build(x[:, 0].shape)
        randomize(encoder)
        cache = encoder.init_cache(2, 3, None if growing else 9)
        for i in range(7):
            if i in (2, 5):
                parents = np.array([[1, 1, 0], [2, 0, 1]])
                cache = cache.reorder(keras.ops.convert_to_tensor(parents))
                for row, beams in enumerate(parents):
                    x[row, :, :i] = x[row, beams, :i]
            position = keras.ops.convert_to_tensor(i, dtype="int32")
            output, cache = encoder.step(x[:, :, i], cache, position)
            whole = to_numpy(encoder(x.reshape(6, 7, 8)))[:, i]
            whole = whole.reshape(2, 3, 8)
            np.testing.assert_allclose(to_numpy(output), whole, atol=1e-5)

    @pytest.mark.parametrize("name", ["RotaryAttention", "AlibiAttention"])
    def test_relative_attention_depends_on_distances_alone(self, names, name):
        layer = names[name](8, 2)
        heads = np.repeat(random_array(3, 1, 2, 1, 4), 6, axis=3)
        heads = [keras.ops.convert_to_tensor(head) for head in heads]
        _, weights = layer.compute_attention(
            *heads,
            query_positions=np.array([[0, 1, 2, 10, 11, 12]]),
            key_positions=np.array([[0, 1, 2, 10, 11, 12]]),
        )
        near, far = (
            to_numpy(weights)[:, :, :3, :3],
            to_numpy(weights)[..., 3:, 3:],
        )
        ratio = near / far
        np.testing.assert_allclose(ratio, ratio[..., :1] + 0 * ratio, rtol=1e-4)
        assert abs(near[0, 0, 0, 0] - near[0, 0, 0, 1]) > 1e-4

    def test_the_loaded_model_is_the_saved_one(self, names):
        assert names["loaded"].count_params() == names["model"].count_params()

    def test_every_exported_layer_is_named(self):
        from keras_transformer import layers

        text = PAGE.read_text(encoding="utf-8")
        for name in layers.__all__:
            assert f"`{name}`" in text
