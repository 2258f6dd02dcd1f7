"""The random response against all vertices: by qhull, and in rationals on tiny cases."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.optimize import linprog
from scipy.spatial import HalfspaceIntersection

import lowlift as ll

GAP = 1e-8


def half_spaces(criterion, p_s):
    """All half-spaces of a polyhedral criterion in lift space, written down from its definition."""
    m, rows = len(p_s), []
    if isinstance(criterion, ll.LDP):
        for s, t in itertools.permutations(range(m), 2):
            row = np.zeros(m)
            row[s], row[t] = 1.0, -math.exp(criterion.epsilon)
            rows.append((row, 0.0))
    elif isinstance(criterion, ll.EveryPrior):
        for s, t in itertools.permutations(range(m), 2):
            for q in (p_s, criterion.at_least + (1 - m * criterion.at_least) * np.eye(m)[t]):
                rows.append((np.eye(m)[s] - math.exp(criterion.upper) * q, 0.0))
                rows.append((math.exp(-criterion.lower) * q - np.eye(m)[s], 0.0))
    elif isinstance(criterion, ll.L1Lift):
        for signs in itertools.product((-1.0, 1.0), repeat=m):
            row = np.array(signs) * p_s
            rows.append((row, math.expm1(criterion.upper) + row.sum()))
    else:
        for s in range(m):
            if criterion.upper < math.inf:
                rows.append((np.eye(m)[s], math.exp(criterion.upper)))
            if criterion.lower < math.inf:
                rows.append((-np.eye(m)[s], -math.exp(-criterion.lower)))
    return np.array([row for row, _ in rows]), np.array([offset for _, offset in rows])


def enumerated_nmi(joint, criterion):
    """List the vertices with qhull in the null space of sum(v) = 1, and mix them by an LP."""
    normals, offsets = half_spaces(criterion, joint.p_s)
    basis = null_space(np.ones((1, joint.n_x)))
    a = np.vstack([-np.eye(joint.n_x), normals @ joint.lift])
    b = np.concatenate([np.zeros(joint.n_x), offsets])
    spaces = np.hstack([a @ basis, (a @ joint.p_x - b)[:, None]])
    found = HalfspaceIntersection(spaces, np.zeros(joint.n_x - 1)).intersections
    vertices = np.maximum(joint.p_x + found @ basis.T, 0)
    vertices = np.unique((vertices / vertices.sum(axis=1, keepdims=True)).round(13), axis=0)
    logs = np.log(np.where(vertices > 0, vertices, 1.0))
    mixed = linprog(-(vertices * logs).sum(axis=1), A_eq=vertices.T, b_eq=joint.p_x)
    assert mixed.status == 0
    return 1 - mixed.fun / joint.entropy_x


CRITERIA = {
    "lip": ll.LIP,
    "alip": lambda e: ll.ALIP(1.3 * e, 0.7 * e),
    "max-lift": ll.MaxLift,
    "min-lift": lambda e: ll.ALIP(e, math.inf),
    "ldp": lambda e: ll.LDP(2 * e),
    "l1": lambda e: ll.L1Lift(math.inf, e),
    "every-prior": lambda e: ll.EveryPrior(0.1, 1.3 * e, e),
}


@pytest.mark.parametrize("epsilon", [0.1, 0.25, 0.6])
@pytest.mark.parametrize("name", CRITERIA)
def test_optimum_equals_the_enumerated_one(name, epsilon):
    criterion = CRITERIA[name](epsilon)
    for seed in range(12):
        n_s, n_x = [(2, 5), (3, 7), (4, 6), (3, 9)][seed % 4]
        joint = ll.Joint.random(n_s, n_x, seed=1000 + seed)
        release = ll.random_response(joint, criterion, gap=GAP)
        expected = enumerated_nmi(joint, criterion)
        assert release.audit.is_satisfied
        assert release.audit.nmi == pytest.approx(expected, abs=1e-7)
        assert release.certificate.upper_bound >= expected - 1e-10


@pytest.mark.parametrize("seed", range(4))
def test_optimum_equals_the_enumerated_one_at_17_x_5(seed):
    joint = ll.Joint.random(5, 17, seed=seed)
    for epsilon in (0.5, 1.0):
        release = ll.random_response(joint, ll.LIP(epsilon))
        assert release.audit.nmi == pytest.approx(
            enumerated_nmi(joint, ll.LIP(epsilon)), abs=1.1e-6
        )


def solve_rational(matrix, right):
    """Solve a square system in fractions; None when it is singular."""
    n = len(matrix)
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(n):
        pivot = next((i for i in range(column, n) if rows[i][column] != 0), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for i in range(n):
            if i != column and rows[i][column] != 0:
                factor = rows[i][column]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[column], strict=True)]
    return [row[-1] for row in rows]


@pytest.mark.parametrize("seed", range(6))
def test_optimum_equals_rational_brute_force_on_three_symbols(seed):
    counts = np.random.default_rng(seed).integers(1, 9, (2, 3)).tolist()
    joint = ll.Joint.from_counts(counts)
    low, high = Fraction(math.exp(-0.3)), Fraction(math.exp(0.2))
    total, prior = sum(map(sum, counts)), [sum(row) for row in counts]
    p_x = [Fraction(a + b, total) for a, b in zip(*counts, strict=True)]
    lift = [
        [Fraction(counts[s][x] * total, prior[s]) / (p_x[x] * total) for x in range(3)]
        for s in range(2)
    ]
    walls = [([Fraction(i == x) for i in range(3)], Fraction(0)) for x in range(3)]
    walls += [(lift[s], bound) for s in range(2) for bound in (low, high)]
    vertices = set()
    for first, second in itertools.combinations(walls, 2):
        v = solve_rational(
            [[Fraction(1)] * 3, first[0], second[0]], [Fraction(1), first[1], second[1]]
        )
        if v is None or min(v) < 0:
            continue
        values = [sum(a * b for a, b in zip(row, v, strict=True)) for row in lift]
        if all(low <= value <= high for value in values):
            vertices.add(tuple(v))
    best = math.inf
    for chosen in itertools.combinations(vertices, 3):  # a basic solution has three atoms
        beta = solve_rational([list(row) for row in zip(*chosen, strict=True)], p_x)
        if beta is not None and min(beta) >= 0:
            parts = ((b, x) for b, v in zip(beta, chosen, strict=True) for x in v if x)
            best = min(best, -sum(float(b * x) * math.log(x) for b, x in parts))
    assert best < math.inf
    release = ll.random_response(joint, ll.ALIP(0.3, 0.2), gap=GAP)
    assert release.audit.nmi == pytest.approx(1 - best / joint.entropy_x, abs=1e-7)
