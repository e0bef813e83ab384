"""Downloads from Hugging Face's hub, and uploads, with its own client."""

import contextlib
import glob
import logging
import os
import sys

from keras_transformer.errors import UserError
from keras_transformer.errors import require_package

SCHEME = "hf://"
# The files that an import reads. Weights in other formats are large.
_FILES = ("*.json", "*.spm", "model*.safetensors", "README.md")


def is_hub_name(path):
    """Returns whether a path is a name such as hf://organisation/model."""
    return str(os.fspath(path)).startswith(SCHEME)


def download(name):
    """Downloads a model and returns its directory in the client's cache.

    `name` is `hf://organisation/model`, with `@revision` at the end if not the
    newest. The environment variables of `huggingface_hub` set its cache, token
    and mirror. Raises a `UserError` if the client is not installed, or if the
    model does not exist or cannot be reached.
    """
    huggingface_hub = _load_client()
    errors = huggingface_hub.errors
    model, _, revision = name.removeprefix(SCHEME).partition("@")
    try:
        huggingface_hub.utils.validate_repo_id(model)
        print(f"Downloading {model} with huggingface_hub ...", file=sys.stderr)
        directory = huggingface_hub.snapshot_download(
            model, revision=revision or None, allow_patterns=list(_FILES)
        )
    except errors.HFValidationError as error:
        raise UserError(
            "A model on the hub must be named hf://OWNER/NAME or "
            f"hf://OWNER/NAME@REVISION. Received: {name}. Check the name."
        ) from error
    except _list_errors(errors) as error:
        reason = _shorten(error)
        if isinstance(error, errors.LocalEntryNotFoundError):
            host = huggingface_hub.constants.ENDPOINT
            reason = f"it is not in the cache and {host} does not answer"
        raise UserError(
            f"Cannot download {name}: {reason}. Check the name and the "
            "connection, or download it elsewhere and name its directory."
        ) from error
    if not glob.glob("model.safetensors*", root_dir=directory):
        raise UserError(
            f"{name} has no model.safetensors. Name a revision that has it, "
            f"often hf://{model}@refs/pr/1, or convert a pickle where you "
            "trust it: python -c 'import transformers as t; "
            f'[k.from_pretrained("{model}").save_pretrained("DIRECTORY") for '
            "k in (t.MarianMTModel, t.MarianTokenizer)]'. Then use "
            "--source=DIRECTORY."
        )
    print(f"{model} is in {directory}.", file=sys.stderr)
    return directory


def check_upload(name):
    """Checks that models can be uploaded, before one is made.

    Raises a `UserError` if the client or a token is missing, if `name` cannot
    be the name of a model, or if the hub does not answer.
    """
    with _explain(name) as huggingface_hub:
        huggingface_hub.utils.validate_repo_id(name)
        huggingface_hub.HfApi().whoami()


def upload(directory, name, card, files=None):
    """Uploads a model and returns its address on the hub.

    A model of the name, such as "organisation/model", is created if there is
    none. Earlier files remain in its history. `huggingface_hub` provides the
    token. `card` is the path of a card for a `directory` without one. `files`
    are the names of those to upload, by default all. Raises a `UserError` if
    the hub refuses the model or does not answer.
    """
    print(f"Uploading {directory} with huggingface_hub ...", file=sys.stderr)
    with _explain(name, f" {directory} is complete.") as huggingface_hub:
        api = huggingface_hub.HfApi()
        address = api.create_repo(name, exist_ok=True)
        if not os.path.exists(os.path.join(directory, "README.md")):
            api.upload_file(
                path_or_fileobj=card,
                path_in_repo="README.md",
                repo_id=address.repo_id,
            )
        api.upload_folder(
            folder_path=directory,
            repo_id=address.repo_id,
            allow_patterns=files,
            commit_message="Upload a model of keras_transformer",
        )
    return str(address)


def _load_client():
    require_package("huggingface_hub", "huggingface_hub", "'.[hub]'")
    import huggingface_hub.constants
    import huggingface_hub.errors
    import huggingface_hub.utils

    # Otherwise, each request would add a line to the log of commands.
    for library in ("httpx", "httpx2"):
        logging.getLogger(library).setLevel(logging.WARNING)
    return huggingface_hub


def _list_errors(errors):
    # The bases include the error of the HTTP library, which is httpx or
    # requests; it also stands for a connection that failed. The others are
    # about answers that lack something or nest too deep.
    bases = errors.HfHubHTTPError.__bases__
    others = (AssertionError, AttributeError, LookupError, RecursionError)
    return (OSError, ValueError, TypeError, *others, *bases)


def _shorten(error):
    return " ".join(str(error).split())[:300].rstrip(".")


@contextlib.contextmanager
def _explain(name, ending=""):
    """Yields the client, and says what to do about errors of an upload."""
    huggingface_hub = _load_client()
    errors = huggingface_hub.errors
    try:
        yield huggingface_hub
    except _list_errors(errors) as error:
        response = getattr(error, "response", None)
        status = getattr(response, "status_code", None)
        if isinstance(error, errors.HFValidationError):
            message = (
                "The name of a model on the hub must be NAME or OWNER/NAME of "
                "letters, digits and single marks of `-_.`. Received: "
                f"{name!r}. Choose another name."
            )
        elif status == 401 or isinstance(error, errors.LocalTokenNotFoundError):
            message = (
                "The hub received no valid token. Log in with `hf auth login`, "
                "or set HF_TOKEN to a token that may write."
            )
        elif status in (403, 404, 409):
            message = (
                f"The hub does not let you write {name}, which may be taken. "
                "Use a name of your account or organisation, and a token "
                "that may write."
            )
        elif status is None and not isinstance(error, ValueError):
            message = (
                f"No answer from {huggingface_hub.constants.ENDPOINT}: "
                f"{_shorten(error)}. Check the connection and HF_ENDPOINT."
            )
        else:
            message = f"Cannot upload {name}: {_shorten(error)}."
        raise UserError(message + ending) from error
