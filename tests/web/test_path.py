"""The whole path in a browser: upload, columns, verdict, sliders, search, compare, publish."""

import csv
import json
import re
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import expect

from web.browsing import Visit, choose, payload, slide, upload_file
from web.serving import MARKERS, clinic

DOWNLOADS = ("table", "codebook", "public-report", "report", "release", "receipt")


@pytest.fixture
def chosen(visit):
    """The small table, with its columns chosen and its verdict seen."""
    visit.go("/")
    upload_file(visit.page, payload("clinic.csv", clinic()))
    choose(visit.page, "disease", "Sensitive")
    choose(visit.page, "zip", "Publish")
    expect(badge(visit.page)).to_be_visible()
    return visit


def badge(page):
    return page.locator("#result .verdict .badge")


def kept(page):
    """The line beside the sliders."""
    return page.locator("#brief")


def test_a_preview_of_sizes_and_the_raw_verdict_comes_with_the_columns(chosen):
    result = chosen.page.locator("#result")
    expect(result).to_contain_text("3 sensitive values, 5 to publish")
    expect(result).to_contain_text("Published as they are, the bound would not hold")
    expect(chosen.page.get_by_role("row", name="zip text, 5 values")).to_be_visible()


def moved(page, label, name, value):
    """Move a slider; return the line beside it once it tells of this very setting."""
    slide(page, label, value)
    expect(page).to_have_url(re.compile(rf"&{name}={value}(&|$)"))
    expect(kept(page)).to_contain_text("kept")
    return kept(page).inner_text()


def test_a_slider_changes_the_verdict(chosen):
    page = chosen.page
    loose = moved(page, "Budget ε", "epsilon", 8)
    expect(page.locator("#epsilon-shown")).to_have_text("8.00")
    tight = moved(page, "Budget ε", "epsilon", 0.05)
    assert percent(tight) < percent(loose)
    middle = moved(page, "Budget ε", "epsilon", 2)
    assert middle != tight
    assert moved(page, "λ, the lower", "split", 0.95) != middle


def percent(line):
    return float(re.search(r"([\d.]+)%", line)[1])


def test_the_pictures_and_the_trade_off_follow(chosen):
    page = chosen.page
    expect(page.get_by_role("heading", name="Lift before and after")).to_be_visible()
    expect(page.get_by_role("heading", name="The trade-off")).to_be_visible()
    for name in ("Lift of S by X as it is", "Lift of S by what is published"):
        expect(page.get_by_role("region", name=name).locator("svg")).to_be_visible()


def test_options_that_a_criterion_does_not_have_are_not_there(chosen):
    page = chosen.page
    expect(page.get_by_label("Order α")).to_be_hidden()
    page.get_by_label("Criterion").select_option("alpha")
    expect(page.get_by_label("Order α")).to_be_visible()
    page.get_by_label("Criterion").select_option("ldp")
    expect(page.get_by_label("λ, the lower")).to_be_hidden()
    expect(page).to_have_url(re.compile("criterion=ldp(?!.*split=)"))


def test_numbers_take_bins(chosen):
    page = chosen.page
    choose(page, "age", "Publish")
    expect(page.locator("#result .problem")).to_contain_text("bin")
    page.get_by_label("Bins of age").fill("0,30,60,120")
    expect(page.locator("#result")).to_contain_text("3 sensitive values, 15 to publish")
    page.get_by_label("Bins of age").fill("0,30,x")
    expect(page.locator("#result .problem")).to_be_visible()


@pytest.mark.parametrize(
    ("mechanism", "named"),
    [
        ("auto", "random-response"),
        ("watchdog", "watchdog"),
        ("optimal-merging", "optimal-merging"),
        ("subset-random-response", "subset-random-response"),
    ],
)
def test_every_mechanism_answers(chosen, mechanism, named):
    page = chosen.page
    page.get_by_label("How to randomise or merge").select_option(mechanism)
    expect(page.locator("#result")).to_contain_text(re.compile(rf"By {named} \("))
    expect(page).to_have_url(re.compile(f"mechanism={mechanism}&"))
    expect(badge(page)).to_have_text("The bound holds", ignore_case=True)


def test_the_bound_is_seen_to_tighten_and_a_search_is_stopped(visit, long_table):
    page = visit.page
    visit.go("/")
    upload_file(page, long_table)
    choose(page, "s", "Sensitive")
    choose(page, "x", "Publish")
    expect(badge(page)).to_be_visible()
    expect(kept(page)).to_contain_text("kept")
    page.get_by_label("How to randomise or merge").select_option("random-response")
    progress = page.locator("#result > .working .progress")
    expect(progress).to_contain_text("no release can keep more than")
    # The verdict on another setting does not stand beside it.
    expect(kept(page)).to_be_empty()
    expect(progress.locator("svg polyline")).to_have_count(2)
    first = numbers_of(progress)
    expect(progress).not_to_contain_text(f"no release can keep more than {first[1]:.4f}")
    later = numbers_of(progress)
    assert later[0] >= first[0]
    assert later[1] < first[1]
    page.get_by_role("button", name="Stop here and keep the best").click()
    expect(badge(page)).to_have_text("The bound holds", ignore_case=True)
    expect(page.locator("#result")).to_contain_text("By random-response")
    expect(kept(page)).to_contain_text("kept; the search stopped before it was done")


def numbers_of(progress):
    """Return the information kept and the proven bound."""
    found = re.search(r"kept: ([\d.]+).*more than ([\d.]+\d)", progress.inner_text())
    return float(found[1]), float(found[2])


