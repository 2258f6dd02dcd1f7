"""The trade-off of a table, as points, a CSV and charts."""

import csv
import math

import pytest

import lowlift as ll
from lowlift.errors import InvalidInput
from lowlift.workflow import (
    Asked,
    curves,
    parse_numbers,
    read_curve,
    report_of,
    tradeoff_curve,
    write_curve,
)
from people import COUNTS, DISEASES, WARDS, names, write_people

ASKED = Asked(("disease",), ("ward",))
JOINT = ll.Joint.from_counts(COUNTS, DISEASES, WARDS)
MERGING = ("subset-merging", "watchdog")


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


@pytest.fixture(scope="module")
def points(people):
    return tradeoff_curve(
        people,
        ASKED,
        criterion="alip",
        mechanisms=MERGING,
        epsilons=(0.5, 1.0, 2.0),
        splits=(0.5, 0.65),
    )


def test_a_point_is_the_audited_release_at_its_budget(points):
    assert [(p.mechanism, p.split, p.epsilon) for p in points] == [
        (name, split, epsilon)
        for name in MERGING
        for split in (0.5, 0.65)
        for epsilon in (0.5, 1.0, 2.0)
    ]
    for point in points:
        bound = ll.ALIP.split(point.epsilon, point.split)
        run = ll.subset_merging if point.mechanism == "subset-merging" else ll.watchdog
        audit = run(JOINT, bound).audit
        assert point.criterion == str(bound)
        assert point.is_satisfied is audit.is_satisfied is True
        assert point.nmi == pytest.approx(audit.nmi)
        assert point.min_lift_leakage == pytest.approx(audit.min_lift_leakage)
        assert point.max_lift_leakage == pytest.approx(audit.max_lift_leakage)
        assert point.min_lift_leakage <= bound.lower
        assert point.max_lift_leakage <= bound.upper
        assert math.isnan(point.upper_bound)
        assert point.seconds > 0


def test_the_optimum_has_a_proven_bound_and_grows_with_the_budget(people):
    found = tradeoff_curve(
        people,
        ASKED,
        criterion="lip",
        mechanisms=("random-response",),
        epsilons=(0.1, 0.3, 5.0),
        time_limit=5,
    )
    assert all(math.isnan(point.split) for point in found)
    values = [point.nmi for point in found]
    assert values == sorted(values)
    assert values[-1] == pytest.approx(1.0)
    assert all(point.nmi <= point.upper_bound + 1e-9 for point in found)


@pytest.mark.parametrize(
    ("criterion", "options"),
    [
        *(("ldp", {}), ("max-lift", {}), ("l1", {}), ("chi2", {}), ("alpha", {"alpha": 2.0})),
    ],
)
def test_every_criterion_has_a_curve(people, criterion, options):
    (point,) = tradeoff_curve(
        people,
        ASKED,
        criterion=criterion,
        mechanisms=("subset-merging",),
        epsilons=(1.0,),
        **options,
    )
    assert point.is_satisfied


def test_progress_is_told(people):
    seen = []
    tradeoff_curve(
        people,
        ASKED,
        criterion="lip",
        mechanisms=("watchdog",),
        epsilons=(1.0, 2.0),
        progress=lambda *step: seen.append(step),
    )
    assert seen == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    "options",
    [
        {"criterion": "lift"},
        {"mechanisms": ("best",)},
        {"mechanisms": ("",)},
        {"epsilons": (-1.0,)},
        {"epsilons": (math.nan,)},
        {"splits": (1.5,)},
        {"criterion": "alpha"},
        {"alpha": 2.0},
    ],
)
def test_what_cannot_be_swept(people, options):
    options = {"criterion": "alip", "mechanisms": ("watchdog",), "epsilons": (1.0,)} | options
    with pytest.raises(ll.InvalidInput):
        tradeoff_curve(people, ASKED, **options)


def test_bad_budgets_are_found_before_anything_is_run(people):
    with pytest.raises(ll.InvalidInput, match="0 or more"):
        tradeoff_curve(
            people,
            ASKED,
            criterion="lip",
            mechanisms=("random-response",),
            epsilons=(0.5,) * 50 + (-1.0,),
        )


def test_ranges():
    assert parse_numbers("0.25:8:0.25", "epsilon")[-1] == 8.0
    assert len(parse_numbers("0.25:8:0.25", "epsilon")) == 32
    assert parse_numbers("0:1:0.3", "epsilon") == (0.0, 0.3, 0.6, 0.9)
    assert parse_numbers("2:2:1", "epsilon") == (2.0,)


