"""Every state is a URL: a setting survives the way into a query and back, and a page comes back."""

import math
import re
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from lowlift.criteria import LIP, Population
from lowlift.errors import InvalidInput
from lowlift.web import words
from lowlift.web.fields import ENCODINGS
from lowlift.web.settings import MOST_PINNED, WEIGHTS, Setting, pinned_of
from lowlift.workflow import MECHANISMS, ColumnProfile
from lowlift.workflow.criteria import IN_NATS, SINGLE
from lowlift.workflow.overview import Overview
from web.browsing import answer, choose, go_to, limit
from web.serving import post, until

NAMES = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")), min_size=1, max_size=12
)
BINS = st.one_of(
    st.just("each"),
    st.integers(1, 1000).map(lambda width: f"width:{width}"),
    st.lists(st.integers(-99, 99), min_size=1, max_size=4, unique=True).map(
        lambda edges: ",".join(map(str, sorted(edges)))
    ),
)


@st.composite
def settings_of_forms(draw):
    """Settings whose unused numbers have their defaults, as links have them."""
    names = draw(st.lists(NAMES, min_size=2, max_size=6, unique=True))
    cut = draw(st.integers(1, len(names) - 1))
    binned = draw(st.lists(st.sampled_from(names), unique=True))
    weighted = draw(st.lists(st.sampled_from(names[cut:]), unique=True))
    audience = draw(st.sampled_from(["table", "population"]))
    return Setting(
        draw(st.sampled_from(["given", "1", "17"])),
        tuple(names[:cut]),
        tuple(names[cut:]),
        tuple((name, draw(BINS)) for name in binned),
        draw(st.sampled_from(["value", "drop", "error"])),
        audience=audience,
        confidence=draw(st.floats(0.5, 0.999)) if audience == "population" else 0.95,
        weights=tuple((name, draw(st.sampled_from(["less", "more"]))) for name in weighted),
        cells=draw(st.sampled_from(["", "auto", "1", "300"])),
        mechanism=draw(st.sampled_from(sorted(MECHANISMS))),
        encoding=draw(st.sampled_from(ENCODINGS)),
        seconds=draw(st.floats(1, 3600)),
        **draw(bounds()),
    )


@st.composite
def bounds(draw):
    """A limit, or a criterion with its budgets."""
    criterion = draw(st.sampled_from(["", *sorted(IN_NATS)]))
    if not criterion:
        return {"limit": draw(st.floats(1, 1e6, exclude_min=True))}
    found = {"criterion": criterion, "epsilon": draw(st.floats(0, 1e6))}
    if criterion not in SINGLE:
        found["split"] = draw(st.floats(0, 1))
    if criterion == "alpha":
        found["alpha"] = draw(st.floats(1, 1e6, exclude_min=True))
    if criterion == "every-prior":
        found["at_least"] = draw(st.floats(0, 0.5))
    return found


@given(settings_of_forms())
def test_a_setting_comes_back_from_its_query(setting):
    assert Setting.of(parse_qsl(setting.query)) == setting


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("limit", ("1.0001", "9"), ("1", "0.5")),
        ("epsilon", ("0", "1e6"), ("-0.1",)),
        ("split", ("0", "1"), ("1.01",)),
        ("alpha", ("1", "50"), ("0.99",)),
        ("at_least", ("0", "0.5"), ("0.51",)),
        ("confidence", ("0.5", "0.99"), ("0.49", "1")),
        ("seconds", ("1", "3600"), ("0.9", "3601")),
    ],
)
def test_a_number_has_a_range(name, inside, outside):
    assert not any(Setting.read([(name, text)])[1] for text in inside)
    assert all(list(Setting.read([(name, text)])[1]) == [name] for text in outside)


def test_every_choice_has_a_name():
    assert tuple(words.CRITERIA) == IN_NATS
    assert tuple(words.MECHANISMS) == MECHANISMS


@given(settings_of_forms())
def test_the_same_setting_has_the_same_query(setting):
    assert Setting.of(parse_qsl(setting.query)).query == setting.query


@given(st.lists(settings_of_forms(), max_size=5, unique=True))
def test_pinned_settings_come_back_up_to_four(several):
    found = pinned_of([("setting", each.query) for each in several])
    assert found == several[:MOST_PINNED]


