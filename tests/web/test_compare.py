"""Settings side by side in a browser: one table, differences in bold, publish from any head."""

import html
import math
import re
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import lowlift as ll
from lowlift import workflow
from lowlift._ledger import EVERYBODY, Entry
from lowlift._wording import capital
from lowlift.criteria import ALIP, LIP, AtMost, Chi2Lift, EveryPrior, MaxLift, Population
from lowlift.encodings import published
from lowlift.report.beliefs import Belief
from lowlift.report.outcome import EMPTY, MOVED, USEFUL, Kept, Outcome
from lowlift.web import words
from lowlift.web.comparing import Head, sections
from lowlift.web.frame import Place
from lowlift.web.naming import changed, part_of, titles_of
from lowlift.web.recorded import again
from lowlift.web.settings import Setting
from lowlift.web.steps.compare import recorded_heads
from lowlift.web.work import Answer
from lowlift.workflow.consulting import Sum
from lowlift.workflow.criteria import IN_NATS
from lowlift.workflow.published import Recorded, criterion_in
from lowlift.workflow.recording import budgets_text
from web.browsing import Visit, answer, limit
from web.serving import Server, clinic, post, settled, until, upload

#: The heading of what settings and the ledger add up to.
BEFORE = "With what was published before"
#: What is said of a sum that goes beyond the limit.
BEYOND = re.compile(
    r"^up to [\d.]+ times, or (down to ([\d.]+ times|[a-z ]+)|a value is ruled out): "
    r"beyond its limit(, differs)?$"
)


def comparison(key, *settings):
    """Return the address that compares settings of the small table, automatic ones by default."""
    start = f"table={key}&s=disease&x=zip"
    more = ["" if "mechanism=" in each else "mechanism=auto&" for each in settings]
    every = [f"{start}&{how}{each}" for how, each in zip(more, settings, strict=True)]
    return "/compare?" + urlencode([("setting", each) for each in every])


@pytest.fixture
def three(visit, clinic_key):
    """Three settings that are answered."""
    visit.go(comparison(clinic_key, "limit=2", "limit=3", "limit=2&audience=population"))
    expect(visit.page.locator("#cmp .state.useful, #cmp .state.empty")).to_have_count(3)
    return visit.page


def row(page, name):
    return page.get_by_role("row", name=re.compile(f"^{name}"))


def test_settings_are_columns_and_differences_are_bold(three):
    expect(three.get_by_role("heading", level=1)).to_have_text("Settings side by side")
    expect(three.locator("#cmp thead th .ttl")).to_have_text(
        ["2 times, these rows", "3 times, these rows", "2 times, a sample"]
    )
    expect(row(three, "Limit").locator("td")).to_have_text(
        ["2 times", "3 times, differs", "2 times"]
    )
    expect(row(three, "Limit").locator("td.dif")).to_have_text(["3 times, differs"])
    expect(row(three, "The rows are").locator("td.dif")).to_have_text(["a sample, 95%, differs"])
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


def test_any_of_them_is_published_opened_or_removed(three):
    expect(three.get_by_role("link", name="Publish B")).to_have_attribute(
        "href", re.compile("/publish[?].*limit=3")
    )
    three.get_by_role("link", name="Remove A").click()
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
        ["5 times", "3 times", "1.5 times", "2 times"]
    )
    expect(page.get_by_role("link", name="Add another setting")).to_have_count(0)


def test_all_of_a_comparison_is_in_view_or_said_to_be_there(three):
    """Where it fits the page scrolls; else the table does, and says to which sides."""
    wrap, hint = three.locator(".cmp-wrap"), three.locator(".more-there")
    assert wrap.evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    expect(hint).to_have_count(0)
    # The letters stay in view.
    three.mouse.wheel(0, 600)
    until(lambda: three.evaluate("window.scrollY") > 300)
    assert three.locator("#cmp .slim td").nth(1).bounding_box()["y"] <= 1
    three.set_viewport_size({"width": 390, "height": 844})
    expect(hint).to_have_text("There is more to the right and below: scroll within the table.")
    assert wrap.evaluate("e => e.scrollHeight > e.clientHeight")
    # Letters, states and limits are there in full.
    for head in three.locator("#cmp .slim td:not(.corner)").all():
        assert head.evaluate("e => e.scrollWidth <= e.clientWidth")
        expect(head.locator(".lim")).to_contain_text("times")
    assert three.locator("#cmp .slim .lim").first.bounding_box()["width"] > 20
    # Buttons of neighbours do not overlap, and nothing of them is cut off.
    boxes = [
        [link.bounding_box() for link in cell.get_by_role("link").all()]
        for cell in three.locator("#cmp .acts td:not(.corner)").all()
    ]
    cells = [cell.bounding_box() for cell in three.locator("#cmp .acts td:not(.corner)").all()]
    for links, cell in zip(boxes, cells, strict=True):
        assert links
        for link in links:
            assert link["x"] >= cell["x"] + 4
            assert link["x"] + link["width"] <= cell["x"] + cell["width"] - 4
    only = three.get_by_role("button", name="Only differences")
    only.click()
    expect(three.locator("#cmp")).to_have_class(re.compile("only"))


