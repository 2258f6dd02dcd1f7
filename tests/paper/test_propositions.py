"""The table of propositions: what holds, what fails, and that neither is decided by rounding."""

import dataclasses
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from mpmath import mp

import lowlift as ll
from lowlift import measures
from lowlift.paper.propositions import Claim, try_propositions
from lowlift.paper.propositions.cases import _WEIGHTS, SHAPES, published, random_cases
from lowlift.paper.propositions.claims import _counter_example, _tried, kept_more
from lowlift.paper.propositions.enclosures import Enclosure, exact_slack, power
from lowlift.paper.propositions.inequalities import (
    ALPHAS,
    INEQUALITIES,
    Inequality,
    exact_sides,
    slacks,
)
from lowlift.paper.propositions.measures import Cases

FALSE = {("1(2)", "printed"), ("2", "printed"), ("2", "with repair")} | {
    (number, "printed") for number in ("3(1)", "3(2)", "5(1)", "5(2)")
}
#: Measures that floats and rationals have by the same name.
RATIONAL = (
    *("u", "d", "chord", "farthest", "total_variation", "chi2_divergence"),
    *("l1", "chi2", "l1_inverse", "chi2_inverse", "p_at_max", "p_at_min"),
    *("gamma", "gamma_merged", "gamma_invariant", "gamma_randomised"),
)

#: What the two sides are exactly, where they are not both rational: logarithms and roots are
#: enclosed, lifts and P(s) never are.
KINDS = {
    **dict.fromkeys(("1(1)", "1(3)"), (Enclosure, Enclosure)),
    **dict.fromkeys(("3(3)", "5(3)", "6(2)", "6(3)"), (Enclosure, Fraction)),
    **dict.fromkeys(("4(2)", "4(3)"), (Fraction, Enclosure)),
}


@pytest.fixture(scope="module")
def claims():
    return try_propositions(700, seed=0)


def cases_of(shape, k=400, seed=0):
    return random_cases(np.random.default_rng(seed), k, *shape)


def failing(shape, number, k=400):
    """Return the parts of random cases that break the printed forms of one item."""
    forms = [
        dataclasses.replace(item, example=None)
        for item in INEQUALITIES
        if (item.proposition, item.form) == (number, "printed")
    ]
    return [_tried(form, [cases_of(shape, k)]).violations / k for form in forms]


def wrong(formula):
    return Inequality("0", "printed", "a wrong one", (formula,))


def test_every_item_is_there_in_order(claims):
    numbers = list(dict.fromkeys(claim.proposition for claim in claims))
    assert numbers == [
        *(f"1({k})" for k in range(1, 5)),
        "2",
        *(f"{n}({k})" for n in (3, 4, 5, 6) for k in (1, 2, 3)),
        "7",
        "Theorem 1",
    ]
    assert len({(c.proposition, c.form, c.statement) for c in claims}) == len(claims)


def test_what_is_false_as_printed_fails_and_all_else_holds(claims):
    for claim in claims:
        assert claim.holds is ((claim.proposition, claim.form) not in FALSE), claim


def test_every_false_form_has_a_corrected_one_and_one_where_it_holds(claims):
    forms = {}
    for claim in claims:
        forms.setdefault(claim.proposition, []).append(claim.form)
    for number in ("3(1)", "3(2)", "5(1)", "5(2)"):
        assert forms[number] == ["printed", "corrected", "printed, where it holds"]
    assert sorted(forms["1(2)"]) == sorted(2 * ["printed", "corrected", "printed, where it holds"])


def test_slack_violations_and_counter_example_agree(claims):
    for claim in claims:
        is_strict = " > " in claim.statement
        assert (claim.violations > 0) is (claim.smallest_slack < 0 or is_strict), claim
        assert bool(claim.counter_example) is (claim.violations > 0), claim
        assert 0 <= claim.violations <= claim.cases
        assert "\n" not in claim.counter_example


def test_cases_are_counted(claims):
    by_form = {(c.proposition, c.form): c for c in claims}
    assert by_form["1(1)", "printed"].cases == 700
    assert by_form["3(1)", "printed"].cases == 701  # with the known example
    assert by_form["2", "corrected"].cases == 72  # a tenth, and two examples
    assert 200 < by_form["3(1)", "printed, where it holds"].cases < 700


def test_the_corrected_bounds_are_attained(claims):
    tight = {(c.proposition, c.form): c.smallest_slack for c in claims}
    for number in ("1(2)", "3(1)", "3(2)"):
        assert tight[number, "corrected"] == 0
    assert tight["1(4)", "printed"] == tight["7", "printed"] == tight["Theorem 1", "printed"] == 0


