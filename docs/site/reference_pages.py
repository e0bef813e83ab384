"""Makes the pages of the reference from the code, as Markdown."""

import ast
import configparser
import dataclasses
import importlib
import inspect
import pathlib
import re

import keras_transformer
from keras_transformer import registry
from keras_transformer.bin.shared import flags
from keras_transformer.files.markdown import code
from keras_transformer.files.markdown import table
from keras_transformer.hparam import DecodingConfig
from keras_transformer.hparam import TrainingConfig
from keras_transformer.model_config import ModelConfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = ("layers", "losses", "masks", "metrics", "optimizers", "schedules")
PARTS = {
    ModelConfig: "The model",
    TrainingConfig: "The training",
    DecodingConfig: "The search",
}
SECTION = re.compile(r"^(Args|Class attributes|Example|Raises):$", re.MULTILINE)


def make_pages():
    """Returns all pages of the reference, by their path on the site."""
    pages = {
        "reference/hparams.md": hparams_page(),
        "reference/problems.md": problems_page(),
        "reference/names.md": names_page(),
    }
    for command, page in command_pages():
        pages[f"reference/commands/{command}.md"] = page
    for module, name, identifier in public_names():
        pages[f"reference/{module}/{name}.md"] = f"::: {identifier}\n"
    return pages


def hparams_page():
    """Returns the tables of all hyper-parameters and of all sets."""
    parts = [
        "# Hyper-parameters",
        "`--hparams=dropout=0.3,d_ff=1024` changes values of the set that "
        "`--hparams_set` names. [The last table](#sets) lists the sets.",
    ]
    for part, title in PARTS.items():
        source = inspect.getsource(part)
        meanings = dict(re.findall(r"^    (\w+): .+?  # (.+)$", source, re.M))
        rows = [
            (code(field.name), code(field.default), meanings[field.name])
            for field in dataclasses.fields(part)
        ]
        head = ["name", "default", "meaning"]
        parts += [f"## {title}", table(head, rows)]
    rows = [
        (code(name), summary(registry.hparams_sets.get(name)), changes(name))
        for name in registry.hparams_sets.names()
    ]
    head = ["set", "what it is", "values that are not the default"]
    return join([*parts, "## Sets", table(head, rows)])


def changes(name):
    """Returns the values of a set that are not the default, as code."""
    hparams = registry.get_hparams(name)
    return " ".join(
        code(f"{field.name}={getattr(hparams, field.name)}")
        for field in dataclasses.fields(hparams)
        if getattr(hparams, field.name) != field.default
    )


def problems_page():
    """Returns the table of the registered problems, and what each is."""
    parts = [
        "# Problems",
        "`--problem` takes one of these names. `_rev` after a name exchanges "
        "source and target. With `_both`, each split has the pairs of both "
        "directions.",
    ]
    rows = []
    for name in registry.problems.names():
        problem = registry.problems.get(name)
        languages = f"{problem.inputs_language}-{problem.targets_language}"
        size = f"{problem.vocab_size:,}" if problem.vocab_size else "given"
        link = f"[{code(name)}](#{name})"
        rows.append((link, languages, size, problem.measure))
    parts.append(table(["problem", "languages", "vocabulary", "score"], rows))
    for name in registry.problems.names():
        parts += [f"## {name}", description(registry.problems.get(name))]
    return join(parts)


def names_page():
    """Returns the list of the public names."""
    parts = ["# Public names", "Each name has a page with its docstring."]
    previous = None
    for module, name, _ in public_names():
        if module != previous:
            parts.append(f"## {module}")
        parts.append(f"- [{code(name)}]({module}/{name}.md)")
        previous = module
    return join(parts)


def command_pages():
    """Yields the name of each command, and its page with a table of flags."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    scripts = config["options.entry_points"]["console_scripts"].strip()
    for line in sorted(scripts.split("\n")):
        command, target = line.split(" = ")
        module = importlib.import_module(target.split(":")[0])
        manual = inspect.cleandoc(module.__doc__)
        parts = [f"# {command}", f"```text\n{manual}\n```"]
        for title, group in flags.group_by_title(module.FLAGS).items():
            rows = [
                (code(f"--{flag.name}"), shown(flag.default), cell(flag.help))
                for flag in group
            ]
            head = ["flag", "default", "meaning"]
            parts += [f"## {title}", table(head, rows)]
        yield command, join(parts)


def public_names():
    """Yields the module, the name and the full name of all that is public."""
    package = "keras_transformer"
    for name in keras_transformer.__all__:
        module = keras_transformer._MODULES[name]
        yield package, name, f"{package}.{module}.{name}"
    for module in MODULES:
        for name in defined_names(ROOT / package / module):
            yield module, name, f"{package}.{module}.{name}"


def defined_names(path):
    """Returns the public names of a module or package without its import."""
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    names = []
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            return ast.literal_eval(node.value)
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.append(node.name)
    return sorted(name for name in names if name[0] != "_")


def description(thing):
    """Returns the docstring without the sections about its arguments."""
    return SECTION.split(inspect.getdoc(thing) or "")[0].strip()


def summary(thing):
    """Returns the first paragraph of the docstring, on one line."""
    return cell(" ".join(description(thing).split("\n\n")[0].split()))


def shown(default):
    return "" if default in (None, "", []) else code(default)


def cell(text):
    return text.replace("|", "\\|")


def join(parts):
    return "\n\n".join(parts) + "\n"
