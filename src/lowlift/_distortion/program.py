"""The linear program of least distortion, solved over all pairs of symbols by pricing.

With ``w(c, d) = P(c) P(d|c) >= 0``, the distance D(c, d) and lifts l::

    min  sum D w      sum_d w(c, d) = p_c      sum_c w(c, d) = p_d     (the law, where it is kept)
    low_k p_d <= sum_c n_k . (l(c) - 1) w(c, d) <= high_k p_d   for each direction k and output d

Few pairs carry mass, so the program is solved on some, and its duals price all others. Any
multipliers b (of the law) and g (of the directions) give a bound on every channel::

    OPT >= sum_c p_c min_d [D(c, d) - b_d - sum_k g_kd n_k . (l(c) - 1)]
           + sum_d p_d [b_d + sum_k (max(g_kd, 0) low_k - max(-g_kd, 0) high_k)]
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._deadline import Deadline
from lowlift._distortion.multipliers import smoothed
from lowlift._distortion.region import Region
from lowlift._solver.highs import linear_program
from lowlift.criteria import HalfSpaces

#: Pairs that are added per symbol and side in a round.
_PER_SYMBOL = 10
#: What lifts outside the region cost at first, in largest distances: a low price needs more runs.
_SLACK_PRICE = 100.0
#: Lifts outside by less than this, in all, are left to rounding.
_BROKEN = 1e-7
#: Below this gap, vertices instead of interior points.
_PRECISE = 1e-4


@dataclass(frozen=True)
class Multipliers:
    """b (m,), g of the directions (k, m), and those of the tangents (t,), 0 or more."""

    law: Floats
    lifts: Floats
    tangents: Floats


@dataclass(frozen=True)
class Plan:
    """Masses of pairs, and the multipliers that prove the bound (in floats)."""

    rows: Ints
    columns: Ints
    masses: Floats
    multipliers: Multipliers
    value: float
    bound: float
    #: By how much lifts leave the region, in all.
    broken: float


class Program:
    """The program for one joint, region and distance.

    Parameters
    ----------
    p, lift
        P(x), (m,), and P(s|x)/P(s), (|S|, m).
    region
        What every output must satisfy.
    distance
        (m, m), inf where a symbol must not become another.
    keep_law
        Whether P(y) must equal P(x).
    """

    def __init__(
        self, p: Floats, lift: Floats, region: Region, distance: Floats, *, keep_law: bool
    ) -> None:
        self.p, self.region, self.distance, self.keep_law = p, region, distance, keep_law
        self.m = len(p)
        self.moves = lift - 1
        self.values = region.normals @ self.moves
        largest = float(distance[np.isfinite(distance)].max())
        self.slack_price = _SLACK_PRICE * (largest or 1.0)
        self.tangent_outputs = np.zeros(0, np.int64)
        self.tangent_values = np.zeros((0, self.m))
        self.tangent_normals = np.zeros((0, len(lift)))
        self.tangent_room = np.zeros(0)
        #: The pairs that may carry mass so far; none before the first solve.
        self._pairs = np.zeros(0, np.int64)

    def cut(self, outputs: Ints, spaces: HalfSpaces, shrink: float) -> None:
        """Add half-spaces, each for one output; they are moved toward lift 1 by `shrink`."""
        room = (spaces.offsets - spaces.normals.sum(axis=1)) * (1 - shrink)
        self.tangent_outputs = np.concatenate([self.tangent_outputs, outputs])
        self.tangent_normals = np.concatenate([self.tangent_normals, spaces.normals])
        self.tangent_values = self.tangent_normals @ self.moves
        self.tangent_room = np.concatenate([self.tangent_room, room])

    def price(self, found: Multipliers) -> tuple[Floats, float]:
        """Return the reduced costs of all pairs, and the bound that these multipliers give."""
        plus, minus = np.maximum(found.lifts, 0), np.maximum(-found.lifts, 0)
        low = np.where(plus > 0, self.region.low[:, None], 0.0)
        high = np.where(minus > 0, self.region.high[:, None], 0.0)
        sides = (plus * low - minus * high).sum(axis=0)
        normal, cuts = self.region.normals.T @ found.lifts, np.zeros(self.m)
        used = found.tangents
        at = self.tangent_outputs[: len(used)]
        np.subtract.at(normal.T, at, used[:, None] * self.tangent_normals[: len(used)])
        np.subtract.at(cuts, at, used * self.tangent_room[: len(used)])
        reduced = self.distance - self.moves.T @ normal
        reduced += cuts - found.law if self.keep_law else cuts + sides
        least = reduced.min(axis=1)
        bound = float(self.p @ least)
        if self.keep_law:
            bound += float(self.p @ (found.law + sides))
        reduced -= least[:, None]
        return reduced, bound

    def solve(self, gap: float, deadline: Deadline) -> Plan | None:
        """Return a plan within `gap` (relative) of its bound, or the best in time, if any.

        Called again after `cut`, it goes on with the pairs it has.
        """
        bound, best = self._start(deadline)
        plan = None
        while True:
            solved = self._restricted(self._pairs, deadline, is_precise=gap < _PRECISE)
            if solved is None:
                return plan
            masses, duals, value, broken = solved
            reduced, proven = self.price(duals)
            if proven > bound:
                bound, best = proven, duals
            rows, columns = np.divmod(self._pairs, self.m)
            plan = Plan(rows, columns, masses, best, value, bound, broken)
            is_close = value - bound <= gap * value
            if (is_close and broken <= _BROKEN) or deadline.is_over:
                return plan
            if is_close:
                self.slack_price *= 4
            more = np.union1d(self._pairs, self._cheapest(reduced, _PER_SYMBOL))
            if len(more) == len(self._pairs) and not is_close:
                return plan  # the solver's tolerance is all that is left
            self._pairs = more

    def _start(self, deadline: Deadline) -> tuple[float, Multipliers]:
        """Return multipliers to begin with and their bound; choose the first pairs by them."""
        best = Multipliers(np.zeros(self.m), np.zeros_like(self.values), np.zeros(0))
        reduced, bound = self.price(best)
        if not len(self._pairs):
            if self.keep_law:
                stages = smoothed(self.p, self.values, self.region, self.distance, deadline)
                for law, lifts in stages:
                    duals = Multipliers(law, lifts, np.zeros(0))
                    priced, proven = self.price(duals)
                    if proven > bound:
                        bound, best, reduced = proven, duals, priced
            self._pairs = self._cheapest(reduced, (1 if self.keep_law else 3) * _PER_SYMBOL)
        return bound, best

    def _cheapest(self, reduced: Floats, count: int) -> Ints:
        """Return the pairs of least reduced cost per row and per column, and the diagonal."""
        m, k = self.m, min(count, self.m)
        each = np.arange(m)
        by_row = each[:, None] * m + np.argpartition(reduced, k - 1, axis=1)[:, :k]
        by_column = np.argpartition(reduced, k - 1, axis=0)[:k] * m + each
        pairs = np.unique(np.concatenate([by_row.ravel(), by_column.ravel(), each * (m + 1)]))
        return np.asarray(pairs[np.isfinite(self.distance.ravel()[pairs])])

    def _restricted(
        self, pairs: Ints, deadline: Deadline, *, is_precise: bool
    ) -> tuple[Floats, Multipliers, float, float] | None:
        """Solve the program on some pairs; None when it was not solved, or not in time."""
        from scipy import sparse

        rows, columns = np.divmod(pairs, self.m)
        matrix, low, high, outputs = self._rows(rows, columns)
        count = len(outputs)
        slack = sparse.vstack(
            [sparse.csc_matrix((matrix.shape[0] - count, count)), sparse.identity(count)]
        )
        whole = sparse.hstack([matrix, slack, -slack]).tocsc()
        shares = np.tile(self.p[outputs], 2)
        cost = np.concatenate([self.distance[rows, columns], shares * self.slack_price])
        options: dict[str, Any] = {"time_limit": min(max(deadline.left, 0.01), 1e9)}
        if not is_precise:
            options |= {"solver": "ipm", "run_crossover": "off", "ipm_optimality_tolerance": 1e-5}
        entries = whole.indptr, whole.indices, whole.data
        ends = np.zeros(len(cost)), np.full(len(cost), np.inf)
        solver = linear_program(entries, cost, ends, (low, high), **options)
        solver.run()
        solution, status = solver.getSolution(), solver.getModelStatus().name
        if status not in {"kOptimal", "kUnknown"} or not solution.dual_valid:
            return None
        values = np.array(solution.col_value)
        masses = np.maximum(values[: len(pairs)], 0.0)
        duals = self._multipliers(np.array(solution.row_dual))
        broken = float(shares @ values[len(pairs) :])
        return masses, duals, float(cost[: len(pairs)] @ masses), broken

    def _sides(self) -> list[tuple[int, float, float]]:
        """Return the directions' ends that are finite, as (k, sign, sign * end)."""
        both = ((k, s, s * end[k]) for k in range(len(self.values))
                for s, end in ((1.0, self.region.high), (-1.0, self.region.low)))  # fmt: skip
        return [side for side in both if side[2] < math.inf]

    def _rows(self, rows: Ints, columns: Ints) -> tuple[Any, Floats, Floats, Ints]:
        """Return the program's rows and their ends, and the outputs of the rows that bound lifts.

        Each row is divided by the probability of its symbol: tolerances are then relative to it.
        """
        from scipy import sparse

        m, number, ones = self.m, np.arange(len(rows)), np.ones(self.m)

        def block(values: Floats, at: Ints) -> Any:
            return sparse.csc_matrix((values / self.p[at], (at, number)), shape=(m, len(rows)))

        one = np.ones(len(rows))
        blocks, low, high, outputs = [block(one, rows)], [ones], [ones], []
        if self.keep_law:
            blocks.append(block(one, columns))
            low.append(ones)
            high.append(ones)
            for k, values in enumerate(self.values):
                blocks.append(block(values[rows], columns))
                low.append(ones * self.region.low[k])
                high.append(ones * self.region.high[k])
                outputs.append(np.arange(m))
        else:
            for k, sign, end in self._sides():
                blocks.append(block(sign * self.values[k][rows] - end, columns))
                low.append(ones * -np.inf)
                high.append(ones * 0.0)
                outputs.append(np.arange(m))
        if len(self.tangent_outputs):
            blocks.append(self._tangent_rows(rows, columns))
            low.append(np.full(len(self.tangent_outputs), -np.inf))
            high.append(np.zeros(len(self.tangent_outputs)))
            outputs.append(self.tangent_outputs)
        places = np.concatenate([np.zeros(0, np.int64), *outputs])
        return sparse.vstack(blocks), np.concatenate(low), np.concatenate(high), places

    def _tangent_rows(self, rows: Ints, columns: Ints) -> Any:
        """Return ``sum_c (n . (l(c) - 1) - room) w(c, d)``, for each tangent of an output d."""
        from scipy import sparse

        order = np.argsort(columns, kind="stable")
        starts = np.searchsorted(columns[order], np.arange(self.m + 1))
        index = [order[starts[d] : starts[d + 1]] for d in self.tangent_outputs]
        at = np.repeat(np.arange(len(index)), [len(part) for part in index])
        number = np.concatenate(index)
        values = self.tangent_values[at, rows[number]] - self.tangent_room[at]
        values /= self.p[self.tangent_outputs[at]]
        return sparse.csc_matrix((values, (at, number)), shape=(len(index), len(rows)))

    def _multipliers(self, duals: Floats) -> Multipliers:
        """Return the multipliers from the duals of the rows as they were divided."""
        count = len(self.tangent_outputs)
        whole, cuts = duals[: len(duals) - count], duals[len(duals) - count :]
        tangents = np.maximum(-cuts, 0.0) / self.p[self.tangent_outputs]
        parts = whole.reshape(-1, self.m) / self.p
        if self.keep_law:
            return Multipliers(parts[1], parts[2:], tangents)
        lifts = np.zeros_like(self.values)
        for part, (k, sign, _) in zip(parts[1:], self._sides(), strict=True):
            lifts[k] += sign * np.minimum(part, 0.0)
        return Multipliers(np.zeros(self.m), lifts, tangents)