@given(settings_of_forms())
def test_a_form_and_a_link_say_the_same(setting):
    form = [("table", setting.table)]
    form += [(f"role:{name}", "s") for name in setting.sensitive]
    form += [(f"role:{name}", "x") for name in setting.released]
    form += [("role:another column", ""), ("bin:another column", "each")]
    form += [(f"bin:{name}", f" {text} ") for name, text in setting.bins]
    form += [(f"weight:{name}", word) for name, word in setting.weights]
    form += [(f"weight:{setting.sensitive[0]}", "more"), ("step", "columns"), ("stop", "3")]
    form += [(name, str(getattr(setting, name))) for name in ("missing", "criterion", "mechanism")]
    numbers = ("limit", "epsilon", "split", "alpha", "at_least", "confidence", "seconds")
    form += [(name, repr(getattr(setting, name))) for name in numbers]
    form += [(name, getattr(setting, name)) for name in ("audience", "cells", "encoding")]
    assert Setting.of(form) == setting


#: A table with an identifier, and few whole numbers.
TABLE = Overview(
    9,
    (
        *(ColumnProfile(name, "integer", 3, 0.0) for name in "abc"),
        ColumnProfile("id", "integer", 9, 0.0, flags=("identifier",)),
    ),
    single={"b": "each"},
)


def test_few_whole_numbers_need_no_bins_where_others_have_some():
    plain = Setting("1", ("a",), ("b", "c")).on(TABLE)
    assert dict(plain.asked().bins) == {}
    binned = replace(plain, bins=(("c", "0,2"),))
    assert {name: str(each) for name, each in binned.asked().bins.items()} == {
        "b": "Each()",
        "c": "Edges(edges=(0, 2))",
    }
    assert "each" not in binned.query
    assert not binned.wrong_bins(TABLE.kinds)
    assert "'c' has none" in replace(plain, bins=(("b", "0,2"),)).wrong_bins(TABLE.kinds)["bin:b"]


def test_a_form_that_leaves_all_columns_out_is_not_one_that_names_none():
    left_out = Setting.of([("table", "1"), ("role:a", "s"), ("role:b", "")])
    assert left_out.is_empty
    assert not left_out.is_chosen
    assert Setting.of(parse_qsl(left_out.query, keep_blank_values=True)) == left_out
    assert left_out.on(TABLE).released == ()
    unnamed = Setting.of([("table", "1"), ("s", "a")])
    assert unnamed.is_chosen
    assert unnamed.on(TABLE).released == ("b", "c")


@pytest.mark.parametrize(
    ("query", "criterion", "mechanism"),
    [
        ("", "LIP(epsilon=0.6931471805599453)", "auto"),
        ("limit=3", "LIP(epsilon=1.0986122886681096)", "auto"),
        ("mechanism=watchdog", "LIP(epsilon=0.6931471805599453)", "watchdog"),
        # Addresses from before the limit: the bound was ALIP, the mechanism subset merging.
        ("epsilon=1", "ALIP(lower=0.5, upper=0.5)", "subset-merging"),
        ("epsilon=1&split=0.75", "ALIP(lower=0.75, upper=0.25)", "subset-merging"),
        ("criterion=ldp&epsilon=1", "LDP(epsilon=1.0)", "subset-merging"),
        ("criterion=lip&epsilon=1&mechanism=auto", "LIP(epsilon=1.0)", "auto"),
    ],
)
def test_former_queries_mean_what_they_meant(query, criterion, mechanism):
    found = Setting.of([("table", "1"), ("s", "a"), ("x", "b"), *parse_qsl(query)])
    assert (str(found.bound()), found.mechanism) == (criterion, mechanism)
    assert Setting.of(parse_qsl(found.query)) == found


def test_the_bound_can_be_for_whom_the_rows_are_a_sample_of():
    found = Setting.of([("s", "a"), ("audience", "population"), ("confidence", "0.99")]).bound()
    assert isinstance(found, Population)
    assert (found.confidence, str(found.criterion)) == (0.99, str(LIP.at_most(2)))


def test_weights_and_cells_ask_for_rows():
    plain = Setting("1", ("a",), ("b", "c"))
    assert plain.asked().cells is None
    weighted = replace(plain, weights=(("b", "more"), ("gone", "less"))).asked()
    assert (weighted.cells, dict(weighted.weights)) == ("auto", {"b": WEIGHTS["more"]})
    assert replace(plain, cells="300").asked().cells == 300


def test_what_is_wrong_is_told_by_its_field():
    query = [
        ("table", "1"),
        ("s", "a"),
        ("x", "b"),
        ("bin:b", "9,3"),
        ("limit", "1"),
        ("cells", "0"),
    ]
    found, faults = Setting.read(query)
    assert sorted(faults) == ["bin:b", "cells", "limit"]
    assert faults["bin:b"] == "each group must start above the one before; 3 comes after 9."
    assert "above 1" in faults["limit"]
    assert (found.bins, found.limit) == ((("b", "9,3"),), 2.0)
    kinds = Setting.read([("s", "a"), ("x", "b"), ("bin:b", "each")])[0].wrong_bins({"b": "real"})
    assert "bin:b" in kinds


