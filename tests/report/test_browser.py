"""The page in a real browser: offline, accessible, and within the screen."""

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

import lowlift as ll
from lowlift.report import Report, page
from lowlift.workflow import report_of
from people import write_people

# The pages are written once.
pytestmark = pytest.mark.xdist_group("report_browser")


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """Files of pages of every kind, by name."""
    from lowlift.workflow import Asked, Options, sanitize

    folder = tmp_path_factory.mktemp("pages")
    titanic = ll.datasets.titanic()
    raw = ll.audit(titanic, ll.Channel.identity(titanic), ll.ALIP(0.5, 0.5))
    people = write_people(folder / "people.csv")
    asked, options = Asked(("disease",), ("ward",)), Options(seed=1)
    made = sanitize(people, asked, ll.LIP(0.4), str(folder / "safe.csv"), options)
    many = ll.subset_merging(ll.Joint.random(15, 200, seed=0), ll.ALIP(1.0, 1.0))
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 12, 1500)
    long = pd.DataFrame(
        {
            "a column whose name has many words": [f"a diagnosis, unspecified, {k}" for k in kind],
            "address": [f"Llanfairpwllgwyngyllgogerychwyrndrobwll{k % 9}" for k in kind],
            "measured": kind + rng.normal(size=1500),
        }
    )
    bound = ll.LIP.at_most(2)
    reports = {
        "long": ll.sanitize(long, sensitive=long.columns[0], criterion=bound, seed=1).report(),
        "audit": Report(raw),
        "release": report_of(ll.random_response(titanic, ll.ALIP(0.5, 0.5))),
        "sanitized": report_of(made),
        "many": report_of(many),
    }
    for name, report in reports.items():
        (folder / f"{name}.html").write_text(page(report), "utf-8")
    (folder / "public.html").write_text(page(reports["sanitized"], is_public=True), "utf-8")
    return {path.stem: path for path in folder.glob("*.html")}


NAMES = ("audit", "release", "sanitized", "many", "long", "public")


@pytest.mark.parametrize("name", NAMES)
def test_it_opens_offline_and_asks_for_nothing(chromium, pages, name):
    context = chromium.new_context(offline=True)
    asked, complaints = [], []
    sheet = context.new_page()
    sheet.on("request", lambda request: asked.append(request.url))
    sheet.on("console", lambda message: complaints.append(message.text))
    sheet.on("pageerror", lambda error: complaints.append(str(error)))
    address = pages[name].as_uri()
    sheet.goto(address)
    assert sheet.get_by_role("heading", level=1).count() == 1
    outside = [url for url in asked if url != address and not url.startswith("data:image/png")]
    assert outside == []
    assert complaints == []
    context.close()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.second_lane)])
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_serious(chromium, pages, name, scheme):
    context = chromium.new_context(color_scheme=scheme)
    sheet = context.new_page()
    sheet.goto(pages[name].as_uri())
    found = Axe().run(sheet).response["violations"]
    serious = [
        (item["id"], [node["html"][:120] for node in item["nodes"]][:3])
        for item in found
        if item["impact"] in {"serious", "critical"}
    ]
    assert serious == []
    context.close()


@pytest.mark.parametrize(
    "width", [390, *(pytest.param(wide, marks=pytest.mark.second_lane) for wide in (768, 1200))]
)
@pytest.mark.parametrize("name", NAMES)
def test_it_fits_the_screen(chromium, pages, name, width):
    context = chromium.new_context(viewport={"width": width, "height": 800})
    sheet = context.new_page()
    sheet.goto(pages[name].as_uri())
    assert sheet.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


def test_print_is_light_and_whole(chromium, pages):
    context = chromium.new_context(color_scheme="dark")
    sheet = context.new_page()
    sheet.goto(pages["release"].as_uri())
    paint = "getComputedStyle(document.body).backgroundColor"
    assert sheet.evaluate(paint) != "rgb(255, 255, 255)"
    sheet.emulate_media(media="print")
    assert sheet.evaluate(paint) == "rgb(255, 255, 255)"
    sheet.set_viewport_size({"width": 720, "height": 1000})
    cut = sheet.evaluate(
        "[...document.querySelectorAll('svg, table')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1).length"
    )
    assert cut == 0
    sheet.set_viewport_size({"width": 673, "height": 1000})  # of A4, without its margins
    words = "[...document.querySelectorAll('.beliefs .to')].map(e => e.getClientRects()[0].height)"
    assert 0 < max(sheet.evaluate(words)) < 25  # one line
    assert sheet.pdf(format="A4").startswith(b"%PDF")
    context.close()