def test_buttons_of_what_was_published_stay_in_their_column_on_a_phone(visit, clinic_key):
    page, settings = visit.page, ("limit=2", "limit=3", "limit=1.5")
    start = f"table={clinic_key}&s=disease&x=zip"
    post(visit.client, f"{start}&mechanism=auto&{settings[0]}")
    page.set_viewport_size({"width": 390, "height": 844})
    visit.go(comparison(clinic_key, *settings))
    again = page.get_by_role("link", name="Publish A again")
    expect(again).to_be_visible()
    inner, beside = again.bounding_box(), page.get_by_role("link", name="Publish B").bounding_box()
    assert inner["x"] + inner["width"] < beside["x"]
    assert again.evaluate("e => e.scrollWidth <= e.clientWidth")  # no end of it is cut off


def test_nothing_to_compare_says_so(visit):
    visit.go("/compare")
    expect(visit.page.locator(".lead")).to_have_text(
        "There is nothing to compare yet. Choose a table, then press Add to compare in its answer."
    )
    expect(visit.page.locator(".lead strong")).to_have_text("Add to compare")
    expect(visit.page.get_by_role("link", name="Choose a table")).to_have_class(
        re.compile("primary")
    )
    current = visit.page.get_by_role("navigation", name="App").locator("[aria-current=page]")
    expect(current).to_have_text("Compare")


def test_what_was_published_already_is_said(visit, clinic_key):
    page, address = visit.page, comparison(clinic_key, "limit=2", "limit=3")
    visit.go(address)
    expect(page.locator("#cmp .state.useful")).to_have_count(2)
    expect(row(page, "Published for")).to_have_count(0)
    page.get_by_role("link", name="Publish A").click()
    page.get_by_role("button", name="Draw and write the table").click()
    expect(page.get_by_text("Written and verified")).to_be_visible()
    visit.go(address)
    expect(row(page, "Published for").locator("td")).to_have_text(
        ["everybody", "nobody yet, differs"]
    )
    expect(page.get_by_text(BEFORE)).to_have_count(0)  # there is no ledger
    # Two settings fit a phone, with their buttons in one line and of one line each.
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.locator(".cmp-wrap").evaluate("e => e.scrollWidth <= e.clientWidth")
    buttons = page.get_by_role("link", name=re.compile("^Publish [AB]( again)?$")).all()
    assert len(buttons) == 2
    boxes = [button.bounding_box() for button in buttons]
    assert len({(box["y"], box["height"]) for box in boxes}) == 1
    assert boxes[0]["x"] + boxes[0]["width"] < boxes[1]["x"]


# What a column is called -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "limit", "on"),
    [
        ({"limit": 1.5}, "1.5 times", "both ways"),
        ({"criterion": "max-lift"}, "7.39 times", "only upwards"),
        ({"criterion": "lip", "epsilon": 1.0}, "2.72 times", "both ways, one budget"),
        # Of two sides, the factor is that of the upper one.
        (
            {"criterion": "alip", "split": 0.75},
            "1.65 times, 0.75 of it downwards",
            "both ways, each its own",
        ),
        # No factor bounds each value, or none that could be written.
        ({"criterion": "l1"}, "a budget of 2", "the mean change"),
        ({"criterion": "ldp", "epsilon": 900.0}, "a budget of 900", "between any two values"),
        # What is wrong with it is said by its answer.
        (
            {"criterion": "alip", "split": 2.0},
            "a budget of 2, 2 of it downwards",
            "both ways, each its own",
        ),
    ],
)
def test_limits_are_said_in_plain_words(given, limit, on):
    setting = Setting("1", ("s",), ("x",), **given)
    one = head({})._replace(place=Place("protection", setting))
    found = rows_of(one)
    assert [cell.text for cell in found["Limit"]] == [limit]
    assert [cell.text for cell in found["The limit is"]] == [on]
    assert titles_of([setting]) == [limit.partition(",")[0]]


