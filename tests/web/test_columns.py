"""The step Columns in a browser: what each column is, its use, its groups, and bad tables."""

import contextlib
import re

import pytest
from playwright.sync_api import Error, expect

from lowlift.web.telling import Limits, telling
from lowlift.workflow import profile_columns
from web.browsing import Visit, advanced, answer, choose, go_to, payload, ready, upload_file
from web.serving import Server, clinic, register, settled, until, upload


def row(page, name):
    """Return the row of a column."""
    return page.locator(f'tr[data-name="{name}"]')


def opened(visit, name, text):
    """Upload a table and show its columns, with the styles that give them their widths."""
    visit.go("/")
    upload_file(visit.page, payload(name, text))
    ready(visit.page, visit.page.get_by_role("heading", name="What is each column for?"))
    return visit.page


def group(page, name):
    """Unfold the groups of a column; return its field once the histogram is there."""
    button = page.get_by_role("button", name=f"Group the values of {name}")
    ready(page, button)
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("group", name=f"Suggestions for {name}")).to_be_visible()
    return page.get_by_label(f"A new group of {name} starts at")


@pytest.fixture
def wide(visit):
    """A table of 53 columns with names, dates and empty cells."""
    return opened(visit, "register.csv", register())


@pytest.fixture
def phone(chromium, server, client):
    """A browser of the width of a phone."""
    visit = Visit(chromium, server, client, viewport={"width": 390, "height": 844}, has_touch=True)
    yield visit
    visit.check()
    visit.close()


def test_a_column_shows_its_kind_its_values_and_what_it_tells(visit):
    page = opened(visit, "clinic.csv", clinic())
    expect(row(page, "zip")).to_contain_text("text")
    expect(row(page, "zip")).to_contain_text("5 values")
    expect(row(page, "zip")).to_contain_text("b, c, e, d, …")
    expect(row(page, "age")).to_contain_text(re.compile(r"18 to 90, median \d+"))
    expect(row(page, "zip").locator(".tells")).to_have_text("")
    expect(page.get_by_role("columnheader", name="(choose what to protect first)")).to_be_visible()
    choose(page, "disease", "Protect")
    expect(row(page, "age").locator(".tells")).to_contain_text(
        "times as likely, measured in 20 groups"
    )
    expect(row(page, "zip").locator(".tells")).to_contain_text(
        re.compile(r"(up|down) to [\d.]+ times as likely|can rule a value out")
    )
    expect(row(page, "disease").locator(".tells")).to_contain_text("what you protect")
    expect(
        page.get_by_role("columnheader", name="How much it alone says about disease")
    ).to_be_visible()
    choose(page, "zip", "Protect")
    choose(page, "disease", "Publish")
    expect(
        page.get_by_role("columnheader", name="How much it alone says about zip")
    ).to_be_visible()
    expect(row(page, "disease").locator(".tells")).to_contain_text(
        re.compile("up to|down to|rule a value out|nothing")
    )


