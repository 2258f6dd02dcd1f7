"""Every measure by hand on a 2 x 2 joint, at its limits, and at extreme lifts."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import lowlift as ll
from lowlift import measures
from lowlift.errors import InvalidInput, LowliftWarning

INF = math.inf
#: P_S = (3/8, 5/8), P_X = (1/2, 1/2); lifts (2/3, 6/5) and (4/3, 4/5).
JOINT = ll.Joint.from_counts([[1, 2], [3, 2]])
ITSELF = ll.Channel.identity(JOINT)
EVEN = ll.Joint.from_counts([[1, 3], [3, 1]])
ALPHAS = [1, 1.0000001, 2, 10.5, 1000, INF]


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("lift", (), [[2 / 3, 4 / 3], [6 / 5, 4 / 5]]),
        ("log_lift", (), np.log([[2 / 3, 4 / 3], [6 / 5, 4 / 5]])),
        ("min_lift", (), [2 / 3, 4 / 5]),
        ("max_lift", (), [6 / 5, 4 / 3]),
        ("l1_lift", (), [1 / 4, 1 / 4]),
        ("chi2_lift", (), [1 / 15, 1 / 15]),
        ("alpha_lift", (2,), np.sqrt([16 / 15, 16 / 15])),
        ("alpha_lift", (1,), [1, 1]),
        ("alpha_lift", (INF,), [6 / 5, 4 / 3]),
        ("l1_lift_inverse", (), [7 / 24, 1 / 4]),
        ("chi2_lift_inverse", (), [1 / 9, 1 / 16]),
        ("alpha_lift_inverse", (2,), np.sqrt([23 / 18, 19 / 16])),
        ("alpha_lift_inverse", (1,), [13 / 12, 17 / 16]),
        ("alpha_lift_inverse", (INF,), [3 / 2, 5 / 4]),
        ("mutual_information", (), math.log(2)),
        ("normalized_mutual_information", (), 1),
        (
            "mutual_information",
            ("s",),
            math.log(2 / 3) / 8
            + math.log(4 / 3) / 4
            + 3 * math.log(6 / 5) / 8
            + math.log(4 / 5) / 4,
        ),
        ("total_variation", (), 1 / 8),
        ("chi2_divergence", (), 1 / 15),
        ("sibson_information", (2,), math.log(16 / 15)),
        ("sibson_information", (INF,), math.log(19 / 15)),
        ("arimoto_information", (2,), 2 * math.log((math.sqrt(10) + math.sqrt(8)) / math.sqrt(34))),
        ("arimoto_information", (INF,), 0),
        ("maximal_leakage", (), math.log(19 / 15)),
        ("bayes_vulnerability", (), 5 / 8),
    ],
)
def test_by_hand(name, arguments, expected):
    found = getattr(measures, name)(JOINT, ITSELF, *arguments)
    assert found == pytest.approx(np.array(expected), abs=1e-14)


def test_local_differential_privacy_by_hand():
    found = measures.local_differential_privacy(JOINT, ITSELF)
    assert found.gamma == pytest.approx(np.array([9 / 5, 5 / 3]), rel=1e-14)
    assert found.maximum == pytest.approx(9 / 5, rel=1e-14)
    assert found.epsilon == pytest.approx(math.log(9 / 5), rel=1e-14)


def test_a_noisy_channel_by_hand():
    # x0 -> y0 with 3/4, x1 -> y1: P(s, y0) = 3 (1, 3) / 32, P(s, y1) = (9, 11) / 32.
    channel = ll.Channel([[3, 1], [0, 4]])
    lift = [[2 / 3, 6 / 5], [6 / 5, 22 / 25]]
    assert measures.lift(JOINT, channel) == pytest.approx(np.array(lift), rel=1e-14)
    p_y = (3 / 8, 5 / 8)
    kept = 3 / 8 * math.log(3 / 4 / p_y[0]) + math.log(1 / 4 / p_y[1]) / 8
    kept += math.log(1 / p_y[1]) / 2
    assert measures.mutual_information(JOINT, channel) == pytest.approx(kept, rel=1e-14)
    nmi = measures.normalized_mutual_information(JOINT, channel)
    assert nmi == pytest.approx(kept / math.log(2), rel=1e-14)
    assert measures.bayes_vulnerability(JOINT, channel) == pytest.approx(20 / 32, rel=1e-14)
    leak = math.log(9 / 20 + 3 / 4)  # P(y0|s) = 1/4, 9/20 and P(y1|s) = 3/4, 11/20
    assert measures.maximal_leakage(JOINT, channel) == pytest.approx(leak, rel=1e-14)


def test_orders_at_infinity_of_an_even_prior():
    channel = ll.Channel.identity(EVEN)
    for measure in (measures.sibson_information, measures.arimoto_information):
        assert measure(EVEN, channel, INF) == pytest.approx(math.log(3 / 2), rel=1e-14)
        assert measure(EVEN, channel, 2) == pytest.approx(math.log(5 / 4), rel=1e-14)


@pytest.mark.parametrize("name", ["sibson_information", "arimoto_information"])
def test_order_one_is_shannons_and_orders_rise_to_their_limit(name):
    joint = ll.Joint.random(4, 6, seed=2)
    channel, measure = ll.Channel.identity(joint), getattr(measures, name)
    assert measure(joint, channel, 1) == measures.mutual_information(joint, channel, of="s")
    assert measure(joint, channel, 1.0001) == pytest.approx(measure(joint, channel, 1), rel=1e-3)
    assert measure(joint, channel, 1000) == pytest.approx(measure(joint, channel, INF), abs=0.01)
    if name == "sibson_information":
        values = [measure(joint, channel, alpha) for alpha in (1, 1.5, 2, 10, 1000, INF)]
        assert values == sorted(values)
        assert values[-1] == measures.maximal_leakage(joint, channel)


def test_alpha_lifts_rise_to_the_largest_lift():
    joint = ll.Joint.random(4, 6, seed=3)
    channel, room = ll.Channel.identity(joint), joint.p_s.min() ** -0.001
    top = measures.max_lift(joint, channel)
    bottom = 1 / measures.min_lift(joint, channel)
    for near, limit in (
        (measures.alpha_lift(joint, channel, 1000), top),
        (measures.alpha_lift_inverse(joint, channel, 1000), bottom),
    ):
        assert (near <= limit * (1 + 1e-12)).all()
        assert (near * room >= limit * (1 - 1e-12)).all()
    assert measures.alpha_lift(joint, channel, INF) == pytest.approx(top, rel=1e-14)


PER_OUTPUT = ("l1_lift", "chi2_lift", "l1_lift_inverse", "chi2_lift_inverse")
OF_ALPHA = ("alpha_lift", "alpha_lift_inverse", "sibson_information", "arimoto_information")
NUMBERS = ("mutual_information", "normalized_mutual_information", "total_variation",
           "chi2_divergence", "maximal_leakage", "bayes_vulnerability")  # fmt: skip


def every(joint, channel):
    """Return each measure's values; warnings are errors."""
    for name in ("lift", "min_lift", "max_lift", *PER_OUTPUT, *NUMBERS):
        yield name, np.asarray(getattr(measures, name)(joint, channel))
    for name in OF_ALPHA:
        for alpha in ALPHAS:
            yield f"{name} {alpha}", np.asarray(getattr(measures, name)(joint, channel, alpha))
    found = measures.local_differential_privacy(joint, channel)
    yield "gamma", found.gamma
    yield "epsilon", np.asarray(found.epsilon)
    yield "I(S;Y)", np.asarray(measures.mutual_information(joint, channel, of="s"))


