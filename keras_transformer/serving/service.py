"""The answers of the server, independent of the protocol."""

from keras_transformer.serving import limits
from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid
from keras_transformer.serving.signature import check_sizes
from keras_transformer.serving.signature import row_lengths

DEFAULT_SIGNATURE = "serving_default"


class Service:
    """Finds the requested version and signature of a model and runs them.

    Args:
        model_name: Name of the model in requests.
        versions: `Versions` that load `LoadedModel`s.
        batcher: `Batcher` that runs the predictions.
    """

    def __init__(self, model_name, versions, batcher):
        self.model_name = model_name
        self._versions = versions
        self._batcher = batcher

    def find(self, name, version=None, label=None):
        """Returns the number of a version and its `LoadedModel`.

        Args:
            name: Name of the model.
            version: Integer number of the version. Defaults to the newest.
            label: Label of a version. TF Serving can label versions; this
                server cannot, so every label is an error. Defaults to None.

        Raises:
            RequestError: If there is no such model or version, or if the server
                is still loading the first one.
        """
        if label:
            raise invalid(f"Unrecognized servable version label: {label}")
        # Clients that know TF Serving may look for its words in an error.
        try:
            if name != self.model_name:
                raise RequestError("NOT_FOUND", "There is no such model.")
            return self._versions.get(version)
        except RequestError as error:
            if error.code != "NOT_FOUND":
                raise
            request = f"Specific({name}, {version})"
            if version is None:
                request = f"Latest({name})"
            raise RequestError(
                error.code, f"Servable not found for request: {request}"
            ) from error

    def signature(self, model, name):
        """Returns the name of a signature and its `Signature`.

        Args:
            model: `LoadedModel` to look it up in.
            name: Name of the signature; "" stands for the default.

        Raises:
            RequestError: If the model has no such signature.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in model.signatures:
            names = ", ".join(sorted(model.signatures))
            raise RequestError(
                "FAILED_PRECONDITION",
                f'Serving signature key "{name}" not found. '
                f"The model has: {names}",
            )
        return name, model.signatures[name]

    def predict(
        self, model, signature_name, arrays, timeout=None, on_cancel=None
    ):
        """Runs a signature and returns its results as a dictionary of arrays.

        Args:
            model: `LoadedModel` to run.
            signature_name: Name of one of its signatures.
            arrays: Dictionary of arrays.
            timeout: Seconds to wait for the results, which
                `limits.PREDICT_SECONDS` limits in any case. Defaults to that.
            on_cancel: Function that registers a callback. The callback takes no
                arguments and is to be called when the caller stops waiting.
                Defaults to None.

        Raises:
            RequestError: If the arrays do not fit the signature or are too
                large, if the model rejects them, or if the time limit is
                exceeded.
        """
        signature = model.signatures[signature_name]
        signature.check(arrays)
        num_rows = signature.num_rows(arrays)
        lengths = None
        if model.max_tokens:
            check_sizes(arrays, model.max_tokens)
            if num_rows:
                lengths = row_lengths(arrays, model.max_tokens)
        if timeout is None or timeout > limits.PREDICT_SECONDS:
            timeout = limits.PREDICT_SECONDS
        return self._batcher.call(
            # The model itself is in the key: two versions never share a batch.
            (model, signature_name),
            lambda joined: model.call(signature_name, joined),
            arrays,
            num_rows,
            timeout,
            on_cancel,
            lengths,
        )

    def statuses(self, name, version=None, label=None):
        """Returns the `Status` of each version by its number, newest first.

        Args:
            name: Name of the model.
            version: Integer number of the only version to return. Defaults to
                all versions.
            label: Label of a version, which is an error as in `find`. Defaults
                to None.

        Raises:
            RequestError: If there is no such model or version.
        """
        if label:
            raise invalid(f"Unrecognized servable version label: {label}")
        statuses = {}
        if name == self.model_name:
            statuses = self._versions.statuses()
        if version is None:
            if not statuses:
                raise RequestError(
                    "NOT_FOUND",
                    f"Could not find any versions of model {name}",
                )
            return statuses
        if version not in statuses:
            raise RequestError(
                "NOT_FOUND", f"Could not find version {version} of model {name}"
            )
        return {version: statuses[version]}