@pytest.mark.parametrize("width", [673, 695])  # of A4 and of letter, without their margins
@pytest.mark.parametrize("name", NAMES)
def test_nothing_is_wider_than_the_paper(chromium, pages, name, width):
    sheet = chromium.new_page(viewport={"width": width, "height": 1000})
    sheet.goto(pages[name].as_uri())
    sheet.emulate_media(media="print")
    beyond = sheet.evaluate(
        "[...document.querySelectorAll('body *')]"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.tagName + ': ' + e.textContent.slice(0, 40))"
    )
    assert beyond == []
    sheet.close()


def test_a_command_stays_with_its_note_on_paper(chromium, pages):
    sheet = chromium.new_page()
    sheet.goto(pages["sanitized"].as_uri())
    sheet.emulate_media(media="print")
    commands = "[...document.querySelectorAll('.command:has(+ p)')]"
    after = sheet.evaluate(f"{commands}.map(each => getComputedStyle(each).breakAfter)")
    assert set(after) == {"avoid"}
    sheet.close()


def test_notes_stay_with_their_table_and_headings_with_some_lines_on_paper(chromium, pages):
    sheet = chromium.new_page()
    sheet.goto(pages["many"].as_uri())
    sheet.emulate_media(media="print")
    notes = "[...document.querySelectorAll('.scroll + .soft')]"
    before = sheet.evaluate(f"{notes}.map(each => getComputedStyle(each).breakBefore)")
    assert set(before) == {"avoid"}
    lines = "[...document.querySelectorAll('#provenance + dl > div')]"
    after = sheet.evaluate(f"{lines}.map(each => getComputedStyle(each).breakAfter)")
    assert after[:3] == ["avoid"] * 3
    assert set(after[3:]) == {"auto"}
    sheet.close()


#: The largest brightness (0 to 1) of a picture's paper, and the least of the words around it; words
#: in the cells of a heat map stand on their own colours.
BRIGHTNESS = r"""() => {
    const sum = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0);
    const all = (selector) => [...document.querySelectorAll(selector)];
    const of = (parts, name) => parts.map((part) => sum(getComputedStyle(part)[name]) / 765);
    const papers = of(all('.chart, .panels svg, .legend svg'), 'backgroundColor');
    const sheets = of(all(':is(.chart, .panels) svg > g > g:first-child > path'), 'fill');
    const words = of(all(':is(.chart, .panels) text[fill="#333333"]'), 'fill');
    return [Math.max(...papers, ...sheets), Math.min(...words)];
}"""


@pytest.mark.parametrize("name", ["release", "sanitized", "many"])
def test_pictures_are_dark_on_a_dark_screen_and_light_on_paper(chromium, pages, name):
    context = chromium.new_context(color_scheme="dark")
    sheet = context.new_page()
    sheet.goto(pages[name].as_uri())
    paper, words = sheet.evaluate(BRIGHTNESS)
    assert paper < 0.2
    assert words > 0.6
    sheet.emulate_media(media="print")
    paper, words = sheet.evaluate(BRIGHTNESS)
    assert paper == 1
    assert words < 0.4
    context.close()


@pytest.mark.parametrize(("name", "word"), [("sanitized", "Confidential"), ("public", "Public")])
def test_every_printed_page_is_marked_and_numbered(chromium, pages, name, word):
    """The browser reads the boxes in the margins of all pages."""
    sheet = chromium.new_page()
    sheet.goto(pages[name].as_uri())
    boxes = sheet.evaluate(
        "() => Object.fromEntries([...document.styleSheets[0].cssRules]"
        ".filter(rule => rule instanceof CSSPageRule && rule.selectorText === '')"
        ".flatMap(rule => [...rule.cssRules]).filter(box => box.style.content)"
        ".map(box => [box.name, box.style.content]))"
    )
    assert word in boxes["top-left"]
    assert "counter(page)" in boxes["bottom-right"]
    assert ("release" in boxes.get("bottom-left", "")) is (name == "sanitized")
    sheet.close()


def test_no_word_of_a_picture_is_cut_off(chromium, pages):
    sheet = chromium.new_page(viewport={"width": 1280, "height": 900})
    for name in NAMES:
        sheet.goto(pages[name].as_uri())
        found = sheet.evaluate(
            "() => [...document.querySelectorAll('svg text')].filter(e => {"
            " const inner = e.getBoundingClientRect(),"
            " outer = e.ownerSVGElement.getBoundingClientRect();"
            " return inner.right > outer.right + 0.5 || inner.left < outer.left - 0.5;"
            "}).map(e => e.textContent)"
        )
        assert found == [], name
    sheet.close()
