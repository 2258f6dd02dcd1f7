"""The checker shares no code with the library: what both say of a release must be the same."""

import argparse
import ast
import copy
import dataclasses
import functools
import itertools
import json
import math
import pickle
import random
import runpy
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import lowlift as ll
from checker import attacks
from checker.agreement import CHECK, checker, disagreement, half_spaces, is_accepted, is_allowed
from checker.attacks import saved_of
from fuzz.mutation import changed_bytes, changed_json
from lowlift._distortion.distances import distances_of
from lowlift._distortion.region import spaces_of
from lowlift.criteria import criterion_on, to_dict
from lowlift.errors import LowliftError


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-I", CHECK, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(("name", "most"), [("check.py", 300), ("utility.py", 200)])
def test_the_checker_is_short_and_imports_only_the_standard_library(name, most):
    text = CHECK.with_name(name).read_text("utf-8")
    assert len(text.splitlines()) <= most
    found = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        name.split(".")[0]
        for node in found
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert names <= sys.stdlib_module_names | ({"check"} if name == "utility.py" else set())


def in_mpmath(x):
    return mpmath.mpf(x.numerator) / x.denominator


@pytest.mark.parametrize(
    "x",
    [0.0, 5e-324, 1e-300, 0.5, 0.6931471805599453, 1 - 2**-53, 1.0, 17.25, 255.9, 300.0],
)
@pytest.mark.parametrize("bits", [8, 64, 500])
def test_powers_of_e_are_enclosed(x, bits):
    low, high = checker().exp_between(Fraction(x), bits)
    with mpmath.workdps(600):
        assert in_mpmath(low) <= mpmath.exp(mpmath.mpf(x)) <= in_mpmath(high)
    assert high - low <= high * Fraction(1, 2 ** (bits - 2))


