"""Names and budgets that a user chooses by, and what fits a size."""

import math

import numpy as np
import pytest

import lowlift as ll
from lowlift.workflow import CRITERIA, MECHANISMS, criterion_of
from lowlift.workflow.choices import choose, released_by
from lowlift.workflow.curves import parse_numbers
from lowlift.workflow.keys import new_key, read_key, subkey_of

INF = math.inf


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("lip", {"epsilon": 1.0}, ll.LIP(1.0)),
        ("ldp", {"epsilon": 2.0}, ll.LDP(2.0)),
        ("max-lift", {"epsilon": 0.5}, ll.MaxLift(0.5)),
        ("max-lift", {"upper": 0.5}, ll.MaxLift(0.5)),
        ("alip", {"lower": 1.0, "upper": 0.5}, ll.ALIP(1.0, 0.5)),
        ("alip", {"epsilon": 2.0}, ll.ALIP(1.0, 1.0)),
        ("alip", {"epsilon": 2.0, "split": 0.75}, ll.ALIP(1.5, 0.5)),
        ("l1", {"upper": 1.0}, ll.L1Lift(INF, 1.0)),
        ("chi2", {"lower": 1.0, "upper": 1.0}, ll.Chi2Lift(1.0, 1.0)),
        ("alpha", {"epsilon": 2.0, "alpha": 2.0}, ll.AlphaLift(2.0, 1.0, 1.0)),
        ("alip", {"lower": 0.0, "upper": 0.0}, ll.ALIP(0.0, 0.0)),
        ("pml", {"epsilon": 0.5}, ll.MaxLift(0.5)),
        ("beta-likeness", {"beta": 1.0}, ll.BetaLikeness(1)),
        ("delta-disclosure", {"delta": 0.5}, ll.DeltaDisclosure(0.5)),
        ("t-closeness", {"t": 0.2}, ll.TCloseness(0.2)),
        ("every-prior", {"epsilon": 2.0, "at_least": 0.1}, ll.EveryPrior(0.1, 1.0, 1.0)),
        ("every-prior", {"lower": INF, "upper": 1.0, "at_least": 0.0}, ll.EveryPrior(0, INF, 1)),
    ],
)
def test_criteria_by_name(name, options, expected):
    assert criterion_of(name, **options) == expected


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("lift", {"epsilon": 1.0}, "one of"),
        ("lip", {}, "needs one bound"),
        ("lip", {"lower": 1.0}, "needs one bound"),
        ("ldp", {"upper": 1.0}, "needs one bound"),
        ("alip", {"upper": 1.0}, "needs a bound"),
        ("alip", {"lower": 1.0}, "needs a bound"),
        ("alip", {}, "needs a bound"),
        ("alip", {"epsilon": 1.0, "upper": 1.0}, "not both"),
        ("alip", {"lower": 1.0, "upper": 1.0, "split": 0.5}, "split"),
        ("lip", {"epsilon": 1.0, "split": 0.5}, "split"),
        ("alip", {"epsilon": 1.0, "split": 1.5}, "lam"),
        ("alip", {"epsilon": -1.0}, "0 or more"),
        ("alip", {"lower": 1.0, "upper": math.nan}, "0 or more"),
        ("alpha", {"epsilon": 1.0}, "alpha"),
        ("alpha", {"epsilon": 1.0, "alpha": 0.5}, "1 or more"),
        ("lip", {"epsilon": 1.0, "alpha": 2.0}, "alpha"),
        ("t-closeness", {}, "needs its bound: t"),
        ("t-closeness", {"t": 0.1, "upper": 1.0}, "leave upper out"),
        ("t-closeness", {"t": 2.0}, "t must be from 0 to 1"),
        ("beta-likeness", {"t": 0.1}, "t is the bound of criterion t-closeness"),
        ("lip", {"epsilon": 1.0, "beta": 1.0}, "beta is the bound of criterion beta-likeness"),
        ("delta-disclosure", {"delta": 0.0}, "above 0"),
        ("every-prior", {"epsilon": 1.0}, "at_least, such as 0.01"),
        ("lip", {"epsilon": 1.0, "at_least": 0.1}, "at_least"),
        ("every-prior", {"upper": 1.0, "at_least": 0.1}, "needs a bound"),
        ("pml", {"epsilon": 1.0, "split": 0.5}, "split"),
        ("maximal-leakage", {"epsilon": 1.0}, "Criterion pml keeps it at most its epsilon"),
    ],
)
def test_bounds_that_are_missing_or_too_many(name, options, word):
    with pytest.raises(ll.InvalidInput, match=word):
        criterion_of(name, **options)


