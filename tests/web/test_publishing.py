"""The step Publish: warnings before the draw, the ledger's word, files that can be come back to."""

import html
import io
import json
import re
import shlex
import signal
import subprocess
import sys
import threading
import zipfile
from collections import Counter
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from lowlift.workflow.ledgers import read_ledger, withdraw
from web.browsing import Visit
from web.serving import (
    SHORT,
    Server,
    clinic,
    form_of,
    post,
    register,
    settled,
    titanic,
    token_of,
    until,
    upload,
)

TITANIC = "s=survived&x=class&x=sex&x=age&limit=2"
CLINIC = "s=disease&x=zip&limit=2"
MERGED = "s=disease&x=zip&x=age&bin:age=width:20&criterion=alip&epsilon=1.5&split=0.4"
MERGED += "&mechanism=subset-merging&encoding=groups"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    return tmp_path_factory.mktemp("ledger") / "ledger.sqlite"


@pytest.fixture(scope="module")
def telling(tmp_path_factory, ledger):
    """A server that tells a ledger."""
    running = Server(tmp_path_factory.mktemp("telling"), LOWLIFT_LEDGER=str(ledger))
    yield running
    running.stop()


@pytest.fixture
def teller(telling, ledger):
    """A session of that server; the ledger is empty at first."""
    ledger.unlink(missing_ok=True)
    with telling.client() as client:
        yield client


@pytest.fixture
def seen(chromium, telling, teller):
    found = Visit(chromium, telling, teller, viewport={"width": 1280, "height": 900})
    yield found
    found.check(r"status of 4\d\d")
    found.close()


def given(client, name="clinic.csv", text=None):
    """Upload a table and return its id."""
    answer = upload(client, name, (text or clinic()).encode())
    assert answer.status_code == 303, answer.text
    return answer.headers["location"].split("table=")[1]


def ask(page, name):
    return page.locator(f'[data-ask="{name}"]')


def ready(page):
    draw = page.get_by_role("button", name="Draw and write the table")
    expect(draw).to_be_visible()
    page.wait_for_load_state()
    return draw


def test_the_safe_choice_is_made_and_another_takes_a_step(visit, client):
    """One person of a kind: exact numbers in the codebook would give the count away."""
    visit.go(titanic(client).replace("/columns", "/publish"))
    page, draw = visit.page, ready(visit.page)
    codebook = ask(page, "codebook")
    expect(codebook).to_have_class(re.compile(r"\bdone\b"))
    rounded = codebook.get_by_label("Round the codebook to steps of 10%")  # finer ones give it away
    expect(rounded).to_be_checked()
    codebook.get_by_label("Hand out the exact codebook").check()
    expect(codebook).not_to_have_class(re.compile(r"\bdone\b"))
    rounded.check()
    draw.click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    identity = page.url.rsplit("/", 1)[1]
    book = client.get(f"/download/{identity}/codebook").json()
    ends = [end for output in book["outputs"] for pair in output["p_x_given_y"] for end in pair]
    assert all(round(end * 10) == pytest.approx(end * 10) for end in ends)
    report = client.get(f"/download/{identity}/report").text
    assert "still reveal" not in report


def test_a_codebook_that_is_kept_back_is_among_the_files_to_keep(client):
    query = titanic(client).partition("?")[2]
    page, where = post(client, query, codebook="withheld")
    assert "Written and verified" in page
    identity = where.rsplit("/", 1)[1]
    out, keep = (
        zipfile.ZipFile(io.BytesIO(client.get(f"/download/{identity}/{name}").content)).namelist()
        for name in ("out", "keep")
    )
    assert out == ["titanic-safe.csv", "titanic-safe.public.html"]
    assert "titanic-safe.codebook.json" in keep
    report = client.get(f"/download/{identity}/report").text
    handed = re.search(r"<strong>Hand out:</strong> (.*?)</p>", report)[1]
    assert handed == "titanic-safe.csv and titanic-safe.public.html."
    assert "The codebook was kept back." in report
    assert "reveal" not in report
    part = re.search(r"The same for another table(.*?)</section>", page, re.DOTALL)
    command = html.unescape(part[1])
    assert "--report-public" not in command  # its codebook's numbers would be in it
    assert "keep that back" in command
    assert "% to " not in client.get(f"/download/{identity}/public-report").text