@pytest.mark.parametrize("bits", [64, 256, 1400])
@pytest.mark.parametrize(
    "base",
    [
        Fraction(0),
        Fraction(1, 10**30),
        Fraction(1, 2),
        1 - Fraction(1, 10**15),
        1 - Fraction(1, 2**1074),
        Fraction(1),
        1 + Fraction(1, 2**1074),
        1 + Fraction(1, 10**15),
        Fraction(9, 4),
        Fraction(10**30),
    ],
    ids=lambda base: f"{float(base):.4g}",
)
def test_powers_by_any_float_are_enclosed(base, bits):
    one = 1 << bits
    for x in (0, 5e-324, 1e-300, 0.1, 0.5, 1, 1 + 2**-52, 1.3, 2.5, 20000.5, 1e12, 1e300, 1e308):
        with mpmath.workdps(900):
            true = in_mpmath(base) ** mpmath.mpf(x) * one
            for most in (one, one << 200):
                low, high = (
                    checker().power_end(base * one // 1 + up, Fraction(x), bits, up, most)
                    for up in (0, 1)
                )
                assert low <= true
                assert true <= high or high > most
        if bits == 1400 and base > 0 and x * abs(base - 1) < 100:
            assert high - low < one >> 200


def test_few_bits_enclose_a_power_too():
    rng = random.Random(2)
    for _ in range(6000):
        base = Fraction(rng.randint(1, 200), rng.randint(1, 200))
        exponent, bits = Fraction(rng.randint(0, 15), rng.choice((1, 2, 16))), rng.randint(3, 12)
        low, high = (
            checker().power_end(
                (base.numerator << bits) // base.denominator + up, exponent, bits, up
            )
            for up in (0, 1)
        )
        with mpmath.workdps(200):
            assert low <= in_mpmath(base) ** in_mpmath(exponent) * (1 << bits) <= high


@functools.cache
def designed():
    """Return releases of each criterion, as their files say them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_designed())


def _designed():
    small = ll.Joint.from_counts(np.random.default_rng(0).integers(1, 60, (3, 7)))
    for joint in (ll.datasets.titanic(), small):
        most = float(joint.p_s[1]) * 1.2
        for criterion in (
            ll.LIP(0.5),
            ll.ALIP(0.3, 0.6),
            ll.ALIP(math.inf, 0.4),
            ll.MaxLift(0.4),
            ll.LDP(0.7),
            ll.L1Lift(math.inf, 0.4),
            ll.L1Lift(0.4, 0.4),
            ll.Chi2Lift(math.inf, 0.5),
            ll.AlphaLift(2, 0.4, 0.4),
            ll.AlphaLift(3, math.inf, 0.2),
            ll.AlphaLift(1.5, 0.4, 0.4),
            ll.AlphaLift(2.5, math.inf, 0.2),
            ll.AlphaLift(20000.5, 0.5, 0.5),
            ll.AlphaLift(1e12, 0.5, 0.5),
            ll.AlphaLift(1e300, math.inf, 0.5),
            ll.AtMost({joint.s_labels[1]: round(most, 3)}, 2.0),
            ll.AtMost({joint.s_labels[1]: round(most, 3)}, 2.0, share=0.5),
            ll.AtMost({joint.s_labels[1]: round(most, 3)}, 2.0, share=1.3),
            ll.AtMost(dict.fromkeys(joint.s_labels, 0.9), share=0.1),
            ll.BetaLikeness(0.5),
            ll.DeltaDisclosure(0.5),
            ll.DeltaDisclosure(1.0, "bits"),
            ll.DeltaDisclosure(0.7, "bits"),
            ll.TCloseness(0.15),
            ll.EveryPrior(0.1, 0.6, 0.7),
            ll.EveryPrior(0.05, math.inf, 0.5),
        ):
            yield saved_of(ll.subset_merging(joint, criterion_on(criterion, joint)))
            if getattr(criterion, "is_convex", True):
                bound = criterion_on(criterion, joint)
                yield saved_of(ll.random_response(joint, bound, time_limit=5))


NUMBERS = (
    *("epsilon", "upper", "lower", "factor", "beta", "delta", "t", "at_least"),
    *("alpha", "share"),
)


def mutated(saved, rng):
    """Return a release with one or two changes, most of which leave it a channel."""
    out = pickle.loads(pickle.dumps(saved))  # a fifth of the time of a deep copy
    atoms = out["channel"]["atoms"]
    for _ in range(rng.choice((1, 1, 2))):
        kind, y = rng.randrange(4), rng.randrange(len(atoms))
        members, weights = atoms[y]
        k = rng.randrange(len(weights))
        if kind == 0 and weights[k] > 1:  # some of a symbol's weight goes to another output
            amount = rng.choice((1, weights[k] // 2, weights[k] - 1, rng.randrange(1, weights[k])))
            others, theirs = atoms[rng.randrange(len(atoms))]
            if others is not members and amount:
                weights[k] -= amount
                if members[k] not in others:
                    others.append(members[k])
                    theirs.append(0)
                theirs[others.index(members[k])] += amount
        elif kind == 1:
            row = rng.choice(out["joint"]["counts"])
            x = rng.randrange(len(row))
            row[x] = max(0, row[x] + rng.choice((-1, 1, -5, 5, 30)))
        elif kind == 2:
            for name in NUMBERS:
                value = out["criterion"].get(name)
                if isinstance(value, float):
                    factor = rng.choice((1 - 1e-15, 1 - 1e-9, 0.999, 0.9, 1.001, 1.5))
                    least = 1.0 if name == "alpha" else 0.0
                    out["criterion"][name] = max(least, value * factor)
        else:
            weights[k] = max(1, weights[k] + rng.choice((-1, 1)))
    return out


@pytest.mark.parametrize(
    ("count", "seed"),
    [
        pytest.param(24, 17, id="some"),
        # Two tests, so that two processes share the 100,000.
        pytest.param(491, 18, marks=pytest.mark.second_lane, id="50000"),
        pytest.param(491, 19, marks=pytest.mark.second_lane, id="50000 more"),
    ],
)
@pytest.mark.timeout(900)
def test_mutated_releases_get_the_verdict_of_the_exact_audit(count, seed):
    rng, accepted, tried = random.Random(seed), 0, 0
    for saved in designed():
        assert is_accepted(saved)
        for _ in range(count):
            changed = mutated(saved, rng)
            verdict = is_accepted(changed)
            assert verdict == is_allowed(changed), changed["criterion"]
            accepted, tried = accepted + verdict, tried + 1
    assert tried == 102 * count
    assert tried / 10 < accepted < tried * 9 / 10


@functools.cache
def attacked():
    return attacks.texts()


def test_what_is_attacked_is_accepted():
    for made in (attacks.release(), attacks.believed(), attacks.meant()):
        assert is_accepted(made)
        assert disagreement(json.dumps(made)) is None
    for name in attacks.NAMED:
        made = attacks.release()
        attacks.named(name)(made)
        assert is_accepted(made)
        assert is_allowed(made)


def at_the_edge():
    """Return releases whose lifts are 3/2 and 1/2, under bounds of which some are just these."""
    joint = ll.Joint.from_counts([[3, 1], [1, 3]])
    saved = saved_of(ll.subset_merging(joint, ll.LIP(9.0)))
    below, above = 0.6931471805599453, 0.6931471805599454  # log 2 lies between these floats
    for wide, narrow in (
        (ll.BetaLikeness(0.5), ll.BetaLikeness(0.49999999999999994)),
        (ll.TCloseness(0.25), ll.TCloseness(0.24999999999999997)),
        (ll.DeltaDisclosure(1.0000000000000002, "bits"), ll.DeltaDisclosure(1.0, "bits")),
        (ll.DeltaDisclosure(above), ll.DeltaDisclosure(below)),
        # The reader of prior (1/4, 3/4) has the lift (3/2) / (3/4); of (3/4, 1/4), (1/2) / (5/4).
        (ll.EveryPrior(0.25, math.inf, above), ll.EveryPrior(0.25, math.inf, below)),
        (ll.EveryPrior(0.25, 0.92, 9.0), ll.EveryPrior(0.25, 0.91, 9.0)),
        (ll.EveryPrior(0.5, above, 9.0), ll.EveryPrior(0.5, below, 9.0)),
    ):
        for criterion, accepted in ((wide, True), (narrow, False)):
            yield saved | {"criterion": to_dict(criterion)}, accepted
    # A whole number that no float is: the audit takes the float below it.
    rare = 2**53 + 1
    saved = saved_of(ll.subset_merging(ll.Joint.from_counts([[1, 0], [0, rare]]), ll.MaxLift(99.0)))
    for beta, accepted in ((rare, False), (rare - 1, False), (rare + 1, True)):
        yield saved | {"criterion": {"name": "BetaLikeness", "beta": beta}}, accepted
    # The float 0.3 is less than 3/10, which is the total variation: the decimal counts.
    joint = ll.Joint.from_counts([[8, 2], [2, 8]])
    saved = saved_of(ll.subset_merging(joint, ll.LIP(9.0)))
    for t in (0.3, 0.1 + 0.2, 0.29999999999999993):
        yield saved | {"criterion": {"name": "TCloseness", "t": t}}, t >= 0.3
    # An output that rules a value out.
    joint = ll.Joint.from_counts([[4, 0], [1, 3]])
    saved = saved_of(ll.subset_merging(joint, ll.MaxLift(9.0)))
    for criterion, accepted in (
        (ll.BetaLikeness(1.0), True),
        (ll.TCloseness(0.5), True),
        (ll.DeltaDisclosure(700.0), False),
        (ll.DeltaDisclosure(700.0, "bits"), False),
        (ll.DeltaDisclosure(math.inf, "bits"), True),
        (ll.EveryPrior(0.1, math.inf, 9.0), True),
        (ll.EveryPrior(0.0, math.inf, 9.0), False),
        (ll.EveryPrior(0.1, 9.0, math.inf), False),
    ):
        yield saved | {"criterion": to_dict(criterion)}, accepted
    yield from at_the_edge_of_powers()
    yield from at_the_edge_of_shares()


def lifts_of(saved):
    """Return P(s), and the lifts of each output, in mpmath's numbers."""
    rows, total = saved["joint"]["counts"], sum(map(sum, saved["joint"]["counts"]))
    prior, lifts = [mpmath.mpf(sum(row)) / total for row in rows], []
    for members, weights in saved["channel"]["atoms"]:
        masses = [sum(row[x] * w for x, w in zip(members, weights, strict=True)) for row in rows]
        pairs = zip(masses, prior, strict=True)
        lifts.append([mpmath.mpf(mass) / sum(masses) / p for mass, p in pairs])
    return prior, lifts


def at_the_edge_of_powers():
    """Return releases whose power means lie between two floats, each of which is the bound."""
    alphas = (1 + 2**-52, 1.1, 1.5, 2.5, 100.25, 20000.5, 1e12, 2.0**53, 1e100, 1e300, 1e308)
    rng = np.random.default_rng(3)
    for counts, powers in (
        ([[3, 1], [1, 3]], (*alphas, sys.float_info.max)),
        (rng.integers(1, 60, (4, 5)), alphas),
        (10**12 + rng.integers(-3, 4, (3, 4)), alphas[:8]),  # lifts that are nearly 1
    ):
        saved = saved_of(ll.subset_merging(ll.Joint.from_counts(counts), ll.LIP(9.0)))
        with mpmath.workdps(700):
            prior, lifts = lifts_of(saved)
        for alpha, (side, name) in itertools.product(powers, ((1, "upper"), (-1, "lower"))):
            with mpmath.workdps(700):
                order = side * mpmath.mpf(alpha)
                means = [
                    mpmath.fsum(p * v**order for p, v in zip(prior, part, strict=True))
                    for part in lifts
                ]
                exact = mpmath.log(max(means)) / alpha
                below = float(exact)
                while below > exact:
                    below = math.nextafter(below, 0.0)
            bound = {"name": "AlphaLift", "alpha": alpha, "lower": "inf", "upper": "inf"}
            for budget in (below, math.nextafter(below, 9.0)):
                yield saved | {"criterion": bound | {name: budget}}, budget > below
    # The lifts differ from 1 by less than 1e-298.
    joint = ll.Joint([[0.25, 0.25, 1e-299], [0.25, 0.25, 0.0]])
    saved = saved_of(ll.subset_merging(joint, ll.MaxLift(9.0)))
    saved["channel"] |= {"y_labels": ["a", "b"], "atoms": [[[0, 2], [1, 1]], [[1], [1]]]}
    for alpha in (1.5, 20000.5, "inf"):
        for budget, accepted in ((1e-298, True), (1e-300, alpha != "inf")):
            bound = {"name": "AlphaLift", "alpha": alpha, "lower": budget, "upper": budget}
            yield saved | {"criterion": bound}, accepted
    saved = saved_of(ll.subset_merging(ll.Joint.from_counts([[3, 1], [1, 3]]), ll.LIP(9.0)))
    # At an alpha of 1 the upper side bounds nothing; the mean inverse is 4/3, whose log is 0.28768.
    for lower, accepted in (("inf", True), (0.2877, True), (0.2876, False), (5e-324, False)):
        for upper in (0, 5e-324, 1e308):
            bound = {"name": "AlphaLift", "alpha": 1, "lower": lower, "upper": upper}
            yield saved | {"criterion": bound}, accepted
    alike = saved_of(ll.subset_merging(ll.Joint.from_counts([[3, 3], [1, 1]]), ll.LIP(9.0)))
    for alpha in (1, 1.5, 1e308):
        bound = {"name": "AlphaLift", "alpha": alpha, "lower": 0, "upper": 0.0}
        yield alike | {"criterion": bound}, True
        yield saved | {"criterion": bound}, False
    # An output that rules a value out.
    joint = ll.Joint.from_counts([[4, 0], [1, 3]])
    saved = saved_of(ll.subset_merging(joint, ll.MaxLift(9.0)))
    for alpha in (1.5, 1e300, "inf"):
        for lower, upper, accepted in (("inf", 9.0, True), (1e308, "inf", False), (9, 0, False)):
            bound = {"name": "AlphaLift", "alpha": alpha, "lower": lower, "upper": upper}
            yield saved | {"criterion": bound}, accepted


def at_the_edge_of_shares():
    """Return releases under beliefs whose power is just a lift, which the audit then refuses."""
    for counts, belief, share in (
        ([[3, 1], [5, 7]], 9 / 16, 0.5),  # P(s) = 1/4 and the lift 3/2, which is (9/4)**share
        ([[9, 1], [7, 23]], 3 / 8, 2.0),  # the lift 9/4 is (3/2)**share
        ([[27, 1], [5, 79]], 9 / 16, 1.5),  # 27/8 is (9/4)**share
        ([[3, 1], [29, 31]], 81 / 256, 0.25),  # P(s) = 1/16: 3/2 is (81/16)**share
        ([[3, 1], [5, 7]], 3 / 8, 1.0),  # without a power it is met
    ):
        saved = saved_of(ll.subset_merging(ll.Joint.from_counts(counts), ll.LIP(9.0)))
        label = saved["joint"]["s_labels"][0]
        for bound in (math.nextafter(belief, 0), belief, math.nextafter(belief, 1)):
            said = [{"value": label, "at_most": bound}]
            for factor in ("inf", 1e300):
                values = {"beliefs": said, "factor": factor, "share": share}
                accepted = bound > belief or (bound == belief and share == 1)
                yield saved | {"criterion": {"name": "AtMost"} | values}, accepted
    for counts, share, accepted in (
        ([[3, 1], [5, 7]], 0, False),  # a share of 0 lets no lift differ from 1
        ([[1, 2], [3, 6]], 0, True),
        ([[1, 2], [3, 6]], 5e-324, True),
        ([[3, 1], [5, 7]], 5e-324, False),
        ([[3, 1], [5, 7]], -0.0, False),
        ([[3, 1], [5, 7]], 10, True),
        ([[3, 1], [5, 7]], 1e16, True),
        ([[3, 0], [5, 7]], 1e300, False),  # no factor allows a lift of 0
    ):
        saved = saved_of(ll.subset_merging(ll.Joint.from_counts(counts), ll.MaxLift(9.0)))
        for factor in ("inf", 2, 1e6):
            said = [{"value": saved["joint"]["s_labels"][0], "at_most": 1}]
            values = {"beliefs": said, "factor": factor, "share": share}
            is_ruled_out = counts[0][1] == 0 and factor == "inf"
            yield saved | {"criterion": {"name": "AtMost"} | values}, accepted or is_ruled_out
    # A share of 0 of no bound at all is a bound, also of values that have no belief.
    saved = saved_of(ll.subset_merging(ll.Joint.from_counts([[2, 2], [3, 1], [1, 3]]), ll.LIP(9.0)))
    said = [{"value": saved["joint"]["s_labels"][0], "at_most": 0.5}]
    for share in (0, 5e-324, 0.5):
        values = {"beliefs": said, "factor": "inf", "share": share}
        yield saved | {"criterion": {"name": "AtMost"} | values}, share > 0
    # The budget of all values is the float nearest to the product, not the product.
    below, size = 0.6931471805599453, 2 * 10**18  # the largest float that is at most log 2
    for share in (0.2, 0.3, 0.6, 0.8, 0.9, 0.95):
        exact, rounded = Fraction(below) * Fraction(share), Fraction(below * share)
        with mpmath.workdps(60):
            less = int(-mpmath.expm1(-in_mpmath(exact + rounded) / 2) * size)
        counts = [[size - less, size + less], [size + less, size - less]]
        saved = saved_of(ll.subset_merging(ll.Joint.from_counts(counts), ll.MaxLift(9.0)))
        said = [{"value": saved["joint"]["s_labels"][0], "at_most": 1}]
        values = {"beliefs": said, "factor": 2, "share": share}
        yield saved | {"criterion": {"name": "AtMost"} | values}, rounded > exact


def beyond_the_audit():
    """Return releases that the audit does not decide in numbers, or in minutes."""
    # No float holds the budget times the share, so that it is the largest: 0 alone breaks it.
    for counts, accepted in (([[3, 1], [5, 7]], True), ([[3, 0], [5, 7]], False)):
        saved = saved_of(ll.subset_merging(ll.Joint.from_counts(counts), ll.MaxLift(9.0)))
        said = [{"value": saved["joint"]["s_labels"][0], "at_most": 1}]
        for share in (sys.float_info.max, int(1e308)):
            values = {"beliefs": said, "factor": 1e6, "share": share}
            yield saved | {"criterion": {"name": "AtMost"} | values}, accepted
    # The logarithm of a lift is as near to the budget as a float can be, and alpha is huge.
    n, half = 10**12, 2**47
    joint = ll.Joint.from_counts([[n + 1, n - 1], [n - 1, n + 1]])
    saved = saved_of(ll.subset_merging(joint, ll.MaxLift(9.0)))
    atoms = [[[0, 1], [half + 1, half - 1]], [[0, 1], [half - 1, half + 1]]]
    saved["channel"] |= {"y_labels": ["a", "b"], "denominator": 2 * half, "atoms": atoms}
    with mpmath.workdps(60):
        exact = mpmath.log1p(mpmath.mpf(1) / half / n)
        nearest = float(exact)
        below = nearest if nearest < exact else math.nextafter(nearest, 0.0)
    for alpha in (1e44, 1e48, 1e100, 1e308):
        bound = {"name": "AlphaLift", "alpha": alpha, "lower": "inf"}
        for budget in (below, math.nextafter(below, 1.0)):
            yield saved | {"criterion": bound | {"upper": budget}}, budget > below


def test_what_the_audit_takes_too_long_for_is_decided():
    for saved, accepted in beyond_the_audit():
        assert is_accepted(saved) == accepted, saved["criterion"]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the audit's floats may overflow first
def test_bounds_that_are_just_met_and_just_missed(monkeypatch):
    # Where a power is just the lift, no number of bits decides: these few are tried sooner.
    monkeypatch.setattr("lowlift._exact.MAX_BITS", 1 << 12)
    for saved, accepted in at_the_edge():
        assert (is_accepted(saved), is_allowed(saved)) == (accepted, accepted), saved["criterion"]


@pytest.mark.parametrize(
    "name",
    [
        *(*attacks.CHANGES, *attacks.OF_NAMED, *attacks.OF_BELIEFS, *attacks.OF_MEANS),
        *attacks.OF_TEXTS,
    ],
    ids=lambda name: name,
)
def test_a_forged_release_is_not_accepted(name, tmp_path):
    path = tmp_path / "release.json"
    path.write_text(attacked()[name], "utf-8")
    with pytest.raises((LowliftError, AssertionError)):
        assert ll.Release.from_json(path).audit.is_satisfied
    with pytest.raises(Exception):  # noqa: B017, PT011 (refused, or undecided by any error)
        checker().Release(checker().read(path)).check_release(None)


@pytest.mark.parametrize(
    ("bound", "name"),
    [
        (lambda yes: ll.AtMost({yes: 0.5}, 2.0, share=0.5), "share"),
        (lambda _: ll.AlphaLift(1.5, 0.4, math.inf), "lower"),
        (lambda _: ll.AlphaLift(1e300, math.inf, 0.4), "upper"),
    ],
    ids=["share", "alpha", "huge alpha"],
)
def test_powers_that_are_not_whole_are_decided(bound, name, tmp_path):
    joint, path = ll.datasets.titanic(), tmp_path / "release.json"
    criterion = criterion_on(bound(joint.s_labels[1]), joint)
    ll.subset_merging(joint, criterion).to_json(path)
    code, text = run(path)
    assert (code, text.count("ok  ")) == (0, 1), text
    saved = json.loads(path.read_text())
    saved["criterion"][name] *= 0.4
    path.write_text(json.dumps(saved))
    code, text = run(path)
    assert (code, "breaks the bound" in text) == (1, True), text


def test_a_forged_release_has_an_exit_code_and_no_traceback(tmp_path):
    path = tmp_path / "release.json"
    for name, expected in (("budget no number", 2), ("nested too deeply", 2), ("a name twice", 1)):
        path.write_text(attacked()[name], "utf-8")
        code, text = run(path)
        assert (code, "Traceback" in text) == (expected, False), text


@pytest.mark.parametrize(
    "count", [100, pytest.param(3000, marks=pytest.mark.second_lane, id="many")]
)
@pytest.mark.filterwarnings("ignore")
def test_what_the_checker_accepts_of_damaged_files_the_audit_accepts(count, tmp_path):
    """Any place of the file is changed, not only numbers: labels, names, kinds, digits."""
    rng, path, accepted = random.Random(7), tmp_path / "release.json", 0
    files = [json.dumps(saved).encode() for saved in (*designed(), attacks.release())]
    for _ in range(count):
        path.write_bytes(changed_json(rng.choice(files), rng))
        try:
            saved = checker().read(path)
            checker().Release(saved).check_release(None)
        except Exception:  # noqa: BLE001 (refused or undecided)
            continue
        accepted += 1
        assert is_allowed(saved), path.read_text()
    path.unlink()
    assert accepted > count / 20


def sanitized(lowlift, *options):
    ll.datasets.write_titanic(Path("titanic.csv"))
    done = lowlift(
        "sanitize", "titanic.csv", "-s", "survived", "-x", "class", "-x", "sex", "-x", "age",
        "--at-most", "2", "-o", "safe.csv", *options,
    )  # fmt: skip
    assert done.code == 0, done.err
    return [
        "safe.release.json", "--codebook", "safe.codebook.json", "--receipt", "safe.receipt.json",
        "--table", "safe.csv", "--source", "titanic.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "undecided"),
    [
        ((), ""),
        (("--mechanism", "subset-merging"), ""),
        (("--mechanism", "least-distortion"), ""),
        (("--round-to", "0.01"), ""),
        (("--cells", "8"), "where cells are drawn"),
        (("--keep-order",), "the order of the rows"),
        (("--seed", "1"), "seeded"),
    ],
    ids=["codes", "groups", "values", "rounded", "rows", "order", "seed"],
)
def test_files_of_one_publication_belong_together(lowlift, options, undecided):
    code, text = run(*sanitized(lowlift, *options))
    assert code == (2 if undecided else 0), text
    assert undecided in text
    told = [line for line in text.splitlines() if "no mechanism in the bound" not in line]
    assert "\n".join(told).count("ok  ") == (3 if undecided else 4)


def keyed_rows(lowlift):
    """Publish rows of cells by a key; return the names of the files."""
    ll.datasets.write_titanic(Path("titanic.csv"))
    head, *rows = Path("titanic.csv").read_text().splitlines()
    rows = [f"{row},{k}" for k, row in enumerate(rows)]
    Path("people.csv").write_text("\n".join([f"{head},id", *rows, ""]))
    assert lowlift("key", "new", "draws.key").code == 0
    done = lowlift(
        "sanitize", "people.csv", "-s", "survived", "-x", "class", "-x", "sex", "-x", "age",
        "--cells", "8", "--at-most", "2", "--id", "id", "--key-file", "draws.key", "-o", "safe.csv",
    )  # fmt: skip
    assert done.code == 0, done.err
    return [
        "safe.release.json", "--codebook", "safe.codebook.json", "--receipt", "safe.receipt.json",
        "--table", "safe.csv", "--source", "people.csv",
    ]  # fmt: skip


def test_rows_drawn_by_a_key_are_judged_as_fresh_ones_are(lowlift):
    given = keyed_rows(lowlift)
    assert json.loads(Path("safe.receipt.json").read_text())["draws"] == "keyed"
    code, text = run(*given)
    assert (code, text.count("ok  ")) == (2, 3), text
    assert "where cells are drawn" in text
    forged = edited("receipt", lambda receipt: receipt.update(release="0" * 64))
    assert run(given[0], "--receipt", forged)[0] == 1
    Path("safe.csv").write_text(Path("safe.csv").read_text() + "crew,male,adult\n")
    assert run(*given)[0] == 1


def test_a_file_that_is_not_csv_is_not_looked_into(lowlift):
    given = sanitized(lowlift)
    Path("safe.parquet").write_bytes(b"PAR1")
    code, text = run(given[0], "--codebook", "safe.codebook.json", "--table", "safe.parquet")
    assert (code, "a table is read if it is a CSV" in text) == (2, True)


def test_a_table_needs_no_codebook_and_a_source_needs_the_receipt(lowlift):
    given = sanitized(lowlift)
    code, text = run(given[0], "--table", "safe.csv")
    assert (code, text.count("ok  ")) == (0, 3), text  # the release, the table, what is kept
    code, text = run(given[0], "--source", "titanic.csv")
    assert (code, "--source needs --receipt" in text) == (2, True), text


def edited(name, change):
    """Write a copy of a file of the publication with a change, and return its name."""
    saved = json.loads(Path(f"safe.{name}.json").read_text())
    change(saved)
    Path(f"other.{name}.json").write_text(json.dumps(saved))
    return f"other.{name}.json"


def test_files_that_do_not_belong_together_are_refused(lowlift):
    given = sanitized(lowlift)
    rows = Path("safe.csv").read_text()
    Path("other.csv").write_text(rows.replace("\n0\n", "\n99\n"))
    code, text = run(*given[:-3], "other.csv")
    assert code == 1
    assert "is not the receipt's file" in text
    assert "a row is no output" in text

    def refused(option, name, change):
        return run(given[0], option, edited(name, change))[0] == 1

    assert refused("--codebook", "codebook", lambda book: book["outputs"][0].update(weights=[1]))
    assert refused("--codebook", "codebook", lambda book: book["criterion"].update(epsilon=0.1))
    assert refused("--codebook", "codebook", lambda book: book.update(encoding="rows", outputs=[]))
    assert refused("--receipt", "receipt", lambda receipt: receipt.update(release="0" * 64))
    assert refused("--receipt", "receipt", lambda r: r.update(checked_on_this_table=False))
    other = edited("receipt", lambda receipt: receipt.update(source_sha256="0" * 64))
    assert run(given[0], "--receipt", other)[0] == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [f"{row},{k % 2}" for k, row in enumerate(rows)],
        lambda rows: [rows[0], *(f"{row},{k % 2}" for k, row in enumerate(rows[1:]))],
        lambda rows: ["class", *rows[1:]],
        lambda rows: [f"{row},{row}" for row in rows],
        lambda rows: [*rows, "0,0"],
    ],
    ids=["a column more", "cells without a column", "renamed", "twice", "a cell more"],
)
def test_a_table_that_says_more_than_the_outputs_is_refused(lowlift, change):
    given = sanitized(lowlift)
    Path("other.csv").write_text("\n".join(change(Path("safe.csv").read_text().split())) + "\n")
    code, text = run(given[0], "--codebook", "safe.codebook.json", "--table", "other.csv")
    assert code == 1, text