@pytest.mark.parametrize("tiny", [1e-17, 1e-100, 1e-200, 1e-299])
def test_tiny_lifts_give_numbers(tiny):
    joint = ll.Joint([[tiny, 0.5], [0.25, 0.25]])
    for channel in (ll.Channel.identity(joint), ll.Channel([[3, 1], [1, 3]])):
        for name, values in every(joint, channel):
            assert not np.isnan(values).any(), name
            assert (values >= 0).all(), name
    channel = ll.Channel.identity(joint)
    assert measures.log_lift(joint, channel)[0, 0] == pytest.approx(math.log(8 * tiny), rel=1e-14)
    for alpha in ALPHAS:
        largest = measures.alpha_lift_inverse(joint, channel, alpha)[0]
        assert math.isfinite(largest)
        share = 0 if math.isinf(alpha) else math.log(0.5) / alpha
        assert math.log(largest) == pytest.approx(share - math.log(8 * tiny), rel=1e-9)
    assert measures.l1_lift_inverse(joint, channel)[0] == pytest.approx(1 / (16 * tiny), rel=1e-9)


@pytest.mark.parametrize("rare", [1e-100, 1e-299])
def test_huge_lifts_give_numbers(rare):
    joint = ll.Joint([[rare, 0.0], [0.0, 0.5], [0.0, 0.5]])
    channel = ll.Channel.identity(joint)
    for name, values in every(joint, channel):
        assert not np.isnan(values).any(), name
    assert measures.max_lift(joint, channel)[0] == pytest.approx(1 / rare, rel=1e-12)


