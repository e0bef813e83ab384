"""Registries that find problems and hparams sets by name."""

import importlib.util
import os
import re
import sys
import typing
from collections.abc import Callable

from keras_transformer import errors
from keras_transformer.errors import UserError

if typing.TYPE_CHECKING:
    from keras_transformer.hparam import HParams
    from keras_transformer.problem import Problem

Entry = typing.TypeVar("Entry", bound=Callable)


def _read_rows():
    """Returns the rows of each title of the file, names and what they are."""
    path = os.path.join(os.path.dirname(__file__), "tensor2tensor.txt")
    with open(path, encoding="utf-8") as file:
        text = re.sub("(?m)^#.*\n|\n {4,}", " ", file.read())
    tables, titles = {}, []
    for line in text.splitlines():
        names, colon, here = line.strip().partition(": ")
        if not colon:
            titles = names.split(", ")
        for title in titles if colon else ():
            tables.setdefault(title, []).append((names.split(), here))
    return tables


TENSOR2TENSOR = _read_rows()  # names of Tensor2Tensor


def find_row(table, name, value=None):
    """Returns the pattern and the text of the first row that fits a name."""
    for patterns, here in TENSOR2TENSOR.get(table, ()):
        for pattern in patterns:
            text = f"{name}={(value or 'true').lower()}"
            if re.fullmatch(pattern, text if "=" in pattern else name):
                return pattern, here
    return "", ""


class Registry:
    """Maps names to the classes or functions that are registered under them.

    The modules that register something are imported at the first look-up, so
    importing the registry itself costs nothing. `kind` is the word for what is
    registered, for error messages. The import of `package` fills the registry;
    None means that it is filled by hand.

    >>> registry = Registry("colour")
    >>> @registry.register
    ... def DarkBlue():
    ...     return "#000080"
    >>> registry.get("dark_blue")()
    '#000080'
    """

    def __init__(self, kind: str, package: str | None = None):
        self.kind = kind
        self.package = package
        self._entries: dict[str, typing.Any] = {}

    @typing.overload
    def register(self, name: Entry) -> Entry: ...

    @typing.overload
    def register(self, name: str | None = None) -> Callable[[Entry], Entry]: ...

    def register(self, name=None):
        """Registers the decorated class or function and returns it.

        Use the decorator bare, to register under the object's name in snake
        case, or with a name of your choice.
        """
        if callable(name):
            return self._add(snake_case(name.__name__), name)
        return lambda entry: self._add(
            name or snake_case(entry.__name__), entry
        )

    def get(self, name: str) -> typing.Any:
        """Returns what is registered under a name."""
        if name not in self.names():
            if reason := self.find_refusal(str(name)):
                raise UserError(
                    f"Tensor2Tensor's {self.kind} {name!r} {reason}. "
                    f"{errors.did_you_mean(str(name), self._entries, 0.9)}"
                    "`kt-trainer --registry_help` lists all of this package."
                )
            raise UserError(
                f"Unknown {self.kind} {name!r}. "
                f"{errors.did_you_mean(str(name), self._entries)}"
                "`kt-trainer --registry_help` lists all. One of your own needs "
                "its --usr_dir."
            )
        return self._entries[name]

    def find_refusal(self, name: str) -> str | None:
        """Returns why a name of Tensor2Tensor is left out, if it is one."""
        _, purpose = find_row(self.kind, name.removesuffix("_rev"))
        if not purpose or purpose.startswith("is "):
            return purpose or None
        return f"is for {purpose}, which this package does not do"

    def names(self) -> list[str]:
        """Returns all registered names in alphabetical order."""
        # Imported here, because the modules of the package import this one.
        if self.package:
            importlib.import_module(self.package)
        return sorted(self._entries)

    def _add(self, name, entry):
        if name in self._entries:
            raise UserError(
                f"`{self.kind}` names must be registered once. "
                f"Received: {name!r} from module {entry.__module__}, already "
                f"registered by module {self._entries[name].__module__}. "
                "Choose another name, or import the module under one name."
            )
        self._entries[name] = entry
        return entry


problems = Registry("problem", package="keras_transformer.problems")
hparams_sets = Registry("hparams_set", package="keras_transformer.hparams")


@typing.overload
def register_problem(name: Entry) -> Entry: ...


@typing.overload
def register_problem(name: str | None = None) -> Callable[[Entry], Entry]: ...


def register_problem(name=None):
    """Registers the decorated subclass of `Problem` and sets its name.

    The default is the name of the class in snake case.

    >>> from keras_transformer.problem import Problem
    >>> @register_problem
    ... class TranslateMyText(Problem):
    ...     vocab_size = 8000
    >>> TranslateMyText.name
    'translate_my_text'
    """

    def add(cls, name=name):
        cls.name = name or snake_case(cls.__name__)
        return problems.register(cls.name)(cls)

    # Bare, the decorator gets the class instead of a name.
    return add(name, None) if callable(name) else add


