"""The paths of TF Serving's REST interface."""

import json
import re
import threading
import urllib.parse

from keras_transformer.serving import json_tensors
from keras_transformer.serving import limits
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid

# Case is ignored as in TF Serving. Versions of up to 18 digits fit into the
# 64-bit integers of its protocol.
_PATH = re.compile(
    "/v1/models/(?P<name>[^/:]+)"
    "(?:/versions/(?P<version>[0-9]{1,18})|/labels/(?P<label>[^/:]+))?"
    "(?:/(?P<metadata>metadata)|:(?P<method>classify|regress|predict))?",
    re.IGNORECASE,
)


class RestPaths:
    """Answers requests by their method, path and body.

    Args:
        service: `Service` that gives the answers.
    """

    def __init__(self, service):
        self._service = service
        self._parsing = threading.Semaphore(limits.MAX_PARSED_AT_ONCE)

    def answer(self, method, path, body):
        """Returns the status code and the body of an answer.

        Args:
            method: HTTP method, such as "GET".
            path: Path, which may have quoted characters.
            body: Bytes of the request's body.
        """
        try:
            return 200, self._result(method, path, body)
        except RequestError as error:
            status, message = error.http_status, str(error)
        except Exception as error:
            status, message = 500, f"Internal: {error!r}"
        return status, json_tensors.dump({"error": message})

    def _result(self, method, path, body):
        match = _PATH.fullmatch(path)
        expected = match and (["POST"] if match["method"] else ["GET", "HEAD"])
        if not match or method not in expected:
            raise invalid(f"Malformed request: {method} {path}")
        requested_model = (
            urllib.parse.unquote(match["name"]),
            int(match["version"]) if match["version"] else None,
            urllib.parse.unquote(match["label"] or ""),
        )
        if match["metadata"]:
            return self._metadata(*requested_model)
        if not match["method"]:
            return self._status(*requested_model)
        if match["method"].lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"Only :predict is supported. Received: :{match['method']}",
            )
        return self._predict(requested_model, body)

    def _predict(self, requested_model, body):
        service = self._service
        with self._parsing:
            request = json_tensors.parse_request(body)
            _, model = service.find(*requested_model)
            name, signature = service.signature(model, request.signature_name)
            arrays = json_tensors.arrays_of(request, signature.inputs)
            is_row = request.is_row
            del request  # it is much larger than the arrays
        outputs = service.predict(model, name, arrays)
        return json_tensors.format_response(outputs, is_row)

    def _status(self, *requested_model):
        statuses = [
            {
                "version": str(number),
                "state": status.state,
                "status": {
                    "error_code": status.code,
                    "error_message": status.message,
                },
            }
            for number, status in self._service.statuses(
                *requested_model
            ).items()
        ]
        return json.dumps({"model_version_status": statuses}, indent=1).encode()

    def _metadata(self, name, version, label):
        from google.protobuf import json_format

        version, model = self._service.find(name, version, label)
        signatures = {
            key: json_format.MessageToDict(
                definition,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,  # as TF Serving
            )
            for key, definition in sorted(model.signature_defs.items())
        }
        spec = {"name": name, "signature_name": "", "version": str(version)}
        metadata = {"signature_def": {"signature_def": signatures}}
        answer = {"model_spec": spec, "metadata": metadata}
        return json.dumps(answer, indent=1).encode()