def test_a_csv_has_every_number(points, tmp_path):
    write_curve(points, tmp_path / "curve.csv")
    with (tmp_path / "curve.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["nmi"]) for row in rows] == [point.nmi for point in points]
    assert [row["mechanism"] for row in rows] == [point.mechanism for point in points]
    assert [row["is_satisfied"] for row in rows] == ["True"] * len(points)
    assert set(rows[0]) >= {"split", "epsilon", "criterion", "min_lift_leakage", "seconds"}


@pytest.mark.parametrize(("name", "start"), [("curve.svg", b"<?xml"), ("curve.png", b"\x89PNG")])
def test_a_chart_is_a_file_of_its_kind(points, tmp_path, name, start):
    write_curve(points, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert content.startswith((start, b"<svg"))
    assert names(tmp_path) == [name]
    if name.endswith(".svg"):
        for word in (b"subset-merging, split 0.65", b"watchdog, split 0.5"):
            assert word in content


@pytest.mark.parametrize("name", ["curve.csv", "curve.svg", "curve.png"])
def test_all_files_of_a_curve_have_one_mode_and_appear_whole(points, tmp_path, name, monkeypatch):
    """It tells how the table is distributed: for its owner, as the release is."""
    write_curve(points, tmp_path / name)
    assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    before = (tmp_path / name).read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_curve(points[:1], tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    assert names(tmp_path) == [name]


def test_other_endings_are_refused(points, tmp_path):
    with pytest.raises(ll.InvalidInput, match=r"\.csv, \.svg or \.png"):
        write_curve(points, tmp_path / "curve.pdf")
    assert names(tmp_path) == []


def test_a_curve_is_read_as_it_was_written(points, tmp_path):
    write_curve(points, tmp_path / "curve.csv")
    again = read_curve(tmp_path / "curve.csv")
    assert [str(point) for point in again] == [str(point) for point in points]  # NaN is not itself


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda text: text.splitlines()[0] + "\n",
        lambda text: text.replace("mechanism", "other", 1),
        lambda text: text.replace("True", "yes", 1),
        lambda text: text.replace("0.5", "half", 1),
        lambda text: text + "subset-merging,ALIP\n",
    ],
)
def test_a_damaged_curve_is_refused(points, tmp_path, damage):
    path = tmp_path / "curve.csv"
    write_curve(points, path)
    path.write_text(damage(path.read_text()))
    with pytest.raises(InvalidInput, match=r"curve\.csv"):
        read_curve(path)


def test_a_curve_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_curve(tmp_path / "none.csv")


def test_a_curve_of_before_searches_said_that_they_stopped_is_read(points, tmp_path):
    write_curve(points, tmp_path / "curve.csv")
    text = (tmp_path / "curve.csv").read_text(encoding="utf-8")
    lines = [line.rpartition(",")[0] for line in text.splitlines()]
    (tmp_path / "old.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    again = read_curve(tmp_path / "old.csv")
    assert [point.nmi for point in again] == [point.nmi for point in points]
    assert not any(point.is_stopped for point in again)


def test_auto_keeps_no_less_at_a_looser_budget_even_where_searches_stop(monkeypatch):
    """One search of three is stopped at once; the curve takes what a tighter budget kept."""
    joint = ll.Joint.random(3, 30, seed=2)
    limits = iter([600.0, 1e-6, 600.0])
    wanted = curves.released_by

    def released_by(chosen, joint, criterion, *, time_limit):
        return wanted(chosen, joint, criterion, time_limit=next(limits))

    monkeypatch.setattr(curves, "released_by", released_by)
    tight, stopped, loose = curves.tradeoff_of(
        joint, criterion="lip", mechanisms=["auto"], epsilons=[0.3, 0.31, 0.5]
    )
    assert stopped.is_stopped
    assert not tight.is_stopped
    assert not loose.is_stopped
    assert tight.nmi == pytest.approx(stopped.nmi)
    assert stopped.nmi <= stopped.upper_bound
    assert stopped.nmi <= loose.nmi + 1e-6
    assert stopped.is_satisfied


def test_the_order_of_budgets_does_not_matter():
    joint = ll.Joint.random(3, 8, seed=2)
    asked = {"criterion": "l1", "mechanisms": ["auto", "subset-merging"]}
    up = curves.tradeoff_of(joint, epsilons=[0.5, 1.0], **asked)
    down = curves.tradeoff_of(joint, epsilons=[1.0, 0.5], **asked)
    assert [point.epsilon for point in down] == [1.0, 0.5, 1.0, 0.5]
    assert {(p.epsilon, p.mechanism, p.nmi) for p in up} == {
        (p.epsilon, p.mechanism, p.nmi) for p in down
    }


def test_the_curve_of_a_report_keeps_no_less_at_a_looser_budget():
    """By Algorithm 1 alone it would: what the page offers at a looser budget is not less."""
    joint = ll.Joint.random(4, 10, seed=2)
    points = report_of(ll.subset_merging(joint, ll.LIP(1.0))).points
    for mechanism in {point.mechanism for point in points}:
        kept = [point.nmi for point in points if point.mechanism == mechanism]
        assert len(kept) > 5
        assert kept == sorted(kept)
    assert all(point.is_satisfied for point in points)