def test_titles_name_only_what_differs():
    one = Setting("1", ("s",), ("x", "y"))
    others = replace(one, released=("x",)), replace(one, mechanism="subset-merging")
    assert titles_of([one, *others]) == ["2 times", "2 times, without y", "2 times, merged"]
    upwards = replace(one, criterion="max-lift", audience="population")
    assert titles_of([one, upwards]) == [
        "2 times, both ways, these rows",
        "7.39 times, only upwards, a sample",
    ]
    assert {changed(name).partition(":")[0] for name in words.MECHANISMS} == {
        "the best for the size",
        "merged",
        "mixed by chance",
    }


# What differs, and what is best ------------------------------------------------------------------


def head(kept, state=USEFUL, mechanism="auto", chosen="random-response", warnings=(), **more):
    """Return a setting whose release keeps so much, by the words for it."""
    numbers = tuple(Kept(value, words) for words, value in kept.items())
    said = Outcome(state, "", "", numbers, 0.5, None, ())
    encoded, found = SimpleNamespace(name="values"), SimpleNamespace(name=chosen)
    design = SimpleNamespace(encoded=encoded, chosen=found, warnings=warnings)
    place = Place("protection", Setting("1", ("s",), ("x",), mechanism=mechanism))
    return Head("A", "", place, Answer(design, said), **more)


def rows_of(*found):
    return {row.name: row.cells for _, rows in sections(found) for row in rows}


def bests(*found):
    """Return the rows of what is kept, each with the places of those that are best."""
    rows = {row.name: row.cells for row in dict(sections(found))["What is kept"]}
    return {name: [k for k, c in enumerate(cells) if c.is_best] for name, cells in rows.items()}


def test_the_best_of_a_row_is_told_by_its_own_numbers():
    first = head({"of rows": "79%", "of values": "84%", MOVED: "0.3 points"})
    second = head({"of rows": "85%", "of values": "<1%", MOVED: "<0.1 points"})
    third = head({"of rows": "85%", "of values": "9%", MOVED: "<0.1 points"})
    empty = head({"of rows": "99%", "of values": "9%", MOVED: "0 points"}, state=EMPTY)
    other = head({"of rows": "79%", "groups for 9": "7"})
    assert bests(first, second) == {"Rows": [1], "Values": [0], capital(MOVED): [1]}
    assert bests(first, second, third) == {"Rows": [], "Values": [0], capital(MOVED): []}
    assert bests(first, second, empty)["Rows"] == []
    assert not any(bests(first, other).values())  # they are not of one form
    assert not any(bests(first).values())
    warning = (
        "'mail' is nearly unique (85 values in 85 rows), so it identifies people. Leave it out."
    )
    naming = head({"of rows": "99%", "of values": "99%", MOVED: "0 points"}, warnings=(warning,))
    assert bests(first, second, naming) == bests(first, second)


def with_numbers(kept, most):
    """Return a setting of which 79% of rows are kept and a value is believed up to 80%, rounded."""
    one = head({})
    belief = Belief("ill", Fraction(1, 5), Fraction(0), Fraction(most))
    said = one.answer.said._replace(kept=(Kept("79%", "of rows", kept),), beliefs=(belief,))
    return one._replace(answer=Answer(one.answer.design, said))


def test_what_is_alike_only_when_it_is_rounded_is_not_said_to_be_the_same():
    numbers = (0.794, 0.7941, 0.793, 0.794 + 1e-14)
    found = rows_of(*(with_numbers(each, each) for each in numbers))
    for name, text in (("Rows", "79%"), ("ill", "20%, then at most 80%")):
        cells = found[name]
        assert [(cell.text, cell.differs) for cell in cells] == [
            (text, False),
            (f"{text}, a little more", True),
            (f"{text}, a little less", True),
            (text, False),  # an error of floats
        ]
        assert not any(cell.is_best for cell in cells)


def test_a_belief_is_said_as_in_the_bar_of_a_phone():
    one = head({})
    belief = Belief("ill", Fraction(18, 100), Fraction(0), Fraction(23, 100))
    said = one.answer.said._replace(beliefs=(belief,))
    one = one._replace(answer=Answer(one.answer.design, said))
    assert rows_of(one)["ill"][0].text == "18%, then at most 23%"