def test_columns_that_identify_people_are_asked_for(client, visit):
    rows = "\n".join(
        f"P{k} Ada,p{k}@example.org,{7000 + k},{'ab'[k % 2]},{'xy'[k % 3 == 0]}" for k in range(400)
    )
    key = given(client, "people.csv", f"name,mail,id,ward,ill\n{rows}\n")
    query = f"table={key}&s=ill&x=name&x=mail&x=id&x=ward&limit=3"
    page, where = post(client, query)
    assert where == ""
    assert "decide that first" in page
    visit.go(f"/publish?{query}")
    draw = ready(visit.page)
    expect(draw).to_be_disabled()
    hint = "Tick the boxes above first, or leave these columns out."
    expect(visit.page.get_by_text(hint)).to_be_visible()
    to_box = visit.page.get_by_role("link", name="Tick the box")
    for number, name in enumerate(("name", "mail", "id")):
        caution = ask(visit.page, f"caution:{number}")
        expect(caution).to_contain_text(f"'{name}' is nearly unique, so it identifies people")
        box = caution.get_by_label("Publish it all the same")
        expect(box).not_to_be_checked()
        expect(box).to_have_attribute("required", "")  # which the browser asks for without scripts
        to_box.click()
        expect(box).to_be_focused()  # the first that is open
        if name != "id":
            box.check()
    expect(draw).to_be_disabled()  # one is left
    hint = "Tick the box above first, or leave id out."
    expect(visit.page.get_by_text(hint)).to_be_visible()
    panel = visit.page.locator("#answer")
    expect(panel).to_have_attribute("data-state", "empty")
    expect(panel.locator("h2:visible")).to_have_text("Holds, but some things are not decided")
    visit.page.get_by_label("Publish it all the same").last.check()
    expect(draw).to_be_enabled()
    expect(panel).to_have_attribute("data-state", "names")  # not green: people are identified
    expect(panel).to_contain_text("'mail' is nearly unique, so it identifies people")
    last = visit.page.get_by_label("Publish it all the same").last
    last.uncheck()
    expect(panel).to_have_attribute("data-state", "empty")  # and it is no longer
    visit.page.get_by_role("link", name="Leave mail out").click()
    expect(visit.page).to_have_url(re.compile("^(?!.*x=mail).*/publish"))
    expect(ask(visit.page, "caution:1")).to_contain_text("'id'")
    to_box = visit.page.get_by_role("link", name="Tick the boxes")
    for box in visit.page.get_by_label("Publish it all the same").all():
        box.check()
    expect(draw).to_be_enabled()
    expect(to_box).to_be_hidden()


def test_a_table_that_can_prove_a_value_is_written_only_with_consent(client, visit):
    query = f"table={given(client)}&s=disease&x=zip&criterion=max-lift&epsilon=2"
    page, where = post(client, query)
    assert (where, "can prove a value: decide that first" in page) == ("", True)
    visit.go(f"/publish?{query}")
    draw = ready(visit.page)
    expect(draw).to_be_disabled()
    ask(visit.page, "proves").get_by_label("Publish it all the same").check()
    draw.click()
    expect(visit.page.get_by_text("Written and verified")).to_be_visible()


def test_how_many_rows_are_one_persons_alone_is_told_before_the_draw_and_not_in_green(
    visit, client
):
    text = clinic()
    rows_of = Counter(line.rpartition(",")[0] for line in text.splitlines()[1:])
    n_alone = sum(count == 1 for count in rows_of.values())
    assert n_alone > 1
    visit.go(f"/publish?table={given(client, text=text)}&s=disease&x=zip&x=age&limit=3")
    rows = ask(visit.page, "drawn")
    expect(rows.get_by_role("heading", name="Rows are drawn anew")).to_be_visible()
    expect(rows).to_contain_text(f"{n_alone} of 600 people have a row that nobody else has")
    expect(rows).to_have_class(re.compile("^ask *$"))  # a warning
    expect(rows.locator(".i-ok")).to_be_hidden()


def test_what_the_report_warns_of_rows_is_told_before_the_draw(client):
    """A column that follows from the protected one, and rows that one person alone has."""
    rows = [line.split(",") for line in clinic(800).splitlines()[1:]]
    text = "zip,age,ill,disease\n" + "".join(f"{z},{a},{d != 'none'},{d}\n" for z, a, d in rows)
    query = f"table={given(client, text=text)}&s=disease&x=zip&x=age&x=ill&limit=3"
    answer = settled(client, f"/protection?{query}")
    for words in ('data-state="tells"', "Leave ill out", "ill tells disease, wholly or in part"):
        assert words in answer  # not green
    before = html.unescape(settled(client, f"/publish?{query}"))
    page, where = post(client, query)
    assert (where, "tells what is protected: decide that first" in page) == ("", True)
    page, _ = post(client, query, tells="yes")
    after = html.unescape(page.partition("Warnings, as they stand in the report")[2])
    told = {
        "Sample or population": "If these 800 people are a sample",
        "Columns that tell what is protected": "ill tells disease, wholly or in part",
        "Recognising people": "people have a row that nobody else has",
    }
    warned = re.findall(r"<li class=\"small\"><strong>([^<]+)\.</strong>", after)
    assert set(warned) >= {"Columns that tell what is protected", "Recognising people"}
    for name in warned:
        assert told[name] in before


