"""What notebooks show: one card per object, escaped, without style sheet, script or extra."""

import subprocess
import sys
from html.parser import HTMLParser

import pytest

import lowlift as ll
from lowlift._display import MOST, card

EVIL = '<script>alert("x")</script>'
ODD = "half \ud800 <b>"


class Tags(HTMLParser):
    """The tags, attributes and words of a card."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.names, self.words, self.open = [], set(), [], []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.open.append(tag)
        self.names |= {name for name, _ in attrs}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


def joint_with(labels):
    counts = [[3 + x % 4, 9 - x % 5][s] for s in range(2) for x in range(len(labels))]
    rows = [counts[: len(labels)], counts[len(labels) :]]
    return ll.Joint.from_counts(rows, s_labels=[EVIL, ODD], x_labels=labels)


@pytest.fixture(scope="module")
def objects():
    joint = joint_with([EVIL, ODD, *(f"x{k}&amp;" for k in range(12))])
    release = ll.random_response(joint, ll.LIP(0.3))
    broken = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(0.05))
    sweep = ll.tradeoff(joint, ll.subset_merging, [ll.LIP(k / 8) for k in range(1, 11)])
    return {
        "joint": joint,
        "release": release,
        "audit": broken,
        "certificate": release.certificate,
        "tradeoff": sweep,
    }


NAMES = ["joint", "release", "audit", "certificate", "tradeoff"]


@pytest.mark.parametrize("name", NAMES)
def test_a_card_is_escaped_and_stands_alone(objects, name):
    html = objects[name]._repr_html_()
    html.encode("utf-8")
    found = Tags(html)
    assert found.open == []
    assert set(found.tags) <= {"div", "span", "strong", "table", "tr", "th", "td"}
    assert found.names <= {"style"}
    assert "url(" not in html
    assert "http" not in html


@pytest.mark.parametrize("name", ["joint", "audit"])
def test_labels_are_shown_as_they_are(objects, name):
    assert EVIL in Tags(objects[name]._repr_html_()).text


@pytest.mark.parametrize("name", ["joint", "release", "audit", "tradeoff"])
def test_at_most_eight_are_listed_and_the_rest_is_counted(objects, name):
    html = objects[name]._repr_html_()
    table = html.rpartition("<table")[2]
    assert table.count("<tr") == 1 + MOST
    left_off = html.rpartition("</table>")[2]
    total = len(objects[name]) if name == "tradeoff" else 14
    assert f">and {total - MOST} more " in left_off


def test_the_verdict_is_the_audits(objects):
    assert "The bound holds" in objects["release"]._repr_html_()
    assert objects["audit"].is_satisfied is False
    assert "The bound does not hold" in objects["audit"]._repr_html_()
    assert "Asked for, but not kept" in objects["audit"]._repr_html_()


def test_a_release_shows_what_is_kept_and_proven(objects):
    release = objects["release"]
    text = Tags(release._repr_html_()).text
    assert f"NMI {release.audit.nmi:.4f}" in text
    assert release.certificate.proven in text
    assert "|S| = 2, |X| = 14" in text


def test_a_criterion_in_floats_gets_no_verdict():
    class Mine:
        lower, upper = float("inf"), 9.0

        def leakage(self, lift_sy, p_s):
            return 0 * lift_sy[0], p_s @ lift_sy

        def risk(self, lift_sy, p_s):
            return p_s @ lift_sy

        def __str__(self):
            return EVIL

    joint = joint_with(["a", "b"])
    html = ll.audit(joint, ll.Channel.identity(joint), Mine())._repr_html_()
    assert "Not decided exactly" in html
    assert "<script" not in html


def test_a_stopped_search_says_so():
    stopped = ll.Certificate("mechanisms", 0.743, False, 0.258, stopped_after=20.0)
    text = Tags(stopped._repr_html_()).text
    assert "The search stopped after 20 s" in text
    assert "at most 74.3%" in text
    assert "at most 100% for merging" in ll.Certificate("partitions", 1.0, True)._repr_html_()


def test_a_design_that_fails_for_one_column_is_not_shown_as_kept():
    joint = joint_with(["a", "b"])
    release = ll.Release.of(joint, ll.Channel.identity(joint), ll.LIP(5.0))
    from lowlift._release import release_card

    assert "The bound holds" in release_card(release)
    assert "The bound does not hold" in release_card(release, holds=False)


def test_a_card_refuses_rows_of_another_length():
    with pytest.raises(ValueError, match="zip"):
        card("t", head=("a", "b"), rows=[("1",)])


def test_no_extra_is_loaded():
    code = (
        "import sys, lowlift as ll\n"
        "joint = ll.datasets.titanic()\n"
        "joint._repr_html_(), ll.watchdog(joint, ll.LIP(0.5))._repr_html_()\n"
        "assert not {'matplotlib', 'jinja2', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