def test_counts_of_another_number_of_rows_are_not_those_of_the_receipt(lowlift):
    """The receipt does not have the counts, but how many rows they must be of."""
    given = sanitized(lowlift)

    def flat(saved):
        saved["joint"]["counts"] = [[1] * len(row) for row in saved["joint"]["counts"]]

    code, text = run(edited("release", flat), "--receipt", "safe.receipt.json")
    assert "UNDECIDED    ValueError: not decided here: ['fresh', 'another table']" in text
    assert (code, "REFUSED      it is not proven" in text) == (1, True), text  # of other counts
    assert run(given[0], "--receipt", "safe.receipt.json")[0] == 0


def test_numbers_of_any_size_are_read_or_refused_without_their_floats():
    """Counts that no float holds are counts; a bound that no float is cannot be one."""
    saved = saved_of(ll.subset_merging(ll.Joint.from_counts([[3, 1], [1, 3]]), ll.LIP(1.2)))
    large = copy.deepcopy(saved)
    large["joint"]["counts"] = [[n * 10**400 for n in row] for row in saved["joint"]["counts"]]
    assert is_accepted(saved)
    assert is_accepted(large)
    for epsilon in (2**53 + 1, 10**400):
        assert not is_accepted(saved | {"criterion": {"name": "LIP", "epsilon": epsilon}})


