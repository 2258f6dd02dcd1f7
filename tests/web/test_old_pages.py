"""Pages whose session, table, work or server is gone: nothing old stays as if it were true."""

import re
import signal

from playwright.sync_api import expect

from web.browsing import Visit, answer
from web.serving import Server, clinic, token_of, until, upload, wide


def opened(visit, client):
    """Open the step Protection of the small table; return the table's key."""
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    visit.go(f"{address}&s=disease&x=zip".replace("columns", "protection"))
    answer(visit.page)
    expect(visit.page.locator("#rows-part table")).to_be_visible()
    return address.partition("table=")[2]


def test_a_page_of_a_session_that_is_over_leads_to_a_new_one(chromium, server):
    with server.client() as client:
        visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
        page = visit.page
        opened(visit, client)
        page.locator("#trade-part:not(:has([data-events])) .curve").wait_for(state="attached")
        assert server.log_in(client, server.password).status_code == 303  # the former one ends
        page.get_by_role("radio", name="at most 3 times as likely").click()
        expect(page).to_have_url(re.compile("/login$"))
        expect(page.get_by_label("Password")).to_be_visible()
        visit.close()


def test_a_table_that_another_tab_removed_has_no_answer(visit, client):
    page, key = visit.page, opened(visit, client)
    client.post("/remove", data={"token": token_of(client.get("/").text), "table": key})
    page.get_by_role("radio", name="at most 3 times as likely").check()
    found = answer(page, "waiting")
    expect(found.locator(".problem")).to_contain_text("This table is not here any more.")
    for part in ("#trade-part", "#rows-part"):
        expect(page.locator(part)).to_have_attribute("aria-busy", "true")
    expect(page.locator("#go-on")).to_have_attribute("inert", "")
    # What comes later has a place: nothing was put where the answer is.
    page.get_by_role("radio", name="at most 5 times as likely").check()
    expect(answer(page, "waiting").locator(".problem")).to_have_count(1)
    visit.check(r"status of 422")


def test_work_that_the_server_does_not_know_is_asked_for_anew(visit, client, tmp_path):
    page, answers = visit.page, []
    key = upload(client, "wide.csv", wide(tmp_path / "wide.csv").read_bytes()).headers["location"]

    def unknown(route):  # the first listener is refused
        answers.append(route)
        if len(answers) > 1:
            route.continue_()
        else:
            route.fulfill(status=422)

    page.route(re.compile("/jobs/.*/events"), unknown)
    visit.go(f"{key}&s=s&x=x&limit=1.5".replace("columns", "protection"))
    until(lambda: len(answers) > 1 or page.wait_for_timeout(100))
    page.get_by_role("button", name="Stop here and keep the best").click()
    answer(page)
    visit.check(r"status of 422", "EventSource")


def test_a_server_that_is_silent_is_as_lost_as_one_that_is_gone(chromium, tmp_path):
    server = Server(tmp_path)
    visit = None
    try:
        with server.client() as client:
            visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
            page = visit.page
            opened(visit, client)
            server.process.send_signal(signal.SIGSTOP)
            expect(page.get_by_text("The server does not answer")).to_be_visible()
            expect(page.locator("#answer")).to_have_attribute("data-state", "stale")
            expect(page.locator("#setting")).to_have_attribute("inert", "")
            server.process.send_signal(signal.SIGCONT)
            answer(page)
            expect(page.locator("#lost")).to_be_hidden()
            expect(page.locator("#setting:not([inert])")).to_be_visible()
    finally:
        if visit is not None:
            visit.close()
        server.process.send_signal(signal.SIGCONT)
        server.stop()