def test_the_zip_has_the_files_and_the_link_works_again_and_in_a_second_tab(visit, client):
    visit.go(f"/publish?table={given(client)}&{CLINIC}")
    page = visit.page
    ready(page).click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    address = page.locator(".copy code").first.inner_text()
    assert address == page.url
    page.reload()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    second = visit.context.new_page()
    second.goto(address)
    expect(second.get_by_text("Written and verified")).to_be_visible()
    for group, names in (("out", ("table", "codebook", "public-report")),
                         ("keep", ("report", "release", "receipt"))):  # fmt: skip
        with second.expect_download() as waiting:
            second.locator(f'a[href$="/{group}"]').click()
        with zipfile.ZipFile(waiting.value.path()) as archive:
            assert archive.testzip() is None
            found = {name: archive.read(name) for name in archive.namelist()}
        identity = address.rsplit("/", 1)[1]
        alone = [client.get(f"/download/{identity}/{name}") for name in names]
        assert sorted(found.values()) == sorted(answer.content for answer in alone)
    with second.expect_download() as waiting:
        second.get_by_role("link", name="clinic-safe.csv").click()
    assert waiting.value.suggested_filename == "clinic-safe.csv"


def test_what_was_written_is_shown(visit, client):
    visit.go(f"/publish?table={given(client)}&{CLINIC}")
    ready(visit.page).click()
    pane = visit.page.get_by_role("region", name="clinic-safe.csv, some rows")
    expect(pane.locator("tbody tr")).to_have_count(8)
    expect(pane.locator("thead")).to_contain_text("zip")


@pytest.mark.parametrize(
    "query",
    [
        CLINIC,
        MERGED,
        "s=disease&x=zip&x=age&limit=3&weight:age=more",
        "s=disease&x=zip&limit=4&audience=population&confidence=0.9",
    ],
)
def test_the_command_repeats_it(client, tmp_path, query):
    query = f"table={given(client)}&{query}"
    page, where = post(client, query, to="the institute")
    assert "Written and verified" in page, page
    code = re.findall(r'<div class="copy"><code>(.*?)</code>', page, re.DOTALL)[1]
    code = re.sub("</?span>", "", code)  # around each word, that lines break between them
    words = shlex.split(html.unescape(code).replace("\\\n", " "))
    assert words[0] == "lowlift"
    (tmp_path / "clinic.csv").write_text(clinic())
    command = [sys.executable, "-m", "lowlift._cli", *words[1:]]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    identity = where.rsplit("/", 1)[1]
    mine = client.get(f"/download/{identity}/release").json()
    again = json.loads((tmp_path / "clinic-safe.release.json").read_text())
    assert again["criterion"] == mine["criterion"]
    assert again["joint"]["x_labels"] == mine["joint"]["x_labels"]
    handed = zipfile.ZipFile(io.BytesIO(client.get(f"/download/{identity}/out").content))
    kept = zipfile.ZipFile(io.BytesIO(client.get(f"/download/{identity}/keep").content))
    written = {path.name for path in tmp_path.iterdir()} - {"clinic.csv"}
    assert written >= {*handed.namelist(), *kept.namelist()}
    is_merged = query.endswith(MERGED)
    before, _, after = page.partition('<div class="copy"><code><span>lowlift</span>')
    assert after, "what the command is for stands above it"
    assert "The command is for another table with the same columns" in before
    words = "On this table nothing is drawn", "On this table it draws a second release"
    assert tuple(word in before for word in words) == (is_merged, not is_merged)
    assert ("The table to hand out again is the one above" in before) == (not is_merged)
    if is_merged:
        tables = (
            (tmp_path / "clinic-safe.csv").read_text(),
            client.get(f"/download/{identity}/table").text,
        )
        assert sorted(tables[0].splitlines()) == sorted(tables[1].splitlines())


def test_before_a_table_is_removed_it_is_said_what_the_ledger_keeps_and_asks_for(teller):
    key = given(teller)
    assert ">Publications</a>" not in teller.get("/").text  # there is none
    post(teller, f"table={key}&{CLINIC}", to="the ministry")
    page = teller.get(f"/?remove={key}").text
    assert "The ledger keeps what it has of it." in page
    assert "lowlift asks for <strong>clinic-safe.release.json</strong>." in page
    assert '<a href="/#publications">Publications</a>' in page


