"""The machines that train together, as `TF_CONFIG` lists them."""

import json
import os
import re
import typing

from keras_transformer.errors import UserError
from keras_transformer.files.reading import WHOLE
from keras_transformer.files.reading import find_fault

# As `read_record` describes it.
_SHAPE = {
    "cluster?": {"chief?": [str], "worker?": [str]},
    "task?": {"type?": str, "index?": WHOLE},
}
# The colons of an IPv6 address are in brackets.
ADDRESS = re.compile(r"(\[.+\]|[^:]+):[0-9]{1,5}")
_EXAMPLE = (
    '{"cluster": {"worker": ["host1:2222", "host2:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


class Cluster(typing.NamedTuple):
    """All workers of a training run, and which of them this process is."""

    num_workers: int = 1
    worker: int = 0  # number of this one; worker 0 is the chief
    chief_address: str | None = None


def read_cluster():
    """Reads the `Cluster` from the environment variable `TF_CONFIG`."""
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
    chiefs = cluster.get("chief", [])
    addresses = [*chiefs, *cluster.get("worker", [])]
    if not addresses:
        return Cluster()
    num_before = len(chiefs) if task["type"] == "worker" else 0
    worker = num_before + task["index"]
    return Cluster(len(addresses), worker, addresses[0])


def _find_fault(config):
    """Returns what is wrong with a configuration, or None."""
    if fault := find_fault(config, _SHAPE):
        return fault
    cluster, task = config.get("cluster", {}), config.get("task", {})
    for job, addresses in cluster.items():
        if job not in ("chief", "worker"):
            return f"with the job {job[:20]!r}, which is not chief or worker"
        if not all(map(ADDRESS.fullmatch, addresses)):
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
