"""Find problems and hparams sets by name."""

import difflib
import importlib
import os
import re
import sys

LIST_COMMAND = "kt-trainer --registry_help"


class Registry:
    """Map names to the classes or functions that registered under them.

    The modules that register are imported at the first look-up, not before, so
    that importing the registry costs nothing.

    Args:
        kind: what is registered, as error messages shall call it.
        list_hint: the command that lists all names.
        package: name of the package whose import fills this registry.

    Example:

    >>> registry = Registry("colour", "colours --list")
    >>> @registry.register
    ... def DarkBlue():
    ...     return "#000080"
    >>> registry.get("dark_blue")()
    '#000080'
    """

    def __init__(self, kind, list_hint=LIST_COMMAND, package=None):
        self.kind = kind
        self.list_hint = list_hint
        self.package = package
        self._entries = {}

    def register(self, name=None):
        """Decorate a class or function to register it.

        Use it bare, for the snake_case of the object's own name, or with a name
        of your choice.

        Args:
            name: the name to register under.

        Returns:
            the decorated object itself, or a decorator if `name` is a string.
        """
        if callable(name):
            return self._add(snake_case(name.__name__), name)
        return lambda entry: self._add(
            name or snake_case(entry.__name__), entry
        )

    def get(self, name):
        """Return what is registered under `name`.

        Raises:
            ValueError: if nothing is; the message holds up to three similar
                names.
        """
        if name not in self.names():
            raise ValueError(
                f"`{self.kind}` must be a registered name. "
                f"Received: {self.kind}={name!r}.{self._suggest(name)} "
                f"`{self.list_hint}` lists all."
            )
        return self._entries[name]

    def names(self):
        """Return all registered names in alphabetical order."""
        if self.package:
            importlib.import_module(self.package)
        return sorted(self._entries)

    def _add(self, name, entry):
        if name in self._entries:
            raise ValueError(
                f"`{self.kind}` names must be registered once. "
                f"Received: {name!r} from module {entry.__module__}, already "
                f"registered by module {self._entries[name].__module__}. "
                "Choose another name, or import the module under one name."
            )
        self._entries[name] = entry
        return entry

    def _suggest(self, name):
        matches = difflib.get_close_matches(str(name), self._entries)
        return f" Did you mean: {', '.join(matches)}?" if matches else ""


problems = Registry("problem", package="keras_transformer.problems")
hparams_sets = Registry("hparams_set", package="keras_transformer.hparams")


def register_problem(name=None):
    """Decorate a subclass of `Problem` to register it and to name it.

    Example:

    >>> from keras_transformer.problem import Problem
    >>> @register_problem
    ... class TranslateMyText(Problem):
    ...     vocab_size = 8000
    >>> TranslateMyText.name
    'translate_my_text'
    """

    def add(cls):
        key = snake_case(cls.__name__) if callable(name) else name
        cls.name = key or snake_case(cls.__name__)
        return problems.register(cls.name)(cls)

    return add(name) if callable(name) else add


def register_hparams(name=None):
    """Decorate a function that returns `HParams` to register it."""
    return hparams_sets.register(name)


def get_problem(name, data_dir=None):
    """Return the problem of that name.

    A trailing `_rev` swaps the two languages of the problem named before it;
    the two share their data.

    Args:
        name: registered name, with or without `_rev`.
        data_dir: directory that holds the generated data.

    Returns:
        an instance of the registered subclass of `Problem`.
    """
    base = name.removesuffix("_rev")
    if base != name and base in problems.names():
        return problems.get(base)(data_dir=data_dir, reverse=True)
    return problems.get(name)(data_dir=data_dir)


def get_hparams(name):
    """Return the `HParams` of the hparams set of that name.

    Example:

    >>> get_hparams("transformer_base").d_model
    512
    """
    return hparams_sets.get(name)()


def import_usr_dir(path):
    """Import a user's directory, whose modules register problems or sets.

    The directory is imported as a package: its `__init__.py` imports the
    modules that register.

    Args:
        path: the directory.

    Raises:
        ValueError: if it is not a directory with an `__init__.py`, or its name
            is that of another module.
    """
    path = os.path.abspath(os.path.expanduser(path))
    if not os.path.isfile(os.path.join(path, "__init__.py")):
        raise ValueError(
            "`usr_dir` must be a directory that holds an `__init__.py`. "
            f"Received: usr_dir={path!r}. Create the file, with one import "
            "line for each module of yours that registers something."
        )
    parent, name = os.path.split(path)
    sys.path.insert(0, parent)
    try:
        module = importlib.import_module(name)
    finally:
        sys.path.remove(parent)
    if not _is_inside(module, path):
        raise ValueError(
            "`usr_dir` must not have the name of another Python module. "
            f"Received: usr_dir={path!r}, while module {name!r} is already "
            "loaded from elsewhere. Rename the directory."
        )


def snake_case(name):
    """Return a camel-case name in snake case.

    Example:

    >>> snake_case("TranslateEndeWmt14")
    'translate_ende_wmt14'
    """
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def _is_inside(module, path):
    file = getattr(module, "__file__", None)
    return bool(file) and os.path.samefile(os.path.dirname(file), path)