def test_known_counter_examples_are_shown(claims):
    shown = {c.proposition: c.counter_example for c in claims if c.form == "printed"}
    assert shown["3(1)"] == "P_S = (0.2, 0.8), lifts (0.2, 1.2), (1.2, 0.95): 0.32 > 0.2"
    assert shown["3(2)"].endswith("lifts (0.2, 1.2), (1.2, 0.95): 0.16 > 0.04")
    assert shown["5(1)"] == "P_S = (0.9, 0.1), lifts (0.9, 1.9), (91/90, 0.9): 14/95 > 1/9"
    printed = [c for c in claims if c.form == "printed" and c.proposition == "1(2)"]
    total, chi2 = (c.counter_example for c in printed)
    assert total.startswith("P_S = (1/3, 1/3, 1/3), lifts (3/13, 18/13, 18/13), ")
    assert (total[-13:], chi2[-16:]) == (" 10/39 > 5/26", " 50/169 > 25/169")
    assert shown["2"] == (
        "counts ((2, 9), (1, 9)), ε = 0.6, λ = 0.5: LDP keeps 0.4101 nats, ALIP 0.4101"
    )
    repaired = next(c.counter_example for c in claims if c.form == "with repair")
    assert repaired.endswith("ε = 1, λ = 0.5: LDP keeps 0.9526 nats, ALIP 1.0945")


def test_counter_examples_are_computed_from_their_table():
    printed = next(i for i in INEQUALITIES if i.proposition == "3(1)")
    other = dataclasses.replace(printed, example=((1, 3, 1), (9, 7, 9)))
    claim = _tried(other, [cases_of((2, 2), 1)])
    # P_S = (1/6, 5/6); the lifts are 3/5 and 27/25, and 9/5 and 21/25.
    assert claim.counter_example == ""
    assert claim.cases == 2
    other = dataclasses.replace(printed, example=((1, 9, 9), (9, 7, 9)))
    claim = _tried(other, [cases_of((2, 2), 1)])
    assert claim.counter_example.startswith("P_S = (19/44, 25/44), lifts (22/95, 1.584), ")


def test_a_counter_example_names_three_outputs_at_most():
    case = cases_of((4, 6), 1).exact(0)
    line = _counter_example(wrong(lambda m: (m.u, m.d)), case)
    outputs = case.lift.shape[2]
    assert line.count("(") == 1 + min(3, outputs)
    assert ("…" in line) is (outputs > 3)