def test_what_does_not_apply_is_said_and_is_no_difference():
    found = rows_of(
        head({"of rows": "9%", "change": "0 pts"}), head({"of rows": "8%", "groups for 9": "7"})
    )
    assert [(c.text, c.differs) for c in found["Rows"]] == [("9%", False), ("8%", True)]
    assert found["Change"][1][:3] == ("does not apply", "", False)
    assert [(c.text, c.differs) for c in found["Groups for 9"]] == [
        ("does not apply", False),
        ("7", True),
    ]


def test_a_release_is_the_same_as_its_publication():
    one = head({}, published_for=("the ministry",))
    entry = _recorded(None).entry
    recorded = Recorded(entry, LIP.at_most(2), is_there=True, missing="value",
                        mechanism="random-response")  # fmt: skip
    (known,) = recorded_heads([recorded], one.place, frozenset("sx"), 1)
    found = rows_of(one, known._replace(published_for=("the ministry",)))
    texts = [cell.text for cell in found["How values are changed"]]
    assert texts == ["mixed by chance: optimal random response"] * 2
    assert not [name for name, cells in found.items() if any(c.differs for c in cells)]


def test_criteria_and_mechanisms_are_named_as_on_the_step_protection(client, clinic_key):
    page = settled(client, f"/protection?table={clinic_key}&s=disease&x=zip")
    options = dict(re.findall(r'<option value="([^"]+)"[^>]*>([^<]+)<', html.unescape(page)))
    named = words.CRITERIA | words.MECHANISMS
    assert named.keys() == {*IN_NATS, *workflow.MECHANISMS}
    for name, said in named.items():
        assert options[name] == said


# From the ledger ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def telling(tmp_path_factory):
    """A server whose ledger has two publications of a table; its client, and what asks for it."""
    folder = tmp_path_factory.mktemp("compared")
    first = Server(folder, LOWLIFT_LEDGER=str(folder / "ledger.sqlite"))
    with first.client() as client:
        given = upload(client, "clinic.csv", clinic().encode()).headers["location"].split("?")[1]
        post(client, f"{given}&s=disease&x=zip&x=age&limit=1.1&cells=auto", to="the archive")
    first.stop()  # which removes its files: the release is gone
    again = Server(folder, LOWLIFT_LEDGER=str(folder / "ledger.sqlite"))
    with again.client() as client:
        given = upload(client, "clinic.csv", clinic().encode()).headers["location"].split("?")[1]
        post(
            client, f"{given}&s=disease&x=zip&limit=1.3&mechanism=subset-merging", to="the ministry"
        )
        yield again, client, given
    again.stop()


def test_what_the_ledger_has_of_the_table_stands_beside(chromium, telling):
    server, client, given = telling
    visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
    page = visit.page
    visit.go("/compare?" + urlencode({"setting": f"{given}&s=disease&x=zip&limit=2"}))
    heads = page.locator("#cmp thead th")
    expect(heads).to_have_count(3)
    expect(heads.locator(".tag")).to_have_text(
        [re.compile(r"^from the ledger, \d+ \w+ \d{4}$")] * 2
    )
    expect(heads.nth(1)).not_to_contain_text("the ministry")
    expect(row(page, "Published for").locator("td").nth(1)).to_have_text("the ministry, differs")
    expect(row(page, "Limit").locator("td")).to_have_text(
        ["2 times", "1.3 times, differs", "1.1 times, differs"]
    )
    expect(row(page, "Limit").locator("td.dif")).to_have_count(2)
    how = row(page, "How values are changed")
    expect(how.locator("td")).to_have_text(
        [
            "mixed by chance: optimal random response",
            "merged: subset merging, differs",
            "not in the ledger",
        ]
    )
    expect(how.locator("td.dif")).to_have_text(
        ["merged: subset merging, differs"]
    )  # not what is not known
    expect(row(page, "Columns").locator("td")).to_have_text(["zip", "zip", "2, with age, differs"])
    expect(row(page, "flu").locator("td").nth(1)).to_contain_text("%")
    expect(row(page, "flu").locator("td").nth(2)).to_have_text("not in the ledger")
    expect(row(page, "flu").locator("td.dif").nth(1)).to_have_count(0)
    missing = "cannot be told: a release is missing"
    expect(row(page, "The archive, together").locator("td")).to_have_text(
        [missing, "not given to them", "they have it"]
    )
    expect(row(page, "The ministry, together").locator("td")).to_have_text(
        [re.compile("times"), "they have it", "not given to them"]
    )
    expect(page.get_by_text("Cannot be told: The release of an earlier")).to_be_visible()
    expect(page.get_by_role("link", name="Remove")).to_have_count(0)  # it is the only setting
    # What was published is opened, not published once more from here.
    expect(page.get_by_role("link", name=re.compile("^Publish [A-Z]"))).to_have_text(["Publish A"])
    # The release of the first is gone: its columns and its limit are all that is known.
    start = page.get_by_role("link", name="Start from its columns and limit C")
    expect(start).to_have_attribute("href", re.compile("x=zip&x=age&limit=1.1&"))
    page.get_by_role("link", name="Open B").click()
    expect(page).to_have_url(re.compile("limit=1.3&mechanism=subset-merging"))
    # The setting that was published is not shown twice.
    visit.go(
        "/compare?"
        + urlencode({"setting": f"{given}&s=disease&x=zip&limit=1.3&mechanism=subset-merging"})
    )
    expect(heads).to_have_count(2)
    expect(heads.first.locator(".tag")).to_have_text(re.compile("^from the ledger, "))
    expect(row(page, "Published for").locator("td").first).to_have_text("the ministry")
    expect(page.get_by_role("link", name="Publish A again")).to_be_visible()
    visit.check()
    visit.close()


