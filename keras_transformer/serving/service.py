"""The responses of the server, independent of the protocol."""

import itertools
import time

from keras_transformer.serving import limits
from keras_transformer.serving import messages
from keras_transformer.serving.errors import InvalidRequest
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.forms import NEEDS
from keras_transformer.serving.forms import Options
from keras_transformer.serving.monitor import Monitor
from keras_transformer.serving.signature import measure_rows


class Service:
    """Finds the requested version and signature of a model and runs them.

    `models` are the `Versions` of each model by its name.

    All methods raise a `RequestError` for an unknown name. Clients that know TF
    Serving may look for its words in the message.
    """

    def __init__(self, models, batcher, monitor=None):
        self.monitor = monitor or Monitor()
        self.monitor.watch_queue(lambda: batcher.num_waiting)
        self._models = models
        self._batcher = batcher

    @property
    def max_rows(self):
        """The maximum number of rows of a request."""
        return self._batcher.max_waiting

    def check_ready(self):
        """Raises an UNAVAILABLE `RequestError` until the server can respond."""
        for name, versions in self._models.items():
            if not versions.loads_on_demand and not versions.get():
                raise RequestError(
                    "UNAVAILABLE",
                    f"Servable not found for request: Latest({name})",
                )

    def find(self, name, version=None, label=None):
        """Returns the number of a version and its model.

        Without `version` it is the newest. TF Serving can label versions; this
        server cannot, so every label is an error.
        """
        _check_label(label)
        versions = self._models.get(name)
        entry = versions and versions.get(version)
        if entry:
            return entry
        what = f"Latest({name})"
        if version is not None:
            what = f"Specific({name}, {version})"
        raise RequestError(
            "NOT_FOUND", f"Servable not found for request: {what}"
        )

    def find_signature(self, model, name):
        """Returns the name of a signature and its `Signature`.

        The name "" stands for the default one.
        """
        name = name or "serving_default"
        if name not in model.signatures:
            names = ", ".join(sorted(model.signatures))
            raise RequestError(
                "FAILED_PRECONDITION",
                f'Serving signature key "{name}" not found. '
                f"The model has: {names}",
            )
        return name, model.signatures[name]

    def get_max_values(self, model):
        """Returns the limits of a body of JSON, as `read_object` takes them."""
        if not model.max_tokens:
            return limits.MAX_VALUES, None
        # A row has a few values.
        max_values = max(limits.MAX_PIECES, 4 * self.max_rows)
        return max_values, max(self.max_rows, model.max_tokens)

    def submit(self, model, signature_name, arrays, options=Options()):
        """Lets a signature of a model run on arrays; returns the `Call`.

        The results are the signature's. A signature that translates adds
        "warnings", a list for each text, and what the `Options` ask for. The
        call ends with the request of this thread.
        """
        signature = model.signatures[signature_name]
        signature.check(arrays, self.max_rows, model.max_tokens)
        can = model.features if signature_name == "serving_default" else ()
        for name, value in options._asdict().items():
            if value and name not in can:
                raise InvalidRequest(
                    f"`{name}` needs {NEEDS[name]}, and its signature "
                    f"serving_default. Received: {name}={value!r:.40}. Leave "
                    "it out."
                )
        num_rows = signature.count_rows(arrays)
        lengths = None
        if model.max_tokens and num_rows:
            lengths = measure_rows(arrays, model.max_tokens)
        begin = time.monotonic()

        def run(batch):
            self.monitor.observe("queue", time.monotonic() - begin)
            with self.monitor.measure("model"):
                outputs = model.call(signature_name, batch, options)
            for side, number in outputs.pop("num_tokens", {}).items():
                self.monitor.count("tokens", number, side)
            if "warnings" not in signature.outputs:
                alarms = itertools.chain(*outputs.get("warnings", ()))
                for alarm in alarms:
                    self.monitor.count("alarms", 1, alarm)
            return outputs

        call = self._batcher.submit(
            # The model itself is in the key: two versions never share a batch.
            (model, signature_name, options._replace(quality=False)),
            run,
            arrays,
            num_rows,
            lengths,
        )
        self.monitor.note_call(call, num_rows or 0)
        return call

    def get_status(self, name, version=None, label=None):
        """Returns a `GetModelStatusResponse` about one version or all.

        The newest version comes first.
        """
        _check_label(label)
        response = messages.GetModelStatusResponse()
        versions = self._models.get(name)
        statuses = versions.list_statuses() if versions else {}
        for number, status in statuses.items():
            if version in (None, number):
                response.model_version_status.add(
                    version=number,
                    state=status.state,
                    status={
                        "error_code": status.code,
                        "error_message": status.message,
                    },
                )
        if not response.model_version_status:
            what = "any versions" if version is None else f"version {version}"
            raise RequestError(
                "NOT_FOUND", f"Could not find {what} of model {name}"
            )
        return response

    def get_metadata(self, name, version=None, label=None):
        """Returns the number of a version and its `SignatureDefMap`."""
        version, model = self.find(name, version, label)
        signatures = messages.SignatureDefMap()
        for key, definition in sorted(model.signature_defs.items()):
            # The definition may be TensorFlow's, which has the same bytes.
            content = definition.SerializeToString()
            signatures.signature_def[key].ParseFromString(content)
        return version, signatures


def list_outputs(signature, options, outputs):
    """Returns the names of the outputs of a model that a response has.

    Without options and warnings, they are the same as TF Serving's.
    """
    names = [*signature.outputs]
    names += [one for one in ("alignments", "quality") if getattr(options, one)]
    if "warnings" not in names and any(outputs.get("warnings", ())):
        names.append("warnings")
    return names


def _check_label(label):
    if label:
        raise InvalidRequest(f"Unrecognized servable version label: {label}")
