"""Holds the notebooks to the pages of the tutorials, and runs the tutorials."""

import re

import pytest
from source_files import ROOT

# Both need the extra `docs`.
nbformat = pytest.importorskip("nbformat")
tutorials = pytest.importorskip("tutorials")

PAGES = sorted((ROOT / "docs/tutorials").glob("*.md"))
by_name = pytest.mark.parametrize(
    "page", PAGES, ids=[page.stem for page in PAGES]
)


class TutorialsTest:
    def test_each_has_a_notebook(self):
        notebooks = {path.stem for path in ROOT.glob("examples/*.ipynb")}
        assert notebooks == {page.stem for page in PAGES}
        assert notebooks

    @by_name
    def test_the_notebook_is_that_of_the_page(self, page):
        notebook = nbformat.read(tutorials.notebook_path(page), as_version=4)
        nbformat.validate(notebook)
        assert notebook == tutorials.make_notebook(page)

    @by_name
    def test_the_page_is_short_and_leads_to_colab(self, page):
        text = page.read_text(encoding="utf-8")
        assert len(text.split()) < 2000
        notebook = tutorials.notebook_path(page).relative_to(ROOT)
        assert f"/keras-t2t/keras-t2t/blob/main/{notebook})" in text

    @by_name
    def test_pictures_are_those_of_the_page(self, page):
        shown = re.findall(r"\]\((\w+\.png)\)", page.read_text("utf-8"))
        pictures = list(page.parent.glob(f"{page.stem}_[0-9]*.png"))
        assert sorted(shown) == sorted(path.name for path in pictures)
        assert all(path.stat().st_size < 100_000 for path in pictures)

    def test_new_outputs_replace_the_old_ones(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("```python\n1\n```\n\n```text\nold\n```\n\nEnd.\n")
        text = nbformat.v4.new_output("stream", name="stdout", text="new\n")
        error = nbformat.v4.new_output("stream", name="stderr", text="log\n")
        outputs = [[text, error]]
        once = tutorials.insert_outputs(page, outputs)
        assert once == page.read_text().replace("old", "new")
        page.write_text(once)
        assert tutorials.insert_outputs(page, outputs) == once

    def test_what_a_picture_shows_stays(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("```python\n1\n```\n\n![Two heads](page_1.png)\n")
        data = {"image/png": "aaaa", "text/plain": "<Figure>"}
        output = nbformat.v4.new_output("display_data", data)
        text = tutorials.insert_outputs(page, [[output]])
        assert text == page.read_text()

    @pytest.mark.slow
    @by_name
    def test_it_runs(self, page):
        outputs = tutorials.run(page)
        text = page.read_text(encoding="utf-8")
        cells = tutorials.CELL.finditer(text)
        for cell, output in zip(cells, outputs, strict=True):
            has_output = "\n```text\n" in cell[0] or "\n![" in cell[0]
            visible = [o for o in output if o.get("name") != "stderr"]
            assert bool(visible) == has_output, cell[2]
