"""Floods and half-sent requests: one client takes neither the disk nor the others' time."""

import asyncio
import contextlib
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
import uvicorn

from lowlift.errors import InvalidInput
from lowlift.web import Limits
from lowlift.web.access import AccessControl, TooManyGuesses
from lowlift.web.connections import Connections
from web.serving import SHORT, Server, until

#: Seconds within which a closed connection must be seen; the limits of the servers are far less.
PATIENCE = 60
#: More seconds than a test takes.
LONG = 36_000.0
FORM = "Content-Type: application/x-www-form-urlencoded\r\n"


def run(story):
    """Run a coroutine in a thread of its own: the browser's driver has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, story).result()


@pytest.fixture(scope="module")
def impatient(tmp_path_factory):
    """A server that waits for nobody, and has room for four connections."""
    limits = SHORT | {"head_seconds": 0.5, "body_seconds": 0.5, "connections": 4}
    running = Server(tmp_path_factory.mktemp("impatient"), limits=limits)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def strict(tmp_path_factory):
    """A server at which a wrong password costs hours, and connections have hours too."""
    limits = {"wrong_password_seconds": LONG, "head_seconds": LONG, "body_seconds": LONG}
    running = Server(tmp_path_factory.mktemp("strict"), limits=limits)
    yield running
    running.stop()


@contextlib.contextmanager
def connected(server):
    where = urlsplit(server.url)
    with socket.create_connection((where.hostname, where.port), timeout=PATIENCE) as raw:
        yield raw


def head(server, path, *lines, method="POST"):
    """Return a request without its body."""
    given = "".join(lines)
    host = urlsplit(server.url).netloc
    return (
        f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: {server.url}\r\n{given}\r\n"
    ).encode()


def guess(server, password, cookie):
    """Return a whole guess, by a client of this cookie."""
    port = urlsplit(server.url).port
    body = f"token={cookie}&password={password}".encode()
    lines = (FORM, f"Cookie: lowlift-login-{port}={cookie}\r\n", f"Content-Length: {len(body)}\r\n")
    return head(server, "/login", *lines) + body


def answer(raw):
    """Return all that is answered until the connection is closed; a reset ends it too."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := raw.recv(65536):
            found += piece
    return found.decode()


def status(raw):
    """Return the status of the next answer; None when there is none yet."""
    raw.setblocking(False)
    try:
        return int(raw.recv(65536).split(maxsplit=2)[1])
    except BlockingIOError:
        return None
    finally:
        raw.settimeout(PATIENCE)


# How long a request is ---------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/login", "/open", "/demo", "/upload"])
def test_a_request_with_two_lengths_is_refused(server, path):
    def size():
        found = 0
        for path in server.files():
            with contextlib.suppress(FileNotFoundError):  # a job's, gone meanwhile
                found += path.stat().st_size
        return found

    before = size()  # tables that other tests uploaded
    with connected(server) as raw:
        raw.sendall(head(server, path, FORM, "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"))
        with contextlib.suppress(OSError):  # closed meanwhile
            for _ in range(64):
                raw.sendall(b"100000\r\n" + b"x" * 2**20 + b"\r\n")
        assert answer(raw).startswith("HTTP/1.1 400 ")
    assert size() - before < 2**20


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("path", ["/login", "/open", "/demo", "/jobs/x/stop"])
def test_without_a_session_a_request_is_short(server, method, path):
    with connected(server) as raw:
        raw.sendall(head(server, path, FORM, "Content-Length: 8193\r\n", method=method))
        found = answer(raw)
    assert found.startswith("HTTP/1.1 413 ")
    assert "too long" in found
    with connected(server) as raw:
        raw.sendall(head(server, path, FORM, "Transfer-Encoding: chunked\r\n", method=method))
        assert answer(raw).startswith("HTTP/1.1 411 ")


def test_a_password_of_8_kb_is_a_wrong_one(server):
    with connected(server) as raw:
        raw.sendall(guess(server, "x" * 8000, "cookie"))
        assert raw.recv(100).startswith(b"HTTP/1.1 403 ")


def test_a_session_has_longer_forms(server, client):
    assert client.post("/demo", data={"token": "x", "more": "x" * 2**19}).status_code == 403
    too_long = client.post("/demo", data={"token": "x", "more": "x" * 2**21})
    assert too_long.status_code == 413


