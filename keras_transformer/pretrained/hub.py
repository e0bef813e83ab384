"""Downloads of models from Hugging Face's hub, by its own client."""

import importlib.util
import os
import sys

from keras_transformer.errors import UserError

SCHEME = "hf://"
# What an import reads. Weights in other formats are large.
_FILES = ("*.json", "*.spm", "model.safetensors")


def is_hub_name(path):
    """Returns whether a path is a name such as hf://organisation/model."""
    return str(os.fspath(path)).startswith(SCHEME)


def download(name):
    """Downloads a model and returns its directory in the client's cache.

    `name` is `hf://organisation/model`, with `@revision` at the end for another
    revision than the newest. The cache, tokens and mirrors are those of
    `huggingface_hub`, which its environment variables set.

    Raises:
        UserError: If the client is not installed, or if there is no such model
            or no connection to it.
    """
    if importlib.util.find_spec("huggingface_hub") is None:
        raise UserError(
            "huggingface_hub is not installed. Install it with pip install "
            "'.[hub]'."
        )
    import huggingface_hub
    from huggingface_hub import errors

    model, _, revision = name.removeprefix(SCHEME).partition("@")
    print(f"Downloading {model} by huggingface_hub ...", file=sys.stderr)
    try:
        directory = huggingface_hub.snapshot_download(
            model, revision=revision or None, allow_patterns=list(_FILES)
        )
    except (OSError, ValueError, errors.HfHubHTTPError) as error:
        reason = " ".join(str(error).split())
        raise UserError(
            f"Cannot download {name}: {reason[:300]} Check the name and the "
            "connection, or download it elsewhere and name its directory."
        ) from error
    print(f"{model} is in {directory}.", file=sys.stderr)
    return directory
