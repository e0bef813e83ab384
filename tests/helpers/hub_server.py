"""A small server of the part of the hub's protocol that transfers need."""

import base64
import contextlib
import http.server
import json
import threading

import pytest

yaml = pytest.importorskip("yaml")

TOKEN = "hf_right"
ACCOUNT = "me"
REVISION = "0" * 40


class HubServer(http.server.ThreadingHTTPServer):
    """Holds the files of models by name, and asks for `TOKEN`.

    Only models of `ACCOUNT` can be written, as on the hub. Weights go through
    the requests of Git LFS and other files into the commit itself.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.models = {}  # name to a dictionary of path to bytes
        self.descriptions = {}  # faulty answers about models by name, in JSON
        self.objects = {}  # SHA-256 to bytes
        self.address = f"http://127.0.0.1:{self.server_port}"


@contextlib.contextmanager
def serve_hub():
    """Yields a running `HubServer`."""
    with HubServer() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if not self._is_known():
            return
        if self.path == "/api/whoami-v2":
            self._answer({"type": "user", "name": ACCOUNT, "orgs": []})
        elif self.path.startswith("/api/models/"):
            self._describe(self.path.removeprefix("/api/models/"))
        else:
            self._send_file()

    def do_HEAD(self):
        if self._is_known():
            self._send_file()

    def do_PUT(self):
        self.server.objects[self.path.rpartition("/")[2]] = self._read()
        self._answer({})

    def do_POST(self):
        body = self._read()
        if not self._is_known():
            return
        if self.path == "/api/repos/create":
            request = json.loads(body)
            owner = request.get("organization") or ACCOUNT
            name = f"{owner}/{request['name']}"
            if owner != ACCOUNT:
                self._answer({"error": "Forbidden"}, 403)
                return
            is_new = name not in self.server.models
            self.server.models.setdefault(name, {})
            url = {"url": f"{self.server.address}/{name}", "name": name}
            self._answer(url, 200 if is_new else 409)
        elif self.path == "/api/validate-yaml":
            self._validate(json.loads(body)["content"])
        elif self.path.endswith("/preupload/main"):
            files = [
                {
                    "path": file["path"],
                    "uploadMode": self._choose_mode(file["path"]),
                    "shouldIgnore": False,
                }
                for file in json.loads(body)["files"]
            ]
            self._answer({"files": files})
        elif self.path.endswith("/info/lfs/objects/batch"):
            objects = [
                {**item, "actions": {"upload": self._place(item["oid"])}}
                for item in json.loads(body)["objects"]
            ]
            self._answer({"transfer": "basic", "objects": objects})
        elif self.path.endswith("/commit/main"):
            self._commit(body)
        else:
            self._answer({"error": "Not found"}, 404)

    def _describe(self, path):
        """Sends the revision of a model, or the list of its files."""
        name, _, request = path.partition("/revision/")
        if not request:
            name = path.partition("/tree/")[0]
        if name not in self.server.models:
            headers = {"X-Error-Code": "RepoNotFound"}
            self._answer({"error": "Repository not found"}, 404, headers)
        elif request:
            usual = {"id": name, "sha": REVISION, "siblings": []}
            self._answer(self.server.descriptions.get(name, usual))
        else:
            files = [
                {
                    "type": "file",
                    "path": path,
                    "size": len(content),
                    "oid": path,
                }
                for path, content in self.server.models[name].items()
            ]
            self._answer(files)

    def _send_file(self):
        name, _, path = self.path[1:].partition(f"/resolve/{REVISION}/")
        content = self.server.models.get(name, {}).get(path)
        if content is None:
            headers = {"X-Error-Code": "EntryNotFound"}
            self._answer({"error": "Not found"}, 404, headers)
            return
        headers = {"ETag": f'"{path}"', "X-Repo-Commit": REVISION}
        self._send(content, 200, headers)

    def _choose_mode(self, path):
        return "lfs" if path.endswith(".safetensors") else "regular"

    def _place(self, oid):
        return {"href": f"{self.server.address}/objects/{oid}"}

    def _validate(self, content):
        header = yaml.safe_load(content.split("---\n")[1])
        if header.get("license") == "invented":
            message = '"license" must be one of the known licences'
            self._answer({"errors": [{"message": message}]}, 400)
        else:
            self._answer({"errors": [], "warnings": []})

    def _commit(self, body):
        name = self.path.removeprefix("/api/models/").partition("/commit")[0]
        for line in body.splitlines():
            operation = json.loads(line)
            value = operation["value"]
            if operation["key"] == "file":
                content = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                content = self.server.objects[value["oid"]]
            else:
                continue
            self.server.models[name][value["path"]] = content
        url = f"{self.server.address}/{name}/commit/{'0' * 40}"
        self._answer({"success": True, "commitUrl": url, "commitOid": "0" * 40})

    def _is_known(self):
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            return True
        self._answer({"error": "Invalid credentials"}, 401)
        return False

    def _read(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _answer(self, content, status=200, headers=None):
        headers = {"Content-Type": "application/json", **(headers or {})}
        text = content if isinstance(content, str) else json.dumps(content)
        self._send(text.encode(), status, headers)

    def _send(self, body, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *args):
        pass