@pytest.mark.parametrize("name", ["head_seconds", "connections", "login_bytes"])
@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_limits_are_positive(name, value):
    with pytest.raises(InvalidInput, match=f"{name} must be positive"):
        Limits(**{name: value})


# How long a request takes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sent",
    [
        "",
        "GET /log",
        "GET /login HTTP/1.1\r\nHost: a\r\nX: ",
        "POST /login HTTP/1.1\r\nHost: {host}\r\nOrigin: {url}\r\nContent-Length: 9\r\n\r\ntoken",
        "POST /upload HTTP/1.1\r\nHost: {host}\r\nOrigin: {url}\r\nContent-Length: 9\r\n\r\ntoken",
    ],
    ids=["nothing", "half a line", "half a head", "half a form", "half an upload"],
)
def test_a_request_that_is_not_finished_is_closed(impatient, sent):
    with connected(impatient) as raw:
        host = urlsplit(impatient.url).netloc
        raw.sendall(sent.format(host=host, url=impatient.url).encode())
        answer(raw)  # returns when the connection is closed


def test_half_a_request_after_a_whole_one_is_closed(impatient):
    with connected(impatient) as raw:
        raw.sendall(head(impatient, "/login", method="GET") + b"GET /login HTTP/1.1\r\nHo")
        assert answer(raw).startswith("HTTP/1.1 200 ")


def test_an_upload_that_stalls_is_closed_and_not_kept(impatient):
    with impatient.client() as client, connected(impatient) as raw:
        cookies = "; ".join(f"{each.name}={each.value}" for each in client.cookies.jar)
        lines = f"Cookie: {cookies}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
        start = head(impatient, "/upload", lines, "Content-Length: 100000\r\n")
        part = b'Content-Disposition: form-data; name="file"; filename="stalled.csv"\r\n\r\na,b\n'
        raw.sendall(start + b"--x\r\n" + part)
        answer(raw)
        until(lambda: not list(impatient.temporary.rglob("stalled.csv")))


def test_when_all_connections_are_taken_the_silent_ones_make_room(impatient):
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(impatient)) for _ in range(40)]
        for raw in held:
            with contextlib.suppress(OSError):  # closed already
                raw.sendall(b"GET /login HTTP/1.1\r\nHo")
        with impatient.visitor() as visitor:
            assert visitor.get("/login").status_code == 200
        for raw in held:
            answer(raw)


async def _echo(_, receive, send):
    """Read a request to its end and answer."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"x"})


@contextlib.asynccontextmanager
async def accepted(limits):
    """Give a connection as the server has it, and the client's socket."""
    connections = Connections(limits)
    config = uvicorn.Config(_echo, http=connections.protocol, log_config=None, lifespan="off")
    state = uvicorn.Server(config).server_state
    ours, theirs = socket.socketpair()
    _, connection = await asyncio.get_running_loop().connect_accepted_socket(
        lambda: connections.protocol(config=config, server_state=state, app_state={}), ours
    )
    theirs.setblocking(False)
    with theirs:
        yield connection, theirs
        connections.close()
        await asyncio.gather(*state.tasks)


def test_a_form_has_one_deadline_and_an_upload_one_between_pieces():
    limits = Limits(head_seconds=10, body_seconds=30)

    async def story(path):
        async with accepted(limits) as (connection, _):
            began = connection._began
            late = [connection.is_late(began + seconds, limits) for seconds in (9, 11)]
            connection.data_received(f"POST {path} HTTP/1.1\r\nHost: a\r\nContent-".encode())
            began = connection._began
            connection.data_received(b"Length: 9\r\n\r\n")
            late += [connection.is_late(began + seconds, limits) for seconds in (29, 31)]
            connection.heard = began + 25  # as if a piece had come then
            late += [connection.is_late(began + seconds, limits) for seconds in (31, 54, 56)]
            connection.data_received(b"123456789")
            return [*late, connection.is_late(began + LONG, limits)]

    always = [False, True, False, True]
    assert run(story("/login")) == [*always, True, True, True, False]
    assert run(story("/upload")) == [*always, False, False, True, False]


