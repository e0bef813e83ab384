import pathlib
import re

import keras
import numpy as np
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "layers.md"


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
        np.testing.assert_array_equal(names["words"], [[5, 9, 5, 9, 5, 9]])
        logits = keras.ops.convert_to_numpy(names["model"](names["text"]))
        predicted = logits.argmax(-1)[:, 1:-1]
        assert (predicted == names["text"][:, 2:]).mean() > 0.95

    def test_the_language_model_takes_about_fifteen_lines(self):
        (block,) = [code for code in code_blocks() if "causal=True" in code]
        lines = [line for line in block.splitlines() if line.strip()]
        assert len(lines) <= 17

    def test_the_loaded_model_is_the_saved_one(self, names):
        assert names["loaded"].count_params() == names["model"].count_params()

    def test_every_exported_layer_is_named(self):
        from keras_transformer import layers

        text = PAGE.read_text(encoding="utf-8")
        for name in layers.__all__:
            assert f"`{name}`" in text
