"""The error that a user can mend, and checks of memory and packages."""

import importlib.util

# TensorFlow and JAX raise these; neither is loaded in every process.
_OUT_OF_MEMORY = ("ResourceExhaustedError", "RESOURCE_EXHAUSTED")


class UserError(ValueError):
    """Bad input, or an event outside the program, that the user can mend.

    A command prints its message in one line and exits with status 2. Every
    other exception is a bug and keeps its traceback. A message about a value
    has three parts: the rule, what was received, and the way out. A message
    about an event says what happened, to what, and what to do.
    """


def require_package(module, name, requirement, more=""):
    """Raises a `UserError` unless a package of Python is installed.

    The `name` begins the message, such as "Documents need sentencex, which".
    """
    if importlib.util.find_spec(module) is None:
        raise UserError(
            f"{name} is not installed. Install it with pip install "
            f"{requirement}{more}."
        )


def is_out_of_memory(error):
    """Returns whether an exception reports that memory has run out."""
    text = f"{type(error).__name__} {error}"
    return isinstance(error, MemoryError) or any(
        word in text for word in _OUT_OF_MEMORY
    )
