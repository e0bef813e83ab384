"""A checkpoint and vocabularies that Tensor2Tensor itself wrote."""

import itertools
import pathlib
import random
import re
import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensor2tensor_examples import NumpyTransformer
from tensor2tensor_examples import PublishedRules
from tensor2tensor_examples import write_variables

from keras_transformer.formats.tensor2tensor.reader import import_tensor2tensor
from keras_transformer.formats.tensor2tensor.vocabulary import (
    read_tensor2tensor_vocabulary,
)
from keras_transformer.runs.model import load_model

SHARED = pathlib.Path(__file__).parents[2] / "../shared"
FILES = SHARED / "t2t"
VOCABULARIES = ["ende_wmt8k.8192", "ende_wmt32k.32768"]
pytestmark = pytest.mark.skipif(
    not FILES.exists(), reason="the files of ../shared/t2t are missing"
)


@pytest.fixture
def source(tmp_path):
    directory = tmp_path / "model"
    directory.mkdir()
    for path in (FILES / "ckpt").iterdir():
        shutil.copyfile(path, directory / path.name)
    name = f"vocab.translate_{VOCABULARIES[0]}.subwords"
    shutil.copyfile(FILES / name, directory / name)
    return directory


@pytest.fixture(scope="module")
def variables():
    reader = tf.train.load_checkpoint(str(FILES / "ckpt/model.ckpt-1"))
    return {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name.startswith("transformer/")
    }


@pytest.fixture
def run_import(source, tmp_path):
    def run_import(**options):
        output_dir = str(tmp_path / "run")
        return import_tensor2tensor(str(source), output_dir, **options)

    return run_import


def compute_error(run, variables):
    """Returns the largest difference of logits from the plain model."""
    plain = NumpyTransformer(variables, "pre", num_heads=2, space=8)
    generator = np.random.default_rng(0)
    inputs, targets = generator.integers(2, 8190, (2, 40))
    features = {"inputs": inputs[None] + 1, "targets": targets[None] + 1}
    logits = np.array(load_model(run)(features))[0]
    expected = plain.compute_logits(inputs, targets)
    return np.abs(np.delete(logits, 2, axis=1) - expected).max()


class GenuineCheckpointTest:
    def test_logits_are_those_of_the_plain_model(self, run_import, variables):
        run = run_import()
        assert run.hparams.num_heads == 2
        assert run.record["imported"]["languages"] == ["en", "de"]
        assert compute_error(run, variables) < 1e-5

    def test_flags_alone_give_the_heads_and_the_problem(
        self, run_import, source, variables
    ):
        # A checkpoint without an optimizer, too.
        for path in [*source.glob("model.ckpt*"), source / "hparams.json"]:
            path.unlink()
        write_variables(source / "model.ckpt-1", variables)
        run = run_import(target_space=8)
        imported = run.record["imported"]
        assert imported["problem"] == "translate_ende_wmt8k"
        assert imported["hparams_set"] == "transformer_test"
        assert compute_error(run, variables) < 1e-5


@pytest.mark.parametrize("name", VOCABULARIES)
@pytest.mark.parametrize(
    "is_quoted", [True, pytest.param(False, marks=pytest.mark.slow)]
)
def test_text_is_encoded_by_the_published_rules(name, is_quoted, tmp_path):
    path = FILES / f"vocab.translate_{name}.subwords"
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    subtokens = [line[1:-1] for line in lines]
    if not is_quoted:
        path = tmp_path / "vocab"
        path.write_text("\n".join(subtokens) + "\n", encoding="utf-8")
        # Quotes around a line, of which a lone quote is both.
        quoted = re.compile(r"""(['"])((.*)\1)?""")
        subtokens = [line.rstrip() for line in subtokens]
        matches = map(quoted.fullmatch, subtokens)
        subtokens = [
            (match[3] or "") if match else line
            for line, match in zip(subtokens, matches)
        ]
    vocabulary = read_tensor2tensor_vocabulary(str(path))
    assert vocabulary.vocab_size == len(subtokens) + 1
    rules = PublishedRules(subtokens[2:])
    rows = {text: rules.encode(text) for text in make_texts()}
    if is_quoted:
        assert None not in rows.values()
    # Without quotes, a blank has no subtoken any more.
    texts = [text for text, ids in rows.items() if ids is not None]
    assert len(texts) > 5000
    encoded = vocabulary.encode(texts)
    assert encoded == [[*(i + 1 for i in rows[t]), 1] for t in texts]
    decoded = vocabulary.decode(encoded)
    assert decoded == texts
    assert decoded == [rules.decode(rows[t]) for t in texts]


def make_texts():
    """Returns sentences, and as many of digits, marks and rare letters."""
    texts = []
    for side in ("de", "en"):
        with open(SHARED / f"data/multi30k/train.{side}") as file:
            texts += [line.rstrip() for line in itertools.islice(file, 2500)]
    rare = "0123456789__\\\\;ßŁœ漢字Ж¼ 🙂\u200d\t"
    characters = sorted({*"".join(texts), *rare})
    generator = random.Random(1)
    mixed = [
        "".join(generator.choices(characters, k=generator.randint(1, 40)))
        for _ in texts
    ]
    return texts + mixed
