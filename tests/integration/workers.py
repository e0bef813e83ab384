"""Processes that act as the machines of one training.

They communicate over the loopback address.
"""

import json
import os
import resource
import time

import numpy as np
from ports import free_port
from runs import metrics
from runs import start_trainer

from keras_transformer.runs.checkpoints import Checkpoints

ALWAYS = "--save_checkpoints_secs=0"  # a checkpoint after every update
SECONDS = 300  # limit for the start and the end of a process


class Workers:
    """Starts all workers of a run on `copy` with the same command."""

    def __init__(self, path, data_dir, num_workers, *flags, **variables):
        self.checkpoints = Checkpoints(os.path.join(path, "checkpoints"))
        command = (
            "--problem=copy",
            f"--data_dir={data_dir}",
            f"--output_dir={path}",
            "--hparams_set=transformer_tiny",
            "--precision=float32",
            *flags,
        )
        addresses = free_addresses(num_workers)
        self.processes = []
        for index in range(num_workers):
            task = {"type": "worker", "index": index}
            config = {"cluster": {"worker": addresses}, "task": task}
            self.processes.append(
                start_trainer(
                    *command,
                    env={
                        **os.environ,
                        **variables,
                        "TF_CONFIG": json.dumps(config),
                    },
                    preexec_fn=forbid_files if index else None,
                )
            )

    def wait_for(self, step):
        """Waits until there is a checkpoint of `step` or a later one."""
        end = time.monotonic() + SECONDS
        while max(self.checkpoints.steps, default=0) < step:
            ended = [p for p in self.processes if p.poll() is not None]
            if ended or time.monotonic() > end:
                self.kill()
                raise AssertionError(self.end())
            time.sleep(0.005)

    def end(self):
        """Returns statuses, outputs and messages of all after their end."""
        try:
            texts = [p.communicate(timeout=SECONDS) for p in self.processes]
        finally:
            self.kill()
        statuses = [process.returncode for process in self.processes]
        return statuses, *zip(*texts)

    def kill(self):
        for process in self.processes:
            process.kill()


def free_addresses(number):
    return [f"127.0.0.1:{free_port()}" for _ in range(number)]


def forbid_files():
    """Limits the size of files, since only the chief may write any.

    The limit is 4 bytes, which Python writes to test the directory for
    temporary files.
    """
    resource.setrlimit(resource.RLIMIT_FSIZE, (4, 4))


def check_same_losses(run, alone):
    for name in ("train_loss", "dev_loss"):
        losses, expected = (
            [float(row[name]) for row in metrics(each) if row[name]]
            for each in (run, alone)
        )
        assert len(losses) == len(expected) >= 2
        np.testing.assert_allclose(losses, expected, rtol=1e-5)
