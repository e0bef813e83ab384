"""Runs the tutorials and writes their outputs and their notebooks.

    python docs/site/tutorials.py docs/tutorials/own_text.md

A tutorial is a page. Its blocks of Python and Bash are the cells of a notebook
in `examples`. The command runs them in an empty directory, and puts what they
print and draw behind each of them. What they print to standard error is left
out. `make tutorials` runs all.
"""

import base64
import os
import pathlib
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient
from site_builder import ROOT
from site_builder import adapt_links

INSTALL = (
    '%pip install -q "keras-t2t @ git+https://github.com/keras-t2t/keras-t2t"'
)
INLINE = "module://matplotlib_inline.backend_inline"
CELL = re.compile(
    r"^```(python|bash)\n(.*?)^```\n"
    r"(?:\n```text\n.*?^```\n)?(?:\n!\[[^\]]*\]\(\w+\.png\)\n)*",
    re.DOTALL | re.MULTILINE,
)


def make_notebook(page):
    """Returns the notebook of a page, with a first cell that installs us."""
    name = page.relative_to(ROOT).as_posix()
    text, *cells = CELL.split(page.read_text(encoding="utf-8"))
    parts = [nbformat.v4.new_code_cell(INSTALL)]
    parts.insert(0, markdown_cell(text, name))
    for language, code, text in zip(cells[::3], cells[1::3], cells[2::3]):
        magic = "%%bash -e\n" if language == "bash" else ""
        parts.append(nbformat.v4.new_code_cell(magic + code.strip("\n")))
        if text.strip():
            parts.append(markdown_cell(text, name))
    for number, part in enumerate(parts):
        part.id = f"cell-{number}"
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(
        cells=parts, metadata={"kernelspec": kernel}
    )


def markdown_cell(text, name):
    text = adapt_links(text, name, {name: name})
    return nbformat.v4.new_markdown_cell(text.strip("\n"))


def notebook_path(page):
    return ROOT / "examples" / f"{page.stem}.ipynb"


def run(page):
    """Returns the outputs of each code cell of a page, a list of lists."""
    notebook = make_notebook(page)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    notebook.cells = cells[1:]  # the package is there already
    path = os.pathsep.join(
        [os.path.dirname(sys.executable), os.environ["PATH"]]
    )
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(notebook, timeout=3600, resources=resources)
        # Tests draw into files alone, and the pages show pictures.
        client.execute(env={**os.environ, "PATH": path, "MPLBACKEND": INLINE})
    return [cell.outputs for cell in notebook.cells]


def insert_outputs(page, outputs):
    """Returns the text of the page with these outputs behind its cells."""
    outputs = iter(outputs)
    number = 0

    def render(match):
        nonlocal number
        language, code = match.groups()
        block = f"```{language}\n{code}```\n"
        text = ""
        pictures = []
        # What a picture shows is written on the page, and stays.
        alternatives = iter(re.findall(r"!\[([^\]]*)\]", match[0]))
        for output in next(outputs):
            if output.output_type == "stream":
                text += output.text if output.name == "stdout" else ""
                continue
            picture = output.data.get("image/png")
            if picture:
                pictures.append(picture)
            else:
                text += output.data["text/plain"] + "\n"
        text = text.strip("\n")
        if text:
            block += f"\n```text\n{text}\n```\n"
        for picture in pictures:
            number += 1
            path = page.with_name(f"{page.stem}_{number}.png")
            path.write_bytes(base64.b64decode(picture))
            shown = next(alternatives, "What does it show?")
            block += f"\n![{shown}]({path.name})\n"
        return block

    return CELL.sub(render, page.read_text(encoding="utf-8"))


def main(*paths):
    for path in paths:
        page = pathlib.Path(path).resolve()
        nbformat.write(make_notebook(page), notebook_path(page))
        page.write_text(insert_outputs(page, run(page)), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