# With what was published before ------------------------------------------------------------------


#: Rows by zip code: with flu, with nothing, with a cold. As it is, the table keeps a limit of 2.
ZIPS = {"a": (6, 3, 1), "b": (3, 5, 2), "c": (2, 6, 2), "d": (2, 6, 3)}


def zip_codes():
    """Return a table that has every disease in every zip code as the text of a CSV file."""
    lines = [
        f"{place},{disease}\n"
        for place, rows in ZIPS.items()
        for disease, n in zip(("flu", "none", "cold"), rows, strict=True)
        for _ in range(20 * n)
    ]
    return "zip,disease\n" + "".join(lines)


@pytest.fixture
def holding(tmp_path, chromium):
    """A visit of a server with an empty ledger, and a table in it that limits can be kept on."""
    server = Server(tmp_path, LOWLIFT_LEDGER=str(tmp_path / "ledger.sqlite"))
    with server.client() as client:
        place = upload(client, "clinic.csv", zip_codes().encode()).headers["location"]
        visit = Visit(chromium, server, client, viewport={"width": 1280, "height": 900})
        yield visit, place.split("table=")[1]
        visit.check()
        visit.close()
    server.stop()


def published_of(client, query, to, folder):
    """Publish to a recipient, and return the channel that was and the counts it is of."""
    _, where = post(client, query, to=to, again="yes")
    file = folder / f"{to}.json"
    file.write_text(client.get(f"/download/{where.rsplit('/', 1)[1]}/release").text)
    release = ll.Release.from_json(file)
    return release.joint, published(release).channel


def largest_lift(joint, *channels):
    """Return the largest lift of the product of channels, in fractions and by its definition."""
    counts, every = joint.counts.tolist(), range(joint.n_x)
    total, prior = sum(map(sum, counts)), [sum(row) for row in counts]
    weights = [
        [dict(zip(*channel.atom(y), strict=True)) for y in range(channel.n_y)]
        for channel in channels
    ]
    found = []
    for outputs in product(*weights):
        given = [math.prod(output.get(x, 0) for output in outputs) for x in every]
        masses = [sum(n * w for n, w in zip(row, given, strict=True)) for row in counts]
        if any(masses):
            found += [
                Fraction(n * total, sum(masses) * p) for n, p in zip(masses, prior, strict=True)
            ]
    return max(found)


def assert_shows(cell, lift):
    """Check that a cell shows a factor to three digits, rounded up."""
    shown = Fraction(re.fullmatch(r"([\d.]+) times( best)?", cell.inner_text())[1])
    assert lift <= shown <= lift + Fraction(1, 100)


