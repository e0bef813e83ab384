"""Runs the Python examples of README as they are."""

import pathlib
import re

import numpy as np

README = pathlib.Path(__file__).parents[1] / "README.md"


def code_block(first_line):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if block.startswith(first_line)]
    return block


class ReadmeTest:
    def test_classifier_learns_and_loads_again(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        names = {}
        exec(code_block("import keras\n"), names)
        model, same = names["model"], names["same"]
        sentences, labels = names["sentences"], names["is_question"]
        np.testing.assert_allclose(
            same.predict(sentences, verbose=0),
            model.predict(sentences, verbose=0),
            atol=1e-6,
        )
        guess = model.predict(sentences, verbose=0)[:, 0] > 0.5
        assert (guess == labels).mean() > 0.95

    def test_own_problem_generates_data(self, tmp_path, monkeypatch):
        from keras_transformer import registry

        generator = np.random.default_rng(0)
        letters = generator.choice(list("abcdefghijklmnop "), (300, 40))
        lines = "\n".join(map("".join, letters))
        (tmp_path / "train.txt").write_text(f"{lines}\n")
        for split in ("dev", "test"):
            (tmp_path / f"{split}.txt").write_text("be quiet\nplease do\n")
        exec(code_block("# my_problems/__init__.py"), {"__name__": "readme"})
        problem = registry.get_problem("translate_enshouting", str(tmp_path))
        manifest = problem.generate(str(tmp_path))
        assert manifest["splits"]["train"]["pairs"] == 300
        assert problem.text_split("test")[1] == ["BE QUIET", "PLEASE DO"]
