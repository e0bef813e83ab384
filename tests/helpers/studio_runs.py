"""Runs for the page of kt-studio that need no training."""

import json
import os

from small_translators import HPARAMS
from small_translators import make_run
from small_translators import make_tree_vocabulary

from keras_transformer import registry
from keras_transformer.decoding.outputs import outputs_path
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.token_ids import END_ID

# What the runs make of a sentence that the problem reverses.
OUTPUTS = {"this": lambda text: text[::-1], "other": lambda text: text[:4]}
# What shows that a view has its answer, for translating and parsing runs.
VIEWS = {
    "translate": ".word",
    "attention": "iframe",
    "search": ".node[data-step]",
    "compare": ".set button",
    "training": ".chart",
    "explain": ".matrix",
}
TEXT = "a b c d"
METRICS = "step,train_loss,dev_loss,dev_bleu\n1,3,,\n2,2,2.5,7\n3,nan,,\n4,1"


def make_translation_runs(folder):
    """Makes two runs on the problem `reverse`, and returns their paths.

    Both have decoded its test set, and are training: the last line of
    `metrics.csv` is incomplete.
    """
    problem = registry.get_problem("reverse", str(folder / "data"))
    problem.generate(None)
    sources, _ = problem.text_split("test")
    paths = []
    for name, output in OUTPUTS.items():
        run = make_run(folder / name, problem.vocabulary, HPARAMS)
        record = {**run.record, "problem": "reverse"}
        record["data_dir"] = str(folder / "data")
        model_bytes = problem.vocabulary.model_bytes
        RunDirectory.create(run.path, record, HPARAMS, model_bytes)
        path = outputs_path(run.path, "test")
        os.mkdir(os.path.dirname(path))
        _write(path, "".join(output(text) + "\n" for text in sources))
        entry = {"step": 7, "num_pairs": 200, "decode": {}, "lines": []}
        os.mkdir(run.file("scores"))
        _write(run.file("scores", "test.json"), json.dumps([entry]))
        _write(run.file("metrics.csv"), METRICS)
        os.mkdir(run.file("samples"))
        for step in (2, 10):
            sample = f"source      s{step}\nreference   r\ntranslation t\n\n"
            _write(run.file("samples", f"step-{step}.txt"), 2 * sample)
        paths.append(run.path)
    return paths


def make_parsing_run(folder):
    """Makes a run that parses, and returns its path."""
    path = folder / "tree_vocabulary"
    vocabulary = make_tree_vocabulary(path, linearization="lexicalised")
    return make_run(folder / "parser", vocabulary).path


def path_of_ids(results, vocabulary):
    """Returns the ids of the best sequence of a search."""
    tokens = [
        results["steps"][step][place]["token"]
        for step, place in enumerate(results["path"])
    ]
    pieces = vocabulary.all_pieces()
    return [pieces.index(token) for token in tokens[:-1]] + [END_ID]


def _write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
