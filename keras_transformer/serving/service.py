"""What a server answers, whatever protocol it is asked in."""

from keras_transformer.serving.errors import RequestError
from keras_transformer.serving.errors import invalid

DEFAULT_SIGNATURE = "serving_default"


class Service:
    """Finds the version and signature that are meant, and calls them.

    Args:
        model_name: name that requests call the model by.
        versions: `Versions` of `LoadedModel`s.
        batcher: `Batcher`.
    """

    def __init__(self, model_name, versions, batcher):
        self.model_name = model_name
        self._versions = versions
        self._batcher = batcher

    def find(self, name, version=None, label=None):
        """Return the number of a version and its `LoadedModel`.

        Args:
            name: name of the model.
            version: number of the version. Default: the newest.
            label: name of a version. None is ever given one here.

        Raises:
            RequestError: if there is no such model or version.
        """
        if label:
            raise invalid(f"Unrecognized servable version label: {label}")
        try:
            if name != self.model_name:
                raise RequestError("NOT_FOUND", "There is no such model.")
            return self._versions.get(version)
        except RequestError as error:
            request = f"Specific({name}, {version})"
            if version is None:
                request = f"Latest({name})"
            raise RequestError(
                error.code, f"Servable not found for request: {request}"
            ) from error

    def signature(self, model, name):
        """Return the name of a signature and its `Signature`.

        Args:
            model: `LoadedModel`.
            name: name of a signature, "" for the default.

        Raises:
            RequestError: if the model has no such signature.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in model.signatures:
            names = ", ".join(sorted(model.signatures))
            raise RequestError(
                "FAILED_PRECONDITION",
                f'Serving signature key "{name}" not found. Known are: {names}',
            )
        return name, model.signatures[name]

    def predict(self, model, signature_name, arrays, timeout=None):
        """Return the results of a signature, a dictionary of arrays.

        Args:
            model: `LoadedModel`.
            signature_name: name of a signature that it has.
            arrays: dictionary of arrays.
            timeout: seconds to wait at the most. Default: for ever.

        Raises:
            RequestError: if the arrays do not fit, or the model cannot take
                them, or there is no time for it.
        """
        signature = model.signatures[signature_name]
        signature.check(arrays)
        return self._batcher.call(
            (model, signature_name),
            lambda joined: model.call(signature_name, joined),
            arrays,
            signature.num_rows(arrays),
            timeout,
        )

    def statuses(self, name, version=None, label=None):
        """Return the `Status` of each version by its number, newest first.

        Args:
            name: name of the model.
            version: number of the only version to tell of. Default: all.
            label: as for `find`.

        Raises:
            RequestError: if there is no such model or version.
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
