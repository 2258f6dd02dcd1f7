"""``--at-most``: budgets in words on audit, design, sanitize, and what is published by them."""

import json
import random
from collections import Counter
from fractions import Fraction

import pytest

import lowlift as ll
from lowlift.criteria import AtMost
from lowlift.errors import InvalidInput
from lowlift.workflow.budgets import at_most_of


@pytest.fixture
def people(tmp_path):
    draw = random.Random(4)
    lines = ["work,income"]
    for _ in range(600):
        work = draw.choice(["none", "clerk", "chief"])
        rich = draw.random() < {"none": 0.05, "clerk": 0.2, "chief": 0.8}[work]
        lines.append(f"{work},{'>50K' if rich else '<=50K'}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_factor_is_never_looser_than_what_was_said(lowlift, people):
    columns = (people, "-s", "income", "-x", "work")
    found = lowlift("audit", *columns, "--at-most", "1.5", "--json")
    assert found.code == 1
    assert json.loads(found.out)["criterion"] == str(ll.LIP.at_most(1.5))
    assert lowlift("audit", *columns, "--at-most", "20").code == 0


def test_a_belief_is_kept_in_the_published_table(lowlift, people, tmp_path):
    columns = (people, "-s", "income", "-x", "work")
    bound = ("--at-most", "income=>50K:0.5")
    assert lowlift("audit", *columns, *bound).code == 1
    assert lowlift("audit", *columns, "--at-most", "income=>50K:90%").code == 0
    for name, more in (("one", ()), ("two", ("--at-most", "2", "--encoding", "values"))):
        out = tmp_path / f"{name}.csv"
        made = lowlift("sanitize", *columns, *bound, *more, "-o", out, "--json")
        assert made.code == 0, made.err
        assert json.loads(made.out)["is_verified"]
        release = ll.Release.from_json(tmp_path / f"{name}.release.json")
        assert isinstance(release.criterion, AtMost)
        joint, s = release.joint, release.joint.s_labels.index(">50K")
        for y in range(release.channel.n_y):
            masses = [int(mass) for mass in release.channel.exact_masses(joint, y)]
            assert Fraction(masses[s], sum(masses)) <= Fraction(1, 2)
        book = json.loads((tmp_path / f"{name}.codebook.json").read_text())
        assert "'>50K' is at most 50% likely" in book["guarantee"]
        verified = lowlift("verify", tmp_path / f"{name}.release.json", out)
        assert verified.code == 0, verified.out
        again = lowlift("estimate", out, tmp_path / f"{name}.codebook.json")
        assert again.code == 0, again.err


def test_a_release_is_judged_anew_on_another_table(lowlift, people, tmp_path):
    release = tmp_path / "release.json"
    columns = (people, "-s", "income", "-x", "work")
    made = lowlift("design", *columns, "--at-most", "income=>50K:0.5", "-o", release)
    assert made.code == 0, made.err
    rows = people.read_text().splitlines()
    rich = tmp_path / "rich.csv"
    rich.write_text("\n".join([rows[0], *rows[1:300], *["chief,>50K"] * 600]) + "\n")
    found = lowlift("apply", rich, release, "-o", tmp_path / "safe.csv")
    assert found.code == 1
    assert not (tmp_path / "safe.csv").exists()
    assert lowlift("apply", people, release, "-o", tmp_path / "safe.csv").code == 0


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (("--at-most", "0.5"), "1 or more"),
        (("--at-most", "two"), "such as 2"),
        (("--at-most", "income=>50K:1.5"), "up to 1"),
        (("--at-most", "income=>50K:half"), "COLUMN=VALUE:BELIEF"),
        (("--at-most", "income=>60K:0.5"), "one of the 2 of S"),
        (("--at-most", "income=>50K:0.01"), "Raise it"),
        (("--at-most", "work=chief:0.5"), "one sensitive column"),
        (("--at-most", "2", "--at-most", "3"), "one factor"),
        (("--at-most", "income=>50K:0.5", "--at-most", "income=>50K:0.6"), "one belief"),
        (("--at-most", "2", "--criterion", "lip"), "name one bound"),
        (("--at-most", "2", "--epsilon", "1"), "name one bound"),
        ((), "--at-most 2"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_one_line(lowlift, people, bound, words):
    found = lowlift("audit", people, "-s", "income", "-x", "work", *bound)
    assert found.code == 2
    assert words in found.err
    assert found.err.count("\n") == 1


def test_texts_with_signs_are_read_from_both_ends():
    found = at_most_of(["a=b=c:d:0.25"], ["a=b"])
    assert found == AtMost({"c:d": 0.25})
    with pytest.raises(InvalidInput, match="one sensitive column"):
        at_most_of(["a=c:0.25"], ["a", "b"])


def test_the_table_says_what_it_says(people):
    """The shares that the other tests rely on."""
    rows = Counter(line.split(",")[1] for line in people.read_text().splitlines()[1:])
    assert 0.2 < rows[">50K"] / 600 < 0.45


def test_a_curve_over_factors_and_beliefs(lowlift, people, tmp_path):
    columns = (people, "-s", "income", "-x", "work")
    out = tmp_path / "curve.csv"
    found = lowlift("tradeoff", *columns, "--at-most", "1.2,2,9", "-o", out, "--json")
    assert found.code == 0, found.err
    points = json.loads(found.out)
    assert [point["criterion"] for point in points] == [str(ll.LIP.at_most(f)) for f in (1.2, 2, 9)]
    assert [point["is_satisfied"] for point in points] == [True] * 3
    assert points[0]["nmi"] < points[1]["nmi"] < points[2]["nmi"] == pytest.approx(1)
    both = ("--at-most", "1.2,9", "--at-most", "income=>50K:0.5")
    report = ("--report", tmp_path / "curve.html")
    found = lowlift("tradeoff", *columns, *both, "-o", tmp_path / "both.csv", "--json", *report)
    assert found.code == 0, found.err
    bounded = json.loads(found.out)
    assert bounded[0]["nmi"] == pytest.approx(points[0]["nmi"])
    assert bounded[1]["nmi"] < points[2]["nmi"]
    assert "0.5" in bounded[1]["criterion"]
    for words in (("--at-most", "2", "--epsilon", "1"), ("--at-most", "income=>50K:0.5")):
        refused = lowlift("tradeoff", *columns, *words, "-o", tmp_path / "no.csv")
        assert (refused.code, refused.err.count("\n")) == (2, 1)


def test_a_sweep_over_beliefs_finds_the_values_of_each_joint():
    joint = ll.Joint.from_counts([[30, 10, 20], [10, 30, 20]], ["no", "yes"], ["a", "b", "c"])
    other = ll.Joint.from_counts([[10, 30], [30, 10]], ["yes", "no"], ["a", "b"])
    bounds = [AtMost({"yes": 0.55}), AtMost({"yes": 0.7}, 2)]
    sweep = ll.tradeoff([joint, other], ll.random_response, bounds)
    assert sweep["is_satisfied"].all()
    assert (sweep["nmi"][::2] < sweep["nmi"][1::2]).all()
    pandas = sweep.to_pandas()
    assert pandas["epsilon"].isna().tolist() == [True, False, True, False]
    assert pandas["epsilon"][1] == ll.LIP.at_most(2).epsilon


def test_a_factor_for_every_prior(lowlift, people, tmp_path):
    columns = (people, "-s", "income", "-x", "work")
    bound = ("--at-most", "1.5", "--at-least", "0.1")
    out = tmp_path / "every.csv"
    made = lowlift("sanitize", *columns, *bound, "-o", out, "--json")
    assert made.code == 0, made.err
    release = ll.Release.from_json(tmp_path / "every.release.json")
    assert release.criterion == ll.EveryPrior.at_most(1.5, at_least=0.1)
    book = json.loads((tmp_path / "every.codebook.json").read_text())
    assert "gave each sensitive value a chance of at least 10% before" in book["guarantee"]
    assert lowlift("verify", tmp_path / "every.release.json", out).code == 0
    wrong = lowlift("audit", *columns, "--at-most", "1.5", "--at-least", "0.6")
    assert wrong.code == 2
    assert "at_least must be at most 1/2" in wrong.err
    wrong = lowlift("audit", *columns, "--at-most", "income=>50K:0.5", "--at-least", "0.1")
    assert wrong.code == 2


@pytest.mark.parametrize(
    ("options", "criterion"),
    [
        (("--criterion", "beta-likeness", "--beta", "0.25"), ll.BetaLikeness(0.25)),
        (("--criterion", "delta-disclosure", "--delta", "0.5"), ll.DeltaDisclosure(0.5)),
        (("--criterion", "t-closeness", "--t", "0.1"), ll.TCloseness(0.1)),
        (("--criterion", "pml", "--epsilon", "0.25"), ll.PML(0.25)),
    ],
)
def test_bounds_by_the_names_of_other_fields(options, criterion, lowlift, people, tmp_path):
    out = tmp_path / "named.csv"
    made = lowlift("sanitize", people, "-s", "income", "-x", "work", *options, "-o", out, "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["is_verified"]
    assert ll.Release.from_json(tmp_path / "named.release.json").criterion == criterion
    shown = lowlift("show", tmp_path / "named.release.json")
    assert str(criterion) in shown.out


def test_a_curve_by_a_name_with_another_number_is_refused(lowlift, people):
    done = lowlift(
        *("tradeoff", people, "-s", "income", "-x", "work", "--criterion", "t-closeness"),
        *("--epsilon", "1", "-o", "curve.csv"),
    )
    assert done.code == 2
    assert "needs another number" in done.err