def test_the_same_seed_gives_the_same_claims():
    first, again, other = (try_propositions(70, seed) for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_bad_arguments_are_refused():
    for arguments in ((0, 0), (10, -1)):
        with pytest.raises(ll.InvalidInput, match="cases must be 1 or more"):
            try_propositions(*arguments)


def test_one_case_is_enough():
    assert all(isinstance(claim, Claim) and claim.cases >= 0 for claim in try_propositions(1))


# How often the printed forms fail.


@pytest.mark.parametrize("number", ["3(1)", "3(2)"])
def test_more_than_a_tenth_of_2_x_3_cases_break_3_1_and_3_2(number):
    assert failing((2, 3), number)[0] > 0.1
    assert failing((2, 2), number)[0] > 0.1


@pytest.mark.parametrize("number", ["5(1)", "5(2)"])
def test_small_cases_break_5_1_and_5_2(number):
    assert failing((2, 2), number)[0] > 0.02
    assert failing((2, 3), number)[0] > 0.02


def test_1_2_as_printed_needs_three_values_of_s():
    """|S| = 2: T and chi2 are at most products of two deviations, each at most u - 1."""
    for shape in ((2, 2), (2, 3)):
        assert failing(shape, "1(2)") == [0, 0]
    assert min(failing((3, 3), "1(2)")) > 0.01


# What decides.


def test_a_wrong_inequality_is_caught():
    claim = _tried(wrong(lambda m: (m.l1, 3 * m.chord / 2)), [cases_of((2, 3))])
    assert not claim.holds
    assert claim.violations > 50
    assert claim.smallest_slack < -0.01
    assert claim.counter_example


@pytest.mark.parametrize("digits", [12, 20, 60])
def test_a_bound_too_small_by_less_than_rounding_is_caught(digits):
    """The corrected 3(1) is attained by many 2 x 2 cases; floats cannot see 1e-20 of it."""
    one = 10**digits
    cases = cases_of((2, 2))
    attained = sum(case.l1[0] == 2 * case.chord[0] for case in map(cases.exact, range(len(cases))))
    assert attained > 50
    too_small = _tried(wrong(lambda m: (m.l1, 2 * m.chord * (one - 1) / one)), [cases])
    assert too_small.violations == attained
    large_enough = _tried(wrong(lambda m: (m.l1, 2 * m.chord * (one + 1) / one)), [cases])
    assert large_enough.holds
    assert 0 < large_enough.smallest_slack < 1 / one
    exactly = _tried(wrong(lambda m: (m.l1, 2 * m.chord)), [cases])
    assert (exactly.violations, exactly.smallest_slack) == (0, 0)


@pytest.mark.parametrize("counts", [((1, 2), (2, 4)), ((3, 3, 6), (1, 1, 2), (5, 5, 10))])
def test_independent_tables_violate_nothing(counts):
    """Every lift is 1, so that most sides are equal and floats cannot tell."""
    cases = published(counts)
    assert cases.exact(0).u == cases.exact(0).d == 1
    for item in INEQUALITIES:
        for formula in item.formulas:
            slack = slacks(formula, cases)[0]
            assert slack == 0 or (item.proposition == "4(3)" and slack > 0.01) or (
                item.proposition == "6(3)" and slack > 0.01
            )  # fmt: skip


def test_sides_are_told_apart_by_enclosures():
    mp.dps = 60
    digits = int(mp.sqrt(2) * mp.mpf(10) ** 40)
    below, above = Fraction(digits, 10**40), Fraction(digits + 1, 10**40)

    def against(value):
        return exact_slack(lambda bits: (power(Fraction(2), Fraction(1, 2), bits), value))

    assert -1e-40 < against(below) < 0 < against(above) < 1e-40


def test_what_stays_open_counts_as_violated():
    unit = Enclosure(Fraction(0), Fraction(1))
    assert exact_slack(lambda _: (unit, unit)) < 0
    assert exact_slack(lambda _: (Fraction(1), Enclosure(Fraction(1), Fraction(1)))) == 0


def test_watchdogs_that_keep_the_same_in_floats_are_told_apart():
    assert kept_more([(0.5, [2, 4, 6]), (0.5, [2, 4, 6])]) == 0
    assert -1 < kept_more([(0.5, [2, 4, 6]), (0.5, [3, 3, 6])]) < 0
    assert 0 < kept_more([(0.5, [3, 3, 6]), (0.5, [2, 4, 6])]) < 1
    assert kept_more([(0.5, []), (0.25, [])]) == 0.25


# The measures.


def channel_of(cases, k):
    weights = cases.weights[k]
    return ll.Channel(weights[:, weights.any(axis=0)])


@pytest.mark.parametrize("shape", SHAPES)
def test_measures_are_those_of_the_package(shape):
    cases = cases_of(shape, 12, seed=5)
    for k in range(len(cases)):
        joint, channel = ll.Joint.from_counts(cases.counts[k]), channel_of(cases, k)
        lift = measures.lift(joint, channel)
        expected = {
            "u": lift.max(),
            "d": lift.min(),
            "information": measures.mutual_information(joint, channel, of="s"),
            "total_variation": measures.total_variation(joint, channel),
            "chi2_divergence": measures.chi2_divergence(joint, channel),
            "l1": measures.l1_lift(joint, channel).max(),
            "chi2": measures.chi2_lift(joint, channel).max(),
            "l1_inverse": measures.l1_lift_inverse(joint, channel).max(),
            "chi2_inverse": measures.chi2_lift_inverse(joint, channel).max(),
            "gamma": measures.local_differential_privacy(joint, channel).maximum,
        }
        for name, value in expected.items():
            np.testing.assert_allclose(getattr(cases, name)[k], value, rtol=1e-11, atol=1e-13)
        for order in ALPHAS:
            alpha = float(order)
            of_alpha = {
                "sibson": measures.sibson_information(joint, channel, alpha),
                "arimoto": measures.arimoto_information(joint, channel, alpha),
            }
            for name, value in of_alpha.items():
                found = getattr(cases, name)(order)[k]
                np.testing.assert_allclose(found, value, rtol=1e-10, atol=1e-14)
            for exponent, measure in (
                (order, measures.alpha_lift),
                (-order, measures.alpha_lift_inverse),
            ):
                expected = measure(joint, channel, alpha) ** alpha
                found = cases.means(partial(cases.power, exponent=exponent))[k]
                found = found[cases.weights[k].any(axis=0)]
                np.testing.assert_allclose(found, expected, rtol=1e-10)
                np.testing.assert_allclose(cases.powers(exponent)[k], expected.max(), rtol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_rationals_agree_with_floats(shape):
    cases = cases_of(shape, 8, seed=6)
    for k in range(len(cases)):
        exact = cases.exact(k)
        for name in RATIONAL:
            value = float(getattr(exact, name)[0])
            np.testing.assert_allclose(getattr(cases, name)[k], value, rtol=1e-11, atol=1e-13)


def between(ends, value):
    sides = (ends, ends) if isinstance(ends, Fraction) else ends  # where it is rational
    low, high = (mp.mpf(end.numerator) / end.denominator for end in sides)
    rounding = mp.mpf(10) ** -70 * max(1, abs(value))
    assert low - rounding <= value <= high + rounding
    assert high - low < mp.mpf(10) ** -25 * max(1, abs(value))


@pytest.mark.parametrize("shape", [(2, 3), (3, 4)])
def test_enclosures_hold_what_mpmath_finds(shape):
    mp.dps = 80
    cases = cases_of(shape, 4, seed=7)
    for k in range(len(cases)):
        case = cases.exact(k)
        p_s, p_y = (
            [mp.mpf(p.numerator) / p.denominator for p in q] for q in (case.p_s[0], case.p_y[0])
        )
        lifts = [[mp.mpf(v.numerator) / v.denominator for v in l_s] for l_s in case.lift[0].T]
        information = mp.fsum(
            q * p * v * mp.log(v)
            for q, l_s in zip(p_y, lifts, strict=True)
            for p, v in zip(p_s, l_s, strict=True)
        )
        between(case.information[0], information)
        for alpha in ALPHAS:
            order = mp.mpf(alpha.numerator) / alpha.denominator
            tilted = [p**order / mp.fsum(q**order for q in p_s) for p in p_s]
            for ends, prior in ((case.sibson, p_s), (case.arimoto, tilted)):
                means = [
                    mp.fsum(p * v**order for p, v in zip(prior, l_s, strict=True)) for l_s in lifts
                ]
                mean = mp.fsum(q * m ** (1 / order) for q, m in zip(p_y, means, strict=True))
                between(ends(alpha)[0], order / (order - 1) * mp.log(mean))
            for side in (1, -1):
                means = [
                    mp.fsum(p * v ** (side * order) for p, v in zip(p_s, l_s, strict=True))
                    for l_s in lifts
                ]
                of_outputs = case.means(partial(case.power, exponent=side * alpha))[0]
                for ends, mean in zip(of_outputs, means, strict=True):
                    between(ends, mean)
                between(case.powers(side * alpha)[0], max(means))


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
def test_exact_sides_are_the_float_sides(shape):
    cases = cases_of(shape, 6, seed=8)
    for item in INEQUALITIES:
        for formula in filter(None, (*item.formulas, item.where)):
            smaller, larger = formula(cases)
            for k in range(len(cases)):
                sides = exact_sides(formula, cases.exact(k), 128)
                assert tuple(map(type, sides)) == KINDS.get(item.proposition, (Fraction, Fraction))
                for side in sides:
                    if isinstance(side, Enclosure):
                        low, high = side
                        assert isinstance(low, Fraction)
                        assert isinstance(high, Fraction)
                        assert 0 < high - low < Fraction(max(1, high), 2**100)
                exact = [float(getattr(side, "middle", side)) for side in sides]
                np.testing.assert_allclose(
                    [smaller[k], larger[k]], exact, rtol=1e-9, atol=1e-12, err_msg=item.statement
                )


# The cases.


@pytest.mark.parametrize("shape", SHAPES)
def test_cases_are_positive_tables_with_channels(shape):
    cases = cases_of(shape, 100)
    n_s, n_x = shape
    assert cases.counts.shape == (100, n_s, n_x)
    assert cases.counts.min() >= 1
    assert (cases.weights >= 0).all()
    assert (cases.weights.sum(axis=2) == _WEIGHTS).all()
    assert cases.high.any(axis=1).all()
    outputs = cases.weights.any(axis=1).sum(axis=1)
    assert outputs.min() >= 2
    kinds = {
        "identity": (cases.weights == _WEIGHTS * np.eye(n_x, dtype=int)).all((1, 2)),
        "a partition": (np.sort(cases.weights, axis=2)[:, :, :-1] == 0).all((1, 2)),
    }
    assert 20 < kinds["identity"].sum() < kinds["a partition"].sum() < 90


def test_x_h_is_what_ldp_calls_high_risk():
    cases = cases_of((3, 4), 20)
    for k in range(len(cases)):
        joint = ll.Joint.from_counts(cases.counts[k])
        gamma = joint.lift.max(axis=0) / joint.lift.min(axis=0)
        low = gamma[~cases.high[k]].max(initial=1.0)
        least = gamma[cases.high[k]].min()
        criterion = ll.LDP((math.log(low) + math.log(least)) / 2)
        assert ll.high_risk(joint, criterion) == tuple(np.flatnonzero(cases.high[k]).tolist())


def test_an_output_that_never_occurs_changes_nothing():
    cases = cases_of((3, 4), 30, seed=2)
    wider = np.concatenate([cases.weights, np.zeros((30, 4, 1), np.int64)], axis=2)
    padded = Cases(cases.counts, wider, cases.high)
    for name in (*RATIONAL, "information"):
        np.testing.assert_allclose(getattr(padded, name), getattr(cases, name), rtol=1e-13)
