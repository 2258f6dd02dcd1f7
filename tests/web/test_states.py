"""Every state is a URL: a setting survives the way into a query and back, and a page comes back."""

import math
import re
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playwright.sync_api import expect

from lowlift.errors import InvalidInput
from lowlift.web.settings import ENCODINGS, MOST_PINNED, SINGLE, Setting, pinned_of
from lowlift.workflow import CRITERIA, MECHANISMS
from web.browsing import slide
from web.serving import until

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
    criterion = draw(st.sampled_from(sorted(CRITERIA)))
    given_numbers = {"epsilon": draw(st.floats(0, 1e6))}
    if criterion not in SINGLE:
        given_numbers["split"] = draw(st.floats(0, 1))
    if criterion == "alpha":
        given_numbers["alpha"] = draw(st.floats(1, 1e6, exclude_min=True))
    return Setting(
        draw(st.sampled_from(["given", "1", "17"])),
        tuple(names[:cut]),
        tuple(names[cut:]),
        tuple((name, draw(BINS)) for name in binned),
        draw(st.sampled_from(["value", "drop", "error"])),
        criterion,
        mechanism=draw(st.sampled_from(sorted(MECHANISMS))),
        encoding=draw(st.sampled_from(ENCODINGS)),
        seconds=draw(st.floats(1, 3600)),
        **given_numbers,
    )


@given(settings_of_forms())
def test_a_setting_comes_back_from_its_query(setting):
    assert Setting.of(parse_qsl(setting.query)) == setting


@given(settings_of_forms())
def test_the_same_setting_has_the_same_query(setting):
    assert Setting.of(parse_qsl(setting.query)).query == setting.query


@given(st.lists(settings_of_forms(), max_size=5, unique=True))
def test_pinned_settings_come_back_up_to_three(several):
    found = pinned_of([("setting", each.query) for each in several])
    assert found == several[:MOST_PINNED]


@given(settings_of_forms())
def test_a_form_and_a_link_say_the_same(setting):
    form = [("table", setting.table)]
    form += [(f"role:{name}", "s") for name in setting.sensitive]
    form += [(f"role:{name}", "x") for name in setting.released]
    form += [("role:another column", ""), ("bin:another column", "each")]
    form += [(f"bin:{name}", f" {text} ") for name, text in setting.bins]
    form += [(name, str(getattr(setting, name))) for name in ("missing", "criterion", "mechanism")]
    form += [(name, repr(getattr(setting, name))) for name in ("epsilon", "split", "alpha")]
    form += [("encoding", setting.encoding), ("seconds", repr(setting.seconds))]
    assert Setting.of(form) == setting


@pytest.mark.parametrize("name", ["epsilon", "split", "alpha", "seconds"])
@pytest.mark.parametrize("text", ["x", "nan", "inf", "-1", "1e999"])
def test_a_number_that_is_none_is_refused(name, text):
    with pytest.raises(InvalidInput, match="number"):
        Setting.of([("table", "1"), (name, text)])


@pytest.mark.parametrize("seconds", ["0", "3601", "1e9"])
def test_a_time_limit_has_limits(seconds):
    with pytest.raises(InvalidInput, match="between 1 and 3600"):
        Setting.of([("seconds", seconds)])


@pytest.mark.parametrize("name", ["criterion", "mechanism", "encoding", "missing"])
def test_a_choice_that_is_none_is_refused_and_not_repeated(name):
    with pytest.raises(InvalidInput) as caught:
        Setting.of([(name, "<b>odd")])
    assert "odd" not in str(caught.value)


def test_single_budgets_have_no_split_and_others_their_own():
    assert Setting(criterion="ldp", epsilon=1.5).bound().epsilon == 1.5
    split = Setting(criterion="alip", epsilon=2, split=0.25).bound()
    assert math.isclose(split.lower, 0.5)
    assert math.isclose(split.upper, 1.5)


# In a browser ------------------------------------------------------------------------------------


def shown(page):
    """Return what a reader sees of a state: the choices and the verdict."""
    expect(page.locator(".verdict .badge")).to_be_visible()
    # Not inner_text: that depends on whether the style has been loaded.
    verdict = page.locator("#result .verdict").text_content()
    checked = page.locator("input[type=radio]:checked").evaluate_all(
        "found => found.map(each => each.name + each.value)"
    )
    fields = "#choices select, #choices input:not([type=radio]):not(:disabled)"
    values = page.locator(fields).evaluate_all(
        "found => found.filter(each => each.name != 'setting').map(each => each.name + each.value)"
    )
    return verdict, sorted(checked), sorted(values)


@pytest.fixture
def state(clinic_key):
    """The address of a state in which nothing is as at the start."""
    return (
        f"/look?table={clinic_key}&s=disease&x=zip&x=age&bin:age=width:20&missing=drop"
        "&criterion=alpha&mechanism=watchdog&encoding=codes&epsilon=1.35&split=0.3&alpha=3&seconds=9"
    )


def test_a_url_brings_its_state_back_in_another_page(visit, state):
    visit.go(state)
    first = shown(visit.page)
    assert "nameless" not in first
    other = visit.context.new_page()
    other.goto(visit.page.url)
    assert shown(other) == first
    other.reload()
    assert shown(other) == first


def test_what_is_changed_is_in_the_url(visit, state):
    visit.go(state)
    page = visit.page
    slide(page, "Budget ε", 2.5)
    expect(page).to_have_url(re.compile("epsilon=2.5&"))
    page.get_by_label("Criterion").select_option("ldp")
    expect(page).to_have_url(re.compile("criterion=ldp&"))
    page.get_by_role("radio", name="Leave out: age").check()
    expect(page).not_to_have_url(re.compile("x=age"))
    changed = shown(page)
    other = visit.context.new_page()
    other.goto(page.url)
    assert shown(other)[0] == changed[0]
    assert shown(other)[1] == changed[1]


def test_back_and_forward_lead_through_states(visit, state):
    page = visit.page
    visit.go(state)
    before = shown(page)
    page.get_by_role("link", name="Compare with other settings").click()
    expect(page.get_by_role("article")).to_have_count(1)
    page.get_by_role("link", name="Add another setting").click()
    slide(page, "Budget ε", 0.5)
    expect(page).to_have_url(re.compile("epsilon=0.5&"))
    changed = shown(page)
    page.go_back()
    expect(page.get_by_role("article")).to_have_count(1)
    page.go_back()
    assert shown(page) == before
    page.go_forward()
    page.go_forward()
    assert shown(page) == changed


def test_it_works_without_scripts(chromium, server, client, state):
    context = chromium.new_context(java_script_enabled=False)
    context.add_cookies(
        [{"name": each.name, "value": each.value, "url": server.url} for each in client.cookies.jar]
    )
    page = context.new_page()

    def look_again_for(part):
        """Reload the page, as its link does, until work is done that takes more than a second."""
        until(lambda: part.count() or page.reload() is None)
        return part

    page.goto(server.url + state)
    look_again_for(page.get_by_label("Criterion")).select_option("lip")
    page.get_by_role("button", name="Show the result").click()
    expect(page).to_have_url(re.compile("criterion=lip"))
    expect(look_again_for(page.locator(".verdict .badge"))).to_be_visible()
    context.close()
