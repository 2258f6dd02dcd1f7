"""Attacks on the web app: what stays behind, what is lost, what is said too early."""

import asyncio
import contextlib
import json
import os
import re
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import httpx
import pytest

from web.processes import workers
from web.serving import Server, clinic, form_of, post, settled, token_of, until, upload

pytest.importorskip("fastapi")

COLUMNS = [("s", "disease"), ("x", "zip")]
#: Seconds until a job must have an answer; the first one waits for compilers.
_MOST = 240


@contextlib.contextmanager
def started(folder, *arguments):
    """Start a server of its own, and end it whatever happens."""
    running = Server(folder, *arguments)
    try:
        yield running
    finally:
        running.stop()


def part(client, path, query):
    """Return a part of a page once its work is done."""
    end = time.monotonic() + _MOST
    while time.monotonic() < end:
        answer = client.get(path, params=query, headers={"HX-Request": "true"})
        if "data-events" not in answer.text and "answer first" not in answer.text:
            return answer
        time.sleep(0.2)
    raise TimeoutError(path)


def table(client, name="clinic.csv", content=None):
    """Upload a table and return its id."""
    answer = upload(client, name, clinic() if content is None else content)
    assert answer.status_code == 303, answer.text
    return parse_qs(answer.headers["location"].partition("?")[2])["table"][0]


def publish(client, query, **fields):
    """Publish and return the id of the work and its page."""
    page, place = post(client, urlencode(query), **fields)
    return place.rsplit("/", maxsplit=1)[1], page


def files(server):
    """Return the names of all files in the server's temporary folder."""
    return sorted(path.name for path in server.temporary.rglob("*") if path.is_file())


