"""Runs the Python examples of README and of docs/problems.md as they are."""

import pathlib
import re

import keras
import numpy as np
from source_files import ROOT

from keras_transformer import registry

MAX_LINES = 150


def code_block(page, words):
    text = pathlib.Path(ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (block,) = [block for block in blocks if words in block]
    return block


class ReadmeTest:
    def test_it_is_one_page(self):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= MAX_LINES

    def test_layers_make_a_keras_model(self):
        names = {}
        exec(code_block("README.md", "import keras\n"), names)
        model = keras.Model(names["ids"], names["x"])
        encoded = model(np.array([[5, 6, 7, 0]]))  # 0 is padding
        assert encoded.shape == (1, 4, 32)


class ProblemsPageTest:
    def test_own_problem_generates_data(self, tmp_path):
        generator = np.random.default_rng(0)
        letters = generator.choice(list("abcdefghijklmnop "), (300, 40))
        lines = "\n".join(map("".join, letters))
        (tmp_path / "train.txt").write_text(f"{lines}\n")
        for split in ("dev", "test"):
            (tmp_path / f"{split}.txt").write_text("be quiet\nplease do\n")
        block = code_block("docs/problems.md", "class TranslateEnshouting")
        exec(block, {"__name__": "readme"})
        problem = registry.get_problem("translate_enshouting", str(tmp_path))
        manifest = problem.generate(str(tmp_path))
        assert manifest["splits"]["train"]["pairs"] == 300
        assert problem.text_split("test")[1] == ["BE QUIET", "PLEASE DO"]
        (tmp_path / "test.txt").write_text("be quiet\n")
        manifest = problem.generate(str(tmp_path))
        assert manifest["splits"]["test"]["pairs"] == 1

    def test_own_hparams_set_states_its_difference(self):
        block = code_block("docs/problems.md", "def transformer_loud")
        exec(block, {"__name__": "readme"})
        tiny = registry.get_hparams("transformer_tiny")
        loud = registry.get_hparams("transformer_loud")
        assert (loud.dropout, loud.d_model) == (0.2, tiny.d_model)
