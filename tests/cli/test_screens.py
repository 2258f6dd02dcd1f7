"""What screens say: the same warnings as JSON, every extreme lift, words that read one way."""

import json
import re

import pytest

import lowlift as ll
from lowlift._cli import json_data
from lowlift._explanations import TOPICS, page
from people import rows_of, write_csv


def warnings_in(value):
    if isinstance(value, dict):
        own = value.get("warnings", [])
        return {*own, *(w for part in value.values() for w in warnings_in(part))}
    if isinstance(value, list):
        return {w for part in value for w in warnings_in(part)}
    return set()


def test_json_has_the_warnings_of_the_text(lowlift, tmp_path):
    """The table is too small for its bound, and has counts below 5."""
    rows = rows_of([[3, 3, 1], [3, 3, 2]], ("a", "b"), ("u", "v", "w"))
    table = write_csv(tmp_path / "t.csv", ("s", "x"), rows)
    asked = (table, "-s", "s", "-x", "x", "--criterion", "max-lift", "--epsilon", 1)
    pages = ("--report-public", "p.html", "--force")
    merged = (*pages, "--mechanism", "subset-merging")
    commands = {
        "audit": ("audit", *asked),
        "audit with a page": ("audit", *asked, *pages),
        "design": ("design", *asked, "--public", "c.json", *pages),
        "sanitize": ("sanitize", *asked, "-o", "a.csv", *pages),
        "rounded": ("sanitize", *asked, "-o", "r.csv", "--round-to", 0.01, *merged),
        "apply": ("apply", table, "release.json", "-o", "b.csv", "--force"),
        "show": ("show", "release.json"),
        "report": ("report", "release.json", "--public", "--force"),
        "verify": ("verify", "release.json"),
        "estimate": ("estimate", "a.csv", "a.codebook.json"),
        "tradeoff": ("tradeoff", *asked[:5], "--epsilon", "1", "-o", "c.csv", "--force"),
    }
    for name, arguments in commands.items():
        text = lowlift(*arguments).out
        said = [
            line.removeprefix("Warning: ")
            for line in text.splitlines()
            if line.startswith("Warning: ")
        ]
        data = json.loads(lowlift(*arguments, "--json").out)
        found = warnings_in(data)
        assert found == set(said), name
        # Each once.
        assert len(said) == len(found), name
        assert isinstance(data, list) or len(data.get("warnings", ())) == len(found), name
        if name == "rounded":
            assert any(line.startswith("intervals of width") for line in said)
        if name in {"audit", "design", "sanitize"}:
            start = "as a sample the table is too small to support the bound."
            assert any(line.startswith(start) for line in found)


def test_a_high_lift_is_not_hidden_by_zeros():
    """Twenty values rule a sensitive value out; one has a lift of 101."""
    counts = [[0] * 20 + [1, 9], [50] * 20 + [0, 0]]
    counts[1][21] = 1000
    joint = ll.Joint.from_counts(counts)
    verdict = ll.audit(joint, ll.Channel.identity(joint), ll.LIP(1.0))
    assert verdict.lift.max() > 100
    shown = verdict.most_extreme(12)
    assert len(shown) == len(set(shown)) == 12
    assert shown[0] == 20
    assert (verdict.lift[:, shown].min(axis=0) == 0).sum() >= 6


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (
            ll.LIP(1.0),
            r"no sensitive value more than 1\.51 times or less than 0\.(5|499) times as likely",
        ),
        (ll.LIP(0.1), r"value 1\.5 times as likely as it was, or reduce it to 0\.5 times\.$"),
    ],
)
def test_factors_are_times_as_likely(bound, words):
    joint = ll.Joint.from_counts([[1, 3], [3, 1]])
    verdict = ll.audit(joint, ll.Channel.identity(joint), bound)
    assert re.search(words, json_data.verdict(verdict))


@pytest.mark.parametrize("topic", TOPICS)
def test_explanations_ship_with_the_package(lowlift, topic):
    found = lowlift("explain", topic)
    assert (found.code, found.err) == (0, "")
    assert found.out == page(topic).rstrip() + "\n"
    assert topic in lowlift("explain").out


def test_an_unknown_topic_is_bad_input(lowlift):
    assert lowlift("explain", "weather").code == 2
