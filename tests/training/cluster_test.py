"""The cluster that `TF_CONFIG` describes."""

import json

import pytest

from keras_transformer.training.backends.cluster import read_cluster

TWO = {"worker": ["a:1", "b:2"]}


@pytest.fixture
def read(monkeypatch):
    """Reads the cluster with this value of `TF_CONFIG`."""

    def read(config):
        text = config if isinstance(config, str) else json.dumps(config)
        monkeypatch.setenv("TF_CONFIG", text)
        return read_cluster()

    return read


class ReadClusterTest:
    @pytest.mark.parametrize("text", ["", "{}", '{"cluster": {}}'])
    def test_without_a_cluster_there_is_one_worker(self, read, text):
        assert read(text) == (1, 0, None)

    @pytest.mark.parametrize(
        "cluster, job, index, number, chief",
        [
            (TWO, "worker", 0, 0, "a:1"),
            (TWO, "worker", 1, 1, "a:1"),
            ({"chief": ["c:1"], **TWO}, "chief", 0, 0, "c:1"),
            ({"chief": ["c:1"], **TWO}, "worker", 1, 2, "c:1"),
        ],
    )
    def test_the_chief_comes_before_the_workers(
        self, read, cluster, job, index, number, chief
    ):
        task = {"type": job, "index": index}
        num_workers = sum(map(len, cluster.values()))
        expected = (num_workers, number, chief)
        assert read({"cluster": cluster, "task": task}) == expected

    @pytest.mark.parametrize(
        "config, fault",
        [
            ("no JSON", "which is not JSON"),
            ("[" * 100_000, "which is not JSON"),
            ('{"cluster": {}, "task": 1' + "0" * 5000, "which is not JSON"),
            ("[1]", "where the content must be an object but is a list"),
            ({"cluster": []}, "where `cluster` must be an object but is a"),
            ({"cluster": TWO, "task": "worker"}, "where `task` must be an obj"),
            (
                {"cluster": {"worker": "a:1"}},
                "where `cluster.worker` must be a l",
            ),
            (
                {"cluster": {"worker": ["a:1", 2]}},
                "where `cluster.worker[1]` mu",
            ),
            ({"cluster": {"worker": ["a"]}}, "where worker is not a list"),
            ({"cluster": {"worker": ["a:x"]}}, "where worker is not a list"),
            ({"cluster": {"ps": ["a:1"]}}, "with the job 'ps'"),
            ({"cluster": {"chief": ["a:1", "b:1"]}}, "with 2 chiefs"),
            ({"cluster": TWO}, "where task.type is null"),
            (
                {"cluster": TWO, "task": {"type": "chief", "index": 0}},
                'where task.type is "chief"',
            ),
            (
                {"cluster": TWO, "task": {"type": "worker"}},
                "where task.index is null, not from 0 to 1",
            ),
        ]
        + [
            (
                {"cluster": TWO, "task": {"type": "worker", "index": index}},
                f"where task.index is {index}, not from 0 to 1",
            )
            for index in (2, 7)
        ]
        + [
            (
                {"cluster": TWO, "task": {"type": "worker", "index": index}},
                "where `task.index` must be an integer of at least 0 but is "
                f"{json.dumps(index)}",
            )
            for index in (-1, True, 1.0, "1")
        ],
    )
    def test_a_fault_is_named(self, read, config, fault):
        with pytest.raises(ValueError) as error:
            read(config)
        message = str(error.value)
        assert message.startswith("`TF_CONFIG` must be a JSON object that ")
        assert f"Received: TF_CONFIG, {fault}" in message
        assert len(message) < 400