def test_a_receipt_cannot_write_lines_of_the_answer(lowlift):
    given = sanitized(lowlift)
    lines = ["\nok           the receipt is of this release"]
    forged = edited("receipt", lambda receipt: receipt.update(outside_the_guarantee=lines))
    code, text = run(given[0], "--receipt", forged)
    assert (code, [line.split()[0] for line in text.splitlines()]) == (
        2,
        ["ok", "UNDECIDED", "ok"],
    )


BOXES = (
    *(ll.LIP(0.5), ll.ALIP(0.2, 0.9), ll.MaxLift(0.4)),
    *(ll.LDP(0.7), ll.LDP(0.1), ll.BetaLikeness(0.3), ll.DeltaDisclosure(0.5)),
    *(ll.DeltaDisclosure(0.7, "bits"), ll.AtMost({"saved": 0.4}), ll.AtMost({"saved": 0.4}, 1.2)),
    # The library has no half-space of a lift that large, and e to the latter has a billion digits.
    *(ll.ALIP(0.3, 800.0), ll.ALIP(0.3, math.inf), ll.ALIP(800.0, 0.3), ll.ALIP(1e9, 0.3)),
)
MEANS = (
    *(ll.L1Lift(math.inf, 0.3), ll.Chi2Lift(math.inf, 0.3), ll.TCloseness(0.1)),
    *(ll.EveryPrior(0.1, 0.5, 0.5), ll.EveryPrior(0.02, 0.4, math.inf), ll.EveryPrior(0.0, 2, 0.4)),
    *(ll.AlphaLift(2.5, 0.4, 0.4), ll.AlphaLift(1, 0.4, 0.4), ll.AlphaLift(1.2, math.inf, 0.05)),
    *(ll.AlphaLift(30, 0.4, 0.2), ll.AlphaLift(1e6, 0.4, 0.2), ll.AlphaLift(math.inf, 0.4, 0.2)),
    *(ll.AlphaLift(1e12, 0.2, math.inf), ll.AtMost({"saved": 0.4}, 1.5, share=0.5)),
)


