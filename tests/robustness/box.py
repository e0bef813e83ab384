"""The box: a directory with copies of templates, which a row may damage."""

import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import stat

import numpy as np
from tiny_marian import write_tiny_marian

from keras_transformer import registry
from keras_transformer.data.vocabulary.subwords import Subwords
from keras_transformer.problems.toy import ParsingToy
from keras_transformer.problems.toy import TranslateEndeToy

FROZEN = pathlib.Path(__file__).parents[1] / "fixtures" / "v0.1"
LARGE = 64 * 2**20  # larger files are compared by size and time alone
EMBEDDING = "model/embedding/embeddings"
NUM_TREES = {"train": 40, "dev": 20, "test": 20}


class Box(contextlib.ExitStack):
    """A working directory for one row.

    Args:
        path: Path of the directory to make.
        templates: Path of the directory that `make_templates` filled.
    """

    def __init__(self, path, templates):
        super().__init__()
        self.path = str(path)
        self.templates = str(templates)
        os.mkdir(self.path)

    def fill(self, text):
        """Returns a text whose `{name}`s are paths; copies what they name."""

        def path_of(match):
            if match[1] == "box":
                return self.path
            source = os.path.join(self.templates, match[1])
            if not os.path.exists(source):
                return match[0]  # braces that are no template
            path = os.path.join(self.path, match[1])
            if not os.path.lexists(path):
                shutil.copytree(source, path)
            return path

        return re.sub(r"\{(\w+)\}", path_of, text)

    def at_end(self, function, *arguments):
        self.callback(function, *arguments)

    def contents(self):
        """Returns a description of every file and directory by its path."""
        described = {}
        for folder, folders, names in os.walk(self.path):
            for name in folders + names:
                path = os.path.join(folder, name)
                described[os.path.relpath(path, self.path)] = _describe(path)
        return described


def _describe(path):
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return "link", os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return (stat.S_IFMT(status.st_mode),)
    if status.st_size > LARGE:
        return "file", status.st_size, status.st_mtime_ns
    if not os.access(path, os.R_OK):
        return "closed", status.st_size
    with open(path, "rb") as file:
        return "file", hashlib.file_digest(file, "sha256").hexdigest()


def make_templates(path):
    """Fills a directory with everything that rows copy.

    Args:
        path: A `pathlib.Path` of an empty directory.
    """
    for name in ("run", "averaged", "saved_model", "ctranslate2"):
        shutil.copytree(FROZEN / name, path / name)
    for name in ("run", "averaged"):
        # Commands run in the box, where `data` may be.
        _set(path / name / "run.json", data_dir="data")
    problem = registry.get_problem("copy", str(path / "data"))
    # A vocabulary that is trained today would not be that of the run.
    problem.vocabulary_path = str(FROZEN / "run" / "vocab.model")
    problem.generate(None)
    _make_texts(path / "texts")
    _make_text_data(path)
    _make_parser(path)
    write_tiny_marian(path / "marian")


def _set(path, **changes):
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}, indent=2) + "\n")


def _make_texts(path):
    """Writes small parallel text, and treebanks."""
    path.mkdir()
    for split, number in (("train", 300), ("dev", 20), ("test", 20)):
        pairs = TranslateEndeToy().text_pairs(split, None)
        lines = list(itertools.islice(pairs, number))
        for side, ending in enumerate(("en", "de")):
            text = "".join(pair[side] + "\n" for pair in lines)
            (path / f"{split}.{ending}").write_text(text, encoding="utf-8")
        trees = ParsingToy().trees(split, None)
        texts = map(str, itertools.islice(trees, NUM_TREES[split]))
        (path / f"{split}.trees").write_text("\n".join(texts))


def _make_text_data(path):
    texts = path / "texts"
    files = {
        split: (str(texts / f"{split}.en"), str(texts / f"{split}.de"))
        for split in ("train", "dev")
    }
    problem = registry.get_problem("translate_files", str(path / "text_data"))
    problem.use_files(files, 400)
    problem.generate(None)


def _make_parser(path):
    """Makes data of trees, and a run with random weights for them."""
    texts = path / "texts"
    problem = registry.get_problem("parsing_files", str(path / "tree_data"))
    problem.use_files(
        {split: (str(texts / f"{split}.trees"),) for split in ("train", "dev")},
        360,
        linearization="normalised",
    )
    problem.generate(None)
    run, vocabulary = path / "parser", path / "parser" / "vocab.model"
    shutil.copytree(FROZEN / "averaged", run)
    shutil.copyfile(f"{problem.directory}/vocab.model", vocabulary)
    subwords = Subwords(str(vocabulary))
    _set(
        run / "run.json",
        problem="parsing_files",
        vocabulary_sha256=subwords.sha256,
        data_dir="tree_data",
    )
    (checkpoint,) = (run / "checkpoints").glob("*.npz")
    with np.load(checkpoint) as file:
        arrays = dict(file)
    shape = (subwords.vocab_size, arrays[EMBEDDING].shape[1])
    arrays[EMBEDDING] = np.random.default_rng(0).normal(0, 1, shape)
    arrays[EMBEDDING] = arrays[EMBEDDING].astype("float32")
    np.savez(checkpoint, **arrays)
