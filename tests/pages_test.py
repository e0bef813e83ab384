"""Holds the links and flags of the Markdown pages to what exists."""

import re

from source_files import ROOT
from source_files import identify

from keras_transformer.bin.shared.flags import RENAMED

PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/**/*.md"))]


def prose(page):
    """Returns the page without blocks of code, where `#` begins a comment."""
    text = page.read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(page):
    """Returns what GitHub makes of the page's headings, a set of str."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    plain = [re.sub(r"[^\w\- ]", "", title.lower()) for title in titles]
    return {title.replace(" ", "-") for title in plain}


def inner_links(page):
    """Yields the file and the anchor, perhaps empty, of links inside docs."""
    text = re.sub("`[^`]+`", "", prose(page))
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if not link.startswith("http"):
            name, _, anchor = link.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


def is_dead(target, anchor):
    if not target.is_file():
        return True
    return bool(anchor) and anchor not in anchors(target)


def test_links_lead_to_files_and_headings():
    dead = [
        f"{identify(page)}: {target}#{anchor}"
        for page in PAGES
        for target, anchor in inner_links(page)
        if is_dead(target, anchor)
    ]
    assert not dead


def test_readme_leads_to_every_page():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    names = re.findall(r"/blob/main/(\S+\.md)$", text, re.MULTILINE)
    found, waiting = set(), [ROOT / name for name in names]
    while waiting:
        page = waiting.pop()
        if page.suffix == ".md" and page not in found:
            found.add(page)
            waiting += [target for target, _ in inner_links(page)]
    assert set(ROOT.glob("docs/**/*.md")) <= found


def test_no_page_names_a_flag_by_its_earlier_name():
    text = "".join(
        page.read_text(encoding="utf-8")
        for page in PAGES
        if page.name != "CHANGELOG.md"
    )
    assert not [name for name in RENAMED if re.search(rf"--{name}\b", text)]


def test_a_release_of_the_changelog_has_at_most_80_lines():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    _, *releases = re.split(r"^## ", text, flags=re.MULTILINE)
    assert releases
    assert max(len(release.splitlines()) for release in releases) <= 80