@pytest.mark.parametrize("criterion", BOXES + MEANS, ids=str)
def test_a_bound_on_the_distance_is_proven_from_its_multipliers(criterion, tmp_path):
    joint = ll.datasets.titanic()
    saved = saved_of(ll.least_distortion(joint, criterion_on(criterion, joint)))
    distance = distances_of(joint, None, None).tolist()

    def checked(release, table):
        (tmp_path / "distances.json").write_text(json.dumps(table))
        given = argparse.Namespace(distances=tmp_path / "distances.json")
        return checker().Release(release).check_distances(given)

    assert "no channel" in checked(saved, distance)
    for change in (1e-6, 0.01):
        forged = copy.deepcopy(saved)
        forged["certificate"]["lower_bound"] += change
        with pytest.raises(checker().Refused, match="not proven"):
            checked(forged, distance)
    assert saved["certificate"]["keeps_law"]
    assert "that keeps P(x)" in checked(saved, distance)
    nearer = [[d / 2 for d in row] for row in distance]
    with pytest.raises(checker().Refused, match="not proven"):
        checked(saved, nearer)
    for wrong in ("nan", "-inf", None, -1e-300):
        with pytest.raises((ValueError, TypeError, checker().Refused)):
            checked(saved, [[wrong, *distance[0][1:]], *distance[1:]])
    for part in (distance[1:], [row[1:] for row in distance]):
        with pytest.raises(ValueError, match="zip"):
            checked(saved, part)


@pytest.mark.parametrize("keep_law", [True, False])
@pytest.mark.parametrize("criterion", BOXES[:10] + MEANS, ids=str)
def test_no_multipliers_prove_more_than_a_channel_in_the_bound_has(criterion, keep_law, tmp_path):
    joint = ll.Joint.from_counts(
        np.random.default_rng(0).integers(1, 60, (3, 7)), ["a", "saved", 2]
    )
    release = ll.least_distortion(joint, criterion_on(criterion, joint), keep_law=keep_law)
    distance, rng, path = distances_of(joint, None, None), random.Random(1), tmp_path / "far.json"
    path.write_text(json.dumps(distance.tolist()))
    given = argparse.Namespace(distances=path)
    saved = saved_of(release)
    proof, reached = saved["certificate"], saved["certificate"]["distortion"]
    assert "no channel" in checker().Release(saved).check_distances(given)
    rows = np.array(half_spaces(checker().Release(saved)), float)
    spaces = spaces_of(criterion_on(criterion, joint), joint.p_s)
    count = len(spaces.offsets)
    theirs = np.column_stack([spaces.normals, -spaces.offsets])
    np.testing.assert_allclose(rows[:count], theirs, rtol=1e-12, atol=0)
    for _ in range(40):
        forged = proof | {
            "lower_bound": reached + 1e-9,
            "multipliers": [g * math.exp(rng.gauss(0, 0.5)) for g in proof["multipliers"]],
            "duals": [b + rng.gauss(0, 0.02) for b in proof["duals"]],
        }
        if rng.random() < 0.5:
            forged["spaces"] = [rng.choice((h, rng.randrange(count))) for h in proof["spaces"]]
        with pytest.raises(checker().Refused, match="not proven"):
            checker().Release(saved | {"certificate": forged}).check_distances(given)


@pytest.mark.parametrize("criterion", BOXES + MEANS, ids=str)
def test_a_half_space_of_the_checker_holds_wherever_the_bound_does(criterion):
    """A half-space that cuts off lifts which the audit allows would prove too much."""
    rng, points, edges = random.Random(3), [], []
    joint = ll.Joint.from_counts(
        np.random.default_rng(7).integers(1, 40, (3, 6)), ["a", "saved", 2]
    )
    bound, prior, total = criterion_on(criterion, joint), joint.prior, sum(joint.prior)

    def lifts_of(masses):
        return [Fraction(n * total, p * sum(masses)) for n, p in zip(masses, prior, strict=True)]

    for _ in range(60):
        step = np.array([rng.gauss(0, 1) for _ in prior])
        step -= step.mean()
        end = min(p / -v for p, v in zip(prior, step.tolist(), strict=True) if v < 0)

        def moved(by, step=step):
            return [round(2**40 * (p + by * v)) for p, v in zip(prior, step.tolist(), strict=True)]

        low, high = 0.0, end
        for _ in range(45):
            middle = (low + high) / 2
            is_allowed = min(moved(middle)) >= 0 and bound.verdict(moved(middle), prior)
            low, high = (middle, high) if is_allowed else (low, middle)
        edges.append(lifts_of(moved(low)))
        outside = moved(min(1.05 * high, 0.99 * end))
        if not bound.verdict(outside, prior):
            points.append([float(v) for v in lifts_of(outside)])
    saved = saved_of(ll.subset_merging(joint, ll.LIP(1.0)))
    saved |= {"criterion": to_dict(bound), "certificate": {"tangents": points}}
    rows = half_spaces(checker().Release(saved))
    assert len(rows) > len(points) > 20
    sides = [
        max(sum(a * v for a, v in zip(row, [*lifts, 1], strict=True)) for lifts in edges)
        for row in rows
    ]
    assert max(sides) <= 0
    assert sum(side > -0.05 for side in sides) > len(rows) / 4  # most touch the bound


