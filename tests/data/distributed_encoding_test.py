"""Apache Beam's direct runner, where it is installed, beside one machine."""

import gzip
import importlib.util
import os
import subprocess
import sys
import time

import pytest
from number_problem import files_of
from number_problem import generated
from number_problem import with_pairs

from keras_transformer.data.generation import distributed_encoding
from keras_transformer.data.generation import encoding
from keras_transformer.data.generation.distributed_encoding import (
    DistributedEncoder,
)
from keras_transformer.problems.translate_files import TranslateFiles

HAS_BEAM = importlib.util.find_spec("apache_beam") is not None
needs_beam = pytest.mark.skipif(
    not HAS_BEAM, reason="needs Apache Beam: pip install '.[beam]'"
)
THREADS = ("--direct_num_workers=2", "--direct_running_mode=multi_threading")
PROCESSES = (
    "--direct_num_workers=2",
    "--direct_running_mode=multi_processing",
)
FILES = {
    "train.en": b"\xef\xbb\xbfa red house\r\ntwo trees\r\n\r\nfive\x1f\n" * 9,
    "train.de": "ein rotes Haus\nzwei Bäume\nleer\nfünf\u2028\n".encode() * 9,
    "dev.en": b"a house\n",
    "dev.de": b"ein Haus",
}


def generated_on(runner, data_dir, arguments=()):
    problem = with_pairs(data_dir)
    problem.encoder = DistributedEncoder(runner, arguments)
    problem.generate(None)
    return problem


def generated_from_files(folder, data_dir, encoder=None):
    problem = TranslateFiles(data_dir=str(data_dir))
    names = {"train": ("train.en", "train.de"), "dev": ("dev.en", "dev.de")}
    problem.use_files(
        {
            split: tuple(str(folder / name) for name in pair)
            for split, pair in names.items()
        },
        vocab_size=290,
    )
    if encoder:
        problem.encoder = encoder
    problem.generate(None)
    return problem


@pytest.fixture
def job_server(tmp_path):
    """Address of Beam's own job server, which runs pipelines by its API."""
    path = tmp_path / "port"
    module = "apache_beam.runners.portability.local_job_service_main"
    with subprocess.Popen(
        [sys.executable, "-m", module, "--port=0", f"--port_file={path}"],
        stderr=subprocess.DEVNULL,
    ) as server:
        try:
            for _ in range(600):
                if path.exists() and path.read_text():
                    break
                time.sleep(0.1)
            yield f"localhost:{path.read_text()}"
        finally:
            server.terminate()


@needs_beam
class DirectRunnerTest:
    @pytest.mark.parametrize("pairs_in_chunk", [1, 7, 59, 60])
    def test_files_are_those_of_one_machine(
        self, tmp_path, monkeypatch, pairs_in_chunk
    ):
        expected = generated(tmp_path / "local")
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", pairs_in_chunk)
        problem = generated_on("direct", tmp_path / "direct")
        assert files_of(problem) == files_of(expected)
        assert os.listdir(tmp_path / "direct") == ["numbers"]

    @pytest.mark.parametrize("arguments", [THREADS, PROCESSES])
    def test_files_do_not_depend_on_the_workers(
        self, tmp_path, monkeypatch, arguments
    ):
        expected = generated(tmp_path / "local")
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", 11)
        problem = generated_on("direct", tmp_path / "direct", arguments)
        assert files_of(problem) == files_of(expected)

    @pytest.mark.parametrize("is_compressed", [False, True])
    def test_odd_text_gives_the_same_files(
        self, tmp_path, monkeypatch, is_compressed
    ):
        for name, content in FILES.items():
            if is_compressed:
                content = gzip.compress(content, mtime=0)
            (tmp_path / name).write_bytes(content)
        expected = generated_from_files(tmp_path, tmp_path / "local")
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", 5)
        problem = generated_from_files(
            tmp_path, tmp_path / "direct", DistributedEncoder("direct")
        )
        assert files_of(problem) == files_of(expected)
        assert problem.manifest["splits"]["train"]["pairs"] == 27

    def test_chunks_are_stored_in_the_temp_location_and_removed(
        self, tmp_path, caplog
    ):
        caplog.set_level("INFO", "keras_transformer")
        place = tmp_path / "place"
        argument = f"--temp_location={place}"
        generated_on("direct", tmp_path / "data", [argument])
        assert f"encodes 1 chunks in {place}/chunks-" in caplog.text
        assert os.listdir(place) == []

    def test_a_failure_removes_the_chunks(self, tmp_path, monkeypatch):
        def fail(*_):
            raise ZeroDivisionError

        monkeypatch.setattr(distributed_encoding, "encode_chunk", fail)
        with pytest.raises(Exception, match="ZeroDivisionError"):
            generated_on("direct", tmp_path / "direct")
        assert os.listdir(tmp_path) == []

    def test_a_lost_text_is_an_error(self, tmp_path, monkeypatch):
        def encode_fewer(vocabularies, chunk):
            return encode_chunk(vocabularies, [texts[1:] for texts in chunk])

        encode_chunk = distributed_encoding.encode_chunk
        monkeypatch.setattr(distributed_encoding, "encode_chunk", encode_fewer)
        with pytest.raises(ValueError, match=r"did not encode all texts"):
            generated_on("direct", tmp_path / "direct")
        assert os.listdir(tmp_path) == []


@needs_beam
@pytest.mark.slow
class OtherRunnersTest:
    @pytest.mark.skipif(
        importlib.util.find_spec("distributed") is None,
        reason="needs Dask: pip install 'apache-beam[dask]'",
    )
    def test_dask_writes_the_files_of_one_machine(self, tmp_path, monkeypatch):
        expected = generated(tmp_path / "local")
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", 11)
        problem = generated_on("dask", tmp_path / "dask")
        assert files_of(problem) == files_of(expected)

    def test_a_job_server_writes_the_files_of_one_machine(
        self, tmp_path, monkeypatch, job_server
    ):
        expected = generated(tmp_path / "local")
        monkeypatch.setattr(encoding, "PAIRS_IN_CHUNK", 11)
        arguments = [
            f"--job_endpoint={job_server}",
            "--environment_type=LOOPBACK",
        ]
        problem = generated_on("portable", tmp_path / "portable", arguments)
        assert files_of(problem) == files_of(expected)


class BadOptionsTest:
    @pytest.mark.skipif(HAS_BEAM, reason="Apache Beam is installed")
    def test_missing_beam_is_an_error(self):
        with pytest.raises(ValueError, match=r"install '.\[beam\]'"):
            DistributedEncoder("direct")

    @needs_beam
    @pytest.mark.parametrize(
        "runner, argument, words",
        [
            ("dataflow", "--region=here", "Missing required option"),
            ("direct", "--temp_location=nowhere://a", "filesystem"),
        ],
    )
    def test_unusable_options_are_an_error_at_once(
        self, runner, argument, words
    ):
        with pytest.raises(ValueError, match=f"(?s)cannot start: .*{words}"):
            DistributedEncoder(runner, [argument])
