"""Profiling of a few updates of a training."""


class Profiler:
    """Records what the devices do from one update to another.

    Args:
        engine: The engine that makes the updates.
        directory: Directory of the profile, which TensorBoard reads.
        steps: Pair of the first and the last update to profile; empty for no
            profile.
    """

    def __init__(self, engine, directory, steps):
        self.engine = engine
        self.directory = directory
        self.first, self.last = steps or (None, None)
        self.is_recording = False

    def begin(self, step, finish_update):
        """Starts or stops the recording if it is due before an update.

        Args:
            step: Number of the update, counted from 1.
            finish_update: Function that waits for the update before it.
        """
        # Updates run asynchronously, and the recording holds whole ones.
        if step == self.first:
            finish_update()
            self.engine.start_profile(self.directory)
            self.is_recording = True
        elif self.is_recording and step > self.last:
            finish_update()
            self.stop()

    def stop(self):
        """Ends the recording if there is one."""
        if self.is_recording:
            self.is_recording = False
            self.engine.stop_profile()
