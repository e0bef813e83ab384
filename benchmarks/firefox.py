"""Drives Firefox without a network, by WebDriver BiDi and tornado alone."""

import asyncio
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from tornado.websocket import websocket_connect

PORT_FILE = "WebDriverBiDiServer.json"  # that Firefox writes into its profile


def find_firefox():
    """Returns the path of Firefox, or None."""
    names = ("firefox-esr", "firefox")
    return next(filter(None, map(shutil.which, names)), None)


class Firefox:
    """A headless browser with one page, as a context.

    `log` has what pages write to the console, with uncaught errors.
    """

    def __enter__(self):
        self._folder = tempfile.TemporaryDirectory()
        flags = ["--headless", "--no-remote", "--remote-debugging-port=0"]
        self._process = subprocess.Popen(
            [find_firefox(), *flags, "--profile", self._folder.name],
            env={**os.environ, "HOME": self._folder.name},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        path = pathlib.Path(self._folder.name, PORT_FILE)
        while not (path.exists() and path.read_text().endswith("}")):
            if self._process.poll() is not None:
                raise RuntimeError("Firefox ended at once.")
            time.sleep(0.05)
        port = json.loads(path.read_text())["ws_port"]
        self.log, self._number = [], 0
        self._loop = asyncio.new_event_loop()
        self._thread = concurrent.futures.ThreadPoolExecutor(max_workers=1)
        self._socket = self._run(
            self._connect(f"ws://127.0.0.1:{port}/session")
        )
        self._call("session.new", capabilities={})
        self._call("session.subscribe", events=["log.entryAdded"])
        (tree,) = self._call("browsingContext.getTree")["contexts"]
        self._context = tree["context"]
        self._call(
            "emulation.setNetworkConditions",
            networkConditions={"type": "offline"},
            contexts=[self._context],
        )
        return self

    def __exit__(self, *_):
        self._call("browser.close")
        self._process.wait()
        self._thread.shutdown()
        self._loop.close()
        self._folder.cleanup()

    def visit(self, address):
        """Opens a page and waits until it is loaded."""
        self._call(
            "browsingContext.navigate",
            context=self._context,
            url=address,
            wait="complete",
        )

    def evaluate(self, expression):
        """Returns what a promise or an expression of the page gives."""
        answer = self._call(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await {expression}))()",
            target={"context": self._context},
            awaitPromise=True,
        )
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def _run(self, coroutine):
        # Playwright may run a loop of its own in the thread of the caller.
        run = self._loop.run_until_complete
        return self._thread.submit(run, coroutine).result()

    async def _connect(self, address):
        return await websocket_connect(address)

    def _call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        return self._run(self._send(message))

    async def _send(self, message):
        await self._socket.write_message(json.dumps(message))
        while True:
            answer = json.loads(await self._socket.read_message())
            if answer.get("method") == "log.entryAdded":
                self.log.append(answer["params"]["text"])
            elif answer.get("id") == message["id"]:
                if answer["type"] == "error":
                    raise RuntimeError(answer["message"])
                return answer["result"]
