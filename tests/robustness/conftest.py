"""The templates, made once for each process of pytest."""

import pytest
from box import Box
from box import make_templates


@pytest.fixture(scope="session")
def templates(tmp_path_factory):
    """Path of the directory of everything that rows copy."""
    path = tmp_path_factory.mktemp("templates")
    make_templates(path)
    return path


@pytest.fixture
def box(templates, tmp_path):
    """A `Box` for one row."""
    with Box(tmp_path / "box", templates) as box:
        yield box