def test_what_columns_tell_is_of_the_last_choice(visit, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    visit.go(f"{address}&s=disease")
    page, held = visit.page, []
    expect(row(page, "zip").locator(".tells")).to_contain_text(re.compile("times|rule a value out"))
    page.route("**/columns/tells?*", lambda route: held.append(route), times=1)  # noqa: PLW0108 (needs a function)
    with page.expect_request("**/columns/tells?*"):
        choose(page, "zip", "Protect")
    choose(page, "disease", "Publish")
    with contextlib.suppress(Error):  # it was given up
        held[0].continue_()
    expect(
        page.get_by_role("columnheader", name="How much it alone says about zip")
    ).to_be_visible()
    expect(row(page, "disease").locator(".tells")).to_contain_text(
        re.compile("up to|down to|rule a value out|nothing")
    )


def test_what_a_column_tells_is_measured_in_its_groups(visit, tmp_path):
    page = opened(visit, "clinic.csv", clinic())
    choose(page, "disease", "Protect")
    path = tmp_path / "clinic.csv"
    path.write_text(clinic())
    found = profile_columns(str(path), "disease", bins={"age": "30,45,60,75"}, is_alone=True)
    age = next(column for column in found.columns if column.name == "age")
    said = telling(age, Limits(2.0, 2.0))
    grouped = f"{said.way} {said.word} times" if said.way else said.word
    plain = "measured in 20 groups"
    tells = row(page, "age").locator(".tells")
    expect(tells).to_contain_text(plain)
    field = group(page, "age")
    field.fill("30,45,60,75")
    expect(tells).to_contain_text(grouped)
    expect(tells).not_to_contain_text("measured in")
    page.reload()
    expect(tells).to_contain_text(grouped)
    choose(page, "age", "Leave out")  # groups are of columns that are used
    expect(tells).to_contain_text(plain)
    choose(page, "age", "Publish")
    expect(tells).to_contain_text(grouped)
    field.fill("60,30")  # which are no groups: nothing is told of others in their place
    expect(tells).to_have_text("waiting for the groups")
    expect(tells.locator("svg")).to_have_count(0)
    page.reload()
    expect(tells).to_have_text("waiting for the groups")
    expect(row(page, "zip").locator(".tells")).to_contain_text(re.compile("times|rule a value out"))


def test_groups_of_a_protected_column_change_what_all_others_tell(visit, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    visit.go(f"{address}&s=age&x=zip&bin:age=30,60")
    tells = row(visit.page, "zip").locator(".tells")
    expect(tells).to_contain_text("times")
    before = tells.inner_text()
    visit.page.get_by_label("A new group of age starts at").fill("20,22")
    expect(tells).to_contain_text("times")
    expect(tells).not_to_have_text(before)


def test_when_nothing_was_chosen_all_but_identifiers_is_published(wide):
    for name in ("patient", "name", "mail"):
        expect(row(wide, name)).to_contain_text("names a person")
        expect(row(wide, name)).to_contain_text("Left out: it names a person")
        expect(wide.get_by_role("radio", name=f"Publish: {name}", exact=True)).to_be_hidden()
    choose(wide, "disease", "Protect")
    answer(wide, "names")
    expect(wide.locator("#steps")).to_contain_text("1 protected, 49 to publish")
    assert not re.search("x=(patient|name|mail)&", wide.url)


def test_a_link_without_columns_publishes_the_same(visit, client):
    address = upload(client, "register.csv", register().encode()).headers["location"]
    visit.go(f"{address}&s=disease")
    answer(visit.page, "names")
    expect(visit.page.locator("#steps")).to_contain_text("1 protected, 49 to publish")


def test_an_identifier_is_published_by_a_deliberate_step_only(wide):
    choose(wide, "disease", "Protect")
    answer(wide, "names")
    row(wide, "mail").get_by_text("Publish mail …").click()
    expect(row(wide, "mail")).to_contain_text("mail names the person")
    wide.get_by_role("button", name="Publish mail").click()
    expect(wide).to_have_url(re.compile("x=mail&"))
    expect(wide.get_by_role("radio", name="Publish: mail")).to_be_checked()
    wide.reload()
    expect(wide.get_by_role("radio", name="Publish: mail")).to_be_checked()
    choose(wide, "mail", "Leave out")
    expect(wide).not_to_have_url(re.compile("x=mail&"))


def test_names_addresses_and_numbers_of_few_people_are_left_out(visit):
    people = ["Ada", "Bo", "Cy", "Dee", "Eva", "Fay", "Gus", "Hal", "Ivy", "Jo", "Kai", "Leo"]
    lines = [
        f"{name} Lee,{name.lower()}@example.org,{k + 1},{30 + k * 5 % 37},{'ab'[k % 2]}"
        for k, name in enumerate(people)
    ]
    page = opened(visit, "few.csv", "\n".join(["name,mail,id,age,ill", *lines]) + "\n")
    for name in ("name", "mail", "id"):
        expect(row(page, name)).to_contain_text("Left out: it names a person")
    choose(page, "ill", "Protect")
    expect(page.locator("#steps")).to_contain_text("1 protected, 1 to publish")
    expect(page).to_have_url(re.compile("x=age&"))
    assert not re.search("x=(name|mail|id)&", page.url)


def test_a_number_that_is_taken_for_an_identifier_is_protected_in_groups(visit):
    """Of salaries nearly every one differs: they are locked, and are what one would protect."""
    lines = [f"{20_000 + k * 137 % 70_001},{'abc'[k % 3]}" for k in range(400)]
    page = opened(visit, "pay.csv", "\n".join(["salary,dept", *lines]) + "\n")
    expect(row(page, "salary")).to_contain_text("Left out: it names a person")
    row(page, "salary").get_by_text("Publish or protect salary …").click()
    page.get_by_role("button", name="Protect salary").click()
    expect(page.get_by_role("radio", name="Protect: salary")).to_be_checked()
    expect(page).to_have_url(re.compile("s=salary&"))
    assert not re.search("x=salary&", page.url)
    expect(answer(page, "waiting")).to_contain_text("to protect it, group them")
    group(page, "salary")
    page.get_by_role("button", name="Quartiles").click()
    answer(page)
    page.reload()
    expect(page.get_by_role("radio", name="Protect: salary")).to_be_checked()


def test_flags_tell_what_speaks_against_a_column(wide):
    expect(row(wide, "ward")).to_contain_text("one value")
    # Empty cells are said, and are no flag.
    expect(row(wide, "item0").locator(".vals")).to_contain_text(
        re.compile(r"\d+ missing \(\d\d%\)")
    )
    expect(row(wide, "item0").locator(".tag")).to_have_count(0)
    expect(wide.get_by_role("button", name=re.compile("^Flagged"))).to_contain_text("5")
    expect(row(wide, "born")).to_contain_text("almost one value per row")
    advice = row(wide, "born").locator(".use .advice")
    expect(advice).to_contain_text("group its values")
    choose(wide, "disease", "Protect")
    expect(row(wide, "code")).to_contain_text("disease in other words")
    expect(row(wide, "code")).to_contain_text("tells it exactly")
    expect(row(wide, "code").locator(".use .advice")).to_be_empty()  # the notice above says it
    choose(wide, "born", "Leave out")
    expect(advice).to_be_hidden()
    choose(wide, "born", "Publish")
    expect(advice).to_be_visible()


def test_a_column_that_is_the_protected_one_is_left_out_by_one_click(wide):
    choose(wide, "disease", "Protect")
    notice = wide.locator("#given-away .notice")
    expect(notice).to_contain_text("code tells disease exactly.")
    expect(notice).to_contain_text("the other columns are usually changed more")
    choose(wide, "item3", "Leave out")
    expect(wide).not_to_have_url(re.compile("x=item3&"))
    link = notice.get_by_role("link", name="Leave it out")
    expect(link).not_to_have_attribute("href", re.compile("x=item3&"))
    link.click()
    expect(wide).not_to_have_url(re.compile("x=code&"))
    expect(wide.get_by_role("radio", name="Leave out: code")).to_be_checked()
    expect(
        wide.get_by_role("radio", name="Leave out: item3", exact=True)
    ).to_be_checked()  # as it was chosen
    expect(wide.get_by_role("radio", name="Publish: item4", exact=True)).to_be_checked()
    expect(row(wide, "code")).to_contain_text("tells it exactly")
    expect(notice).to_have_count(0)
    choose(wide, "code", "Publish")
    expect(notice).to_be_visible()
    choose(wide, "code", "Leave out")
    expect(notice).to_have_count(0)


def test_what_breaks_the_limit_on_either_side_says_so_in_words(visit, client):
    """Of `x`, the value v makes n a quarter as likely, and nothing twice as likely."""
    lines = ["s,x", *["y,u"] * 480, *["y,v"] * 190, *["n,u"] * 320, *["n,v"] * 10]
    address = upload(client, "low.csv", ("\n".join(lines) + "\n").encode()).headers["location"]
    visit.go(f"{address}&s=s&x=x&limit=2")
    tells = row(visit.page, "x").locator(".tells")
    expect(tells).to_contain_text("down to 0.15 times as likely")
    expect(tells).to_contain_text("beyond your limit")
    expect(tells.locator(".lift-bar.over")).to_be_visible()
    upper = "criterion=max-lift&epsilon=0.6931471805599453"  # which has no lower side
    visit.go(f"{address}&s=s&x=x&{upper}")
    expect(tells).to_contain_text("up to 1.42 times as likely")
    expect(tells).not_to_contain_text("beyond your limit")
    expect(tells.locator(".over")).to_have_count(0)


def test_what_the_filter_shows_is_left_out_at_once(wide):
    choose(wide, "disease", "Protect")
    answer(wide, "names")
    bulk = wide.locator("#leave-out-shown")
    expect(bulk).to_be_hidden()  # without a filter it would be of all columns
    wide.get_by_label("Filter columns").fill("item4")
    choose(wide, "item4", "Leave out")
    expect(wide.locator("#match")).to_have_text("6 of 53")
    expect(bulk).to_have_text("Leave out the 5 set to Publish")
    wide.get_by_label("Filter columns").fill("item")
    with wide.expect_request("**/answer?*") as asked:
        wide.get_by_role("button", name="Leave out the 44 set to Publish").click()
    assert "role%3Aitem7=&" in asked.value.url
    expect(wide.locator("#steps")).to_contain_text("1 protected, 4 to publish")
    expect(bulk).to_be_hidden()  # nothing of these is left
    expect(wide.get_by_label("Filter columns")).to_be_focused()
    wide.get_by_label("Filter columns").fill("")
    expect(bulk).to_be_hidden()
    wide.get_by_role("button", name=re.compile("^Publish")).click()
    expect(bulk).to_have_text("Leave out the 4 set to Publish")
    bulk.click()
    wide.get_by_role("button", name=re.compile("^All")).click()
    expect(wide.get_by_role("radio", name="Protect: disease", exact=True)).to_be_checked()
    expect(row(wide, "mail")).to_contain_text("Left out: it names a person")
    why = wide.locator("#onward")
    expect(why).to_contain_text("Choose what to publish first.")


def test_the_limit_stands_out_of_a_bar(visit, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    visit.go(f"{address}&s=disease&x=zip")
    tells = row(visit.page, "zip").locator(".tells")
    expect(tells.locator(".over")).to_be_visible()
    ends = "e => [e.getBoundingClientRect().top, e.getBoundingClientRect().bottom]"
    top, bottom = tells.locator(".lift-limit").evaluate(ends)
    bar_top, bar_bottom = tells.locator(".over").evaluate(ends)
    assert min(bar_top - top, bottom - bar_bottom) >= 2


def test_on_a_phone_a_column_says_of_what_it_tells(phone, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    phone.go(f"{address}&s=disease&x=zip")
    said = row(phone.page, "zip").get_by_text("says about disease")
    expect(said).to_be_visible()
    phone.page.set_viewport_size({"width": 1280, "height": 900})
    expect(said).to_be_hidden()  # the header says it


def test_on_a_phone_no_filter_is_cut_off(phone, client):
    phone.go(upload(client, "register.csv", register().encode()).headers["location"])
    search, chips = phone.page.get_by_label("Filter columns"), phone.page.locator("[data-show]")
    ready(phone.page, search)
    search.fill("item1")
    count = phone.page.get_by_text("11 of 53")
    expect(count).to_be_visible()
    line, beside = search.bounding_box(), count.bounding_box()
    assert line["y"] < beside["y"] + beside["height"] / 2 < line["y"] + line["height"]
    assert beside["x"] >= line["x"] + line["width"]
    for chip in chips.all():
        box = chip.bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= 390 - 16
    phone.page.get_by_role("button", name=re.compile("^Flagged")).click()
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390


def test_flags_that_are_measured_are_counted_from_the_start(client):
    address = upload(client, "register.csv", register().encode()).headers["location"]
    until(lambda: "disease in other words" in client.get(f"{address}&s=disease").text)
    page = client.get(f"{address}&s=disease").text
    said = re.search(r"Flagged <span class=\"n\">(\d+)", page)[1]
    assert int(said) == len(re.findall(r'id="flags-\d+"><span', page))


def test_columns_are_filtered_and_counted(wide):
    shown, heads = wide.locator("tr[data-name]:visible"), wide.get_by_role("columnheader").all()
    expect(shown).to_have_count(53)
    before = [head.bounding_box()["width"] for head in heads]
    wide.get_by_label("Filter columns").fill("item1")
    expect(shown).to_have_count(11)
    expect(wide.get_by_text("11 of 53")).to_be_visible()
    assert [head.bounding_box()["width"] for head in heads] == before
    wide.get_by_label("Filter columns").fill("no such")
    expect(wide.get_by_text("No column fits this filter")).to_be_visible()
    wide.get_by_label("Filter columns").fill("")
    expect(wide.locator("#match")).to_be_empty()
    left_out = wide.get_by_role("button", name=re.compile("^Left out"))
    expect(left_out).to_contain_text("3")
    left_out.click()
    expect(shown).to_have_count(3)
    wide.get_by_role("button", name=re.compile("^All")).click()
    choose(wide, "born", "Leave out")
    expect(left_out).to_contain_text("4")
    wide.get_by_role("button", name=re.compile("^Flagged")).click()
    expect(row(wide, "patient")).to_be_visible()
    expect(row(wide, "age")).to_be_hidden()


def test_the_header_stays_in_view(wide):
    row(wide, "item44").scroll_into_view_if_needed()
    for part in (wide.get_by_label("Filter columns"), wide.get_by_role("columnheader", name="Use")):
        box = part.bounding_box()
        assert 0 <= box["y"] < 200


def test_groups_are_said_by_handles_suggestions_and_words_alike(visit):
    page = opened(visit, "clinic.csv", clinic())
    choose(page, "disease", "Protect")
    answer(page)
    field, handles = group(page, "age"), page.locator("#setting [role=slider]")
    expect(handles).to_have_count(0)
    pressed = page.locator("[data-bins-text][aria-pressed=true]")
    expect(pressed).to_have_text("Automatic")
    expect(field).to_have_attribute("placeholder", "automatic")
    expect(page.locator("#setting .hint:visible")).to_have_text(
        "Choose a suggestion or type numbers. Automatic: lowlift forms groups from the data and "
        "does not publish where they begin. With quartiles, the starts of the groups are "
        "published; they say a little about the data.",
        use_inner_text=True,
    )
    field.fill("30, 60")
    expect(handles).to_have_count(2)
    expect(page.locator("#setting .hint:visible")).to_contain_text(
        "Drag a handle, use the arrow keys, or type numbers.", use_inner_text=True
    )
    expect(handles.first).to_have_attribute("aria-valuetext", "from 30 on")
    ages = [int(line.split(",")[1]) for line in clinic().splitlines()[1:]]
    low, high = sum(age < 30 for age in ages), sum(age >= 60 for age in ages)
    ends, said = (
        (f"below 30: {low} rows", f"60 and above: {high} rows"),
        page.locator("[data-list] > span"),
    )
    expect(said).to_have_text([ends[0], f"30 to 59: {len(ages) - low - high} rows", ends[1]])
    field.fill("30, 44.5, 60")  # what begins within a bar is not counted; the others are
    expect(said).to_have_text([ends[0], "30 to below 44.5", "44.5 to below 60", ends[1]])
    field.fill("30, 60")
    expect(pressed).to_have_count(0)
    expect(page).to_have_url(re.compile(r"bin%3Aage=30%2C\+60&"))
    answer(page)
    handles.first.focus()
    page.keyboard.press("ArrowRight")
    expect(field).to_have_value("31, 60")
    expect(page).to_have_url(re.compile("bin%3Aage=31%2C"))
    page.get_by_role("button", name="10 years").click()
    expect(field).to_have_value("width:10")
    expect(handles).to_have_count(8)
    expect(pressed).to_have_text("10 years")
    expect(page).to_have_url(re.compile("bin%3Aage=width%3A10"))
    page.get_by_role("button", name="Quartiles").click()
    expect(handles).to_have_count(3)
    expect(page).to_have_url(re.compile("bin%3Aage=quantiles%3A4"))
    answer(page)
    page.get_by_role("button", name="Automatic").click()
    expect(field).to_have_value("")
    expect(page).not_to_have_url(re.compile("bin%3Aage"))
    answer(page)


def test_a_button_says_which_groups_are_set_and_whether_they_are_shown(visit, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    long = ",".join(map(str, range(20, 90, 2)))
    visit.go(f"{address}&s=disease&x=zip&x=age&bin:age={long}")
    page = visit.page
    button, turned = (
        row(page, "age").locator("[data-groups]"),
        "e => getComputedStyle(e, '::before').rotate",
    )
    ready(page, button)
    expect(button).to_have_text(f"Groups: {long.replace(',', ', ')}")
    cell = row(page, "age").locator(".vals").bounding_box()
    assert button.bounding_box()["width"] <= cell["width"]
    assert button.bounding_box()["height"] < 40  # in one line
    assert button.evaluate(turned) == "90deg"
    button.click()
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(button).to_have_text(f"Groups: {long.replace(',', ', ')}")
    assert button.evaluate(turned) == "none"
    button.click()
    field = page.get_by_label("A new group of age starts at")
    field.fill("30, 60")
    expect(button).to_have_text("Groups: 30, 60")
    expect(button).to_have_accessible_name("Group the values of age: 30, 60")
    page.get_by_role("button", name="Automatic").click()
    expect(button).to_have_text("Group values")
    expect(button).to_have_accessible_name("Group the values of age")


def test_a_handle_is_dragged(visit):
    page = opened(visit, "clinic.csv", clinic())
    choose(page, "disease", "Protect")
    field = group(page, "age")
    field.fill("30, 60")
    handle = page.locator("#setting [role=slider]").first
    expect(handle).to_be_visible()
    answer(page)
    handle.scroll_into_view_if_needed()
    box = handle.locator("rect").bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1], steps=5)
    page.mouse.up()
    expect(field).to_have_value(re.compile(r"^(3[3-9]|4\d), 60$"))
    answer(page)


def test_on_a_phone_the_histogram_fits(phone, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    phone.go(f"{address}&s=disease&x=zip&x=age&bin:age=30,34,60")
    page = phone.page
    handles = page.get_by_role("slider")
    expect(handles).to_have_count(3)
    hist = page.locator(".hist")
    assert hist.evaluate("e => e.getBoundingClientRect().right") <= 390
    assert hist.evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
    # Labels are as large as other small words, and none covers another.
    boxes = hist.locator("text:not([hidden])").evaluate_all(
        """all => all.map(e => e.getBoundingClientRect())
            .map(b => [b.left, b.right, b.top, b.bottom])"""
    )
    assert all(bottom - top >= 11 for _, _, top, bottom in boxes)
    pairs = ((a, b) for k, a in enumerate(boxes) for b in boxes[k + 1 :])
    assert not [
        (a, b)
        for a, b in pairs
        if max(a[0], b[0]) < min(a[1], b[1]) - 1 and max(a[2], b[2]) < min(a[3], b[3]) - 1
    ]
    handles.first.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_label("A new group of age starts at")).to_have_value("29, 34, 60")
    page.set_viewport_size({"width": 1280, "height": 900})
    assert hist.evaluate("e => e.viewBox.baseVal.width") == 640


def test_groups_of_dates(wide):
    field = group(wide, "born")
    wide.get_by_role("button", name="Years").click()
    expect(field).to_have_value("year")
    expect(wide).to_have_url(re.compile("bin%3Aborn=year"))
    field.fill("1950-01-01, 1980-01-01")
    expect(wide.locator("#setting [role=slider]")).to_have_count(2)


def test_an_error_is_at_its_field_and_the_answer_waits(visit):
    page = opened(visit, "clinic.csv", clinic())
    choose(page, "disease", "Protect")
    answer(page)
    field = group(page, "age")
    hint = page.locator("#setting .hint:visible")
    no_handles = re.compile(r"^Choose a suggestion or type numbers\. Automatic:")
    expect(hint).to_have_text(no_handles, use_inner_text=True)
    field.fill("60, 30")
    said = "ach group must start above the one before; 30 comes after 60."
    expect(page.locator('[data-error="bin:age"]')).to_contain_text(f"E{said}")
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(hint).to_have_text(re.compile(r"^Type numbers\. Automatic:"), use_inner_text=True)
    waiting = answer(page, "waiting")
    expect(waiting).to_contain_text("No answer yet")
    expect(waiting.locator(".faults span")).to_have_text(f"age: e{said}")
    expect(waiting.locator(".b2")).to_have_text(f"age: e{said}")
    expect(waiting).not_to_contain_text("%")
    page.reload()
    expect(page.locator('[data-error="bin:age"]')).to_contain_text(f"E{said}")
    answer(page, "waiting").get_by_role("link", name="Go to the field").click()
    field = page.get_by_label("A new group of age starts at")
    expect(field).to_be_focused()
    page.get_by_role("button", name="Put them in order: 30, 60").click()
    expect(page.locator('[data-error="bin:age"]')).to_be_empty()
    expect(field).not_to_have_attribute("aria-invalid", "true")
    expect(hint).to_contain_text("Drag a handle", use_inner_text=True)
    answer(page)
    field.fill("odd")  # of which the message names the column by itself
    expect(answer(page, "waiting").locator(".faults span")).to_have_text(
        re.compile("^Bins of 'age'")
    )


def test_groups_for_one_number_ask_for_groups_of_the_others(visit):
    lines = [f"{line},{k % 97 / 7:.3f},{k % 3}" for k, line in enumerate(clinic().splitlines()[1:])]
    page = opened(visit, "more.csv", "\n".join(["zip,age,disease,weight,parity", *lines]) + "\n")
    choose(page, "disease", "Protect")
    answer(page)
    group(page, "age").fill("30, 60")
    said = page.locator('[data-error="bin:age"]')
    expect(said).to_contain_text("'weight' has none")  # few whole numbers need none: parity
    expect(said).to_contain_text("or take automatic groups for all")
    # The groups are fine by themselves: what is told in them is measured.
    expect(row(page, "age").locator(".tells")).to_have_text(
        re.compile(
            r"((up|down) to [\d.]+ times as likely|can rule a value out)(beyond your limit)?\s*$"
        )
    )
    choose(page, "weight", "Leave out")
    expect(said).to_be_empty()
    answer(page)


def test_one_click_groups_the_other_numbers_too_or_goes_back_to_automatic_groups(visit):
    lines = [f"{line},{k % 97 / 7:.3f},{k % 3}" for k, line in enumerate(clinic().splitlines()[1:])]
    page = opened(visit, "more.csv", "\n".join(["zip,age,disease,weight,parity", *lines]) + "\n")
    choose(page, "disease", "Protect")
    answer(page)
    group(page, "age").fill("30, 60")
    answer(page, "waiting").get_by_role("link", name="Group weight too").click()
    answer(page)
    expect(page.get_by_label("A new group of age starts at")).to_have_value("30, 60")
    field = page.get_by_label("A new group of weight starts at")
    expect(field).to_have_value("width:2")
    field.fill("")
    answer(page, "waiting").get_by_role("link", name="Back to automatic groups").click()
    answer(page)
    expect(page).not_to_have_url(re.compile("bin%3A"))


# Bad tables --------------------------------------------------------------------------------------


def test_a_column_with_one_value_cannot_be_protected(wide):
    choose(wide, "ward", "Protect")
    expect(answer(wide, "waiting")).to_contain_text("the same value in every row")
    expect(row(wide, "ward").locator(".error")).to_contain_text("Protect another column")
    onward = wide.locator("#onward").get_by_role("link", name="Go on to protection")
    expect(onward).to_have_attribute("aria-disabled", "true")
    expect(onward).not_to_have_attribute("href", re.compile("."))
    expect(wide.locator("#onward")).to_contain_text("A field above must be corrected first.")
    expect(wide).to_have_url(re.compile("s=ward"))
    wide.goto(wide.url.replace("/columns", "/publish"))
    expect(wide.locator("main")).to_contain_text("the same value in every row")
    expect(wide.get_by_role("button", name="Draw and write")).to_have_count(0)
    wide.go_back()
    choose(wide, "ward", "Leave out")
    choose(wide, "disease", "Protect")
    answer(wide, "names")
    expect(row(wide, "ward").locator(".error")).to_be_empty()


def test_a_column_that_is_the_protected_one_in_other_words_keeps_the_limit(wide):
    """`code` tells `disease` for sure: alone and at a strict limit it keeps almost nothing."""
    choose(wide, "disease", "Protect")
    expect(row(wide, "code")).to_contain_text("disease in other words")
    expect(row(wide, "code").locator(".tells")).to_contain_text("tells it exactly")
    key = re.search("table=([^&]+)", wide.url)[1]
    wide.goto(f"{wide.url.split('/columns')[0]}/protection?table={key}&s=disease&x=code&limit=1.1")
    found = answer(wide, "empty")
    expect(found).to_contain_text("tells almost nothing")
    for line in found.locator(".beliefs .line").all_inner_texts():
        before, after = map(float, re.findall(r"([\d.]+)%", line))
        assert after <= 1.1 * before + 1  # what is shown is rounded
    expect(found.get_by_role("link", name="Go on to publish")).to_have_count(0)


def test_many_numbers_are_protected_in_groups(visit):
    page = opened(visit, "clinic.csv", clinic())
    choose(page, "age", "Protect")
    waiting = answer(page, "waiting")
    expect(waiting).to_contain_text("'age' has 73 different numbers: to protect it, group them")
    waiting.get_by_role("link", name="Go to the field").click()
    expect(page.get_by_label("A new group of age starts at")).to_be_focused()
    page.get_by_role("button", name="10 years").click()
    answer(page)


def test_rows_without_the_protected_value_cannot_be_left_out(visit):
    """They would be published all the same, so that the draw would be refused: it is said first."""
    lines = [f"{('yes', '', 'no')[k % 3]},{'abcd'[k * k % 4]}" for k in range(300)]
    page = opened(visit, "gaps.csv", "\n".join(["ill,ward", *lines]) + "\n")
    choose(page, "ill", "Protect")
    answer(page)
    go_to(page, "Protection")
    advanced(page)
    choice = page.get_by_label("Missing values", exact=True)
    choice.select_option("drop")
    said = "100 rows have no value of 'ill', but would be published all the same."
    expect(answer(page, "waiting")).to_contain_text(said)
    expect(page.locator("#missing-error")).to_contain_text(said)
    expect(choice).to_have_attribute("aria-invalid", "true")
    expect(page).to_have_url(re.compile("missing=drop"))
    expect(page.locator("#go-on")).to_have_attribute("aria-disabled", "true")
    wrong = page.url
    page.goto(wrong.replace("/protection", "/publish"))
    expect(page.locator("main")).to_contain_text(said)
    expect(page.get_by_role("button", name="Draw and write")).to_have_count(0)
    page.goto(wrong.replace("/protection", "/columns"))
    expect(page.locator("#onward-why")).to_have_text(
        "A field under Protection must be corrected first."
    )
    answer(page, "waiting").get_by_role("link", name="Go to the field").click()
    expect(page).to_have_url(re.compile("/protection[?].*missing=drop.*#field-missing$"))
    expect(choice).to_be_in_viewport()
    choice.select_option("value")
    answer(page)
    expect(page.locator("#missing-error")).to_be_empty()


def test_all_columns_left_out_says_so(visit):
    page = opened(visit, "clinic.csv", clinic())
    choose(page, "disease", "Protect")
    choose(page, "zip", "Leave out")
    choose(page, "age", "Leave out")
    expect(answer(page, "waiting")).to_contain_text("No column is left to publish")
    page.reload()
    expect(answer(page, "waiting")).to_contain_text("No column is left to publish")


def test_two_tabs_do_not_disturb_each_other(visit, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    other = visit.context.new_page()
    visit.go(f"{address}&s=disease&x=zip")
    visit.go(f"{address}&s=zip&x=disease", other)
    first, second = answer(visit.page).inner_text(), answer(other).inner_text()
    assert first != second
    choose(other, "age", "Publish")
    answer(other)
    visit.page.reload()
    assert answer(visit.page).inner_text() == first


def test_an_answer_is_grey_from_the_change_to_the_next_answer(visit, client):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    visit.go(f"{address}&s=disease&x=zip")
    page = visit.page
    answer(page)
    held = []

    def hold(route):  # the first question only
        route.continue_() if held else held.append(route)

    page.route("**/answer?*", hold)
    with page.expect_request("**/answer?*"):
        choose(page, "age", "Publish")
    expect(page.locator("#answer[aria-busy=true]")).to_contain_text("Recomputing")
    held[0].continue_()
    answer(page)


def test_what_was_chosen_as_the_connection_broke_is_asked_for_when_it_is_back(
    chromium, server, client
):
    address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
    visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
    try:
        visit.go(f"{address}&s=disease")
        page = visit.page
        answer(page)
        visit.context.set_offline(True)
        choose(page, "age", "Leave out")
        expect(page.get_by_text("The server does not answer")).to_be_visible()
        expect(page.locator("#setting")).to_have_attribute("inert", "")
        visit.context.set_offline(False)
        expect(page.locator("#setting:not([inert])")).to_be_visible()
        expect(page.get_by_role("radio", name="Leave out: age")).to_be_checked()
        expect(page.locator("#lost")).to_be_hidden()
        answer(page)
    finally:
        visit.close()


#: The contrast of an element's text with what it stands on, as it is seen.
CONTRAST = """element => {
    const channels = text => text.match(/[\\d.]+/g).map(Number);
    const light = colour => {
        const [r, g, b] = colour.map(c => c / 255).map(c =>
            c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    let ground = [], opacity = 1;
    for (let part = element; part; part = part.parentElement) {
        const style = getComputedStyle(part), found = channels(style.backgroundColor);
        opacity *= Number(style.opacity);
        if (!ground.length && (found[3] ?? 1) > 0) ground = found.slice(0, 3);
    }
    const ink = channels(getComputedStyle(element).color).slice(0, 3)
        .map((c, k) => opacity * c + (1 - opacity) * ground[k]);
    const [high, low] = [light(ink), light(ground)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
}"""


def contrast(element):
    return element.evaluate(CONTRAST)


def test_a_lost_server_is_said_to_be_lost(chromium, tmp_path):
    server = Server(tmp_path)
    visit = None
    try:
        with server.client() as client:
            address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
            settled(client, f"{address}&s=disease&x=zip")
            visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
            visit.go(f"{address}&s=disease&x=zip".replace("columns", "protection"))
            answer(visit.page)
            expect(visit.page.locator("#rows-part table")).to_be_visible()
            server.process.kill()
            server.process.wait(20)
            banner = visit.page.get_by_text("The server does not answer")
            expect(banner).to_be_visible()
            expect(visit.page.locator("#answer[data-state=stale]")).to_be_visible()
            # What follows from the answer is as old as it is, and nothing leads on.
            expect(visit.page.locator("#rows-part")).to_have_attribute("aria-busy", "true")
            expect(visit.page.locator("#go-on")).to_have_attribute("inert", "")
            expect(visit.page.locator("#answer[data-state=stale]")).to_contain_text("No connection")
            expect(visit.page.locator("#answer .when-stale.small")).to_have_text(
                "The numbers below are old."  # what to do stands in the banner alone
            )
            # What would be chosen now would be lost.
            expect(visit.page.locator("#setting")).to_have_attribute("inert", "")
            third = visit.page.locator("input[name=preset], .stop input").nth(2)
            third.evaluate("e => e.focus()")
            assert not third.evaluate("e => e === document.activeElement")
            expect(visit.page.locator("#lost")).to_contain_text("use the new link")
            # What is old can still be read.
            for theme in ("light", "dark"):
                visit.page.emulate_media(color_scheme=theme)
                for part in ("#rows-part td", "#rows-part", "#trade-part", "h2", ".choice strong"):
                    assert contrast(visit.page.locator(f"#setting {part}").first) >= 4.5, part
            expect(visit.page.locator("#answer .btn").first).to_have_css("pointer-events", "none")
    finally:
        if visit is not None:
            visit.close()
        server.stop()