def test_a_zero_cell_is_a_value_and_never_skipped():
    joint = ll.Joint.from_counts([[0, 2], [3, 2]])
    channel = ll.Channel.identity(joint)
    assert measures.lift(joint, channel)[0, 0] == 0
    assert measures.log_lift(joint, channel)[0, 0] == -INF
    assert measures.min_lift(joint, channel)[0] == 0
    for name in ("l1_lift_inverse", "chi2_lift_inverse"):
        assert np.isinf(getattr(measures, name)(joint, channel)).tolist() == [True, False]
    for alpha in ALPHAS:
        inverse = measures.alpha_lift_inverse(joint, channel, alpha)
        assert np.isinf(inverse).tolist() == [True, False]
        assert np.isfinite(measures.alpha_lift(joint, channel, alpha)).all()
        assert math.isfinite(measures.sibson_information(joint, channel, alpha))
        assert math.isfinite(measures.arimoto_information(joint, channel, alpha))
    found = measures.local_differential_privacy(joint, channel)
    assert found.gamma[0] == found.maximum == found.epsilon == INF
    # P(s0 | y1) = 1/2 at P(s0) = 2/7: I(S;Y) = 3/7 log(7/5) + 2/7 log(7/4) + 2/7 log(7/10).
    expected = (3 * math.log(7 / 5) + 2 * math.log(7 / 4) + 2 * math.log(7 / 10)) / 7
    assert measures.mutual_information(joint, channel, "s") == pytest.approx(expected, rel=1e-13)


def test_one_x_has_nmi_one():
    joint = ll.Joint.from_counts([[1], [3]])
    channel = ll.Channel.identity(joint)
    assert joint.entropy_x == 0
    assert measures.normalized_mutual_information(joint, channel) == 1
    assert measures.mutual_information(joint, channel) == 0
    noisy = ll.Channel([[1, 3]])
    assert measures.normalized_mutual_information(joint, noisy) == 1
    assert measures.mutual_information(joint, noisy) == 0
    for name, values in every(joint, noisy):
        assert np.isfinite(values).all(), name


def test_one_s_leaks_nothing():
    with pytest.warns(LowliftWarning):
        joint = ll.Joint([[0.5, 0.5]])
    for name, values in every(joint, ll.Channel.identity(joint)):
        assert np.isfinite(values).all(), name
    assert measures.maximal_leakage(joint, ll.Channel.identity(joint)) == 0


def test_merging_everything_has_lift_one_and_keeps_nothing():
    joint = ll.Joint.random(3, 5, seed=0)
    merged = ll.Channel.from_blocks(joint, [list(range(5))])
    assert measures.lift(joint, merged) == pytest.approx(1, abs=1e-14)
    assert measures.mutual_information(joint, merged) == 0
    assert measures.normalized_mutual_information(joint, merged) == 0
    assert measures.mutual_information(joint, merged, of="s") == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        ([0.5, 0.5], math.log(2)),
        ([[0.25, 0.25], [0.5, 0.0]], 1.5 * math.log(2)),
        ([1.0], 0),
        ([1.0, 1e-320], 0),
    ],
)
def test_entropy_by_hand(p, expected):
    assert measures.entropy(p) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("p", [[0.5, 0.4], [1.5, -0.5], [math.nan, 1], [INF, 0], []])
def test_entropy_refuses_what_is_no_distribution(p):
    with pytest.raises(InvalidInput, match="probabilities that sum to 1"):
        measures.entropy(p)


@pytest.mark.parametrize("name", OF_ALPHA)
@pytest.mark.parametrize("alpha", [0.5, -1, math.nan, "2", True])
def test_alpha_is_checked(name, alpha):
    with pytest.raises(InvalidInput, match="alpha must be"):
        getattr(measures, name)(JOINT, ITSELF, alpha)


