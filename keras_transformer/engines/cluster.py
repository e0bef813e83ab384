"""The machines that train together, as `TF_CONFIG` lists them."""

import json
import os

from keras_transformer.errors import UserError

_EXAMPLE = (
    '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


def read_cluster():
    """Reads the cluster from the environment variable `TF_CONFIG`.

    Returns the number of workers and the number of this one; worker 0 is the
    chief. Without a cluster that is `(1, 0)`.
    """
    config = _parse(os.environ.get("TF_CONFIG") or "{}")
    fault = _fault(config)
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


def _parse(text):
    """Returns the value of a JSON text, or None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fault(config):
    """Returns what is wrong with a configuration, or None."""
    if config is None:
        return "which is not JSON"
    if not isinstance(config, dict):
        return "which is not an object"
    for name in ("cluster", "task"):
        if not isinstance(config.get(name, {}), dict):
            return f"where {name} is not an object"
    cluster = config.get("cluster", {})
    for job, addresses in cluster.items():
        if job not in ("chief", "worker"):
            return f"with the job {job[:20]!r}, which is not chief or worker"
        if not _are_addresses(addresses):
            return f"where {job} is not a list of HOST:PORT"
    if len(cluster.get("chief", [])) > 1:
        return f"with {len(cluster['chief'])} chiefs"
    return _task_fault(cluster, config.get("task", {}))


def _task_fault(cluster, task):
    if not any(cluster.values()):
        return None
    job, index = task.get("type"), task.get("index")
    if not isinstance(job, str) or not cluster.get(job):
        return f"where task.type is {json.dumps(job)[:20]}, not in the cluster"
    # A bool is an int to `isinstance`, hence the exact type.
    if type(index) is not int or not 0 <= index < len(cluster[job]):
        shown = json.dumps(index)[:20]
        return (
            f"where task.index is {shown}, not from 0 to "
            f"{len(cluster[job]) - 1}"
        )
    return None


def _are_addresses(addresses):
    return isinstance(addresses, list) and all(
        isinstance(address, str) and ":" in address for address in addresses
    )