def children(pid):
    """Return the processes whose parent is this one, each with its command."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if parent == pid:
            found[int(entry.name)] = command
    return found


def test_an_upload_that_is_cut_off_leaves_nothing(server, client):
    host, port = server.url.removeprefix("http://").split(":")
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    head = (
        f"POST /upload HTTP/1.1\r\nHost: {host}:{port}\r\nOrigin: {server.url}\r\n"
        f"Cookie: {cookies}\r\nContent-Length: 10000000\r\n"
        "Content-Type: multipart/form-data; boundary=B\r\n\r\n"
        '--B\r\nContent-Disposition: form-data; name="file"; filename="cut.csv"\r\n\r\nx,s\n'
    )
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(head.encode() + b"a,b\n" * 50_000)
        until(lambda: "cut.csv" in files(server))
    until(lambda: "cut.csv" not in files(server))


@pytest.mark.parametrize("letter", ["天", "𠀀"])
def test_long_names_in_any_script_can_be_published(client, letter):
    key = table(client, letter * 80 + ".csv")
    _, page = publish(client, [("table", key), *COLUMNS, ("epsilon", "1")])
    assert "Written and verified" in page


def test_removing_a_table_removes_what_was_published_of_it(server, client):
    key = table(client, "gone.csv")
    publish(client, [("table", key), *COLUMNS, ("epsilon", "1")])
    assert "gone-safe.release.json" in files(server)
    client.post("/remove", data={"token": token_of(client.get("/").text), "table": key})
    assert not [name for name in files(server) if name.startswith("gone")]


@pytest.mark.second_lane
def test_moving_sliders_loses_no_publication(client):
    key = table(client)
    identity, _ = publish(client, [("table", key), *COLUMNS, ("epsilon", "1")])
    for step in range(18):
        query = [("table", key), *COLUMNS, ("epsilon", f"{1 + step / 20:.2f}")]
        for path in ("/answer", "/rows", "/trade"):
            part(client, path, query)
    assert client.get(f"/download/{identity}/table").status_code == 200


def test_the_form_publishes_the_budget_that_was_shown(client):
    key = table(client)
    query = [("table", key), *COLUMNS, ("epsilon", "1.2345674")]
    part(client, "/answer", query)
    page = client.get("/publish", params=query).text
    sent = re.search(r'name="setting" value="([^"]+)"', page)[1].replace("&amp;", "&")
    assert parse_qs(sent)["epsilon"] == ["1.2345674"]


def test_the_public_report_is_no_finer_than_the_rounded_codebook(client):
    key = table(client)
    query = [("table", key), *COLUMNS, ("epsilon", "1.2"), ("mechanism", "random-response")]
    identity, _ = publish(client, query, round_to="0.2")
    book = client.get(f"/download/{identity}/codebook").json()
    told = {tuple(pair) for output in book["outputs"] for pair in output["p_x_given_y"]}
    html = client.get(f"/download/{identity}/public-report").text
    shown = re.findall(r"([\d.]+)% to ([\d.]+)%", html)
    assert {(float(low) / 100, float(high) / 100) for low, high in shown} <= told


def test_no_character_of_a_value_is_logged_and_none_breaks_a_picture(server, client):
    places, diseases = ("天", "地\x01", "c"), ("流", "b")
    rows = [f"{places[k % 3]},{diseases[k // 3 % 2]}" for k in range(400)]
    key = table(client, "odd.csv", "\n".join(["zip,disease", *rows]) + "\n")
    drawn = part(client, "/answer", [("table", key), *COLUMNS])
    for path in ("/rows", "/trade"):
        assert part(client, path, [("table", key), *COLUMNS]).status_code == 200
    assert "<svg" in drawn.text
    assert "Glyph" not in "".join(server.lines)


def test_a_table_that_changed_since_it_was_shown_is_not_published(tmp_path):
    """Neither the answer nor what is to be known is of the rows that would be drawn."""
    source = tmp_path / "given.csv"
    source.write_text(clinic())
    with (
        started(tmp_path, str(source)) as running,
        running.client() as client,
    ):
        query = urlencode([("table", "given"), *COLUMNS, ("epsilon", "3")])
        data = form_of(settled(client, f"/publish?{query}")) | {"setting": query}
        rows = clinic().splitlines()
        source.write_text("\n".join(rows + rows[1:40]) + "\n")
        settled(client, f"/protection?{query}")  # another tab looks at the table as it is now
        answer = client.post("/publish", data=data)
        assert (answer.status_code, "has changed since this page" in answer.text) == (422, True)
        assert not list(running.temporary.rglob("*safe*"))
        page, _ = post(client, query)
        assert "639 rows" in page


def test_work_goes_on_after_the_fork_server_died(tmp_path):
    with started(tmp_path) as running, running.client() as client:
        key = table(client)
        part(client, "/answer", [("table", key), *COLUMNS, ("epsilon", "1")])
        for pid, command in children(running.process.pid).items():
            if "forkserver" in command:
                os.kill(pid, signal.SIGKILL)
        page = part(client, "/answer", [("table", key), *COLUMNS, ("epsilon", "1.5")]).text
        assert 'data-state="useful"' in page


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=pytest.mark.second_lane) for n in (signal.SIGINT, signal.SIGHUP)),
    ],
)
def test_whatever_ends_the_server_in_the_middle_of_work_nothing_stays(tmp_path, number):
    with started(tmp_path) as running:
        with running.client() as client:
            key = table(client, "mid.csv", clinic(200_000))
            query = [("table", key), *COLUMNS, ("epsilon", "0.5"), ("mechanism", "random-response")]
            data = form_of(settled(client, f"/publish?{urlencode(query)}"))
            client.post("/publish", data=data | {"setting": urlencode(query)})
            until(lambda: workers(running))
        running.process.send_signal(number)
        running.process.wait(20)
        until(lambda: not list(running.temporary.rglob("*")))
        running.stop()
        assert "Traceback" not in running.output


def test_no_request_is_told_to_telemetry(tmp_path):
    from opentelemetry import trace

    from lowlift.web import Limits
    from lowlift.web.access import AccessControl
    from lowlift.web.app import create_app
    from lowlift.web.connections import Connections

    seen = []

    class Listening(trace.TracerProvider):
        def get_tracer(self, *names, **options):
            seen.append((names, options))
            return trace.NoOpTracer()

    script_provider = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = Listening()
    try:
        limits = Limits(upload_bytes=1000)
        app = create_app(
            tmp_path,
            AccessControl("a password of many"),
            hosts=frozenset({"test"}),
            limits=limits,
            connections=Connections(limits),
        )

        async def ask():
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
                return await client.get("/login")

        # The browser of other tests has a loop in this thread.
        with ThreadPoolExecutor(1) as thread:
            assert thread.submit(lambda: asyncio.run(ask())).result().status_code == 200
    finally:
        trace._TRACER_PROVIDER = script_provider
    assert not seen


def test_the_address_answers_once_it_is_said(tmp_path):
    with started(tmp_path) as running:
        assert httpx.get(f"{running.url}/login", timeout=60).status_code == 200


def test_other_hosts_pages_and_sessions_stay_out(server, client):
    key = table(client)
    identity, _ = publish(client, [("table", key), *COLUMNS, ("epsilon", "1")])
    port = server.url.rsplit(":", maxsplit=1)[1]
    for headers in (
        {"Host": f"evil.example:{port}"},
        {"Host": f"127.0.0.1:{port}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ):
        assert client.get("/", headers=headers).status_code == 403
    for origin in ("null", "", f"http://localhost:{port}", f"https://127.0.0.1:{port}"):
        answer = client.post("/demo", data={"token": "x"}, headers={"Origin": origin})
        assert answer.status_code == 403
    assert client.post("/demo", data={"token": "x"}).status_code == 403
    with server.client() as other:
        for path in (f"/download/{identity}/table", f"/published/{identity}", "/columns?table=1"):
            assert other.get(path).status_code == 422
    assert json.loads(client.get(f"/download/{identity}/receipt").text)["rows_out"] == 600
