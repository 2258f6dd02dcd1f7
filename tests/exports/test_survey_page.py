"""The survey page: opened from a file, it stores protected answers only; `estimate` reads them."""

import contextlib
import csv
import importlib.util
import json
import socket
import subprocess
import sys
from collections import Counter
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from scipy import stats

import lowlift as ll
from exports.releases import release_of
from lowlift.tables import Column, Width

EXAMPLES = Path(__file__).parents[2] / "examples"
#: Fills in the form as a person does, again and again.
ANSWER = """async (answers) => {
  const form = document.getElementById("form");
  for (const answer of answers) {
    answer.forEach((text, k) => {
      for (const input of form.elements[`q${k}`]) input.checked = input.value === text;
    });
    form.requestSubmit();
    while (document.getElementById("done").hidden) await new Promise((go) => setTimeout(go));
    document.getElementById("next").click();
  }
}"""

#: Lists what each store of each database has.
STORED = """async () => {
  const found = [];
  const ended = (asked) =>
    new Promise((done) => asked.onsuccess = () => done(asked.result));
  for (const { name } of await indexedDB.databases()) {
    const database = await ended(indexedDB.open(name));
    for (const store of database.objectStoreNames)
      found.push(...await ended(database.transaction(store).objectStore(store).getAll()));
    database.close();
  }
  return found;
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("survey")
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / "survey_page.py", found],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return found


class Page:
    """A page that is opened from a file, without a network."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(accept_downloads=True, **{"offline": True} | options)
        self.requests, self.errors = [], []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        self.context.on("console", lambda message: self.errors.append(message.text))
        self.tab = self.context.new_page()
        self.tab.goto(path.as_uri())
        self.path = path

    def stored(self):
        """Return all that the browser keeps of the page: one list of answers, at the most."""
        assert self.tab.evaluate("localStorage.length + sessionStorage.length") == 0
        return self.tab.evaluate(STORED)

    def rows(self, folder):
        with self.tab.expect_download() as got:
            self.tab.get_by_role("button", name="Download CSV").click()
        got.value.save_as(folder / "answers.csv")
        assert got.value.suggested_filename == "answers.csv"
        with (folder / "answers.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def close(self):
        self.context.close()
        assert self.errors == []
        outside = [url for url in self.requests if not url.startswith("blob:")]
        assert outside == [self.path.as_uri()]


def test_answers_are_protected_downloaded_and_estimated(folder, chromium, lowlift, tmp_path):
    page = Page(chromium, folder / "survey.html")
    release = ll.Release.from_json(folder / "survey.release.json")
    joint = release.joint
    truth = np.random.default_rng(8).choice(joint.n_x, 600, p=joint.p_x)
    page.tab.evaluate(ANSWER, [list(joint.x_labels[x]) for x in truth])
    expect(page.tab.get_by_role("heading", name="600 answers stored")).to_be_visible()
    rows = page.rows(tmp_path)
    assert len(rows) == 600
    assert {tuple(row.values()) for row in rows} <= set(release.channel.y_labels)
    drawn = Counter(tuple(row.values()) for row in rows)
    wanted = np.bincount(truth, minlength=joint.n_x) @ release.channel.p_y_given_x
    seen = np.array([drawn[label] for label in release.channel.y_labels])
    often = wanted > 5
    scale = seen[often].sum() / wanted[often].sum()
    assert stats.chisquare(seen[often], wanted[often] * scale).pvalue > 1e-6
    page.close()

    ran = lowlift(
        *("estimate", tmp_path / "answers.csv", folder / "survey.codebook.json"),
        *("--by", "marriage", "--level", 0.9999, "--json"),
    )
    assert ran.code == 0, ran.err
    groups = json.loads(ran.out)["groups"]
    shares = Counter(joint.x_labels[x][0] for x in truth)
    assert {group["marriage"] for group in groups} == set(shares)
    for group in groups:
        share = shares[group["marriage"]] / 600
        assert group["share_low"] <= share <= group["share_high"]
        assert group["share"] == pytest.approx(share, abs=0.12)


def test_one_answer_is_drawn_by_the_channels_law_and_kept_nowhere_else(folder, chromium, tmp_path):
    page = Page(chromium, folder / "survey.html")
    release = ll.Release.from_json(folder / "survey.release.json")
    p_y = release.channel.p_y_given_x
    x = int((p_y > 0.01).sum(axis=1).argmax())
    assert (p_y[x] > 0.01).sum() > 1
    label = release.joint.x_labels[x]
    page.tab.evaluate(ANSWER, [list(label)] * 500)
    counts = Counter(tuple(row.values()) for row in page.rows(tmp_path))
    possible = [y for y in range(len(p_y[x])) if p_y[x, y] > 0]
    assert set(counts) <= {release.channel.y_labels[y] for y in possible}
    seen = [counts[release.channel.y_labels[y]] for y in possible]
    assert stats.chisquare(seen, 500 * p_y[x, possible]).pvalue > 1e-6
    # What is stored is what is in the file, and nothing of the form is left.
    (kept,) = page.stored()
    assert Counter(tuple(row.values()) for row in kept) == counts
    assert page.tab.locator("input:checked").count() == 0
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_person_answers_on_a_phone(folder, chromium, tmp_path, theme):
    page = Page(
        chromium, folder / "survey.html", color_scheme=theme, viewport={"width": 360, "height": 740}
    )
    tab = page.tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    expect(tab.get_by_role("button", name="Download CSV")).to_be_disabled()
    tab.get_by_role("button", name="Store a protected answer").click()
    expect(tab.get_by_role("alert")).to_contain_text("Please answer")
    tab.get_by_role("radio", name="very good").check()
    tab.get_by_role("radio", name="fairly").check()
    tab.get_by_role("button", name="Store a protected answer").click()
    expect(tab.get_by_role("heading", name="This is what was stored")).to_be_visible()
    assert not tab.get_by_role("radio", name="very good").is_visible()
    tab.reload()
    expect(tab.get_by_role("heading", name="1 answer stored")).to_be_visible()
    assert len(page.rows(tmp_path)) == 1
    tab.on("dialog", lambda dialog: dialog.accept())
    tab.get_by_role("button", name="Delete all").click()
    expect(tab.get_by_role("heading", name="No answers stored yet")).to_be_visible()
    page.requests.pop(1)  # the page again
    page.close()


def test_a_browser_that_keeps_nothing_says_so(folder, chromium, tmp_path):
    page = Page(chromium, folder / "survey.html")
    page.context.add_init_script("IDBFactory.prototype.open = () => { throw new Error('no'); }")
    page.tab.reload()
    expect(page.tab.get_by_text("This browser does not keep them")).to_be_visible()
    page.tab.get_by_role("radio", name="very good").check()
    page.tab.get_by_role("radio", name="fairly").check()
    page.tab.get_by_role("button", name="Store a protected answer").click()
    expect(page.tab.get_by_role("heading", name="1 answer stored")).to_be_visible()
    assert len(page.rows(tmp_path)) == 1
    page.requests.pop(1)  # the page again
    page.close()


def test_an_answer_is_in_no_address_while_the_browser_opens_its_database(folder, chromium):
    page = Page(chromium, folder / "survey.html")
    page.context.add_init_script("IDBFactory.prototype.open = () => ({})")  # it never ends
    page.tab.reload()
    page.tab.get_by_role("radio", name="very good").check()
    page.tab.get_by_role("radio", name="fairly").check()
    page.tab.get_by_role("button", name="Store a protected answer").click()
    expect(page.tab.get_by_role("radio", name="very good")).to_be_hidden()
    assert page.tab.url == page.path.as_uri()
    page.requests.pop(1)  # the page again
    page.close()


def test_two_tabs_keep_the_answers_of_both(folder, chromium):
    page = Page(chromium, folder / "survey.html")
    other = page.context.new_page()
    other.goto(page.path.as_uri())
    for number, tab in enumerate((page.tab, other), start=1):
        tab.get_by_role("radio", name="very good").check()
        tab.get_by_role("radio", name="fairly").check()
        tab.get_by_role("button", name="Store a protected answer").click()
        for each in (page.tab, other):
            stored = f"{number} answer{'' if number == 1 else 's'} stored"
            expect(each.get_by_role("heading", name=stored)).to_be_visible()
    (kept,) = page.stored()
    assert len(kept) == 2
    page.requests.pop(1)  # the other tab
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everyone_can_use_the_page(folder, chromium, theme):
    # The checker is a script that the page's own policy would not let in.
    page = Page(chromium, folder / "survey.html", color_scheme=theme, bypass_csp=True)
    assert Axe().run(page.tab).response["violations"] == []
    page.tab.get_by_role("radio", name="poor", exact=True).check()
    page.tab.get_by_role("radio", name="strongly").check()
    page.tab.get_by_role("button", name="Store a protected answer").click()
    expect(page.tab.get_by_role("button", name="Next person")).to_be_focused()
    assert Axe().run(page.tab).response["violations"] == []
    page.close()


def test_the_page_cannot_send_anything(folder, chromium):
    page = Page(chromium, folder / "survey.html", offline=False)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        send = """(address) => new Promise((resolve) => {
          const refused = [];
          document.addEventListener("securitypolicyviolation", (event) => {
            refused.push(event.effectiveDirective);
            if (refused.length === 3) setTimeout(() => resolve(refused), 200);
          });
          fetch(address).catch(() => {});
          new Image().src = address;
          document.body.append(Object.assign(document.createElement("iframe"), { src: address }));
        })"""
        refused = page.tab.evaluate(send, address)
        assert sorted(refused) == ["connect-src", "frame-src", "img-src"]
        page.context.close()
        assert received(server) == b""


def received(server):
    """Return what all who connected have sent; a browser may open a connection in advance."""
    server.settimeout(0.5)
    found = b""
    with contextlib.suppress(TimeoutError):
        while True:
            with server.accept()[0] as connection:
                connection.settimeout(0.5)
                found += connection.recv(1000)
    return found


@pytest.fixture
def page_of(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    path = EXAMPLES / "survey_page.py"
    spec = importlib.util.spec_from_file_location("survey_page", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.page_of


def test_other_columns_have_fields_and_hostile_names_are_only_names(page_of, chromium, tmp_path):
    name = '</script><img src=x onerror="document.title=1">'
    columns = [
        Column("age", "integer", Width(10)),
        Column("day", "date"),
        Column(name, "text"),
        Column("ill", "boolean"),
    ]
    rows = [(41, date(2024, 2, 29), '=1+"a",\n', True), (5, date(2024, 3, 1), "__proto__", False)]
    release = release_of(columns, rows, encoding="values", bits=0)
    identity = ll.Release.of(release.joint, ll.Channel.identity(release.joint), ll.MaxLift(9.0))
    wording = {"title": "T</script>", "intro": "<b>", "questions": {}, "unknown": "Not known."}
    text = page_of(identity.with_table(release.origin), wording)
    (tmp_path / "page.html").write_text(text, "utf-8")
    page = Page(chromium, tmp_path / "page.html")
    tab = page.tab
    tab.get_by_label("age").fill("45")
    tab.get_by_label("day").fill("2024-02-29")
    tab.locator("input[name=q2]").first.check()
    tab.get_by_role("radio", name="false").check()
    tab.get_by_role("button", name="Store a protected answer").click()
    assert tab.get_by_role("alert").inner_text() == "Not known."
    tab.get_by_role("radio", name="true").check()
    tab.get_by_role("button", name="Store a protected answer").click()
    wanted = {"age": "[40, 50)", "day": "2024-02-29", name: '=1+"a",\n', "ill": "true"}
    assert page.rows(tmp_path) == [wanted]
    assert tab.title() == "T</script>"
    page.close()