def table(n_s, n_x):
    return ll.Joint.random(n_s, n_x, seed=0)


def test_auto_takes_the_best_that_the_size_allows():
    assert choose("auto", table(5, 17), ll.LIP(1.0)).name == "random-response"
    assert choose("auto", table(30, 1000), ll.LIP(1.0)).name == "subset-random-response"
    assert choose("auto", table(20, 3000), ll.LIP(1.0)).name == "subset-merging"
    assert choose("auto", table(2, 50_000), ll.LIP(1.0)).name == "random-response"
    few = ll.Joint.from_counts(np.tile([[1, 2], [3, 1], [1, 1]], 30_000))
    chosen = choose("auto", few, ll.LIP(1.0))
    assert chosen.name == "random-response"
    assert "60,000 symbols of X by 3 of S, with 2 different P(s|x)" in chosen.reason
    for size, name in ((18, "optimal-merging"), (19, "subset-merging")):
        chosen = choose("auto", table(5, size), ll.L1Lift(1.0, 1.0))
        assert chosen.name == name
        assert "not convex" in chosen.reason


def test_too_many_symbols_are_refused_with_the_count():
    with pytest.raises(ll.InvalidInput, match=r"30,000 cells.*auto"):
        choose("random-response", table(30, 1000), ll.LIP(1.0))

    class Large:
        n_s, n_x = 20, 2_000_000

    with pytest.raises(ll.InvalidInput, match=r"2,000,000 symbols.*minutes"):
        choose("auto", Large, ll.LIP(1.0))
    Large.n_s = 2
    for name in ("auto", "random-response"):
        with pytest.raises(ll.InvalidInput, match=r"2,000,000 symbols.*200,000.*bins"):
            choose(name, Large, ll.LIP(1.0))
    with pytest.raises(ll.InvalidInput, match="one of"):
        choose("best", table(5, 17), ll.LIP(1.0))


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_runs_and_holds(name):
    joint, bound = table(3, 8), ll.ALIP(0.5, 0.5)
    release = released_by(choose(name, joint, bound), joint, bound, time_limit=5)
    assert release.audit.is_satisfied


def test_the_names_are_those_of_the_help():
    assert (
        *("lip", "alip", "ldp", "max-lift", "l1", "chi2", "alpha", "every-prior"),
        *("pml", "beta-likeness", "delta-disclosure", "t-closeness"),
    ) == CRITERIA
    assert len(MECHANISMS) == 7


def test_numbers():
    assert parse_numbers("0.25:8:0.25", "epsilon") == tuple(k / 4 for k in range(1, 33))
    assert parse_numbers("0.1:0.3:0.1", "epsilon") == (0.1, 0.2, 0.3)
    assert parse_numbers("1", "epsilon") == (1.0,)
    for bad in ("", "a", "1:2", "1:2:0", "2:1:1", "1:2:-1", "0:inf:1", "1,,2", "0:1:1e-9"):
        with pytest.raises(ll.InvalidInput, match="epsilon"):
            parse_numbers(bad, "epsilon")


def test_keys(tmp_path):
    path = new_key(tmp_path / "draws.key")
    assert path.stat().st_mode & 0o777 == 0o600
    key = read_key(path)
    assert len(key) == 32
    assert key != new_key(tmp_path / "other.key").read_bytes()
    with pytest.raises(ll.InvalidInput, match="never overwritten"):
        new_key(path)
    assert read_key(path) == key
    path.chmod(0o640)
    with pytest.raises(ll.InvalidInput, match="owner only"):
        read_key(path)
    (tmp_path / "short").write_bytes(b"x")
    with pytest.raises(ll.InvalidInput, match="32 bytes"):
        read_key(tmp_path / "short")
    with pytest.raises(ll.InvalidInput, match="cannot be read"):
        read_key(tmp_path / "none")
    assert subkey_of(key, "a") != subkey_of(key, "b")
    assert subkey_of(key, "a") == subkey_of(key, "a")