def test_a_double_click_writes_once(seen, teller, ledger):
    seen.go(f"/publish?table={given(teller)}&{CLINIC}")
    ready(seen.page).dblclick()
    expect(seen.page.get_by_text("Written and verified")).to_be_visible()
    assert [entry.state for entry in read_ledger(ledger)] == ["published"]


def test_a_second_tab_that_does_not_know_of_the_first_writes_nothing(seen, teller, ledger):
    key, first = given(teller), seen.page
    places = [f"/publish?table={key}&s=disease&x=zip&limit={factor}" for factor in (2, 3)]
    for place in places:
        settled(teller, place)
    seen.go(places[0])
    second = seen.context.new_page()
    seen.go(places[1], second)
    late = ready(second)
    ready(first).click()
    expect(first.get_by_text("Written and verified")).to_be_visible()
    late.click()
    expect(second.get_by_text("nothing was written")).to_be_visible()
    assert len(read_ledger(ledger)) == 1


def test_nothing_is_drawn_for_a_recipient_whose_cards_were_not_shown(seen, teller, ledger):
    query = f"table={given(teller)}&{CLINIC}"
    seen.go(f"/publish?{query}")
    page = seen.page
    draw, field = ready(page), page.get_by_label("Recipient")
    expect(ask(page, "ledger")).to_contain_text("has no earlier table of these people")
    with page.expect_request("**/publish/asks?*") as asked:
        field.press("End")
        field.type(" at large", delay=5)
        expect(draw).to_be_disabled()
        expect(page.get_by_text("Leave the field first")).to_be_visible()
        field.press("Enter")
    assert parse_qs(urlsplit(asked.value.url).query)["to"] == ["everybody at large"]
    expect(draw).to_be_enabled()
    expect(page.locator("#asks")).to_contain_text("for everybody at large")
    assert "/publish?" in page.url
    data = {"token": token_of(page.content()), "setting": query, "to": "the institute"}
    for shown in ("", "to=everybody", "to=the+institute&keep=age"):
        answer = teller.post("/publish", data=data | {"shown": shown})
        assert (answer.status_code, "was not shown" in answer.text) == (422, True)
    assert not ledger.exists()
    answer = teller.post("/publish", data=data | {"shown": "to=the+institute"})
    assert (answer.status_code, "has changed since" in answer.text) == (422, True)
    assert not ledger.exists()
    cards = form_of(settled(teller, f"/publish?{query}&to=the+institute"))
    answer = teller.post("/publish", data=data | cards)
    assert answer.status_code == 303
    settled(teller, answer.headers["location"])  # or it is entered in the next test's ledger


def test_what_changed_in_the_ledger_since_is_looked_at_again(telling, teller, ledger):
    """A table that was withdrawn or published elsewhere, while a page is open."""
    text = clinic()
    query = f"table={given(teller, text=text)}&s=disease&x=zip&limit=1.2"
    first = settled(teller, f"/publish?{query}&to=the+ministry")
    assert "has no earlier table of these people" in first
    with telling.client() as other:
        loose = f"table={given(other, text=text)}&{CLINIC}"
        page, _ = post(other, loose, to="the ministry")
        assert "Written and verified" in page
    data = form_of(first) | {"setting": query, "to": "the ministry"}
    answer = teller.post("/publish", data=data)
    assert (answer.status_code, "has changed since" in answer.text) == (422, True)
    again = settled(teller, f"/publish?{query}&to=the+ministry")
    assert "this goes beyond your limit" in again
    (entry,) = read_ledger(ledger)
    withdraw(ledger, entry.id)
    again = settled(teller, f"/publish?{query}&to=the+ministry")
    assert "has no earlier table of these people" in again


