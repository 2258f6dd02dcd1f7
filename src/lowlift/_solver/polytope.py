"""The posteriors of X that a convex criterion allows: a polytope between two others.

An atom v is allowed when its lift ``(P(s|x) v) / P(s)`` lies in the criterion's region. The
polytope is kept as the linear programs take it: rows over v, and boxes of rows and of v.
"""

import math
from collections.abc import Sequence

import numpy as np

from lowlift._arrays import Floats
from lowlift._joint import Joint
from lowlift.criteria import LIP, BuiltIn, Criterion, HalfSpaces, cut_of, half_spaces_of, leakage_of

#: By how much atoms keep away from the region's boundary, in lift: room for rounding to integers.
MARGIN = 1e-8
#: Linear programs per start, and pivots in each, at the most.
_STEPS, _PIVOTS = 10, 500
#: Relative room given to a tangent, which is computed in floats.
_TANGENT = 1e-10
_UNIT = 2.0**-53


class Polytope:
    """The posteriors v of X that a convex criterion allows, between an inner and an outer polytope.

    Rows: the sum of v, the lift of each s, and tangents in lift space. The outer boxes hold every
    allowed v whatever the rounding; the inner ones keep `MARGIN` away from the boundary.
    """

    def __init__(
        self, joint: Joint, criterion: Criterion, members: Sequence[int] | None = None
    ) -> None:
        self.joint, self.criterion = joint, criterion
        self.members = np.arange(joint.n_x) if members is None else np.array(members)
        self.lift = np.ascontiguousarray(joint.lift[:, self.members])
        self.p_x = joint.p_x[self.members] / joint.p_x[self.members].sum()
        self.n_x = len(self.members)
        if allows_only_one(criterion):
            self.criterion = LIP(0.0)
        low, high, normals, offsets = self._faces(joint)
        # A lift in floats is off by lift_error, a power of e by a unit: both are within the pad.
        least, most = self.lift.min(axis=1), self.lift.max(axis=1)
        pad = 4 * (joint.lift_error + 8 * _UNIT) * np.maximum(most, 1.0)
        # A face of the box around an averaged criterion moves its measure by P(s) times as much.
        margin = np.full(joint.n_s, MARGIN) if self.is_box else MARGIN / joint.p_s
        is_bound = low > 0 if math.isinf(self.criterion.lower) else True
        inner_low = low + np.where(is_bound, np.minimum(margin, 1e-3 * (1 - low)), 0.0)
        inner_high = high - np.minimum(margin, 1e-3 * (high - 1))
        self.rows = np.ones((joint.n_s + 1, self.n_x))
        self.rows[1:] = self.lift
        #: Ends of the rows: outer low and high, inner low and high.
        self.boxes = np.ones((4, joint.n_s + 1))
        self.boxes[0, 1:] = np.maximum(low, least) - pad
        self.boxes[1, 1:] = np.minimum(high, most) + pad
        self.boxes[2, 1:] = np.maximum(inner_low, least - pad)
        self.boxes[3, 1:] = np.minimum(inner_high, most + pad)
        #: Per tangent row, where it was taken, and for how long it has not been tight.
        self.tangents: list[tuple[float, ...]] = []
        self.idle = np.zeros(0, np.int64)
        self.normals = np.zeros((0, joint.n_s + 1))
        self._settle()
        if len(offsets):
            self._append(normals, offsets)

    def _faces(self, joint: Joint) -> tuple[Floats, Floats, Floats, Floats]:
        """Return the box of lifts that the half-spaces give, and those that are no faces."""
        low, high = np.zeros(joint.n_s), np.full(joint.n_s, np.inf)
        normals, offsets = half_spaces_of(self.criterion, joint.p_s)
        is_face = (normals != 0).sum(axis=1) == 1
        axis, size = np.abs(normals).argmax(axis=1), normals.sum(axis=1)
        above, below = is_face & (size > 0), is_face & (size < 0)
        np.minimum.at(high, axis[above], offsets[above] / size[above])
        np.maximum.at(low, axis[below], offsets[below] / size[below])
        return low, high, normals[~is_face], offsets[~is_face]

    def _settle(self) -> None:
        from lowlift._kernels import lp

        low, high, inner_low, inner_high = self.boxes
        self.outer, self.inner = (low, high), (inner_low, inner_high)
        shares = np.tile([[0.0], [1.0]], (2, self.n_x))
        ends = np.concatenate([shares, self.boxes], axis=1)
        self.outer_lo, self.outer_hi, self.inner_lo, self.inner_hi = ends
        self.largest = np.maximum(np.abs(self.rows).max(axis=1), np.abs(self.boxes[:2]).max(axis=0))
        self.start = lp.fresh_tableau(self.rows)

    def cut(self, points: Floats, beyond: Floats | None = None) -> int:
        """Add tangents at lift vectors outside the region, (|S|, k); return how many were new.

        With `beyond`, one lift vector for each, only tangents that cut it off by more than the
        rounding are added.
        """
        normals, offsets = list[Floats](), list[float]()
        for k, point in enumerate(points.T):
            for normal, offset in zip(*self._spaces(point), strict=True):
                if not (np.isfinite(normal).all() and math.isfinite(offset)):
                    continue
                reach = float(np.abs(normal) @ self.lift.max(axis=1)) + abs(offset)
                row = np.append(normal, offset)
                is_there = (np.abs(self.normals - row).max(axis=1) <= 1e-12 * reach).any()
                if is_there or (
                    beyond is not None and normal @ beyond[:, k] <= offset + 10 * _TANGENT * reach
                ):
                    continue
                self.normals = np.vstack([self.normals, row])
                self.tangents.append(tuple(point.tolist()))
                normals.append(normal)
                offsets.append(offset)
        if normals:
            self._append(np.array(normals), np.array(offsets))
            self.idle = np.concatenate([self.idle, np.zeros(len(normals), np.int64)])
        return len(normals)

    def _spaces(self, point: Floats) -> HalfSpaces:
        """Return half-spaces that hold on the region and that a lift vector violates."""
        return cut_of(self.criterion, point, self.joint.p_s)

    def _append(self, normal: Floats, offset: Floats) -> None:
        """Add rows ``normal . lift <= offset``, with room for rounding outside and inside."""
        rows = normal @ self.lift
        reach = np.abs(normal) @ self.lift.max(axis=1) + np.abs(offset)
        floor = rows.min(axis=1) - _TANGENT * reach
        self.rows = np.vstack([self.rows, rows])
        # The lift vector of P_X stays inside whatever the margin.
        room = (offset - normal @ self.centre).clip(0)
        inside = offset - np.minimum(MARGIN * reach, 1e-3 * room)
        ends = np.stack([floor, offset + _TANGENT * reach, floor, inside])
        self.boxes = np.concatenate([self.boxes, ends], axis=1)
        self._settle()

    @property
    def centre(self) -> Floats:
        """The lift vector of P_X: 1 for each s."""
        return np.ones(len(self.lift))

    def drop_idle(self, points: Floats, patience: int = 3) -> None:
        """Drop tangents that were not tight at any of the vertices (k, |X|) of the last rounds."""
        if not len(self.idle):
            return
        first = len(self.rows) - len(self.idle)
        slack = self.inner[1][first:, None] - self.rows[first:] @ points.T
        self.idle = np.where((slack < 1e-7).any(axis=1), 0, self.idle + 1)
        keep = self.idle <= patience
        if keep.all():
            return
        rows = np.r_[np.ones(first, np.bool_), keep]
        self.rows = np.ascontiguousarray(self.rows[rows])
        self.boxes = np.ascontiguousarray(self.boxes[:, rows])
        self.tangents = [p for p, kept in zip(self.tangents, keep, strict=True) if kept]
        self.normals, self.idle = self.normals[keep], self.idle[keep]
        self._settle()

    def descended(self, pi: Floats, starts: Floats) -> tuple[Floats, Floats]:
        """Return points that successive linearisation of ``H(v) - pi . v`` finds, and their values.

        From points (k, |X|); a value is not finite where none was found.
        """
        from lowlift._kernels import lp, pricing

        return pricing.linearise(
            lp.minimise, self.rows, self.largest, self.inner_lo, self.inner_hi, pi, starts,
            *self.start, _STEPS, _PIVOTS,
        )  # fmt: skip

    def lifts(self, points: Floats) -> Floats:
        """Return the lift vectors of posteriors (k, |X|): (|S|, k)."""
        return np.asarray(self.lift @ points.T)

    def excess(self, lifts: Floats, hair: float = MARGIN / 2) -> Floats:
        """Return how far the leakage of each lift vector is beyond its budget, less a hair."""
        sides = leakage_of(self.criterion, np.maximum(lifts, 0.0), self.joint.p_s)
        out = np.full(lifts.shape[1], -math.inf)
        for leakage, side in zip(sides, (self.criterion.lower, self.criterion.upper), strict=True):
            if not math.isinf(side):
                out = np.maximum(out, leakage - side + min(hair, 2e-4 * side))
        return out

    def shares_inside(self, lifts: Floats, *, is_exact: bool = False) -> Floats:
        """Return how far from P_X toward each lift vector the criterion allows to go, in [0, 1].

        Unless exact, far enough inside that entries too small to be kept may be dropped.
        """
        low, high = np.zeros(lifts.shape[1]), np.ones(lifts.shape[1])
        for _ in range(50):
            middle = (low + high) / 2
            between = self.toward(lifts, middle)
            inside = self.excess(between, 0.0 if is_exact else 1e-7) <= 0
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return low

    def toward(self, lifts: Floats, share: Floats) -> Floats:
        """Return the lift vectors so far from that of P_X toward these: lifts are linear in v."""
        center = (self.lift @ self.p_x)[:, None]
        return np.asarray(center + share * (lifts - center))

    @property
    def is_line(self) -> bool:
        """Whether S has two values, so that one number is the lift vector."""
        return len(self.lift) == 2

    @property
    def is_polyhedral(self) -> bool:
        """Whether finitely many half-spaces are the region."""
        return getattr(self.criterion, "is_polyhedral", False) or self.is_box

    @property
    def is_box(self) -> bool:
        """Whether the rows are boxes of lifts and nothing else."""
        return bool(getattr(self.criterion, "is_box", False))


def allows_only_one(criterion: Criterion) -> bool:
    """Tell whether a budget of 0 leaves no lift but 1, as lifts average to 1."""
    is_bound_above = getattr(criterion, "alpha", 2.0) > 1  # the alpha-lift of order 1 is always 1
    zero = criterion.lower == 0 or (criterion.upper == 0 and is_bound_above)
    return zero and isinstance(criterion, BuiltIn)
