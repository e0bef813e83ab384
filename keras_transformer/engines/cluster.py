"""The machines of a training, as `TF_CONFIG` lists them."""

import json
import os


def read_cluster():
    """Reads the cluster from the environment variable `TF_CONFIG`.

    Returns:
        The number of workers and the number of this one, counted from 0. The
        worker 0 is the chief. Without a cluster the result is `(1, 0)`.
    """
    config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    cluster, task = config.get("cluster", {}), config.get("task", {})
    num_chiefs = len(cluster.get("chief", []))
    num_before = num_chiefs if task.get("type") == "worker" else 0
    num_workers = num_chiefs + len(cluster.get("worker", []))
    return max(1, num_workers), num_before + task.get("index", 0)
