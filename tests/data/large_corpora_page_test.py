import pathlib
import re

import keras
import numpy as np
import pytest
from number_problem import generated
from number_problem import numbers

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "large_corpora.md"
SMALLER = {
    # XLA would compile an update for each shape.
    "Entropy(0.1))": "Entropy(0.1), jit_compile=False)",
    "steps_per_epoch=1000, epochs=10": "steps_per_epoch=2, epochs=2",
    "batch_tokens=4096": "shuffle_buffer=100, batch_tokens=512",
    "num_layers=2, d_model=128": (
        "num_layers=1, d_model=16, d_ff=32, num_heads=2"
    ),
}


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="uses a strategy"
)
class LargeCorporaPageTest:
    @pytest.mark.slow
    def test_the_example_trains_on_a_folder_of_files(
        self, tmp_path, monkeypatch
    ):
        problem = generated(tmp_path / "data")
        vocabulary = pathlib.Path(problem.directory, "vocab.model")
        vocabulary.rename(tmp_path / "vocab.model")
        (tmp_path / "web").mkdir()
        for number in range(3):
            lines = ["\t".join(pair) for pair in numbers(50, 50 * number)]
            path = tmp_path / "web" / f"train-{number}.tsv"
            path.write_text("\n".join(lines) + "\n")
        text = PAGE.read_text(encoding="utf-8")
        (code,) = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
        monkeypatch.chdir(tmp_path)
        names = {}
        for size, smaller in SMALLER.items():
            assert size in code
            code = code.replace(size, smaller)
        exec(compile(code, str(PAGE), "exec"), names)
        model = names["model"]
        assert int(np.asarray(model.optimizer.iterations)) == 4
        inputs, targets = next(iter(names["dataset"].take(1)))
        assert np.isfinite(float(model.loss(targets, model(inputs))))