@pytest.mark.parametrize("name", ["limit", "epsilon", "split", "alpha", "confidence", "seconds"])
@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "1e999"])
def test_a_number_that_is_none_is_refused(name, text):
    with pytest.raises(InvalidInput, match="number") as caught:
        Setting.of([("table", "1"), (name, text)])
    assert name not in str(caught.value)  # it has the name of the page


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("limit=", {"limit"}),
        ("limit=&criterion=&epsilon=", {"limit"}),
        ("limit=&criterion=lip&epsilon=1", set()),
        ("limit=2&criterion=alpha&epsilon=&alpha=&split=0.5", {"epsilon", "alpha"}),
        ("limit=2&seconds=", {"seconds"}),
        ("limit=2&cells=&encoding=", set()),
    ],
)
def test_a_number_in_force_is_not_empty(query, wrong):
    found, faults = Setting.read(parse_qsl(query, keep_blank_values=True))
    assert set(faults) == wrong
    assert set(Setting.read(parse_qsl(found.query))[1]) == set()


@pytest.mark.parametrize("seconds", ["0", "3601", "1e9"])
def test_a_time_limit_has_limits(seconds):
    with pytest.raises(InvalidInput, match="between 1 and 3600"):
        Setting.of([("seconds", seconds)])


@pytest.mark.parametrize("name", ["criterion", "mechanism", "encoding", "missing", "audience"])
def test_a_choice_that_is_none_is_refused_and_not_repeated(name):
    with pytest.raises(InvalidInput) as caught:
        Setting.of([(name, "<b>odd")])
    assert "odd" not in str(caught.value)


def test_single_budgets_have_no_split_and_others_their_own():
    assert Setting(criterion="ldp", epsilon=1.5).bound().epsilon == 1.5
    every = Setting(criterion="every-prior", epsilon=2, at_least=0.05).bound()
    assert (every.at_least, every.lower, every.upper) == (0.05, 1.0, 1.0)
    split = Setting(criterion="alip", epsilon=2, split=0.25).bound()
    assert math.isclose(split.lower, 0.5)
    assert math.isclose(split.upper, 1.5)


# In a browser ------------------------------------------------------------------------------------


def shown(page, state="useful"):
    """Return what a reader sees of a state: the choices and the answer."""
    # Not inner_text: that depends on whether the style has been loaded.
    verdict = answer(page, state).locator("div.old").text_content()
    checked = page.locator("input[type=radio]:checked").evaluate_all(
        "all => all.filter(each => each.form.id == 'setting').map(each => each.name + each.value)"
    )
    fields = "#setting select, #setting input:not([type=radio]):not(:disabled)"
    values = page.locator(fields).evaluate_all(
        "found => found.filter(each => each.name != 'setting').map(each => each.name + each.value)"
    )
    return verdict, sorted(checked), sorted(values)


@pytest.fixture
def query(clinic_key):
    """The query of a state in which nothing is as at the start."""
    return (
        f"table={clinic_key}&s=disease&x=zip&x=age&bin:age=width:20&missing=drop"
        "&criterion=alpha&mechanism=watchdog&encoding=codes&epsilon=1.35&split=0.3&alpha=3&seconds=9"
    )


@pytest.mark.parametrize("step", ["columns", "protection"])
def test_a_url_brings_its_state_back_in_another_page(visit, query, step):
    visit.go(f"/{step}?{query}")
    first = shown(visit.page, "average")
    other = visit.context.new_page()
    other.goto(visit.page.url)
    assert shown(other, "average") == first
    other.reload()
    assert shown(other, "average") == first


def test_reload_anywhere(visit, client, query):
    """Each page says the same after a reload, and a publication is not written again."""
    page = visit.page
    setting = f"table={query.partition('table=')[2].partition('&')[0]}&s=disease&x=zip"
    _, written = post(client, setting)
    compared = urlencode([("setting", setting), ("setting", f"{setting}&limit=3")])
    for address in (
        "/",
        f"/columns?{setting}",
        f"/columns?{setting}&x=age&bin:age=60,30",
        f"/protection?{setting}&limit=0.5",
        f"/publish?{setting}&to=the+ministry",
        f"/compare?{compared}",
        written,
        "/nowhere",
    ):
        visit.go(address)
        expect(page.locator("main [data-events]")).to_have_count(0)
        page.wait_for_load_state("networkidle")  # parts of a page are asked for once it is there
        before = page.url, page.locator("main").inner_text()
        page.reload()
        expect(page.locator("main [data-events]")).to_have_count(0)
        expect(page.locator("main")).to_have_text(re.compile(r"\S"))
        until(lambda told=before: (page.url, page.locator("main").inner_text()) == told)
    expect(page.locator("#publications")).to_have_count(0)
    visit.go(written)
    page.get_by_role("navigation", name="App").get_by_role("link", name="Publications").click()
    expect(page.locator("#publications")).to_be_in_viewport()
    visit.go("/")
    expect(page.locator("#publications li")).to_have_count(1)
    said = re.compile(
        r"for everybody, \d+ \w+ \d{4}; no value of disease more than 2 times as likely"
    )
    expect(page.locator("#publications li")).to_contain_text(said)


