"""What tests of doors run against: a real service without limits, and a model server."""

from collections.abc import Iterator

import pytest
from model_server import ModelServer, running_model
from service import UNLIMITED, Service, running_service


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with running_service(tmp_path_factory.mktemp("service"), *UNLIMITED) as running:
        yield running


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with running_model() as running:
        yield running