def register_variant(name, base, summary, **attributes):
    """Registers a subclass of `base` that only has other class attributes."""
    attributes |= {"__doc__": summary, "__module__": base.__module__}
    register_problem(name)(type(base.__name__, (base,), attributes))


@typing.overload
def register_hparams(name: Entry) -> Entry: ...


@typing.overload
def register_hparams(name: str | None = None) -> Callable[[Entry], Entry]: ...


def register_hparams(name=None):
    """Registers the decorated function, which returns an `HParams`."""
    return hparams_sets.register(name)


def get_problem(
    name: str, data_dir: str | os.PathLike[str] | None = None
) -> "Problem":
    """Returns the problem that is registered under a name.

    The suffix `_rev` swaps the source and the target of a problem. With the
    suffix `_both`, each split holds the pairs of both directions. All of them
    share their data, which `data_dir` holds. Raises a `UserError` if the name
    is unknown or belongs to something other than a subclass of `Problem`.
    """
    # Imported here, because commands import the registry to parse their flags.
    from keras_transformer.problem import Problem

    base = base_name(name)
    suffix = name.removeprefix(base)
    entry = problems.get(base)
    if not (isinstance(entry, type) and issubclass(entry, Problem)):
        raise UserError(
            "A problem must be a subclass of `Problem`. Received: "
            f"problem={base!r}, under which {entry.__name__!r} is registered. "
            "Derive it from keras_transformer.problem.Problem."
        )
    options = {"reverse": True} if suffix == "_rev" else {}
    problem = entry(data_dir=data_dir, **options)
    if suffix == "_both":
        problem.use_both_directions()
    return problem


def base_name(name):
    """Returns the registered name of a problem, without `_rev` or `_both`.

    >>> base_name("copy_rev"), base_name("copy_both"), base_name("copy")
    ('copy', 'copy', 'copy')
    """
    for suffix in ("_rev", "_both"):
        base = name.removesuffix(suffix)
        if name not in problems.names() and base in problems.names():
            return base
    return name


def get_hparams(name: str) -> "HParams":
    """Returns the `HParams` of a registered hparams set.

    >>> get_hparams("transformer_base").d_model
    512
    """
    from keras_transformer.hparam import HParams

    hparams = hparams_sets.get(name)()
    if not isinstance(hparams, HParams):
        kind = type(hparams).__name__
        result = "nothing" if hparams is None else f"an object of type {kind}"
        raise UserError(
            "The function of an hparams set must return an `HParams`. "
            f"Received: hparams_set={name!r}, which returns {result}. Return "
            "an `HParams`, for example by dataclasses.replace of another one."
        )
    # Without new fields, a run would be read as another class. Without a
    # `model_class`, no model would take the fields.
    is_own = type(hparams).__dataclass_fields__ != HParams.__dataclass_fields__
    if type(hparams) is not HParams and not (is_own and hparams.model_class):
        raise UserError(
            "A subclass of `HParams` must be a dataclass with fields of its "
            "own and a `model_class` that takes them. Received: "
            f"hparams_set={name!r}, which returns a {type(hparams).__name__}. "
            "See docs/problems.md."
        )
    return hparams


def import_usr_dir(path: str) -> None:
    """Imports a user's directory of modules that register problems or sets.

    It is imported as a package: its `__init__.py` has to import the modules
    that register something.
    """
    path = os.path.abspath(os.path.expanduser(path))
    if not os.path.isfile(os.path.join(path, "__init__.py")):
        raise UserError(
            "`usr_dir` must be a directory that holds an `__init__.py`. "
            f"Received: usr_dir={path!r}. Create the file, with one import "
            "line for each of your modules that registers something."
        )
    parent, name = os.path.split(path)
    if not name or "." in name:
        raise UserError(
            "`usr_dir` must have a name without dots, to be imported. "
            f"Received: usr_dir={path!r}. Rename the directory."
        )
    if _is_another_module(name, path):
        raise UserError(
            "`usr_dir` must not have the name of another Python module. "
            f"Received: usr_dir={path!r}, but Python finds a module {name!r} "
            "in another place. Rename the directory."
        )
    # Only during the import: other modules in the parent directory must not
    # shadow installed ones later.
    sys.path.insert(0, parent)
    try:
        importlib.import_module(name)
    finally:
        sys.path.remove(parent)


def snake_case(name):
    """Returns a camel-case name in snake case.

    >>> snake_case("TranslateEndeWmt14")
    'translate_ende_wmt14'
    """
    name = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def _is_another_module(name, path):
    """Returns whether Python has such a module outside the directory `path`."""
    if name in sys.stdlib_module_names:
        return True
    # The directory would hide a module that is not loaded yet, or be hidden.
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return False
    folder = os.path.dirname(os.path.realpath(spec.origin))
    return folder != os.path.realpath(path)