def test_a_former_address_leads_to_the_same_setting(visit, query):
    visit.go(f"/look?{query}")
    expect(visit.page).to_have_url(re.compile("/protection[?].*criterion=alpha&epsilon=1.35&"))
    answer(visit.page, "average")
    expect(visit.page.get_by_label("Order", exact=True)).to_have_value("3")


def test_what_is_changed_is_in_the_url(visit, query):
    page = visit.page
    visit.go(f"/protection?{query}")
    page.get_by_label("Budget in nats", exact=True).fill("2.5")
    expect(page).to_have_url(re.compile("epsilon=2.5&"))
    page.get_by_label("Criterion", exact=True).select_option("ldp")
    expect(page).to_have_url(re.compile("criterion=ldp&"))
    go_to(page, "Columns")
    choose(page, "age", "Leave out")
    expect(page).not_to_have_url(re.compile("x=age"))
    changed = shown(page)
    other = visit.context.new_page()
    other.goto(page.url)
    assert shown(other)[:2] == changed[:2]


def test_a_wrong_number_is_at_its_field_and_not_in_the_url(visit, clinic_key):
    page = visit.page
    visit.go(f"/protection?table={clinic_key}&s=disease&x=zip&limit=3")
    answer(page)
    limit(page, "many")
    expect(answer(page, "waiting")).to_contain_text("Enter a number above 1, such as 2.5.")
    expect(page.locator('[data-error="limit"]')).to_contain_text("Enter a number")
    expect(page).to_have_url(re.compile("limit=3"))
    page.reload()
    expect(page.get_by_label("or another factor")).to_have_value("3")


def test_back_undoes_a_change(visit, clinic_key):
    page = visit.page
    visit.go(f"/columns?table={clinic_key}&s=disease&x=zip")
    first = shown(page)
    choose(page, "zip", "Leave out")
    expect(page).to_have_url(re.compile("x=&"))
    answer(page, "waiting")
    choose(page, "age", "Publish")
    expect(page).to_have_url(re.compile("x=age"))
    changed = shown(page)
    page.go_back()
    answer(page, "waiting")
    page.go_back()
    assert shown(page) == first
    page.go_forward()
    answer(page, "waiting")
    page.go_forward()
    assert shown(page) == changed


def test_back_before_the_script_runs_leaves_no_page_of_another_address(visit, clinic_key):
    page, held = visit.page, []
    visit.go(f"/columns?table={clinic_key}&s=disease&x=zip")
    first = shown(page)
    choose(page, "zip", "Leave out")
    expect(page).to_have_url(re.compile("x=&"))
    answer(page, "waiting")
    choose(page, "age", "Publish")
    expect(page).to_have_url(re.compile("x=age"))
    shown(page)
    page.route("**/static/htmx.min.js", lambda one: one.continue_() if held else held.append(one))
    page.evaluate("history.back()")
    answer(page, "waiting")
    assert held
    page.evaluate("history.back()")
    expect(page).to_have_url(re.compile("x=zip"))
    held[0].continue_()
    assert shown(page) == first


def test_it_works_without_scripts(chromium, server, client, query):
    context = chromium.new_context(java_script_enabled=False)
    context.add_cookies(
        [{"name": each.name, "value": each.value, "url": server.url} for each in client.cookies.jar]
    )
    page = context.new_page()

    def look_again_for(part):
        """Reload the page, as its link does, until work is done that takes more than a second."""
        until(lambda: part.count() or page.reload() is None)
        return part

    page.goto(f"{server.url}/protection?{query}")
    look_again_for(page.get_by_label("Criterion", exact=True)).select_option("lip")
    page.get_by_role("button", name="Show the answer").click()
    expect(page).to_have_url(re.compile("criterion=lip"))
    expect(look_again_for(page.locator('#answer[data-state="useful"]'))).to_be_visible()
    context.close()