def split(joint, release):
    """Return a release of parts, two of each symbol, with the certificate of whole symbols."""
    rng, counts = np.random.default_rng(4), np.asarray(joint.counts, int)
    some = rng.integers(0, counts + 1)
    both = np.concatenate([some, counts - some], axis=1)
    used = np.flatnonzero(both.sum(axis=0))
    parts = ll.Joint.from_counts(both[:, used], joint.s_labels)
    bins = tuple((used % joint.n_x).tolist())
    certificate = dataclasses.replace(release.certificate, bins=bins)
    made = ll.subset_merging(parts, release.criterion)
    return parts, made.with_certificate(certificate)


def test_a_bound_of_cells_is_proven_where_they_were_split(page, tmp_path):
    joint = ll.datasets.titanic()
    parts, release = split(joint, ll.least_distortion(joint, ll.LIP(0.5)))
    distance = distances_of(joint, None, None)
    assert ll.verify_certificate(parts, ll.LIP(0.5), release.certificate, distance=distance)
    path, distances = tmp_path / "release.json", tmp_path / "distances.json"
    release.to_json(path)
    distances.write_text(json.dumps(distance.tolist()))
    code, text = run(path, "--distances", distances)
    assert (code, "no channel in the bound that keeps P(x)" in text) == (0, True), text
    assert "no channel in the bound that keeps P(x)" in look(page, [path, distances])
    saved, bins = json.loads(path.read_text()), release.certificate.bins
    for wrong in (bins[1:], bins[:-1], (0,) * len(bins), bins[::-1]):
        saved["certificate"]["bins"] = wrong
        path.write_text(json.dumps(saved))
        assert run(path, "--distances", distances)[0] in (1, 2)
        assert "no channel" not in look(page, [path, distances])


def test_a_limit_counts_only_as_far_as_the_distances_have_it(tmp_path):
    """Within a limit the least distance is larger; channels beyond it may have less."""
    joint = ll.Joint.from_counts([[30, 20, 10, 25, 15, 28], [10, 22, 30, 14, 26, 12]])
    distance = abs(np.subtract.outer(np.arange(6), np.arange(6))) / 5
    free, near = (
        ll.least_distortion(joint, ll.LIP(0.3), distance=distance, **limit)
        for limit in ({}, {"limit": 0.2})
    )
    assert free.certificate.distortion < near.certificate.lower_bound
    path = tmp_path / "distances.json"
    given = argparse.Namespace(distances=path)
    path.write_text(json.dumps(np.where(distance > 0.2, "inf", distance.astype(object)).tolist()))
    assert "no channel" in checker().Release(saved_of(near)).check_distances(given)
    path.write_text(json.dumps(distance.tolist()))
    with pytest.raises(checker().Refused, match="not proven"):
        checker().Release(saved_of(near)).check_distances(given)


def lines(criterion, seed=0, n=9):
    """Return a release by random response for two values of S."""
    counts = np.random.default_rng(seed).integers(1, 60, (2, n))
    joint = ll.Joint.from_counts(counts, ["a", "saved"])
    return ll.random_response(joint, criterion_on(criterion, joint))


LINES = [each for each in BOXES[:10] + MEANS if not isinstance(each, ll.AtMost)]


@pytest.mark.parametrize("criterion", LINES, ids=str)
def test_what_a_random_response_keeps_at_most_is_proven_for_two_values_of_s(criterion, tmp_path):
    release, path = lines(criterion), tmp_path / "release.json"
    release.to_json(path)
    code, text = run(path)
    assert (code, "ok           no mechanism in the bound keeps more" in text) == (0, True), text
    saved = saved_of(release)
    saved["certificate"]["upper_bound"] -= 2e-7
    assert release.certificate.gap < 2e-7  # or less would be true as well
    path.write_text(json.dumps(saved))
    code, text = run(path)
    if release.certificate.duals:
        assert (code, text.splitlines()[-1]) == (1, "REFUSED      it is not proven")
    else:  # X itself is allowed, so that all of it is kept
        assert release.audit.nmi == 1
        assert code == 2


@pytest.mark.parametrize("criterion", [BOXES[0], BOXES[3], *MEANS[:3], MEANS[6]], ids=str)
def test_no_duals_prove_less_than_a_mechanism_keeps(criterion):
    """By the theorem: else one of the corners, or a logarithm, would be left out."""
    release, rng = lines(criterion, seed=1), random.Random(2)
    saved, kept = saved_of(release), release.audit.nmi
    claimed = checker().Release(saved).check_certificate(None)
    assert "keeps more of X than" in claimed
    for _ in range(60):
        scale = 10 ** rng.uniform(-9, 0)
        duals = [p + rng.gauss(0, scale) for p in saved["certificate"]["duals"]]
        forged = saved["certificate"] | {"duals": duals, "upper_bound": kept - 1e-9}
        with pytest.raises(checker().Refused, match="not proven"):
            checker().Release(saved | {"certificate": forged}).check_certificate(None)


def test_logarithms_are_those_of_mpmath():
    log = runpy.run_path(checker().UTILITY)["log"]
    rng = random.Random(5)
    numbers = [Fraction(rng.randrange(1, 10**k), rng.randrange(1, 10**k)) for k in range(1, 40)]
    with mpmath.workprec(300):
        for v in [*numbers, Fraction(1), Fraction(1, 2**60), Fraction(2**70 + 1, 2**70)]:
            near = mpmath.log(mpmath.mpf(v.numerator) / v.denominator)
            assert abs(mpmath.mpf(log(v)) / 2**128 - near) < mpmath.mpf(2) ** -100


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("criterion", LINES[::3], ids=str)
def test_the_page_proves_what_a_random_response_keeps_at_most(page, criterion, tmp_path):
    release, path = lines(criterion, n=25), tmp_path / "release.json"
    release.to_json(path)
    assert "no mechanism in the bound keeps more of X than" in look(page, [path])
    saved = saved_of(release)
    saved["certificate"]["upper_bound"] -= 2e-7
    path.write_text(json.dumps(saved))
    assert "it is not proven" in look(page, [path])


def test_what_is_kept_is_not_checked_for_three_values_of_s_or_the_population(tmp_path):
    three = ll.Joint.from_counts(np.random.default_rng(0).integers(1, 60, (3, 6)))
    two = ll.Joint.from_counts(np.random.default_rng(0).integers(400, 600, (2, 3)))
    path = tmp_path / "release.json"
    for joint, bound in ((three, ll.LIP(0.5)), (two, ll.Population(ll.LIP(1.0)))):
        ll.random_response(joint, bound).to_json(path)
        assert run(path)[1].endswith("not checked  what the certificate says of utility\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 2),
        ("[]", 2),
        ("{}", 2),
        ('{"format": "lowlift-codebook", "version": 1}', 1),
        ('{"format": 1, "format": 1}', 1),
    ],
)
def test_files_that_are_no_release_are_not_accepted(text, code, tmp_path):
    path = tmp_path / "release.json"
    path.write_text(text)
    assert run(path)[0] == code
    assert run(tmp_path / "none.json")[0] == 2


def test_a_release_without_a_certificate_field_has_no_traceback(tmp_path):
    saved, path = attacks.release(), tmp_path / "release.json"
    del saved["certificate"]
    path.write_text(json.dumps(saved))
    assert run(path) == (0, f"ok           {checker().Release(saved).check_release(None)}\n")


