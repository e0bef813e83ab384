import subprocess
import sys

import numpy as np
import pytest
from number_problem import Numbers
from number_problem import files_of
from number_problem import generated
from number_problem import with_pairs
from processes import environment

from keras_transformer.data.generation import encoding
from keras_transformer.data.generation import token_arrays

ON_SOME_CORES = """
import os, sys
from number_problem import generated
cores = sorted(os.sched_getaffinity(0))
os.sched_setaffinity(0, cores[:int(sys.argv[1])])
generated("data")
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory):
    return generated(tmp_path_factory.mktemp("data"))


class EncodeTextsTest:
    @pytest.mark.parametrize("num_texts", [0, 1, 60])
    def test_sequences_are_those_of_the_vocabulary(self, problem, num_texts):
        texts = [source for source, _ in Numbers.pairs["train"]][:num_texts]
        (sequences,) = encoding.encode_chunk([problem.vocabulary], [texts])
        expected = problem.vocabulary.encode(texts)
        assert [list(ids) for ids in sequences] == expected

    def test_ids_are_as_narrow_as_in_a_file(self, problem):
        (sequences,) = encoding.encode_chunk([problem.vocabulary], [["one"]])
        assert sequences.ids.dtype == np.uint16
        assert token_arrays.ids_dtype(1 << 17) == np.int32


class ChunksTest:
    # With 59, the last chunk of 60 pairs has a single pair.
    @pytest.mark.parametrize("pairs_in_chunk", [1, 7, 59, 60])
    def test_files_do_not_depend_on_the_chunks(
        self, problem, tmp_path, monkeypatch, pairs_in_chunk
    ):
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", pairs_in_chunk)
        assert files_of(generated(tmp_path)) == files_of(problem)

    def test_a_chunk_may_lose_all_its_pairs(self, tmp_path, monkeypatch):
        pairs = Numbers.pairs["train"]
        expected = files_of(generated(tmp_path / "a"))
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", 4)
        empty = 8 * [("", "EMPTY")]
        problem = with_pairs(tmp_path / "b", train=[*empty, *pairs, *empty])
        assert problem.generate(None)["splits"]["train"]["pairs"] == 60
        name = "train.source.ids"
        assert files_of(problem)[name] == expected[name]

    @pytest.mark.parametrize("num_cores", [1, 2])
    def test_files_do_not_depend_on_the_number_of_cores(
        self, problem, tmp_path, num_cores
    ):
        subprocess.run(
            [sys.executable, "-c", ON_SOME_CORES, str(num_cores)],
            check=True,
            cwd=tmp_path,
            env=environment(__file__),
        )
        same = Numbers(data_dir=str(tmp_path / "data"))
        assert files_of(same) == files_of(problem)
