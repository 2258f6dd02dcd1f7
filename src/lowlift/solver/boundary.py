"""Where lift vectors lie against the boundary of a criterion's region."""

import math

import numpy as np

from lowlift.arrays import Floats, Ints
from lowlift.criteria import leakage_of
from lowlift.solver.polytope import MARGIN, Polytope


def spread(points: Floats, order: Ints, most: int) -> list[int]:
    """Return the first points (|S|, k) in an order that differ by a few percent of lift - 1."""
    chosen = list[int]()
    scale = 0.03 * np.abs(points - 1).max(axis=0)
    for k in order.tolist():
        off = np.abs(points[:, chosen] - points[:, k : k + 1]).max(axis=0)
        if (off > scale[k]).all():
            chosen.append(k)
            if len(chosen) == most:
                break
    return chosen


def excess(polytope: Polytope, lifts: Floats, hair: float = MARGIN / 2) -> Floats:
    """Return how far the leakage of each lift vector is beyond its budget, less a hair."""
    criterion = polytope.criterion
    lower, upper = leakage_of(criterion, np.maximum(lifts, 0.0), polytope.joint.p_s)
    out = np.full(lifts.shape[1], -math.inf)
    for leakage, side in ((lower, criterion.lower), (upper, criterion.upper)):
        if not math.isinf(side):
            out = np.maximum(out, leakage - side + min(hair, 2e-4 * side))
    return out


def shares_inside(polytope: Polytope, lifts: Floats, *, is_exact: bool = False) -> Floats:
    """Return how far from P_X toward each lift vector the criterion allows to go, in [0, 1].

    Unless exact, far enough inside that entries too small to be kept may be dropped.
    """
    low, high = np.zeros(lifts.shape[1]), np.ones(lifts.shape[1])
    for _ in range(50):
        middle = (low + high) / 2
        between = toward(polytope, lifts, middle)
        inside = excess(polytope, between, 0.0 if is_exact else 1e-7) <= 0
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return low


def toward(polytope: Polytope, lifts: Floats, share: Floats) -> Floats:
    """Return the lift vectors so far from that of P_X toward these: lifts are linear in v."""
    center = (polytope.lift @ polytope.p_x)[:, None]
    return np.asarray(center + share * (lifts - center))