def test_what_a_setting_adds_up_to_with_what_was_published(holding, tmp_path):
    visit, key = holding
    page, client = visit.page, visit.client
    merging = "limit=2&mechanism=subset-merging"
    address = comparison(key, merging, "limit=1.2", "criterion=max-lift&epsilon=2")
    start = f"table={key}&s=disease&x=zip&"
    visit.go(address)
    expect(page.locator("#cmp .state.useful")).to_have_count(3)
    expect(page.locator("#compared [data-events]")).to_have_count(0)
    expect(page.get_by_text(BEFORE)).to_have_count(0)  # nothing was published

    first = published_of(client, f"{start}limit=1.3", "the ministry", tmp_path)
    visit.go(address)
    expect(page.locator("#cmp tr.sect").last).to_have_text(BEFORE)
    expect(page.locator("#compared [data-events]")).to_have_count(0)
    ministry, others = row(page, "The ministry, together"), row(page, "Everybody else")
    expect(page.locator("#cmp tbody").last.locator("tr:not(.note)")).to_have_count(3)
    expect(ministry.locator("td").nth(1)).to_have_text(BEYOND)
    expect(page.get_by_role("link", name="Publish A")).to_have_class("btn primary")  # it holds
    expect(ministry.locator("td.dif")).to_have_count(1)
    expect(ministry.locator("td").nth(3)).to_have_text("they have it")
    expect(others.locator("td").nth(3)).to_have_text("not given to them")
    together, alone = ministry.locator("td").first, others.locator("td").first
    texts = together.inner_text(), alone.inner_text()

    # The same from the releases themselves: what is published to one adds up for them alone.
    joint, channel = published_of(client, f"{start}{merging}", "the archive", tmp_path)
    assert first[0].counts.tolist() == joint.counts.tolist()
    assert_shows(together, largest_lift(joint, first[1], channel))
    assert_shows(alone, largest_lift(joint, channel))
    visit.go(address)
    archive = row(page, "The archive, together").locator("td").first
    expect(archive).to_have_text(re.compile("times"))
    assert_shows(archive, largest_lift(joint, channel, channel))
    expect(page.locator("#compared [data-events]")).to_have_count(0)
    assert (together.inner_text(), alone.inner_text()) == texts
    for theme, width in product(("light", "dark"), (1280, 390)):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        assert not [each["id"] for each in Axe().run(page).response["violations"]]
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_setting_beyond_its_limit_for_somebody_says_so(holding, tmp_path):
    visit, key = holding
    page = visit.page
    published_of(visit.client, f"table={key}&s=disease&x=zip&limit=1.3", "the ministry", tmp_path)
    visit.go(comparison(key, "limit=1.2", "limit=2&mechanism=subset-merging"))
    beyond = row(page, "The ministry, together").locator("td .state.cannot")
    expect(beyond).to_have_text([BEYOND])
    expect(beyond.locator("svg.icon")).to_have_count(1)
    heads = page.locator("#cmp thead th")
    expect(heads.locator(".state.useful")).to_have_count(2)
    warning = "Not for the ministry: with what they have, it goes beyond its limit"
    expect(heads.locator(".state.cannot")).to_have_text([warning])
    expect(heads.first.locator(".state.cannot svg.icon")).to_have_count(1)
    expect(page.locator("#cmp td.now .best")).to_have_count(0)  # nothing refused is the best
    weight = "found => Number(getComputedStyle(found).fontWeight)"
    assert beyond.first.evaluate(weight) < 600  # it is the one that others are compared to
    expect(page.get_by_role("link", name="Publish A")).to_have_class("btn")
    # What explains the sums stands below them, and in no other part.
    legend = page.locator("#cmp tbody").last.locator(".note .legend")
    expect(legend).to_contain_text("Beyond its limit: it cannot be published for them.")
    expect(page.locator("#cmp .note")).to_have_count(2)
    expect(page.locator("#cmp .note").first).to_contain_text("Bars: belief from 0 to 100%")
    expect(legend).to_be_visible()
    for theme, width in product(("light", "dark"), (1280, 390)):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size({"width": width, "height": 900})
        assert not [each["id"] for each in Axe().run(page).response["violations"]]
    # Where nothing is beyond, nothing is said of it.
    visit.go(comparison(key, "limit=2&mechanism=subset-merging"))
    expect(page.get_by_text(BEFORE).first).to_be_visible()
    expect(page.locator("#compared [data-events]")).to_have_count(0)
    expect(page.get_by_text("beyond its limit")).to_have_count(0)


