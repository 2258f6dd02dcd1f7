"""Settings side by side in a browser: one table, differences in bold, publish from any head."""

import re
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import expect

from web.browsing import answer, limit


def comparison(key, *settings):
    """Return the address that compares settings of the small table."""
    start = f"table={key}&s=disease&x=zip&mechanism=auto"
    return "/compare?" + urlencode([("setting", f"{start}&{each}") for each in settings])


@pytest.fixture
def three(visit, clinic_key):
    """Three settings that are answered."""
    visit.go(comparison(clinic_key, "limit=2", "limit=3", "limit=2&audience=population"))
    expect(visit.page.locator("#cmp .state.useful, #cmp .state.empty")).to_have_count(3)
    return visit.page


def row(page, name):
    return page.get_by_role("row", name=re.compile(f"^{name}"))


def test_settings_are_columns_and_differences_are_bold(three):
    expect(three.get_by_role("heading", level=1)).to_have_text("Three settings side by side")
    expect(three.locator("#cmp thead th .ttl")).to_have_text(
        ["2 times, everybody", "3 times, everybody", "2 times, sample"]
    )
    expect(row(three, "Limit").locator("td")).to_have_text(["2 times", "3 times", "2 times"])
    expect(row(three, "Limit").locator("td.dif")).to_have_text(["3 times"])
    expect(row(three, "The rows are").locator("td.dif")).to_have_text(["a sample, 95%"])
    expect(row(three, "Missing values").locator("td.dif")).to_have_count(0)
    weights = (
        row(three, "Limit")
        .locator("td")
        .evaluate_all("found => found.map(each => Number(getComputedStyle(each).fontWeight))")
    )
    assert weights[1] > max(weights[0], weights[2])
    expect(three.locator("#cmp svg.belief")).to_have_count(9)


def test_only_differences(three):
    same = row(three, "Missing values")
    expect(same).to_be_visible()
    chip = three.get_by_role("button", name="Only differences")
    chip.click()
    expect(chip).to_have_attribute("aria-pressed", "true")
    expect(same).to_be_hidden()
    expect(row(three, "Limit")).to_be_visible()
    chip.click()
    expect(same).to_be_visible()


def test_any_of_them_is_published_opened_or_left_out(three):
    expect(three.get_by_role("link", name="Publish B")).to_have_attribute(
        "href", re.compile("/publish[?].*limit=3")
    )
    three.get_by_role("link", name="Leave out A").click()
    expect(three.locator("#cmp thead th")).to_have_count(2)
    assert len(parse_qs(urlsplit(three.url).query)["setting"]) == 2
    three.get_by_role("link", name="Open B").click()
    expect(three).to_have_url(re.compile("/protection[?].*audience=population"))


def test_settings_are_added_one_by_one_up_to_four(visit, clinic_key):
    page = visit.page
    visit.go(f"/protection?table={clinic_key}&s=disease&x=zip")
    for factor in (1.5, 3, 5):
        answer(page).get_by_role("link", name="Add to compare").click()
        page.get_by_role("link", name="Add another setting").click()
        limit(page, factor)
        expect(page).to_have_url(re.compile(f"limit={factor}&"))
    answer(page).get_by_role("link", name="Add to compare").click()
    expect(page.locator("#cmp thead th .ttl")).to_have_text(
        ["5 times, everybody", "3 times, everybody", "1.5 times, everybody", "2 times, everybody"]
    )
    expect(page.get_by_role("link", name="Add another setting")).to_have_count(0)


def test_nothing_to_compare_says_so(visit):
    visit.go("/compare")
    expect(visit.page.get_by_text("There is nothing to compare yet")).to_be_visible()


def test_what_was_published_already_is_said(visit, clinic_key):
    page, address = visit.page, comparison(clinic_key, "limit=2", "limit=3")
    visit.go(address)
    expect(page.locator("#cmp .state.useful")).to_have_count(2)
    expect(row(page, "Published for")).to_have_count(0)
    page.get_by_role("link", name="Publish A").click()
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    visit.go(address)
    expect(row(page, "Published for").locator("td")).to_have_text(["everybody", "nobody yet"])
