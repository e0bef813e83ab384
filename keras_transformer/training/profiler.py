"""Profiling of a few updates."""

from keras_transformer import errors
from keras_transformer.errors import UserError


def parse_steps(text):
    """Returns the first and the last update in a text such as "10,20".

    Without a text, which means no profile, it returns ().
    """
    if not text:
        return ()
    try:
        first, last = map(errors.parse_integer, text.split(","))
    except ValueError:
        first, last = 0, 0  # leads to the error below
    if not 1 <= first <= last:
        raise UserError(
            "`--profile_steps` must be the first and the last update to "
            f"profile. Received: --profile_steps={text}. Write, for example, "
            "--profile_steps=10,20."
        )
    return first, last


class Profiler:
    """Records what the devices do from one update to another.

    `steps` are the first and the last of these updates, or () for no profile.
    """

    def __init__(self, backend, directory, steps):
        self.backend = backend
        self.directory = directory
        self.first, self.last = steps or (None, None)
        self.is_recording = False

    def begin(self, step, finish_update):
        """Starts or stops the recording if it is due before an update.

        `step` counts from 1. `finish_update` waits for the update before it.
        """
        # Updates run asynchronously, and the recording holds whole ones.
        if step == self.first:
            finish_update()
            self.backend.start_profile(self.directory)
            self.is_recording = True
        elif self.is_recording and step > self.last:
            finish_update()
            self.stop()

    def stop(self):
        """Ends the recording if there is one."""
        if self.is_recording:
            self.is_recording = False
            self.backend.stop_profile()
