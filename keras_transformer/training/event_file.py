"""Event files for TensorBoard, written without TensorFlow."""

import os
import socket
import time

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.event_pb2 import SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter

from keras_transformer.files.writing import explain_disk_errors


class EventFile:
    """Writes scalars to a new event file in a directory.

    TensorBoard's own `EventFileWriter` would import TensorFlow if it is
    installed, even for a training on JAX.

    Args:
        directory: Directory in which TensorBoard looks for the run.
        last_step: Number of updates done before. TensorBoard drops the scalars
            of later updates in earlier files.
    """

    def __init__(self, directory, last_step):
        os.makedirs(directory, exist_ok=True)
        name = (
            f"events.out.tfevents.{time.time_ns()}."
            f"{socket.gethostname()}.{os.getpid()}"
        )
        self._path = os.path.join(directory, name)
        self._writer = None
        self._add(file_version="brain.Event:2")
        # Makes TensorBoard drop later steps in the files of earlier processes.
        start = SessionLog(status=SessionLog.START)
        self._add(step=last_step + 1, session_log=start)

    def write(self, step, values):
        """Writes the scalars of a step.

        Args:
            step: Number of updates done.
            values: Dictionary of name to number.
        """
        scalars = [
            Summary.Value(tag=name, simple_value=float(value))
            for name, value in values.items()
        ]
        self._add(step=step, summary=Summary(value=scalars))

    def close(self):
        """Closes the file, which the next `write` opens again."""
        if self._writer:
            with explain_disk_errors(self._path):
                self._writer.close()
            self._writer = None

    def _add(self, **fields):
        event = Event(wall_time=time.time(), **fields)
        with explain_disk_errors(self._path):
            if not self._writer:
                self._writer = RecordWriter(open(self._path, "ab"))
            self._writer.write(event.SerializeToString())
            # TensorBoard reads the file during the training.
            self._writer.flush()