def test_columns_that_are_added_unchanged_are_looked_at_before_the_draw(visit, client):
    rows = "\n".join(
        f"p{k}@example.org,{'ab'[k % 2]},{'uv'[k % 3 == 0]},{'xy'[k % 5 == 0]}" for k in range(400)
    )
    key = given(client, "people.csv", f"mail,ward,wing,ill\n{rows}\n")
    query = f"table={key}&s=ill&x=ward&limit=1.5"
    # The limit does not hold with it: nothing can be written.
    visit.go(f"/publish?{query}&keep=mail&to=them")
    kept = ask(visit.page, "kept")
    expect(kept).to_contain_text("Cannot be added unchanged: mail")
    expect(visit.page.locator("#answer")).to_have_attribute("data-state", "cannot")
    expect(visit.page.get_by_role("button", name="Draw and write the table")).to_have_count(0)
    visit.page.get_by_label("mail", exact=True).uncheck()
    draw = ready(visit.page)
    expect(draw).to_be_enabled()
    expect(visit.page.locator("#answer")).to_have_attribute("data-state", "useful")
    # Without a lower side it does, although each row is then that of a person whose value it tells.
    loose = f"table={key}&s=ill&x=ward&criterion=max-lift&epsilon=2"
    page, where = post(client, loose, keep="mail")
    assert (where, "decide that first" in page) == ("", True)
    visit.go(f"/publish?{loose}&keep=mail")
    draw = ready(visit.page)
    expect(ask(visit.page, "proves")).to_contain_text("can make it certain")
    expect(ask(visit.page, "kept:mail")).to_contain_text("'mail' can identify people")
    expect(draw).to_be_disabled()
    for box in visit.page.get_by_label("Publish it all the same").all():
        box.check()
    expect(draw).to_be_enabled()
    panel = visit.page.locator("#answer")
    expect(panel).to_have_attribute("data-state", "warned")  # not green
    # What was worked out for the other columns alone is not said of all of them.
    expect(panel).to_contain_text("depends on the columns that are added unchanged, too")
    expect(panel.locator(".beliefs")).to_have_count(0)
    consent = {"proves": "yes", "kept:mail": "yes"}
    page, where = post(client, loose, keep="mail", **consent)
    assert ("Written and verified" in page, "At the worst" in page) == (True, False)
    report = client.get(f"/download/{where.rsplit('/', 1)[1]}/report").text
    assert "with both they can go further, up to the limit." in report
    ask(visit.page, "kept:mail").get_by_role("link", name="Leave mail out").click()
    expect(visit.page).to_have_url(re.compile("^(?!.*keep=).*/publish"))


def test_to_rows_that_are_drawn_anew_nothing_is_added(client):
    query = f"table={given(client)}&s=disease&x=zip&x=age&limit=3"
    assert "Add more columns" not in settled(client, f"/publish?{query}")
    text = clinic().splitlines()
    more = "\n".join(
        [f"{text[0]},ward", *(f"{line},{'ab'[k % 2]}" for k, line in enumerate(text[1:]))]
    )
    query = f"table={given(client, text=more)}&s=disease&x=zip&x=age&limit=3"
    assert "Add more columns" not in settled(client, f"/publish?{query}")
    page = settled(client, f"/publish?{query}&keep=ward")
    assert "Cannot be added unchanged: ward" in page
    assert 'id="draw"' not in page


def test_the_panel_is_grey_until_the_cards_of_a_new_recipient_are_there(seen, teller, ledger):
    seen.go(f"/publish?table={given(teller)}&{CLINIC}")
    page, held = seen.page, []
    ready(page)
    panel, field = page.locator("#answer"), page.get_by_label("Recipient")
    expect(panel).to_have_attribute("data-state", "useful")

    def hold(route):  # the first question only
        route.continue_() if held else held.append(route)

    page.route("**/publish/asks?*", hold)
    field.fill("the ministry")
    expect(panel).to_have_attribute("aria-busy", "true")
    with page.expect_request("**/publish/asks?*"):
        field.press("Tab")
    expect(panel.get_by_role("heading", level=2)).to_have_text("Recomputing")
    held[0].continue_()
    expect(page.locator("#asks")).to_contain_text("for the ministry")
    expect(panel).not_to_have_attribute("aria-busy", "true")
    expect(panel).to_have_attribute("data-state", "useful")


def test_recipients_that_the_ledger_knows_are_offered(seen, teller, ledger):
    key = given(teller)
    post(teller, f"table={key}&{CLINIC}", to="The Ministry")
    seen.go(f"/publish?table={key}&s=disease&x=zip&limit=1.2&to=the+institute")
    page = seen.page
    expect(ask(page, "ledger")).to_contain_text("New to the ledger.")
    page.get_by_role("button", name="The Ministry").click()
    expect(page.get_by_label("Recipient")).to_have_value("The Ministry")
    expect(ask(page, "ledger")).to_contain_text("With what The Ministry already has")
    page.get_by_label("Recipient").fill("  the ministry")
    page.get_by_label("Recipient").press("Tab")
    expect(ask(page, "ledger")).to_contain_text("With what the ministry already has")