def test_rows_of_a_pilot_do_not_break_a_bound_for_the_population(tmp_path):
    """The bound is on the rows that are counted: those of the pilot are in the table's lifts."""
    counted, pilot = np.array([[400, 600], [600, 400]]), np.array([[0, 2000], [2000, 0]])
    bound, path = ll.Population(ll.LIP(0.5)), tmp_path / "release.json"
    joint = ll.Joint.from_counts(counted)
    assert ll.audit(joint, ll.Channel.identity(joint), bound).is_satisfied
    every = ll.Joint.from_counts(counted + pilot)
    assert not ll.audit(every, ll.Channel.identity(every), ll.LIP(0.5)).is_satisfied
    saved = saved_of(ll.Release.of(every, ll.Channel.identity(every), ll.LIP(9.0)))
    saved["criterion"] = to_dict(bound)
    for table, code in ((None, 1), ({"pilot": pilot.tolist()}, 2)):
        path.write_text(json.dumps(saved | {"table": table}))
        assert run(path)[0] == code


def test_what_cannot_be_decided_is_said(tmp_path):
    joint = ll.datasets.titanic()
    path = tmp_path / "release.json"
    ll.subset_merging(joint, ll.Population(ll.LIP(1.0))).to_json(path)
    code, text = run(path)
    assert (code, "a population is not decided" in text) == (2, True)


@pytest.fixture
def page(chromium):
    found = chromium.new_page()
    found.goto((CHECK.parent / "check.html").as_uri())
    yield found
    found.close()


JUDGED = """texts => texts.map(text => {
    try { new Release(parse(text)).checkRelease(); return true; }
    catch (error) { return error instanceof Refused ? false : null; }
})"""


def verdicts(texts, tmp_path):
    """Return what the program says of files: True, False, or None for undecided."""
    found, path = [], tmp_path / "text.json"
    for text in texts:
        path.write_text(text, "utf-8")
        try:
            saved = checker().read(path)
        except checker().Refused:
            found.append(False)
        except (ValueError, RecursionError):
            found.append(None)
        else:
            found.append(is_accepted(saved))
    return found


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    "count", [12, pytest.param(90, marks=pytest.mark.second_lane, id="thousands")]
)
def test_the_page_says_of_mutated_releases_what_the_program_says(page, count, tmp_path):
    rng = random.Random(5)
    texts = [json.dumps(mutated(saved, rng)) for saved in designed() for _ in range(count)]
    found = page.evaluate(JUDGED, texts)
    assert found == verdicts(texts, tmp_path)
    assert 0 < sum(found) < len(found)


@pytest.mark.xdist_group("browser")
def test_the_page_says_of_bounds_that_are_just_met_what_the_program_says(page):
    edges = [*at_the_edge(), *beyond_the_audit()]
    found = page.evaluate(JUDGED, [json.dumps(saved) for saved, _ in edges])
    assert found == [accepted for _, accepted in edges]


@pytest.mark.xdist_group("browser")
def test_the_page_does_not_accept_a_forged_release(page, tmp_path):
    texts = dict(attacked())
    made = {"true": attacks.release, "believed": attacks.believed, "meant": attacks.meant}
    texts |= {name: json.dumps(make()) for name, make in made.items()}
    found = dict(zip(texts, page.evaluate(JUDGED, list(texts.values())), strict=True))
    assert {name for name, word in found.items() if word} == set(made)
    assert found == dict(zip(texts, verdicts(texts.values(), tmp_path), strict=True))


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    "count", [300, pytest.param(4000, marks=pytest.mark.second_lane, id="many")]
)
@pytest.mark.filterwarnings("ignore")
def test_the_page_accepts_no_damaged_file_that_the_program_does_not(page, count, tmp_path):
    rng = random.Random(8)
    keyed, *files = (json.dumps(saved).encode() for saved in (attacks.release(), *designed()))
    chosen = [keyed if k % 3 == 0 else rng.choice(files) for k in range(count)]
    texts = [changed_json(data, rng).decode("utf-8", "replace") for data in chosen]
    theirs = page.evaluate(JUDGED, texts)
    ours = verdicts(texts, tmp_path)
    assert [text for text, page_says, says in zip(texts, theirs, ours, strict=True)
            if page_says is not says and True in (page_says, says)] == []  # fmt: skip
    assert sum(map(bool, ours)) > 10


NUMBERS_AS_TEXT = ("-0", "-0.0", "1e16", "1E5", "1e-5", "0.0001", "9999999999999998.0", "1.50e0")


@pytest.mark.xdist_group("browser")
def test_the_page_writes_numbers_as_python_does(page):
    rng = random.Random(3)
    texts = [*NUMBERS_AS_TEXT, "5e-324", "1.7976931348623157e308", str(10**30)]
    texts += [f"{rng.uniform(-9, 9) * 10.0 ** rng.randint(-30, 30):.{k}e}" for k in range(25)]
    texts += [repr(rng.uniform(-9, 9) * 10.0**k) for k in range(-30, 30)]
    found = page.evaluate("texts => texts.map(text => dumps(parse(text)))", texts)
    assert found == [json.dumps(json.loads(text)) for text in texts]


FILES_JUDGED = """async jobs => {
    const found = [];
    for (const [kind, saved, text] of jobs) {
        try {
            const release = new Release(parse(saved));
            if (kind === "codebook") release.checkCodebook(parse(text));
            else if (kind === "receipt") await release.checkReceipt(parse(text), []);
            else release.checkTable([], "safe.csv", new TextEncoder().encode(text));
            found.push(true);
        } catch (error) { found.push(error instanceof Refused ? false : null); }
    }
    return found;
}"""


def judged(kind, saved, text):
    """Return what the program says of one file beside a release: True, False, or None."""
    name = "other.csv" if kind == "table" else f"other.{kind}.json"
    Path("other.release.json").write_text(saved, "utf-8")
    Path(name).write_bytes(text.encode("utf-8", "surrogatepass"))
    given = argparse.Namespace(table=None, receipt=None, source=None, codebook=None)
    setattr(given, kind, name)
    try:
        release = checker().Release(checker().read("other.release.json"))
        getattr(release, f"check_{kind}")(given)
    except checker().Refused:
        return False
    except Exception:  # noqa: BLE001 (undecided)
        return None
    return True


def odd_files(saved, book, receipt, table):
    """Return files in which one place is written in another way, or says something else."""
    for change in (
        lambda book: book["outputs"][0].update(weights=[1.0]),
        lambda book: book["outputs"][0].update(weights=[True]),
        lambda book: book["outputs"][0].update(p_x_given_y=[True]),
        lambda book: book["outputs"][0].update(code=False),
        lambda book: book["outputs"][0].update(members=[0.0]),
    ):
        other = json.loads(book)
        change(other)
        yield "codebook", saved, json.dumps(other)
    for values in (
        *({"dropped": dropped} for dropped in (False, -0.0, 5e-324, None)),
        *({"rows_in": float(json.loads(receipt)["rows_in"])}, {"checked_on_this_table": 1}),
        {"rows_in": json.loads(receipt)["rows_in"] - 3, "dropped": -3},
    ):
        yield "receipt", saved, json.dumps(json.loads(receipt) | values)
    for name, value in (
        *(("released", ""), ("released", {}), ("released", [{}]), ("escape_formulas", 1)),
        *(("released", [{"name": "a"}]), ("released", [{"kind": "text"}]), ("encoding", "rows")),
    ):
        other = json.loads(saved)
        other["table"][name] = value
        for kind, text in (("codebook", book), ("receipt", receipt), ("table", table)):
            yield kind, json.dumps(other), text


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    "options", [(), ("--mechanism", "subset-merging")], ids=["codes", "groups"]
)
def test_the_page_says_of_damaged_files_beside_a_release_what_the_program_says(
    page, lowlift, options
):
    release, _, book, _, receipt, _, table, *_ = sanitized(lowlift, *options)
    saved, book, receipt = (Path(name).read_text() for name in (release, book, receipt))
    table = "\n".join(Path(table).read_text().split("\n")[:40]) + "\n"
    jobs, rng = [*odd_files(saved, book, receipt, table)], random.Random(9)
    for kind, text in (("codebook", book), ("receipt", receipt)):
        for _ in range(150):
            other = changed_json(text.encode(), rng).decode("utf-8", "replace")
            jobs.append((kind, saved, other))
    rows = (changed_bytes(table.encode(), rng).decode("utf-8", "replace") for _ in range(100))
    jobs += [("table", saved, text) for text in rows]
    theirs = page.evaluate(FILES_JUDGED, jobs)
    ours = [judged(*job) for job in jobs]
    assert [job for job, page_says, says in zip(jobs, theirs, ours, strict=True)
            if page_says is not says and True in (page_says, says)] == []  # fmt: skip
    assert 10 < ours.count(True) < len(ours) - 100


