"""Every page for everyone: axe finds nothing serious, the keyboard is enough, the phone too."""

import os
import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from web.browsing import Visit, advanced, answer, choose, payload, upload_file
from web.serving import clinic, post, register, upload

SIZES = {"wide": (1280, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
CHOSEN = "s=disease&x=zip"
#: A folder for pictures of every page, when one is named: to be looked at.
SHOTS = os.environ.get("LOWLIFT_SHOTS")


@pytest.fixture(scope="module")
def member(server):
    with server.client() as client:
        yield client


@pytest.fixture(scope="module")
def table(member):
    """The address of a table's page."""
    return upload(member, "clinic.csv", clinic().encode()).headers["location"]


@pytest.fixture(scope="module")
def publication(member, table):
    """The address of what was published."""
    return post(member, f"{table.split('?')[1]}&{CHOSEN}")[1]


@pytest.fixture(scope="module")
def searching(member, long_table):
    """The address of a search that goes on."""
    key = upload(member, "long.csv", long_table.read_bytes()).headers["location"]
    return f"{key}&s=s&x=x&mechanism=random-response"


@pytest.fixture(
    params=[
        # One look is enough for the first lane.
        pytest.param((theme, size), marks=() if k == 0 else pytest.mark.second_lane)
        for k, (theme, size) in enumerate((theme, size) for theme in THEMES for size in SIZES)
    ],
    ids="-".join,
)
def seen(request, chromium, server, member):
    """A browser of a theme and a size."""
    theme, size = request.param
    width, height = SIZES[size]
    viewport = {"width": width, "height": height}
    visit = Visit(chromium, server, member, viewport=viewport, color_scheme=theme)
    visit.name = f"{theme}-{size}"
    yield visit
    visit.close()


def assert_fine(visit, name, *expected):
    """Check a page: no serious finding, nothing wider than the screen, no complaint."""
    page = visit.page
    found = Axe().run(page).response["violations"]
    serious = [
        (each["id"], each["impact"], [node["html"][:200] for node in each["nodes"]][:3])
        for each in found
        if each["impact"] in {"serious", "critical"}
    ]
    assert not serious, serious
    wide, inner = page.evaluate("() => [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner
    assert_labelled(page)
    visit.check(*expected)
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=Path(SHOTS) / f"{name}-{visit.name}.png", full_page=True)


def assert_labelled(page):
    """Every control has a name that a screen reader says, every page one heading and title."""
    controls = page.locator("input:not([type=hidden]), select, button, a[href]")
    for control in controls.all():
        if control.is_visible():
            expect(control).to_have_accessible_name(re.compile(r"\S"))
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    expect(page).to_have_title(re.compile("lowlift"))
    expect(page.get_by_role("main")).to_have_count(1)


def test_start(seen, table):
    seen.go("/")
    expect(seen.page.get_by_role("link", name="clinic.csv", exact=True)).to_be_visible()
    assert_fine(seen, "start")


def test_columns_before_choosing(seen, table):
    seen.go(table)
    expect(seen.page.get_by_role("heading", name="What is each column for?")).to_be_visible()
    assert_fine(seen, "columns")


def test_groups_of_a_column(seen, table):
    seen.go(f"{table}&s=disease&x=zip&x=age&bin:age=30,60")
    seen.page.get_by_role("slider").first.wait_for(state="attached")
    shown_answer(seen.page)
    assert_fine(seen, "groups")


def test_an_error_at_its_field(seen, table):
    seen.go(f"{table}&s=disease&x=zip&x=age&bin:age=60,30")
    expect(seen.page.get_by_role("button", name="Put them in order")).to_be_visible()
    assert_fine(seen, "field-error")


def test_many_columns(seen, member):
    address = upload(member, "register.csv", register().encode()).headers["location"]
    seen.go(f"{address}&s=disease")
    expect(seen.page.locator("#tells-20 svg")).to_be_visible()
    shown_answer(seen.page)
    assert_fine(seen, "many-columns")


@pytest.mark.parametrize("step", ["columns", "protection", "publish"])
def test_steps(seen, table, step):
    seen.go(f"{table}&{CHOSEN}".replace("columns", step))
    shown_answer(seen.page)
    if step == "publish":
        expect(seen.page.get_by_role("button", name="Draw and write the table")).to_be_visible()
    if step == "protection":
        seen.page.locator("#rows-part table").wait_for(state="attached")
        seen.page.locator("#trade-part .curve").wait_for(state="attached")
    assert_fine(seen, step)


def test_advanced(seen, table):
    seen.go(f"{table}&{CHOSEN}&criterion=alpha&epsilon=1".replace("columns", "protection"))
    shown_answer(seen.page)
    advanced(seen.page)
    assert_fine(seen, "advanced")


def shown_answer(page):
    """Wait for the answer; on a phone, where it is a bar, open it too and close it again."""
    found = page.locator(
        "#answer:is([data-state=useful], [data-state=average], [data-state=names]):not([aria-busy])"
    )
    found.wait_for(state="attached")
    bar = page.locator("#answer .bar")
    if bar.is_visible():
        bar.click()
        expect(page.locator("#answer-body")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#answer-body")).to_be_hidden()


def test_working(seen, searching):
    seen.go(searching)
    seen.page.locator("#answer .working").wait_for(state="attached")
    if seen.page.locator("#answer .bar").is_visible():
        seen.page.locator("#answer .bar").click()
    expect(seen.page.get_by_role("button", name="Stop here and keep the best")).to_be_visible()
    expect(seen.page.locator(".working .progress")).to_contain_text("No method keeps more")
    assert_fine(seen, "working")


def test_compare(seen, table):
    setting = f"{table.split('?')[1]}&{CHOSEN}".replace("=", "%3D").replace("&", "%26")
    seen.go(
        f"/compare?setting={setting}&setting={setting}%26limit%3D3&setting={setting}%26limit%3D4"
    )
    expect(seen.page.locator("#cmp .state.useful")).to_have_count(3)
    assert_fine(seen, "compare")


def test_published(seen, publication):
    seen.go(publication)
    expect(seen.page.get_by_text("Written and verified")).to_be_visible()
    assert_fine(seen, "published")


def test_problem(seen, table):
    seen.go("/columns?table=nowhere")
    expect(seen.page.get_by_role("alert")).to_be_visible()
    assert_fine(seen, "problem", r"status of 422")
    seen.go(f"{table}&s=zip&x=zip")
    seen.page.locator("#answer .problem").wait_for(state="attached")
    assert_fine(seen, "problem-of-setting", r"status of 422")


def test_login_and_closed(chromium, server):
    for theme in THEMES:
        visit = Visit(chromium, server, None, color_scheme=theme)
        visit.name = theme
        visit.go("/login")
        expect(visit.page.get_by_label("Password")).to_be_focused()
        assert_fine(visit, "login")
        visit.go("/open?token=wrong")
        assert_fine(visit, "closed", r"status of 403")
        visit.close()


# By keyboard -------------------------------------------------------------------------------------


def tab_to(page, control, key="Tab", *, has_outline=True):
    """Press Tab until a control has the focus; it shows that it has it, or its label does."""
    for _ in range(120):
        page.keyboard.press(key)
        if control.evaluate("found => found === document.activeElement"):
            outline = control.evaluate("found => getComputedStyle(found).outlineStyle")
            assert outline != "none" or not has_outline
            return
    raise AssertionError(f"Tab does not lead to {control}")


def test_the_whole_path_by_keyboard(visit):
    page, keyboard = visit.page, visit.page.keyboard
    visit.go("/")
    keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    keyboard.press("Enter")
    file = page.get_by_label("Drop a CSV or Parquet file")
    tab_to(page, file)
    file.set_input_files(payload("clinic.csv", clinic()))
    tab_to(page, page.get_by_role("button", name="Read the table"))
    keyboard.press("Enter")
    expect(page.get_by_role("heading", name="What is each column for?")).to_be_visible()
    publish = page.get_by_role("radio", name="Publish: disease")
    tab_to(page, publish, has_outline=False)
    keyboard.press("ArrowLeft")
    expect(page.get_by_role("radio", name="Protect: disease")).to_be_checked()
    answer(page)
    tab_to(page, page.get_by_role("link", name="Go on to protection").first)
    keyboard.press("Enter")
    field = page.get_by_label("or another factor")
    tab_to(page, field)
    keyboard.press("Control+A")
    keyboard.type("1.5")
    expect(page).to_have_url(re.compile("limit=1.5&"))
    expect(field).to_be_focused()
    answer(page)
    tab_to(page, page.get_by_role("link", name="Go on to publish").first)
    keyboard.press("Enter")
    tab_to(page, page.get_by_role("button", name="Draw and write the table"))
    keyboard.press("Enter")
    expect(page.get_by_text("Written and verified")).to_be_visible()
    tab_to(page, page.locator('a[href$="/table"]'))
    with page.expect_download() as waiting:
        keyboard.press("Enter")
    assert waiting.value.suggested_filename == "clinic-safe.csv"


def test_a_search_is_stopped_by_keyboard(visit, client, long_table):
    key = upload(client, "long.csv", long_table.read_bytes()).headers["location"]
    visit.go(f"{key}&s=s&x=x&mechanism=random-response")
    page = visit.page
    button = page.get_by_role("button", name="Stop here and keep the best")
    expect(button).to_be_visible()
    tab_to(page, button)
    page.keyboard.press("Enter")
    answer(page)


#: Keeps what the line for readers of screens says, each time it is written.
HEAR = """window.heard = [];
document.addEventListener('DOMContentLoaded', () => new MutationObserver(
    () => window.heard.push(document.getElementById('said').textContent)
).observe(document.getElementById('said'), {childList: true}));"""
#: How far work is, as events: a stage, the same a second later, and the next one.
EVENTS = "".join(
    f'event: step\ndata: <ol class="stages"><li aria-current="step">{stage}</li></ol>{n} s\n\n'
    for n, stage in enumerate(("Counting", "Counting", "Solving"))
)


def test_of_work_only_another_stage_is_announced(visit, client, long_table):
    key = upload(client, "long.csv", long_table.read_bytes()).headers["location"]
    page = visit.page
    page.add_init_script(HEAR)
    kind = "text/event-stream"
    page.route("**/events*", lambda route: route.fulfill(body=EVENTS, content_type=kind))
    visit.go(f"{key}&s=s&x=x&mechanism=random-response")
    expect(page.get_by_role("status")).to_have_text("Solving")
    assert page.evaluate("window.heard.slice(0, 2)") == ["Counting", "Solving"]
    assert page.locator(".progress[aria-live]").count() == 0
    page.unroute("**/events*")


def test_what_is_kept_is_read_once(visit):
    visit.go("/")
    upload_file(visit.page, payload("clinic.csv", clinic()))
    choose(visit.page, "disease", "Protect")
    for part in answer(visit.page).locator(".kept > div").all():
        words = part.locator("dt").inner_text()
        assert part.locator("dd [aria-hidden]").inner_text() == words
        assert words not in part.aria_snapshot().partition("definition")[2]


def test_what_changes_is_announced(visit):
    visit.go("/")
    upload_file(visit.page, payload("clinic.csv", clinic()))
    page = visit.page
    said = page.get_by_role("status")
    expect(said).to_have_count(1)
    expect(page.get_by_role("form", name="Setting")).to_be_visible()
    choose(page, "disease", "Protect")
    expect(said).to_have_text("Holds, and is useful")
    page.get_by_role("button", name="Group the values of age").click()
    page.get_by_label("A new group of age starts at").fill("9,3")
    expect(said).to_have_text("No answer yet")


def test_text_is_read_at_twice_its_size(chromium, server, member, table):
    # 640 points wide is what a window of 1280 shows at 200 %.
    visit = Visit(chromium, server, member, viewport={"width": 640, "height": 450})
    visit.name = "zoomed"
    visit.go(f"{table}&{CHOSEN}")
    shown_answer(visit.page)
    assert_fine(visit, "columns")
    visit.close()
