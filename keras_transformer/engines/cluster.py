"""The machines that train together, as `TF_CONFIG` lists them."""

import json
import os

from keras_transformer.errors import UserError
from keras_transformer.files.records import WHOLE
from keras_transformer.files.records import find_fault

# As `read_record` describes it.
_SHAPE = {
    "cluster?": {"chief?": [str], "worker?": [str]},
    "task?": {"type?": str, "index?": WHOLE},
}
_EXAMPLE = (
    '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


def read_cluster():
    """Reads the cluster from the environment variable `TF_CONFIG`.

    Returns the number of workers and the number of this one; worker 0 is the
    chief. Without a cluster that is `(1, 0)`.
    """
    try:
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
    except (ValueError, RecursionError):
        config, fault = {}, "which is not JSON"
    else:
        fault = _find_fault(config)
    if fault:
        raise UserError(
            "`TF_CONFIG` must be a JSON object that names all machines and the "
            f"task of this one. Received: TF_CONFIG, {fault}. Set it to, for "
            f"example, {_EXAMPLE}."
        )
    cluster, task = config.get("cluster", {}), config.get("task", {})
    num_chiefs = len(cluster.get("chief", []))
    num_workers = num_chiefs + len(cluster.get("worker", []))
    if not num_workers:
        return 1, 0
    num_before = num_chiefs if task["type"] == "worker" else 0
    return num_workers, num_before + task["index"]


def check_backend(backend):
    """Raises a `UserError` if a backend cannot train on the cluster."""
    if backend == "jax" and os.environ.get("TF_CONFIG"):
        raise UserError(
            "Training on several machines needs TensorFlow. Received: "
            "KERAS_BACKEND=jax and TF_CONFIG. Unset one of them."
        )


def _find_fault(config):
    """Returns what is wrong with a configuration, or None."""
    if fault := find_fault(config, _SHAPE):
        return fault
    cluster, task = config.get("cluster", {}), config.get("task", {})
    for job, addresses in cluster.items():
        if job not in ("chief", "worker"):
            return f"with the job {job[:20]!r}, which is not chief or worker"
        if not all(":" in address for address in addresses):
            return f"where {job} is not a list of HOST:PORT"
    if len(cluster.get("chief", [])) > 1:
        return f"with {len(cluster['chief'])} chiefs"
    if not any(cluster.values()):
        return None
    job, index = task.get("type"), task.get("index")
    if not cluster.get(job):
        return f"where task.type is {json.dumps(job)[:20]}, not in the cluster"
    last = len(cluster[job]) - 1
    if index is None or index > last:
        return f"where task.index is {json.dumps(index)}, not from 0 to {last}"
    return None
