"""The runtimes, each started once."""

import pytest

from exports import runtimes


@pytest.fixture(scope="session")
def node():
    found = runtimes.node()
    yield found
    found.close()


@pytest.fixture(scope="session")
def python():
    found = runtimes.python()
    yield found
    found.close()


@pytest.fixture(params=["node", "python"])
def runtime(request):
    return request.getfixturevalue(request.param)