def test_the_list_of_files_follows_the_choices(visit, client):
    visit.go(titanic(client).replace("/columns", "/publish"))
    page = visit.page
    ready(page)
    out, kept = page.locator("#hand-out"), page.locator("#hold-back")
    expect(out).to_contain_text("codebook.json")
    ask(page, "codebook").get_by_label("Keep the codebook back").check()
    expect(out).not_to_contain_text("codebook.json")
    expect(kept).to_contain_text("codebook.json")
    ask(page, "codebook").get_by_label("Round the codebook").check()
    expect(out).to_contain_text("codebook.json")


def test_what_the_report_warns_of_is_told_again_when_it_is_written(client):
    page, _ = post(client, titanic(client).partition("?")[2])
    assert "Warnings, as they stand in the report" in page
    assert "Read them before you hand anything out" not in page
    assert "nor less than" in page  # the lower side
    assert "At the worst, " in page


@pytest.mark.second_lane
def test_53_columns_with_gaps_and_dates_are_written(visit, client):
    address = f"/publish?table={given(client, 'register.csv', register())}&s=disease"
    settled(client, address)
    visit.go(address)
    draw = ready(visit.page)
    # A day of birth that hardly anybody shares is no identifier by itself, and is asked for.
    for box in visit.page.get_by_label("Publish it all the same").all():
        box.check()
    draw.click()
    expect(visit.page.get_by_text("Written and verified")).to_be_visible()
    identity = visit.page.url.rsplit("/", 1)[1]
    header, *rows = client.get(f"/download/{identity}/table").text.splitlines()
    assert header.startswith("born,ward,age,code,item0,")
    assert len(rows) == 400
    assert any(",," in line for line in rows)
    assert not re.search("@example|N\\d+ (Ada|Bo|Cy)", "\n".join(rows))


def test_a_reload_keeps_what_was_chosen_and_all_that_follows_from_it(visit, client):
    page = visit.page
    visit.go(titanic(client).replace("/columns", "/publish"))
    ready(page)
    codebook = ask(page, "codebook")
    for name in ("Keep the codebook back", "Hand out the exact codebook", "Round the codebook"):
        codebook.get_by_label(name).check()
        page.reload()
        ready(page)
        # A browser may bring the choice back, or not: what stands there is what will be written.
        is_kept = codebook.get_by_label("Keep the codebook back").is_checked()
        is_safe = codebook.get_by_label("Round the codebook").is_checked()
        holder = page.locator("#hold-back" if is_kept else "#hand-out")
        expect(holder).to_contain_text("codebook.json")
        expect(codebook.locator(".sign")).to_have_text("settled" if is_safe else "your choice")


def test_a_reload_while_it_is_written_writes_nothing_more(seen, teller, ledger):
    header, *rows = clinic(4000).splitlines()
    key = given(teller, text="\n".join([header, *(rows * 40)]) + "\n")
    address = f"/publish?table={key}&{CLINIC}"
    settled(teller, address)
    seen.go(address)
    page = seen.page
    ready(page).click()
    page.wait_for_url("**/published/*")
    where = page.url
    for _ in range(3):
        page.reload()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    assert page.url == where
    page.go_back()
    page.go_forward()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    assert [entry.state for entry in read_ledger(ledger)] == ["published"]


def test_two_tabs_of_one_page_write_once(seen, teller, ledger):
    address = f"/publish?table={given(teller)}&{CLINIC}"
    settled(teller, address)
    seen.go(address)
    other = seen.context.new_page()
    seen.go(address, other)
    late = ready(other)
    ready(seen.page).click()
    expect(seen.page.get_by_text("Written and verified")).to_be_visible()
    late.click()
    expect(other.get_by_text("Written and verified")).to_be_visible()
    assert other.url == seen.page.url
    assert [entry.state for entry in read_ledger(ledger)] == ["published"]


def test_nothing_can_be_drawn_by_a_page_whose_server_is_gone(chromium, tmp_path):
    ledger = tmp_path / "ledger.sqlite"
    server = Server(tmp_path, LOWLIFT_LEDGER=str(ledger))
    visit = None
    try:
        with server.client() as client:
            address = f"/publish?table={given(client)}&{CLINIC}"
            settled(client, address)
            visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
            visit.go(address)
            draw = ready(visit.page)
            server.process.kill()
            server.process.wait(20)
            expect(visit.page.get_by_text("The server does not answer")).to_be_visible()
            expect(visit.page.locator("#publish")).to_have_attribute("inert", "")
            draw.evaluate("found => found.focus()")
            assert not draw.evaluate("found => found === document.activeElement")
            assert "/publish?" in visit.page.url
            assert not ledger.exists()
    finally:
        if visit is not None:
            visit.close()
        server.stop()