def look(page, files):
    page.evaluate("() => delete document.getElementById('found').dataset.state")
    page.set_input_files("#files", files)
    page.wait_for_selector("#found[data-state=done]")
    return page.inner_text("#found")


@pytest.mark.xdist_group("browser")
def test_files_dropped_on_the_page_are_checked_together(page, lowlift):
    files = [name for name in sanitized(lowlift) if not name.startswith("--")]
    text = look(page, files)
    assert page.locator("#found .ok").count() == 8, text
    assert page.locator("#found li").count() == 8
    assert "no mechanism in the bound keeps more of X" in text
    rows = Path("safe.csv").read_text()
    Path("safe.csv").write_text(rows.replace("\n0\n", "\n99\n"))
    text = look(page, files)
    assert "a row is no output" in text
    assert "safe.csv is not the receipt's file" in text
    Path("safe.csv").write_text("".join(f"{row},1\n" for row in rows.split()))
    assert "the table has other columns" in look(page, files)
    Path("safe.parquet").write_bytes(b"PAR1")
    assert "a table is read if it is a CSV" in look(page, [*files[:2], "safe.parquet"])
    other = edited("codebook", lambda book: book["criterion"].update(epsilon=0.1))
    assert "the codebook is of another release" in look(page, [files[0], other])
    other = edited("receipt", lambda receipt: receipt.update(checked_on_this_table=False))
    assert "the bound was not checked on the table" in look(page, [files[0], other])
    Path("safe.release.json").write_text("{}")
    assert "a release is needed" in look(page, ["safe.receipt.json", "safe.release.json"])


@pytest.mark.xdist_group("browser")
def test_the_page_says_which_table_is_which(page, lowlift):
    files = [name for name in sanitized(lowlift) if not name.startswith("--")]
    release, _, receipt, table, source = files
    words = {table: "safe.csv is the table that was published"}
    words[source] = "titanic.csv is the table that it was made from"
    for given in ((table,), (source,), (table, source)):
        text = look(page, [release, receipt, *given])
        assert {name for name in words if words[name] in text} == set(given)


@pytest.mark.xdist_group("browser")
def test_the_page_reads_ends_of_lines_as_the_program_does(page, lowlift):
    release, *_ = sanitized(lowlift)
    rows = Path("safe.csv").read_text().split("\n")
    for text in ("\r".join(rows), "\r\n".join(rows), "\n".join([*rows[:9], "0\r1", *rows[9:]])):
        Path("other.csv").write_bytes(text.encode())
        code, said = run(release, "--table", "other.csv")
        assert (code, said.count("ok  ")) == (0, 3), said
        assert said.splitlines()[1].removeprefix("ok").strip() in look(page, [release, "other.csv"])
    for end in ("", '""'):  # an empty line at the end, and an empty cell
        Path("other.csv").write_bytes(("\n".join(rows) + end).encode())
        code, said = run(release, "--table", "other.csv")
        shown = look(page, [release, "other.csv"])
        assert ("no output" in said, "no output" in shown) == (bool(end), bool(end))


@pytest.mark.xdist_group("browser")
def test_the_page_shows_the_answer_on_the_last_files_alone(page):
    """Files that are read slowly do not add to the answer on those that were given after them."""
    text = page.evaluate(
        """async () => {
            const empty = new ArrayBuffer(0);
            const slow = new Promise(done => setTimeout(() => done(empty), 300));
            const first = look([{ name: "slow.json", arrayBuffer: () => slow }]);
            await look([{ name: "quick.csv", arrayBuffer: async () => empty }]);
            const found = document.getElementById("found"), before = found.innerText;
            await first;
            return [before, found.innerText, found.dataset.state];
        }"""
    )
    assert text[0] == text[1]
    assert "a release is needed" in text[0]
    assert text[2] == "done"


@pytest.mark.xdist_group("browser")
def test_a_folder_on_the_page_is_said_to_be_unreadable(page):
    found = page.evaluate(
        """async () => {
            const arrayBuffer = async () => { throw new Error("no file"); };
            await look([{ name: "folder", arrayBuffer }]).catch(() => {});
            const found = document.getElementById("found");
            return [found.innerText, found.dataset.state];
        }"""
    )
    assert "folder cannot be read: no file" in found[0]
    assert found[1] == "done"


@pytest.mark.xdist_group("browser")
def test_files_that_are_dropped_beside_the_frame_do_not_leave_the_page(page):
    page.evaluate("() => delete document.getElementById('found').dataset.state")
    is_left = page.evaluate(
        """() => {
            const data = new DataTransfer();
            data.items.add(new File(["{}"], "safe.release.json"));
            const options = { dataTransfer: data, bubbles: true, cancelable: true };
            return document.body.dispatchEvent(new DragEvent("drop", options));
        }"""
    )
    assert is_left is False
    page.wait_for_selector("#found[data-state=done]")
    assert "safe.release.json is no release" in page.inner_text("#found")


@pytest.mark.xdist_group("browser")
def test_the_page_judges_rows_drawn_by_a_key(page, lowlift):
    files = [name for name in keyed_rows(lowlift) if not name.startswith("--")]
    text = look(page, files)
    assert "the receipt is of this release" in text
    assert "where cells are drawn" in text
    Path("more.csv").write_text(Path("safe.csv").read_text().replace("age\n", "age,survived\n"))
    assert "the table has other columns" in look(page, [files[0], "more.csv"])
    forged = edited("receipt", lambda receipt: receipt.update(release="0" * 64))
    assert "the receipt is of another release" in look(page, [files[0], forged])


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("criterion", [BOXES[1], *BOXES[3:], *MEANS], ids=str)
def test_the_page_proves_a_bound_on_the_distance(page, criterion, tmp_path):
    joint = ll.datasets.titanic()
    release, distances = tmp_path / "release.json", tmp_path / "distances.json"
    made = ll.least_distortion(joint, criterion_on(criterion, joint))
    distance = distances_of(joint, None, None).tolist()
    distances.write_text(json.dumps(distance))
    made.to_json(release)
    assert "no channel in the bound that keeps P(x) has a mean distance below" in look(
        page, [release, distances]
    )
    saved = json.loads(release.read_text())
    saved["certificate"]["lower_bound"] += 1e-6
    release.write_text(json.dumps(saved))
    assert "it is not proven" in look(page, [release, distances])
    nearer = [[d / 2 for d in row] for row in distance]
    distances.write_text(json.dumps(nearer))
    assert "it is not proven" in look(page, [release, distances])
    distances.write_text(json.dumps([[-1e-300, *nearer[0][1:]], *nearer[1:]]))
    assert "distances must be 0 or more" in look(page, [release, distances])


@pytest.mark.xdist_group("browser")
def test_the_page_has_no_connection(page):
    refused = page.evaluate(
        """() => new Promise(done => {
            document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective));
            fetch("http://127.0.0.1:9/").catch(() => setTimeout(() => done("not refused"), 2000));
        })"""
    )
    assert refused == "connect-src"
