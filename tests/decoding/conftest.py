"""A translator that the tests share, with the searches it has compiled."""

import pytest
from small_translators import make_translator
from small_translators import make_vocabulary


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory):
    return make_vocabulary(tmp_path_factory.mktemp("vocabulary") / "model")


@pytest.fixture(scope="session")
def translator(vocabulary):
    return make_translator(vocabulary)
