"""A kt-serve process on free ports."""

import contextlib
import http.client
import json
import signal
import subprocess
import sys
import time

from ports import free_port


class Served:
    """A kt-serve process on free ports."""

    def __init__(self, export_dir=None, *flags):
        self.rest = free_port()
        self.grpc = free_port()
        self.addresses = {
            "rest": f"localhost:{self.rest}",
            "grpc": f"localhost:{self.grpc}",
        }
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "keras_transformer.bin.serve"),
                *([f"--export_dir={export_dir}"] if export_dir else []),
                f"--port={self.grpc}",
                f"--rest_api_port={self.rest}",
                *flags,
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        self.first_line = self.process.stderr.readline()

    def get(self, path):
        connection = http.client.HTTPConnection("localhost", self.rest)
        with contextlib.closing(connection):
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())

    def status(self, name):
        """Returns a number from the system's status of the process."""
        with open(f"/proc/{self.process.pid}/status") as file:
            lines = dict(line.split(":", 1) for line in file)
        return int(lines[name].split()[0])

    def wait_for_newest(self, version, state="AVAILABLE"):
        for _ in range(1200):
            newest = self.get("/v1/models/translate")["model_version_status"][0]
            if (newest["version"], newest["state"]) == (str(version), state):
                return
            time.sleep(0.05)
        raise AssertionError(f"version {version} did not become {state}")

    def end(self, number=signal.SIGTERM):
        """Sends a signal; returns the exit status and the remaining output."""
        self.process.send_signal(number)
        _, messages = self.process.communicate(timeout=60)
        return self.process.returncode, messages
