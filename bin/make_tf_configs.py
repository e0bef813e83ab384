"""Prints TF_CONFIG for machines that train together.

    kt-make-tf-configs --hosts=10.0.0.1:2222,10.0.0.2:2222

kt-trainer reads the environment variable TF_CONFIG, which names all machines
and says which one this is. The command prints a line for each machine, in
order; the first one writes the run. With --index it prints one of them:

    export TF_CONFIG=$(kt-make-tf-configs --hosts=... --index=0)
"""

import json

from keras_transformer.bin.shared import command
from keras_transformer.bin.shared import flags
from keras_transformer.errors import UserError
from keras_transformer.training.backends.cluster import ADDRESS

FLAGS = flags.define(
    """
  hosts (text): Machines, separated by commas. Append :PORT to one with another
    port than 2222.
  index (whole): Number of one machine, from 0. Default: all machines.
"""
)


def main(argv):
    flags.require(FLAGS, "hosts")
    hosts = [host.strip() for host in FLAGS.hosts.split(",")]
    workers = [
        # An IPv6 address has further colons, in brackets.
        host if ":" in host.rpartition("]")[2] else f"{host}:2222"
        for host in hosts
    ]
    index = FLAGS.index or 0
    is_unique = len(set(workers)) == len(workers)
    have_ports = all(map(ADDRESS.fullmatch, workers))
    if "" in hosts or not (is_unique and have_ports) or index >= len(hosts):
        raise UserError(
            "`--hosts` must name each machine once, as HOST or HOST:PORT, and "
            "`--index` must be the number of one. Received: --hosts="
            f"{FLAGS.hosts}, --index={index}. Separate the machines by commas, "
            "put an IPv6 address in brackets, and count from 0."
        )
    for index in range(len(workers)) if FLAGS.index is None else [FLAGS.index]:
        task = {"type": "worker", "index": index}
        print(json.dumps({"cluster": {"worker": workers}, "task": task}))


run = command.make_script(main, FLAGS)
