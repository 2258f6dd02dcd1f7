"""A real server in a process of its own, and a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from web.browsing import Visit
from web.serving import Server, clinic, upload, wide


def pytest_collection_modifyitems(items):
    """Keep the tests of a file in one process: they share servers."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[Server]:
    """A server with a password, so that every test can have its own session; it has compiled."""
    running = Server(tmp_path_factory.mktemp("server"))
    with running.client() as first, first.stream("GET", "/compiling") as events:
        assert "event: done" in events.iter_lines()  # tests do not wait for the compiler
    yield running
    running.stop()


@pytest.fixture
def client(server):
    """A session of its own."""
    with server.client() as found:
        yield found


@pytest.fixture
def clinic_key(client):
    """The id of the small table in the client's session."""
    answer = upload(client, "clinic.csv", clinic().encode())
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].split("table=")[1]


@pytest.fixture(scope="session")
def long_table(tmp_path_factory):
    """A table for which a search takes many seconds, with a bound that tightens after a few."""
    return wide(tmp_path_factory.mktemp("wide") / "long.csv", 150, 20)


@pytest.fixture
def visit(chromium, server, client):
    """A browser in the session of `client`; nothing it does may leave the host."""
    found = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
    yield found
    found.check(r"status of 4\d\d")
    found.close()