def start_search(visit, long_table):
    """Start a long search and return what the page says of it, once a bound is proven."""
    page = visit.page
    visit.go("/")
    upload_file(page, long_table)
    page.get_by_label("How to randomise or merge").select_option("random-response")
    choose(page, "s", "Sensitive")
    choose(page, "x", "Publish")
    working = page.locator("#result > .working")
    expect(working).to_contain_text("no release can keep more than")
    return working


def test_a_cancelled_search_says_so_and_a_slider_goes_on(visit, long_table):
    page, working = visit.page, start_search(visit, long_table)
    working.get_by_role("button", name="Cancel").click()
    expect(working).to_contain_text("Cancelled")
    expect(working.get_by_role("button", name="Cancel")).to_be_hidden()
    page.get_by_label("How to randomise or merge").select_option("subset-merging")
    expect(badge(page)).to_be_visible()


def test_the_answer_to_a_search_that_another_setting_replaced_is_dropped(visit, long_table):
    page, working = visit.page, start_search(visit, long_table)
    job = re.search(r"/jobs/([^/]+)/", working.get_attribute("data-events"))[1]
    held = []

    def hold(route):  # the question of the search, not that of the form
        asks = not held and route.request.headers.get("hx-target") != "result"
        held.append(route) if asks else route.continue_()

    page.route("**/look?*", hold)
    token = {"token": page.locator("input[name=token]").first.input_value()}
    with page.expect_request("**/look?*"):
        visit.client.post(f"/jobs/{job}/stop", data=token)
    page.get_by_label("How to randomise or merge").select_option("subset-merging")
    expect(badge(page)).to_be_visible()
    with page.expect_event("requestfinished", lambda found: found == held[0].request):
        held[0].continue_()
    expect(page.locator("#result")).to_contain_text("By subset-merging")
    expect(page).to_have_url(re.compile("mechanism=subset-merging"))


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
    expect(badge(page)).to_have_count(0)


def test_three_settings_side_by_side(chosen):
    page = chosen.page
    for epsilon in (0.5, 4):
        page.get_by_role("link", name="Compare with other settings").click()
        page.get_by_role("link", name="Add another setting").click()
        slide(page, "Budget ε", epsilon)
        expect(page).to_have_url(re.compile(f"epsilon={epsilon}&"))
        expect(kept(page)).to_contain_text("kept")
    page.get_by_role("link", name="Compare with other settings").click()
    settings = page.get_by_role("article")
    expect(settings).to_have_count(3)
    expect(page.get_by_role("link", name="Add another setting")).to_have_count(0)
    for place, bound in enumerate(("ALIP(lower=1", "ALIP(lower=0.25", "ALIP(lower=2")):
        expect(settings.nth(place).get_by_role("heading").first).to_contain_text(bound)
        expect(settings.nth(place).locator(".badge")).to_be_visible()
        expect(settings.nth(place).locator("svg").first).to_be_visible()
    settings.nth(1).get_by_role("link", name="Leave it out").click()
    expect(page.get_by_role("article")).to_have_count(2)
    assert len(parse_qs(urlsplit(page.url).query)["setting"]) == 2


def test_what_is_published_is_downloaded_and_verifies(chosen, chromium, tmp_path):
    page = chosen.page
    page.get_by_role("button", name="Write the safe table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    for name in DOWNLOADS:
        with page.expect_download() as waiting:
            page.locator(f'a[href$="/{name}"]').click()
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "clinic-safe.csv",
        "clinic-safe.codebook.json",
        "clinic-safe.release.json",
        "clinic-safe.receipt.json",
        "report.html",
        "public-report.html",
    }
    check_the_table(tmp_path)
    for name in ("report.html", "public-report.html"):
        check_the_report(chromium, tmp_path / name)
    for name in ("clinic-safe.csv", "clinic-safe.codebook.json", "public-report.html"):
        assert MARKERS[0] not in (tmp_path / name).read_text()


def check_the_table(folder):
    """Verify by the command line, against the table it came from."""
    (folder / "clinic.csv").write_text(clinic())
    with (folder / "clinic-safe.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    assert set(rows[0]) == {"zip"}
    assert json.loads((folder / "clinic-safe.receipt.json").read_text())
    command = [sys.executable, "-m", "lowlift._cli", "verify", "clinic-safe.release.json"]
    command += ["clinic-safe.csv", "--against", "clinic.csv"]
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


def test_a_second_publication_is_asked_for_twice(chosen):
    page = chosen.page
    address = page.url
    page.get_by_role("button", name="Write the safe table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    page.goto(address)
    expect(page.get_by_text("You have published this table 1 time here")).to_be_visible()
    again = page.get_by_label("Draw from this table once more")
    expect(again).not_to_be_checked()
    expect(page.get_by_role("heading", name="The trade-off")).to_be_visible()
    page.get_by_role("button", name="Write the safe table").click()
    expect(page).to_have_url(address)
    again.check()
    page.get_by_role("button", name="Write the safe table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()


def test_a_table_is_removed(chosen):
    chosen.go("/")
    page = chosen.page
    page.get_by_role("button", name="Remove clinic.csv").click()
    expect(page.get_by_role("link", name="clinic.csv")).to_have_count(0)


def test_the_demonstration_is_one_click(visit):
    visit.go("/")
    visit.page.get_by_role("button", name="Use the Titanic table").click()
    expect(badge(visit.page)).to_be_visible()
    expect(visit.page.locator("#result")).to_contain_text("2 sensitive values, 14 to publish")


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