def test_other_arguments_are_checked():
    with pytest.raises(InvalidInput, match="of must be one of x, s; got 'y'"):
        measures.mutual_information(JOINT, ITSELF, of="y")
    other = ll.Channel([[1, 0], [0, 1], [1, 0]])
    for name in measures.__all__:
        if name not in {"LocalDifferentialPrivacy", "entropy"}:
            arguments = (2,) if name in OF_ALPHA else ()
            with pytest.raises(InvalidInput, match="same X; got 3 and 2 symbols"):
                getattr(measures, name)(JOINT, other, *arguments)


@pytest.mark.parametrize("alpha", [1 + 1e-12, 1 + 1e-9, 1.4999, 1.5001])
def test_sibson_and_arimoto_keep_their_digits_next_to_order_one(alpha):
    """Against 60 digits: the mean is 1 up to alpha - 1, so its logarithm must not be taken."""
    counts = [[1, 3], [4, 2]]
    joint = ll.Joint.from_counts(counts)
    channel = ll.Channel.identity(joint)
    with mpmath.workdps(60):
        p = [[mpmath.mpf(n) / 10 for n in row] for row in counts]
        p_s, p_x, a = (
            [sum(row) for row in p],
            [p[0][x] + p[1][x] for x in (0, 1)],
            mpmath.mpf(alpha),
        )
        means = [sum(p_s[s] * (p[s][x] / p_s[s] / p_x[x]) ** a for s in (0, 1)) for x in (0, 1)]
        sibson = a / (a - 1) * mpmath.log(sum(p_x[x] * means[x] ** (1 / a) for x in (0, 1)))
        norms = [sum(p[s][x] ** a for s in (0, 1)) ** (1 / a) for x in (0, 1)]
        prior = sum(q**a for q in p_s) ** (1 / a)
        arimoto = a / (a - 1) * mpmath.log(sum(norms) / prior)
    found = ll.measures.sibson_information(joint, channel, alpha)
    assert found == pytest.approx(float(sibson), rel=1e-13)
    found = ll.measures.arimoto_information(joint, channel, alpha)
    assert found == pytest.approx(float(arimoto), rel=1e-13)


def test_what_is_kept_with_a_channel_belongs_to_one_joint_and_cannot_be_changed():
    channel = ll.Channel.identity(JOINT)
    other = ll.Joint.from_counts([[1, 3], [3, 1]])
    for joint in (JOINT, other, JOINT):
        fresh = measures.lift(joint, ll.Channel.identity(joint))
        assert (measures.lift(joint, channel) == fresh).all()
        measures.lift(joint, channel)[:] = 0
        measures.log_lift(joint, channel)[:] = 0
        assert measures.maximal_leakage(joint, channel) == math.log(
            measures.max_lift(joint, channel) @ [1 / 2, 1 / 2]
        )
    with pytest.raises(InvalidInput, match="joint"):
        measures.lift(None, channel)


def test_sibson_of_orders_whose_powers_are_no_floats():
    """Lifts near 1000: their 250th power overflows, its mean does not."""
    counts = np.ones((2, 2), int)
    counts[0, 0], counts[1, 1] = 1000, 10**6
    joint = ll.Joint.from_counts(counts)
    channel = ll.Channel.identity(joint)
    orders = [60.0, 90.0, 110.0, 250.0]
    found = [measures.sibson_information(joint, channel, order) for order in orders]
    p_s, lift = joint.p_s, measures.lift(joint, channel)
    p_y = channel.output_masses(joint).sum(axis=0)
    for order, value in zip(orders, found, strict=True):
        means = [
            sum(
                Fraction(p) * Fraction(one) ** int(order)
                for p, one in zip(p_s, column, strict=True)
            )
            for column in lift.T
        ]
        logs = [math.log(m.numerator) - math.log(m.denominator) for m in means]
        mean = sum(p * math.exp(one / order) for p, one in zip(p_y / p_y.sum(), logs, strict=True))
        assert value == pytest.approx(order / (order - 1) * math.log(mean), rel=1e-12)
    assert found == sorted(found)
    assert found[-1] < measures.maximal_leakage(joint, channel)