def test_a_setting_that_was_published_is_not_called_refused(holding, tmp_path):
    """Only a second draw of it goes beyond its limit."""
    visit, key = holding
    page, setting = visit.page, "limit=1.3"
    published_of(visit.client, f"table={key}&s=disease&x=zip&{setting}", "the ministry", tmp_path)
    visit.go(comparison(key, setting, "limit=1.2"))
    heads = page.locator("#cmp thead th")
    expect(heads.locator(".state.cannot")).to_have_text(
        [
            "Not again for the ministry: with what they have, it goes beyond its limit",
            "Not for the ministry: with what they have, it goes beyond its limit",
        ]
    )
    signs = page.locator("#cmp .slim .mark")
    expect(signs.nth(0)).to_have_class("mark useful")
    expect(signs.nth(1)).to_have_class("mark cannot")
    expect(page.get_by_role("link", name="Publish A again")).to_have_class("btn")


def test_what_was_published_to_everybody_counts_for_all(holding, tmp_path):
    visit, key = holding
    page, merging = visit.page, "limit=3&mechanism=subset-merging"
    query = f"table={key}&s=disease&x=zip&"
    _, public = published_of(visit.client, f"{query}limit=1.3", EVERYBODY, tmp_path)
    visit.go(comparison(key, merging))
    everybody = row(page, "Everybody, together").locator("td").first
    expect(everybody).to_have_text(re.compile("times"))
    expect(row(page, "Everybody else")).to_have_count(0)
    shown = everybody.inner_text()
    joint, channel = published_of(visit.client, f"{query}{merging}", "the archive", tmp_path)
    assert_shows(everybody, largest_lift(joint, public, channel))
    visit.go(comparison(key, merging))
    expect(row(page, "Everybody else").locator("td").first).to_have_text(shown)
    archive = row(page, "The archive, together").locator("td").first
    expect(archive).to_have_text(re.compile("times"))
    assert_shows(archive, largest_lift(joint, public, channel, channel))


def sums(**more):
    """Return a setting with what the ministry and everybody else would hold."""
    found = tuple(Sum(name, *values) for name, values in more.items())
    return head({}, sums=found)


def together_of(*found):
    (rows,) = [rows for name, rows in sections(found, ["ministry"]) if name == BEFORE]
    return [[tuple(cell[i] for i in (0, 2, 3)) for cell in row.cells] for row in rows]


def test_sums_that_are_not_there_are_neither_different_nor_compared():
    one = sums(ministry=("2.7", "0.3", True), everybody=("2", "0.5", True))
    two = sums(ministry=("1.7", "0.5", False), everybody=("1.2", "0.9", True))
    pending, cannot = head({}), sums(ministry=("", "", None), everybody=("1.2", "0.9", True))
    assert together_of(one, two) == [
        [
            ("2.7 times", False, False),
            ("up to 1.7 times, or down to half: beyond its limit", True, False),
        ],
        # What goes beyond its limit for somebody is not called the best.
        [("2 times", False, False), ("1.2 times", True, False)],
    ]
    assert together_of(one, two, pending)[1] == [
        ("2 times", False, False),
        ("1.2 times", True, False),  # a better one may follow
        ("being computed", False, False),
    ]
    assert together_of(pending, one)[0][1] == ("2.7 times", False, False)
    assert together_of(one, cannot)[0][1] == ("cannot be told", True, False)
    of_readers = sums(ministry=("", "", True), everybody=("", "", False))
    assert [cells[1][0] for cells in together_of(one, of_readers)] == [
        "within its limit",
        "beyond its limit",
    ]
    refused = Head("A", "", one.place, None, "no column is chosen.")
    assert together_of(one, refused)[0][1] == ("does not apply", False, False)


def test_only_sums_beyond_their_limit_are_marked():
    one = sums(ministry=("2.7", "0.3", True), everybody=("2", "0.5", True))
    two = sums(ministry=("1.7", "0", False), everybody=("", "", None))
    of_ledger = one._replace(sums=None, recorded=_recorded(None))
    (rows,) = [
        rows for name, rows in sections([one, two, of_ledger], ["ministry"]) if name == BEFORE
    ]
    marks = [[cell.is_beyond for cell in row.cells] for row in rows]
    assert marks == [[False, True, False], [False, False, False]]
    assert rows[0].cells[1].text == "up to 1.7 times, or a value is ruled out: beyond its limit"


def test_a_lower_end_is_said_in_the_words_of_the_answer():
    assert part_of("0.8", is_kept=False) == "four fifths"
    assert part_of("0.666", is_kept=True) == "two thirds"
    assert part_of("0.666", is_kept=False) == "0.666 times"  # it may fall further
    for least, part in (("0.5", "half"), ("0.034", "0.034 times")):
        found = together_of(sums(ministry=("3", least, False), everybody=("3", "0", True)))
        assert f"down to {part}: beyond its limit" in found[0][0][0]


