"""Writes the sources of the site: its pages and its configuration.

    python docs/site/site_builder.py build/docs
    cd build/docs && zensical build --strict

The pages are the documents of the repository, with links that fit the site, and
what `reference_pages` makes from the code. `make docs` calls both commands.
"""

import pathlib
import re
import shutil
import sys

import history_page
import reference_pages
import yaml

from keras_transformer.formats.demo import find_directory
from keras_transformer.formats.html.writer import export_html
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import DecodeOptions

ROOT = pathlib.Path(__file__).resolve().parents[2]
SITE = ROOT / "docs/site"
GITHUB = "https://github.com/keras-t2t/keras-t2t/blob/main/"
RAW = "https://raw.githubusercontent.com/keras-t2t/keras-t2t/main/"
RENAMED = {"README.md": "index.md", "docs/README.md": "contents.md"}
PICTURES = (".png", ".svg")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
LIST = re.compile(r"^(?!- |\s)(.+\n)(?=- )", re.MULTILINE)
NAMED = re.compile(r"\[[\w/.]+\.md\]\(([^)#\s]+\.md)")
REFERENCE = re.compile(r"\[([\w/]+\.md)\](?=\[)")
DEMO = "demo://en-es"
# The page that `kt-exporter` makes of the demo is 8 MB and not in the checkout.
DEMO_PAGE = f"""# Translate here
The model is in this page: nothing that you type leaves your browser. It is the
demo that comes with the package, and translates English to Spanish. This
command writes [the page](exporting.md#a-page):

    kt-exporter --output_dir={DEMO} --format=html

<iframe src="demo_page.html" title="Translation from English to Spanish"
  style="border: 0; height: 34rem; width: 100%"></iframe>
"""
LINK = re.compile(r"(\]\(|^\[[^\]]+\]: )([^)\s]+)", re.MULTILINE)


def find_files():
    """Returns the paths on the site of pages and pictures, by their paths."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    paths += [p for p in ROOT.glob("docs/**/*") if p.suffix in PICTURES]
    names = [path.relative_to(ROOT).as_posix() for path in sorted(paths)]
    return {
        name: RENAMED.get(name, name.removeprefix("docs/")) for name in names
    }


def read_page(name):
    """Returns the text of a page, whose links show titles of pages.

    Python-Markdown needs an empty line before a list, which GitHub does not.
    """

    def find_title(page):
        target = (ROOT / name).parent / page
        return target.read_text("utf-8").split("\n")[0].removeprefix("# ")

    text = (ROOT / name).read_text("utf-8")
    text = NAMED.sub(lambda m: f"[{find_title(m[1])}]({m[1]}", text)
    text = REFERENCE.sub(lambda m: f"[{find_title(m[1])}]", text)
    parts = FENCE.split(text)  # code stands at the odd places
    parts[::2] = [LIST.sub(r"\1\n", part) for part in parts[::2]]
    return "".join(parts)


def adapt_links(text, name, files):
    """Returns the text of a page with links that fit the site.

    A link to a file that the site does not have leads to GitHub.
    """
    folder = (ROOT / name).parent
    depth = files[name].count("/")

    def adapt(match):
        start, link = match.groups()
        path, hash_mark, anchor = link.partition("#")
        target = path.removeprefix(GITHUB).removeprefix(RAW)
        if target == path:
            if not path or ":" in path:
                return match.group()
            target = (folder / path).resolve().relative_to(ROOT).as_posix()
        if target in files:
            return f"{start}{'../' * depth}{files[target]}{hash_mark}{anchor}"
        return f"{start}{GITHUB}{target}{hash_mark}{anchor}"

    parts = CODE.split(text)  # code stands at the odd places
    parts[::2] = [LINK.sub(adapt, part) for part in parts[::2]]
    return "".join(parts)


def expand(entry, pages):
    """Returns an entry of the navigation with the pages of its folders."""
    if isinstance(entry, list):
        return [expand(part, pages) for part in entry]
    if isinstance(entry, dict):
        return {title: expand(part, pages) for title, part in entry.items()}
    if not entry.endswith("/"):
        return entry
    return [
        {pathlib.PurePath(page).stem: page}
        for page in pages
        if page.startswith(entry)
    ]


def build(target):
    """Writes the configuration, and the pages and pictures into `docs`."""
    target = pathlib.Path(target)
    shutil.rmtree(target, ignore_errors=True)
    files = find_files()
    pages = {
        new: adapt_links(read_page(name), name, files)
        for name, new in files.items()
        if name.endswith(".md")
    }
    pages |= reference_pages.make_pages()
    history = history_page.read_history(ROOT / "benchmarks/history.jsonl")
    pages["history.md"] = history_page.make_page(history)
    pages["demo.md"] = DEMO_PAGE
    for name, text in pages.items():
        path = target / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for name, new in files.items():
        if name.endswith(PICTURES):
            shutil.copyfile(ROOT / name, target / "docs" / new)
    if history:
        history_page.draw(history, target / "docs/history.svg")
    for name in ("style.css", "iframe-worker.js"):
        shutil.copyfile(SITE / name, target / "docs" / name)
    run = RunDirectory(find_directory(DEMO))
    options = DecodeOptions.from_hparams(run.hparams)
    export_html(run, str(target / "docs/demo_page.html"), options)
    navigation = yaml.safe_load((SITE / "navigation.yml").read_text("utf-8"))
    settings = (SITE / "mkdocs.yml").read_text("utf-8")
    settings = settings.replace("$ROOT", str(ROOT))
    settings += yaml.safe_dump({"nav": expand(navigation, pages)})
    (target / "mkdocs.yml").write_text(settings, encoding="utf-8")


if __name__ == "__main__":
    build(*sys.argv[1:])