def test_an_answer_that_is_not_taken_is_ended():
    limits = Limits(body_seconds=30)

    async def story():
        async with accepted(limits) as (connection, theirs):
            connection.data_received(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            connection.transport.write(b"x" * 2**24)  # more than a socket takes
            unsent, began = connection.transport.get_write_buffer_size(), connection._began
            late = [connection.is_late(began + seconds, limits) for seconds in (1, 30, 32)]
            while connection.transport.get_write_buffer_size() == unsent:
                await asyncio.get_running_loop().sock_recv(theirs, 2**20)
            return [*late, connection.is_late(began + 33, limits)]  # some was taken just now

    assert run(story()) == [False, False, True, False]


# Passwords ---------------------------------------------------------------------------------------


def test_wrong_passwords_cost_time_and_delay_no_other_client(strict):
    with contextlib.ExitStack() as stack:
        flood = [stack.enter_context(connected(strict)) for _ in range(20)]
        for number, raw in enumerate(flood):
            raw.sendall(guess(strict, f"wrong-{number}", f"client-{number % 4}"))
        # Of five guesses a client, four take turns; the first of them costs hours.
        refused = set()

        def seen():
            refused.update(raw for raw in flood if raw not in refused and status(raw) == 429)
            return len(refused) == 4

        until(seen)
        with strict.visitor() as other:
            assert strict.log_in(other, strict.password).status_code == 303
            assert other.get("/").status_code == 200
        assert [status(raw) for raw in flood if raw not in refused] == [None] * 16


RIGHT = "the right password"


class Counting(AccessControl):
    """Counts the passwords that are tried."""

    n_tried = -1  # the first is the server's own

    def _hashed(self, password):
        self.n_tried += 1
        return super()._hashed(password)


async def refused(access, client):
    with pytest.raises(TooManyGuesses):
        await access.opens_by_password(client, RIGHT)


def test_guesses_of_one_client_take_their_turn():
    async def story():
        access = Counting(RIGHT, Limits(wrong_password_seconds=LONG))
        one, other = ("127.0.0.1", "one"), ("127.0.0.1", "other")
        waiting = [
            asyncio.create_task(access.opens_by_password(one, given))
            for given in ("wrong", "also wrong", RIGHT, RIGHT)
        ]
        await asyncio.sleep(0)  # they begin
        assert await access.opens_by_password(other, RIGHT)
        assert access.n_tried == 2
        await refused(access, one)
        done = [each.done() for each in waiting]
        for each in waiting:
            each.cancel()
        return done

    assert run(story()) == [False] * 4


def test_all_clients_together_have_so_many_guesses():
    limits = Limits(guesses_per_second=1 / LONG, waiting_guesses=4, wrong_password_seconds=0.01)

    async def story():
        access = Counting(RIGHT, limits)
        assert not await access.opens_by_password(("192.0.2.1", "first"), "wrong")
        waiting = []
        for address in ("192.0.2.1", "192.0.2.2"):
            for cookie in ("a", "b"):
                guess = access.opens_by_password((address, cookie), RIGHT)
                waiting.append(asyncio.create_task(guess))
            await asyncio.sleep(0)
            await refused(access, (address, "c"))  # half of those that may wait
        await refused(access, ("192.0.2.3", "a"))
        assert not any(each.done() for each in waiting)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return access.n_tried, access._waiting.total()

    assert run(story()) == (1, 0)


def test_pauses_are_doubled_and_end_with_the_right_password():
    async def story():
        access = AccessControl(RIGHT, Limits(wrong_password_seconds=1e-6, guesses_per_second=1e9))
        client, pauses = ("127.0.0.1", "one"), []
        for _ in range(6):
            pauses.append(1e6 * access._pause(access._guesser(client)))
            assert not await access.opens_by_password(client, "wrong")
        assert await access.opens_by_password(client, RIGHT)
        return [*pauses, 1e6 * access._pause(access._guesser(client))]

    assert run(story()) == pytest.approx([1, 2, 4, 8, 16, 16, 1])


def test_thousands_of_clients_are_not_remembered():
    async def story():
        access = AccessControl(RIGHT)
        for number in range(3000):
            access._guesser(("127.0.0.1", str(number)))
        return len(access._guessers)

    assert run(story()) == 1000
