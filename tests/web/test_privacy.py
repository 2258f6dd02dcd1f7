"""What the app must not say, keep or show: values of tables, files, folders."""

import contextlib
import re
import signal
import stat

import pytest
from playwright.sync_api import expect

from web.browsing import Visit, advanced, answer, choose, payload, upload_file
from web.processes import is_alive, workers
from web.serving import (
    MARKERS,
    Server,
    clinic,
    form_of,
    problem_of,
    settled,
    token_of,
    until_page,
    upload,
)

#: Tables that are damaged after rows with markers.
DAMAGED = {
    "cut": clinic()[:-3] + ',"',
    "longer rows": clinic() + "MARKERa,1,2,3,4,5,6\n" * 30,
    "other types": clinic().replace("\n", '\n"', 400),
    "zeros": clinic() + "\0\0\0\0,1,MARKERill\n",
    "one row of another kind": clinic() + "b,MARKERill,flu\n",
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_errors_of_damaged_tables_quote_nothing(client, damage):
    answer = upload(client, "damaged.csv", DAMAGED[damage].encode())
    pages = [answer.text]
    if answer.status_code == 303:
        address = answer.headers["location"]
        pages.append(problem_of(settled(client, address)))  # a table that is read shows its values
        pages += [
            problem_of(settled(client, f"{address}&{columns}"))
            for columns in ("s=disease&x=age&bin:age=width:10", "s=age&x=zip&bin:age=each")
        ]
    for page in pages:
        assert not [word for word in MARKERS if word in page]


def test_values_are_in_no_address_and_in_no_output(chromium, server, client):
    visit = Visit(chromium, server, client)
    page = visit.page
    visit.go("/")
    upload_file(page, payload("clinic.csv", clinic()))
    choose(page, "disease", "Protect")
    answer(page)
    page.get_by_role("button", name="Group the values of age").click()
    expect(page.get_by_role("group", name="Suggestions for age")).to_be_visible()
    expect(page.locator("tr[data-name=disease]")).to_contain_text(
        MARKERS[0]
    )  # as the page shows it
    page.get_by_label("A new group of age starts at").fill("width:20")
    expect(page).to_have_url(re.compile("bin%3Aage=width%3A20"))
    answer(page).get_by_role("link", name="Go on to protection").click()
    advanced(page)
    page.get_by_label("Mechanism", exact=True).select_option("random-response")
    expect(page).to_have_url(re.compile("mechanism=random-response"))
    answer(page).get_by_role("link", name="Go on to publish").click()
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    visit.check()
    said = "\n".join([*visit.requests, server.output])
    assert not [word for word in MARKERS if word in said]
    visit.close()


def test_nothing_is_stored_in_the_browser(visit, clinic_key):
    visit.go(f"/columns?table={clinic_key}&s=disease&x=zip")
    answer(visit.page)
    length, cookie, kept = visit.page.evaluate(
        "() => [localStorage.length, document.cookie, Object.entries(sessionStorage)]"
    )
    assert (length, cookie) == (0, "")
    # htmx remembers the address, in which there are no values.
    assert [name for name, _ in kept] in ([], ["htmx-current-path-for-history"])
    assert not [word for word in MARKERS if word in str(kept)]


def test_files_are_private(server, client, clinic_key):
    setting = f"table={clinic_key}&s=disease&x=zip"
    page = settled(client, f"/publish?{setting}")
    data = form_of(page) | {"setting": setting}
    page = settled(client, client.post("/publish", data=data).headers["location"])
    assert "Written and verified" in page
    (folder,) = server.temporary.glob("lowlift-web-*")
    open_to_others = []
    for path in (folder, *folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):  # jobs have files of their own, for a time
            is_open = stat.S_IMODE(path.lstat().st_mode) & 0o077
            open_to_others += [path.name] if is_open and not path.is_socket() else []
    assert not open_to_others


def test_removing_a_table_removes_what_was_made_of_it(server, client, clinic_key):
    setting = f"table={clinic_key}&s=disease&x=zip"
    page = settled(client, f"/publish?{setting}")
    data = form_of(page) | {"setting": setting}
    where = client.post("/publish", data=data).headers["location"]
    assert "Written and verified" in settled(client, where)
    name = "clinic"
    mine = [path for path in server.temporary.rglob("*") if path.name.startswith(name)]
    assert len(mine) > 1
    before = set(mine)
    client.post("/remove", data={"token": token_of(page), "table": clinic_key})
    assert problem_of(client.get(where).text)
    left = {path for path in server.temporary.rglob("*") if path.name.startswith(name)}
    assert len(left) <= len(before) - 5


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=pytest.mark.second_lane) for n in (signal.SIGINT, signal.SIGHUP)),
    ],
)
def test_nothing_is_left_when_it_ends(tmp_path, long_table, number):
    table = tmp_path / "folder" / "named.csv"
    table.parent.mkdir()
    table.write_text(clinic())
    server = Server(tmp_path, str(table))
    try:
        with server.client() as client:
            start = client.get("/").text
            assert "named.csv" in start
            assert str(table.parent) not in start
            key = upload(client, "long.csv", long_table.read_bytes()).headers["location"]
            address = f"{key}&s=s&x=x&mechanism=random-response"
            until_page(client, address, "No method keeps more")
            (folder,) = server.temporary.glob("lowlift-web-*")
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            running = workers(server)
            assert running
            server.stop(number)
    finally:
        server.stop()
    assert not server.left
    assert not [each for each in running if is_alive(each)]
    assert table.exists()
    assert not [word for word in (*MARKERS, "Traceback") if word in server.output]
    assert len(re.findall("\n", server.output)) <= 3


def test_a_table_named_at_the_start_cannot_be_removed(tmp_path):
    table = tmp_path / "named.csv"
    table.write_text(clinic())
    server = Server(tmp_path, str(table))
    try:
        with server.client() as client:
            token = token_of(client.get("/").text)
            client.post("/remove", data={"token": token, "table": "given"})
            assert "named.csv" in client.get("/").text
    finally:
        server.stop()
    assert table.exists()
