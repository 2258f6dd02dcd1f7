"""The textbook's random response: list the vertices of the polytope, then one linear program.

The rivals of `random_response`. Lists by cddlib (double description, floats), PPL (double
description, exact integers) and qhull (dual hull, floats); programs by HiGHS and scipy's linprog.
Where S has two values, the vertices are known: symbols and pairs of symbols.
"""

import math
import signal
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

import lowlift as ll

Floats = npt.NDArray[np.float64]

#: PPL takes whole numbers: its coefficients are fractions with denominators up to this one.
LARGEST_DENOMINATOR = 10**6


def constraints(joint: ll.Joint, criterion: ll.ALIP) -> tuple[Floats, Floats]:
    """Return a, b with a v <= b for v in the polytope; sum(v) = 1 is apart."""
    a = np.vstack([-np.eye(joint.n_x), joint.lift, -joint.lift])
    low, high = math.exp(-criterion.lower), math.exp(criterion.upper)
    b = np.r_[np.zeros(joint.n_x), np.full(joint.n_s, high), np.full(joint.n_s, -low)]
    return a, b


def vertices_by_cddlib(joint: ll.Joint, criterion: ll.ALIP) -> Floats:
    """Return the vertices, shape (n, |X|)."""
    import cdd

    a, b = constraints(joint, criterion)
    rows = np.vstack([np.r_[-1.0, np.ones(joint.n_x)], np.column_stack([b, -a])])
    matrix = cdd.matrix_from_array(rows.tolist(), lin_set=[0], rep_type=cdd.RepType.INEQUALITY)
    found = cdd.copy_generators(cdd.polyhedron_from_matrix(matrix)).array
    return np.array(found)[:, 1:].astype(np.float64)


def vertices_by_ppl(joint: ll.Joint, criterion: ll.ALIP) -> Floats:
    """Return the vertices, shape (n, |X|), of the polytope with rounded coefficients."""
    # Its import takes Ctrl+C for itself.
    handler = signal.getsignal(signal.SIGINT)
    ppl = import_module("ppl")
    signal.signal(signal.SIGINT, handler)
    system = ppl.Constraint_System()
    system.insert(ppl.Linear_Expression([1] * joint.n_x, -1) == 0)
    for row, right in zip(*constraints(joint, criterion), strict=True):
        terms = [
            Fraction(float(value)).limit_denominator(LARGEST_DENOMINATOR) for value in (*row, right)
        ]
        common = math.lcm(*(term.denominator for term in terms))
        *left, most = (int(term * common) for term in terms)
        system.insert(ppl.Linear_Expression(left, 0) <= most)
    generators: Any = ppl.C_Polyhedron(system).minimized_generators()
    points = [[int(c) / int(g.divisor()) for c in g.coefficients()] for g in generators]
    return np.array(points)


def vertices_by_qhull(joint: ll.Joint, criterion: ll.ALIP) -> Floats:
    """Return the vertices, shape (n, |X|)."""
    from scipy.linalg import null_space
    from scipy.spatial import HalfspaceIntersection

    a, b = constraints(joint, criterion)
    basis = null_space(np.ones((1, joint.n_x)))
    spaces = np.column_stack([a @ basis, a @ joint.p_x - b])
    found = HalfspaceIntersection(spaces, np.zeros(joint.n_x - 1)).intersections
    points = joint.p_x + np.unique(found.round(12), axis=0) @ basis.T
    return np.asarray(np.maximum(points, 0.0))


def ends_of_two(joint: ll.Joint, criterion: ll.ALIP) -> tuple[float, float]:
    """Return the least and the largest allowed lift of the first of two sensitive values."""
    low, high = math.exp(-criterion.lower), math.exp(criterion.upper)
    first, second = joint.p_s
    return max(low, (1 - second * high) / first), min(high, (1 - second * low) / first)


def pairs_of_two(joint: ll.Joint, criterion: ll.ALIP) -> int:
    """Return how many vertices `pairs_by_linprog` would list."""
    line, ends = joint.lift[0], ends_of_two(joint, criterion)
    alone = int(((line >= ends[0]) & (line <= ends[1])).sum())
    return alone + sum(int((line < end).sum()) * int((line > end).sum()) for end in ends)


def pairs_by_linprog(joint: ll.Joint, criterion: ll.ALIP, method: str, most: float) -> float:
    """Return the best NMI where S has two values, by one sparse program of all vertices.

    They are the symbols inside the allowed interval of lifts, and every pair of a symbol below one
    of its ends with a symbol above that end.

    Parameters
    ----------
    joint, criterion
        |S| = 2.
    method
        Of scipy's linprog: "highs-ds" or "highs-ipm".
    most
        Seconds; after that, NaN.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csc_array

    line, (low, high) = joint.lift[0], ends_of_two(joint, criterion)
    alone = np.flatnonzero((line >= low) & (line <= high))
    costs, symbols, shares = [np.zeros(len(alone))], [alone], [np.ones(len(alone))]
    for end in (low, high):
        below, above = np.flatnonzero(line < end), np.flatnonzero(line > end)
        x, z = np.repeat(below, len(above)), np.tile(above, len(below))
        share = (line[z] - end) / (line[z] - line[x])
        both = np.stack([share, 1 - share], axis=1)
        costs.append(entropies(both))
        symbols.append(np.stack([x, z], axis=1).ravel())
        shares.append(both.ravel())
    cost = np.concatenate(costs)
    pairs = len(cost) - len(alone)
    starts = np.r_[np.arange(len(alone)), len(alone) + 2 * np.arange(pairs + 1)]
    matrix = csc_array(
        (np.concatenate(shares), np.concatenate(symbols), starts), shape=(joint.n_x, len(cost))
    )
    found = linprog(cost, A_eq=matrix, b_eq=joint.p_x, method=method, options={"time_limit": most})
    return 1 - float(found.fun) / joint.entropy_x if found.status == 0 else math.nan


def mixed_by_linprog(joint: ll.Joint, vertices: Floats) -> float:
    """Return the NMI of the best mixture."""
    from scipy.optimize import linprog

    cost = linprog(entropies(vertices), A_eq=vertices.T, b_eq=joint.p_x).fun
    return 1 - float(cost) / joint.entropy_x


def mixed_by_highs(joint: ll.Joint, vertices: Floats) -> float:
    """Return the NMI of the best mixture."""
    import highspy

    solver: Any = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = len(vertices), joint.n_x
    model.col_cost_ = entropies(vertices)
    model.col_lower_ = np.zeros(len(vertices))
    model.col_upper_ = np.full(len(vertices), highspy.kHighsInf)
    model.row_lower_ = model.row_upper_ = joint.p_x
    k, x = np.nonzero(vertices > 1e-12)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.r_[0, np.cumsum(np.bincount(k, minlength=len(vertices)))]
    model.a_matrix_.index_, model.a_matrix_.value_ = x, vertices[k, x]
    solver.passModel(model)
    solver.run()
    return 1 - float(solver.getInfo().objective_function_value) / joint.entropy_x


def entropies(points: Floats) -> Floats:
    """Return the entropy of each row in nats."""
    return np.asarray(-(points * np.log(np.where(points > 0, points, 1.0))).sum(axis=1))
