"""The random response where S has two values, against all its vertices, and attacks on its proof.

The truth is found without lowlift: an interval of P(s|y) from a criterion's definition, vertices
written down from it, and logarithms of 40 digits where a hair decides.
"""

import dataclasses
import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import linprog

import lowlift as ll
from lowlift._solver.intervals import Interval
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import information_bound

DIGITS = 40


def leakage(criterion, q, prior):
    """Return how far P(s|y) = (q, 1 - q) is beyond the budgets: above 0, it is not allowed."""
    lift, p = np.array([q / prior, (1 - q) / (1 - prior)]), np.array([prior, 1 - prior])
    if isinstance(criterion, ll.LDP):
        return math.log(lift.max() / lift.min()) - criterion.epsilon if lift.min() else math.inf
    if isinstance(criterion, ll.L1Lift):
        return math.log1p((p * abs(lift - 1)).sum()) - criterion.upper
    if isinstance(criterion, ll.Chi2Lift):
        return math.log1p(math.sqrt((p * (lift - 1) ** 2).sum())) - criterion.upper
    if isinstance(criterion, ll.AlphaLift):
        return math.log((p * lift**criterion.alpha).sum()) / criterion.alpha - criterion.upper
    above = math.log(lift.max()) - criterion.upper
    if math.isinf(criterion.lower):
        return above
    return max(above, -math.log(lift.min()) - criterion.lower) if lift.min() else math.inf


def interval(criterion, prior):
    """Return the least and the largest allowed P(s|y) of the first value."""
    ends = []
    for end in (0.0, 1.0):
        if leakage(criterion, end, prior) <= 0:
            ends.append(end)
            continue
        inside, outside = prior, end
        for _ in range(200):
            middle = (inside + outside) / 2
            if leakage(criterion, middle, prior) <= 0:
                inside = middle
            else:
                outside = middle
        ends.append(inside)
    return ends


def best_nmi(joint, criterion):
    """Mix all vertices: symbols inside the interval, and pairs whose mean is one of its ends."""
    q, (low, high) = joint.p_s_given_x[0], interval(criterion, joint.p_s[0])
    vertices = [{x: 1.0} for x in range(joint.n_x) if low - 1e-13 <= q[x] <= high + 1e-13]
    for end in (low, high):
        for x, z in itertools.permutations(range(joint.n_x), 2):
            if q[x] < end < q[z]:
                share = (q[z] - end) / (q[z] - q[x])
                vertices.append({x: share, z: 1 - share})
    rows = np.zeros((joint.n_x, len(vertices)))
    for k, vertex in enumerate(vertices):
        for x, share in vertex.items():
            rows[x, k] = share
    costs = [-sum(v * math.log(v) for v in vertex.values()) for vertex in vertices]
    # Rows in units of P(x), so that the solver's tolerance is relative.
    mixed = linprog(costs, A_eq=rows / joint.p_x[:, None], b_eq=np.ones(joint.n_x))
    assert mixed.status == 0
    return 1 - mixed.fun / joint.entropy_x


CRITERIA = {
    "lip": ll.LIP,
    "alip": lambda e: ll.ALIP(1.7 * e, 0.4 * e),
    "max-lift": ll.MaxLift,
    "min-lift": lambda e: ll.ALIP(e, math.inf),
    "ldp": lambda e: ll.LDP(2 * e),
    "l1": lambda e: ll.L1Lift(math.inf, e / 2),
    "chi2": lambda e: ll.Chi2Lift(math.inf, e / 2),
    "alpha-2": lambda e: ll.AlphaLift(2.0, math.inf, e / 2),
    "alpha-10": lambda e: ll.AlphaLift(10.0, math.inf, e),
}


@pytest.mark.parametrize("name", CRITERIA)
@given(
    seed=st.integers(0, 2**31), n=st.integers(3, 60), budget=st.sampled_from([0.03, 0.2, 0.6, 1.5])
)
def test_optimum_is_that_of_all_vertices(name, seed, n, budget):
    rng = np.random.default_rng(seed)
    kinds = [
        rng.integers(0, 9, (2, n)),
        np.stack([rng.integers(0, 4, n), rng.integers(1, 900, n)]),
        rng.integers(1, 10**6, (2, n)),
    ]
    counts = kinds[rng.integers(3)]
    counts[:, 0] += 1
    joint = ll.Joint.from_counts(counts[:, counts.sum(axis=0) > 0])
    assume(joint.n_x > 1)
    criterion = CRITERIA[name](budget)
    truth, release = best_nmi(joint, criterion), ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.channel.n_y <= joint.n_x
    assert release.certificate.upper_bound >= truth - 1e-9
    assert truth - 5e-6 <= release.audit.nmi <= truth + 1e-7
    assert release.certificate.gap <= 1e-5