FAILS, HOLDS, UNKNOWN = ("3", "0.2", False), ("2", "0.5", True), ("", "", None)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({}, ""),
        ({"ministry": HOLDS, "everybody": UNKNOWN}, ""),
        ({"ministry": FAILS, "everybody": HOLDS}, "Not for ministry"),
        ({"ministry": UNKNOWN, "everybody": FAILS}, "Not for everybody else"),
        ({"ministry": FAILS, "archive": FAILS, "everybody": HOLDS}, "Not for ministry or archive"),
        (
            {"ministry": FAILS, "archive": FAILS, "press": FAILS, "everybody": HOLDS},
            "Not for ministry or 2 others",
        ),
        ({"ministry": FAILS, "everybody": FAILS}, "Not for anybody"),
        ({"everybody": FAILS}, "Not for anybody"),
    ],
)
def test_a_head_says_for_whom_a_setting_goes_beyond_its_limit(found, said):
    assert sums(**found).refused == said


@pytest.mark.parametrize(
    ("found", "holders", "said"),
    [
        ({"ministry": FAILS, "everybody": HOLDS}, ["The  Ministry"], "Not for ministry"),
        ({"ministry": FAILS, "everybody": HOLDS}, ["Ministry"], "Not again for ministry"),
        (
            {"ministry": FAILS, "archive": FAILS, "everybody": HOLDS},
            ["ministry"],
            "Not for archive, and not again for ministry",
        ),
        (
            {"ministry": FAILS, "everybody": FAILS},
            ["ministry"],
            "Not for anybody else, and not again for ministry",
        ),
        ({"ministry": FAILS, "everybody": HOLDS}, [EVERYBODY], "Not again for ministry"),
        ({"ministry": FAILS, "everybody": FAILS}, [EVERYBODY], "Not again for anybody"),
        ({"ministry": HOLDS, "everybody": HOLDS}, ["ministry"], ""),
    ],
)
def test_who_has_a_table_of_a_setting_is_not_said_to_be_refused_it(found, holders, said):
    assert sums(**found)._replace(published_for=tuple(holders)).refused == said


CRITERIA = [
    LIP.at_most(2),
    LIP(0.5),
    MaxLift(1.0),
    ALIP(0.5, 1.5),
    Chi2Lift(0.25, 0.75),
    Population(LIP.at_most(3), 0.9),
]


@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
def test_a_ledgers_text_is_read_as_its_criterion_and_asked_for_again(criterion):
    assert criterion_in(budgets_text(criterion)) == criterion
    found = again(_recorded(criterion), "1", frozenset("sx"))
    assert found.setting.bound() == criterion
    assert (found.setting.sensitive, found.setting.released) == (("s",), ("x",))


@pytest.mark.parametrize(
    "text",
    [
        budgets_text(AtMost({"ill": 0.5}, 2.0)),  # the value is not in the ledger
        "",
        "LIP",
        "LIP(epsilon=-1.0)",
        "LIP(epsilon=0.5, more=1)",
        "open(epsilon=0.5)",
        "__import__('os')",
        "LIP(epsilon=LIP(epsilon=0.5))",
        "(" * 5000,
    ],
)
def test_a_text_that_says_no_criterion_in_full_is_not_read(text):
    assert criterion_in(text) is None


def test_what_has_no_words_in_the_app_is_not_asked_for_again():
    assert again(_recorded(None), "1", frozenset("sx")) is None
    assert again(_recorded(EveryPrior(0.1, 0.5, 0.5)), "1", frozenset("sx")) is None
    assert again(_recorded(LIP(0.5)), "1", frozenset("s")) is None  # a column is gone
    from_data = _recorded(LIP(0.5))._replace(is_there=True, is_from_data=True, mechanism="watchdog")
    assert not again(from_data, "1", frozenset("sx")).is_whole


def _recorded(criterion):
    entry = Entry(
        **dict.fromkeys(
            ["source_sha256", "people", "id_column", "release_file", "draw_sha256", "refines"]
        ),
        source="t.csv",
        sensitive=("s",),
        released=("x",),
        kept=(),
        rows=9,
        release="",
        encoding="groups",
        criterion="",
        draws="fresh",
        recipient="everybody",
        output="",
        output_sha256=None,
        receipt_file=None,
        is_unaudited=False,
        lowlift="",
    )
    return Recorded(entry, criterion)
