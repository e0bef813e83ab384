"""Studios whose models need no training."""

import pytest
from studio_runs import make_parsing_run
from studio_runs import make_translation_runs

from keras_transformer.studio.models import Studio


@pytest.fixture(scope="session")
def translation_runs(tmp_path_factory):
    return make_translation_runs(tmp_path_factory.mktemp("translation"))


@pytest.fixture(scope="session")
def parsing_run(tmp_path_factory):
    return make_parsing_run(tmp_path_factory.mktemp("parsing"))


@pytest.fixture(scope="session")
def studio(translation_runs):
    return Studio(translation_runs)


@pytest.fixture(scope="session")
def parsing_studio(parsing_run):
    return Studio([parsing_run])