@pytest.mark.parametrize("n", [150, 700, 3000])
@pytest.mark.parametrize("criterion", [ll.LIP(0.5), ll.ALIP(0.1, 0.9), ll.LDP(0.7)], ids=str)
def test_bins_reach_the_optimum_of_single_symbols(n, criterion):
    joint = ll.Joint.random(2, n, seed=n)
    release = ll.random_response(joint, criterion)
    assert release.audit.is_satisfied
    assert release.certificate.gap <= 1e-6
    assert release.channel.n_y <= joint.n_x
    assert ll.verify_certificate(joint, criterion, release.certificate)


def least_value(line, ends, pi):
    """Return the least H(v) - pi . v over all vertices, to 40 digits."""
    with mpmath.workdps(DIGITS):
        exact, duals = [mpmath.mpf(float(v)) for v in line], [mpmath.mpf(float(v)) for v in pi]
        low, high = (mpmath.mpf(end) for end in ends)
        values = [-duals[x] for x in range(len(line)) if low <= exact[x] <= high]
        for end in (low, high):
            for x, z in itertools.permutations(range(len(line)), 2):
                if exact[x] < end < exact[z]:
                    v = (exact[z] - end) / (exact[z] - exact[x])
                    entropy = -v * mpmath.log(v) - (1 - v) * mpmath.log(1 - v)
                    values.append(entropy - v * duals[x] - (1 - v) * duals[z])
        return min(values)


def test_no_false_statement_is_proven():
    rng = np.random.default_rng(0)
    proven = tried = 0
    for _ in range(250):
        n = int(rng.integers(2, 10))
        joint = ll.Joint.from_counts(rng.integers(1, 10 ** int(rng.integers(1, 7)), (2, n)))
        polytope = Polytope(joint, ll.ALIP(*(10 ** rng.uniform(-3, 0.5, 2)).tolist()))
        space = Interval(polytope)
        if np.ptp(space.line) == 0:
            continue
        pi = rng.normal(size=n) * 10 ** rng.uniform(-3, 1)
        truth = least_value(space.line, space.ends, pi)
        if truth >= 0:
            pi = pi + float(truth) + abs(rng.normal())
            truth = least_value(space.line, space.ends, pi)
        for size in 10.0 ** rng.uniform(-12, -3, 50):
            cut = float(truth) + size
            if cut < 0:
                tried += 1
                assert space.floor(pi, cut) < cut
                assert space.floor(pi, cut) <= truth
        slack = 1e-12 * (1 + np.abs(pi).max())
        proven += space.floor(pi, float(truth) - slack) == float(truth) - slack
    assert tried > 10_000
    assert proven > 200


def test_forged_certificates_are_refused():
    joint, criterion = ll.Joint.random(2, 400, seed=1), ll.LIP(0.4)
    true = ll.random_response(joint, criterion).certificate
    assert ll.verify_certificate(joint, criterion, true)
    reached = true.upper_bound - true.gap
    rng = np.random.default_rng(2)
    for size in 10.0 ** rng.uniform(-9, -2, 40):
        claim = reached - size  # below what a mechanism keeps
        duals = np.array(true.duals) + rng.normal(size=joint.n_x) * size
        floor = information_bound(joint.p_x, duals, 0.0) - claim * joint.entropy_x
        false = dataclasses.replace(
            true, upper_bound=claim, duals=tuple(duals.tolist()), floor=floor + 1e-13
        )
        assert not ll.verify_certificate(joint, criterion, false)
    shuffled = dataclasses.replace(true, duals=tuple(rng.permutation(true.duals).tolist()))
    assert not ll.verify_certificate(joint, criterion, shuffled)


def test_the_interval_holds_what_is_allowed():
    rng = np.random.default_rng(3)
    for _ in range(200):
        counts = rng.integers(1, 10 ** int(rng.integers(1, 6)), (2, 8))
        joint = ll.Joint.from_counts(counts)
        criterion = CRITERIA[str(rng.choice(list(CRITERIA)))](float(10 ** rng.uniform(-3, 0.3)))
        polytope = Polytope(joint, criterion)
        space = Interval(polytope)
        row = int(np.argmax(np.ptp(polytope.lift, axis=1)))
        prior = joint.p_s[0]
        for q in interval(criterion, prior):
            lift = (q / prior, (1 - q) / (1 - prior))[row]
            low, high = space.line.min(), space.line.max()
            assert space.ends[0] <= min(max(lift, low), high) <= space.ends[1]
