"""Builds the site of documents as `make docs` does, and reads its pages."""

import pathlib
import re
import subprocess
import sys

import history_page
import pytest
import reference_pages
import site_builder
import yaml
from source_files import ROOT

from keras_transformer import registry
from keras_transformer.formats.html.node import find_node
from keras_transformer.formats.html.node import translate

pytest.importorskip("zensical")

# What a browser loads by itself, unlike a link that the reader follows.
LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?([^"'\s>]+)"""
    r"""|<link\b[^>]*\bhref=["']?([^"'\s>]+)"""
)


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Returns the directory with the sources of the site."""
    target = tmp_path_factory.mktemp("site") / "source"
    site_builder.build(target)
    return target


@pytest.fixture(scope="module")
def site(source):
    """Returns the directory of the site, built without any warning."""
    result = run_zensical(source)
    assert result.returncode == 0, result.stdout + result.stderr
    return source / "site"


def run_zensical(folder):
    program = pathlib.Path(sys.executable).with_name("zensical")
    return subprocess.run(
        [program, "build", "--strict", "--clean"],
        cwd=folder,
        capture_output=True,
        text=True,
    )


def navigation_pages(entry):
    """Yields the pages that a part of the navigation names."""
    if isinstance(entry, str):
        yield entry
    elif isinstance(entry, dict):
        for part in entry.values():
            yield from navigation_pages(part)
    else:
        for part in entry:
            yield from navigation_pages(part)


class SiteSourceTest:
    def test_the_navigation_names_each_page_once(self, source):
        text = (source / "mkdocs.yml").read_text(encoding="utf-8")
        navigation = yaml.safe_load(text[text.index("\nnav:") :])["nav"]
        pages = (source / "docs").rglob("*.md")
        assert sorted(navigation_pages(navigation)) == sorted(
            page.relative_to(source / "docs").as_posix() for page in pages
        )

    def test_links_to_the_code_lead_to_files(self, source):
        for page in (source / "docs").rglob("*.md"):
            text = page.read_text(encoding="utf-8")
            for path in re.findall(rf"{site_builder.GITHUB}([^)#\s]+)", text):
                assert (ROOT / path).exists(), (page.name, path)

    def test_links_show_titles_of_pages(self, source):
        text = (source / "docs/contents.md").read_text(encoding="utf-8")
        assert "[The paper and the code](paper.md)" in text
        for name in ("contents.md", "index.md"):
            text = (source / "docs" / name).read_text(encoding="utf-8")
            assert not re.search(r"\[[\w/]+\.md\]", text)

    def test_links_in_code_stay(self):
        text = "[a](b.md) `[a](b.md)`\n```\n[a](b.md)\n```\n[c]: training.md\n"
        files = {"docs/README.md": "deep/contents.md", "docs/b.md": "b.md"}
        adapted = site_builder.adapt_links(text, "docs/README.md", files)
        page = f"{site_builder.GITHUB}docs/training.md"
        expected = text.replace("(b.md)", "(../b.md)", 1)
        assert adapted == expected.replace("training.md", page)

    def test_tables_have_every_problem_set_and_command(self, source):
        folder = source / "docs/reference"
        problems = (folder / "problems.md").read_text(encoding="utf-8")
        for name in registry.problems.names():
            assert f"\n| [`{name}`]" in problems
        sets = (folder / "hparams.md").read_text(encoding="utf-8")
        for name in registry.hparams_sets.names():
            assert f"\n| `{name}` |" in sets
        names = {path.stem for path in (folder / "commands").iterdir()}
        setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
        assert names == set(re.findall(r"^    (kt-\S+) = ", setup, re.M))


class HistoryPageTest:
    def test_it_compares_with_the_first_line_of_the_machine(self, tmp_path):
        records = [
            {
                "date": "2026-11-27 03:15",
                "commit": commit,
                "machine": machine,
                "load": [0.1, 2.0],
                "product_seconds": 0.1,
                "versions": {"tensorflow": "2.21.0"},
                "figures": {
                    "tokens": {"per_second": 10 * ratio, "per_product": ratio}
                },
            }
            for commit, machine, ratio in (
                ("aaaaaaa", "fast", 100.0),
                ("bbbbbbb", "slow", 40.0),
                ("ccccccc", "slow", 30.0),
            )
        ]
        page = history_page.make_page(records)
        assert "| tokens | 300.0 | 30.0 | 75% |" in page
        history_page.draw(records, tmp_path / "history.svg")
        picture = (tmp_path / "history.svg").read_text(encoding="utf-8")
        assert all(record["commit"] in page + picture for record in records)


class SiteTest:
    def test_every_public_name_has_a_page_with_its_shapes(self, site):
        for module, name, identifier in reference_pages.public_names():
            page = (site / f"reference/{module}/{name}.html").read_text("utf-8")
            # The anchor is the name by which it is defined, if it is imported.
            assert re.search(rf'<h1 id="?keras_transformer\.[\w.]*{name}', page)
        page = (site / "reference/layers/MultiHeadAttention.html").read_text()
        for words in (
            "Call arguments",
            "(batch, query_len, d_model)",
            "num_heads",
        ):
            assert words in page

    def test_a_page_shows_the_demo_which_translates_in_it(self, site):
        page = (site / "demo.html").read_text("utf-8")
        (name,) = re.findall('<iframe src="([^"]+)"', page)
        if not find_node():
            pytest.skip("needs Node.js")
        texts, _ = translate(site / name, ["I like music."])
        assert texts == ["Me gusta la música."]

    def test_pages_load_nothing_from_other_addresses(self, site):
        pages = list(site.rglob("*.html"))
        assert len(pages) > 90
        foreign = {
            (page.name, address)
            for page in pages
            for addresses in LOADED.findall(page.read_text("utf-8"))
            for address in addresses
            if address.startswith(("http:", "https:", "//"))
        }
        assert not foreign
        for style in site.rglob("*.css"):
            assert not re.search(r"url\(.?(https?:)?//", style.read_text())

    def test_a_broken_link_fails(self, source, tmp_path):
        settings = (source / "mkdocs.yml").read_text(encoding="utf-8")
        settings = settings[: settings.index("\nnav:")]
        (tmp_path / "mkdocs.yml").write_text(settings, encoding="utf-8")
        (tmp_path / "docs").mkdir()
        for name in ("style.css", "iframe-worker.js"):
            (tmp_path / "docs" / name).touch()
        (tmp_path / "docs/b.md").write_text("# B\n")
        (tmp_path / "docs/index.md").write_text("# A\n[b](b.md#b)\n")
        assert run_zensical(tmp_path).returncode == 0
        for text in ("[a](no.md)", "[a](b.md#no)", "::: masks.no_name"):
            (tmp_path / "docs/index.md").write_text(f"# A\n\n{text}\n")
            assert run_zensical(tmp_path).returncode == 1, text