def test_two_forms_at_the_same_time_write_once(teller, ledger):
    query = f"table={given(teller)}&{CLINIC}"
    data = form_of(settled(teller, f"/publish?{query}")) | {"setting": query}
    places = []

    def send():
        answer = teller.post("/publish", data=data)
        places.append(answer.headers.get("location", answer.text))

    both = [threading.Thread(target=send) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(set(places)) == 1, places
    assert "Written and verified" in settled(teller, places[0])
    assert [entry.state for entry in read_ledger(ledger)] == ["published"]


def test_the_recipient_goes_to_the_ledger_and_the_report(teller, ledger):
    page, where = post(teller, f"table={given(teller)}&{CLINIC}", to="Ministry of Health")
    assert "clinic-safe.csv, for Ministry of Health" in page
    assert [entry.recipient for entry in read_ledger(ledger)] == ["Ministry of Health"]
    identity = where.rsplit("/", 1)[1]
    report = teller.get(f"/download/{identity}/report").text
    assert "<dt>Recipient</dt><dd>Ministry of Health</dd>" in report
    public = teller.get(f"/download/{identity}/public-report").text
    assert "Ministry" not in public


def test_everybody_is_the_public_however_it_is_written(seen, teller, ledger):
    seen.go(f"/publish?table={given(teller)}&{CLINIC}&to=+Everybody")
    page = seen.page
    expect(page.get_by_text("If it becomes public, write: everybody.")).to_be_visible()
    expect(page.get_by_label("Recipient")).to_have_value("everybody")
    ready(page).click()
    expect(page.get_by_role("heading", name="clinic-safe.csv, for everybody")).to_be_visible()
    assert [entry.recipient for entry in read_ledger(ledger)] == ["everybody"]
    # Whoever else asks has it already: no other draw is offered, and another one leads back to it.
    expect(page.get_by_text("Everybody has this table")).to_be_visible()
    expect(page.get_by_role("link", name="Publish for someone else")).to_have_count(0)
    where = page.url
    seen.go(f"/publish?table={given(teller)}&s=disease&x=zip&limit=1.2&to=the+press")
    ledgers = ask(page, "ledger")
    expect(ledgers).to_contain_text("What was published to everybody, the press has too.")
    expect(ledgers.get_by_role("link", name="Write it for someone else")).to_have_count(0)
    ledgers.get_by_role("link", name="Hand out the table that they have").click()
    expect(page).to_have_url(where)


def test_what_breaks_the_limit_together_is_refused_before_the_draw(seen, teller, ledger):
    key = given(teller)
    page, _ = post(teller, f"table={key}&{CLINIC}", to="the ministry")
    assert "Written and verified" in page
    tight = f"table={key}&s=disease&x=zip&limit=1.2"
    seen.go(f"/publish?{tight}&to=the+ministry")
    page = seen.page
    ledgers = ask(page, "ledger")
    expect(ledgers).to_contain_text("With what the ministry already has, this goes beyond")
    expect(ledgers).to_contain_text("Together")
    expect(ledgers).to_contain_text("2 times")
    entry = read_ledger(ledger)[0]
    expect(ledgers.locator(".copy code")).to_have_text(f"lowlift ledger withdraw {entry.id}")
    expect(page.locator(".ask")).to_have_count(1)  # nothing else is to be known
    above = "found => found.getBoundingClientRect().top - found.previousElementSibling"
    gap = page.locator("h2 + .notice.bad").evaluate(f"{above}.getBoundingClientRect().bottom")
    assert gap >= 8
    expect(ledgers).not_to_contain_text("stricter")
    expect(page.locator("#asks .pick")).to_have_count(0)  # nothing to consent to
    expect(page.locator('#answer[data-state="cannot"]')).to_contain_text("Goes beyond your limit")
    expect(page.get_by_role("button", name="Draw and write the table")).to_have_count(0)
    expect(page.get_by_role("heading", name="What will be written")).to_have_count(0)
    # Another recipient holds nothing: the answer is the setting's own again.
    page.get_by_label("Recipient").fill("the institute")
    page.get_by_label("Recipient").press("Tab")
    expect(page.locator("#answer")).to_contain_text("This table keeps your limit of 1.2 times")
    expect(page.get_by_role("button", name="Draw and write the table")).to_be_visible()
    expect(page).to_have_url(re.compile("to=the\\+institute"))
    # The form alone cannot go round it.
    answer, where = post(teller, tight, to="the ministry", again="yes")
    assert (where, "nothing was written" in answer) == ("", True)
    assert len(read_ledger(ledger)) == 1


def test_a_release_that_is_gone_is_given_back(chromium, tmp_path):
    """The files of a session vanish with the server; the ledger stays."""
    ledger, variables = tmp_path / "ledger.sqlite", {}
    variables["LOWLIFT_LEDGER"] = str(ledger)
    first = Server(tmp_path, **variables)
    try:
        with first.client() as client:
            page, where = post(client, f"table={given(client)}&s=disease&x=zip&limit=1.3")
            assert "Written and verified" in page
            identity = where.rsplit("/", 1)[1]
            release = client.get(f"/download/{identity}/release").content
            assert "clinic-safe.release.json" in page
            assert "--earlier" in page
    finally:
        first.stop()
    again = Server(tmp_path, **variables)
    try:
        with again.client() as client:
            visit = Visit(chromium, again, client)
            query = f"table={given(client)}&s=disease&x=zip&criterion=max-lift&epsilon=2"
            visit.go(f"/publish?{query}")
            page, ledgers = visit.page, ask(visit.page, "ledger")
            expect(ledgers).to_contain_text("release is missing")
            expect(ledgers.get_by_label("Do not publish yet")).to_be_checked()
            expect(page.locator('#answer[data-state="waiting"]')).to_contain_text("Cannot be told")
            expect(page.get_by_role("button", name="Draw and write")).to_be_disabled()
            ask(page, "proves").get_by_label("Publish it all the same").check()
            ledgers.get_by_label("Publish although nobody can tell").check()
            expect(page.get_by_role("button", name="Draw and write")).to_be_enabled()
            ledgers.get_by_label("Do not publish yet").check()
            expect(page.get_by_role("button", name="Draw and write")).to_be_disabled()
            _, where = post(client, query)
            assert where == ""
            file = {"name": "clinic-safe.release.json", "mimeType": "application/json"}
            page.get_by_label("Release file of an earlier table").set_input_files(
                {**file, "buffer": release}
            )
            page.get_by_role("button", name="Give it back").click()
            expect(ask(page, "ledger")).to_contain_text("Together they keep your limit")
            expect(ask(page, "ledger")).to_have_class("ask")  # a value can be ruled out
            ask(page, "proves").get_by_label("Publish it all the same").check()
            ready(page).click()
            expect(page.get_by_text("Written and verified")).to_be_visible()
            states = [(entry.state, entry.is_unaudited) for entry in read_ledger(ledger)]
            assert states == [("published", False), ("published", False)]
            visit.check()
            visit.close()
    finally:
        again.stop()


def test_what_is_no_release_is_not_taken(server, client):
    token = token_of(client.get("/").text)
    for name, content in (("a.json", b"{}"), ("a.csv", b"a,b\n1,2\n"), ("a.json", b"\0")):
        answer = client.post("/earlier", data={"token": token}, files={"file": (name, content)})
        assert answer.status_code == 422
        assert "Traceback" not in answer.text
    answer = client.post("/earlier", data={"token": "x"}, files={"file": ("a.json", b"{}")})
    assert answer.status_code == 403
    with server.visitor() as stranger:
        answer = stranger.post("/earlier", files={"file": ("a.json", b"{}")})
    assert answer.status_code == 401


@pytest.mark.second_lane
def test_a_server_killed_while_it_writes_leaves_nothing_that_looks_whole(tmp_path):
    """A retry is the first publication: the ledger counts one."""
    ledger = tmp_path / "ledger.sqlite"
    table = tmp_path / "many.csv"
    header, *rows = clinic(4000).splitlines()
    table.write_text("\n".join([header, *(rows * 150)]) + "\n")
    query = "table=given&s=disease&x=zip&limit=2"
    # Nobody listens to the work, which is not to end for that.
    limits = SHORT | {"tab_seconds": 600.0}
    first = Server(tmp_path, str(table), limits=limits, LOWLIFT_LEDGER=str(ledger))
    with first.client() as client:
        data = form_of(settled(client, f"/publish?{query}")) | {"setting": query}
        assert client.post("/publish", data=data).status_code == 303
        until(lambda: [path for path in first.files() if "many-safe" in path.name])
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(30)
    receipts = [path for path in first.files() if path.name == "many-safe.receipt.json"]
    assert receipts == []
    first.stop()
    again = Server(tmp_path, str(table), LOWLIFT_LEDGER=str(ledger))
    try:
        with again.client() as client:
            page, _ = post(client, query)
            assert "Written and verified" in page, page
    finally:
        again.stop()
    held = [entry for entry in read_ledger(ledger) if entry.is_held or entry.state == "published"]
    assert len(held) == 1
    assert Path(table).exists()
