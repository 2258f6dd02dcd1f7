"""The optimal random response where S has two values, for any number of symbols.

Which atoms a mixture has follows from how much of each symbol is published at the low end of the
allowed interval, at the high end, and alone: at each end the cheapest matching takes the symbols
farthest below together with those nearest above (`lowlift._kernels.intervals` has the reason). A
linear program on bins of neighbouring symbols finds those parts. Every symbol of a bin is divided
alike, which keeps the bin's mean, so the matching of the symbols themselves is exactly allowed; and
the bins' duals give each symbol the largest dual that no bin refutes. What bins cost is of second
order in their width: they become narrower until the proven bound is close enough.
"""

import math
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lowlift._arrays import Bools, Floats, Ints
from lowlift._audit import risky_symbols
from lowlift._kernels.compilation import prepare
from lowlift._solver.classes import Mixture
from lowlift._solver.intervals import Interval, largest_duals, partners, sides_of
from lowlift._solver.master import Rows
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import nmi_bound
from lowlift._solver.search import Limits, Outcome, Search
from lowlift.errors import SolverFailed

#: Bins of the first program, which has all pairs, and how many times as many the next one has.
_FIRST, _GROWTH = 64, 4
#: Partners of each bin that a program starts with, and that a round of pricing adds.
_START, _MORE = 6, 2
#: Pairs that cost this much more than their duals, in nats, are not started with.
_DEAR = 1e-2
_TOLERANCE = 1e-10
#: By how much pairs keep away from the ends, relative: room for rounding to integers.
_HAIR = 4e-9
#: Within this part of an end a symbol is near it.
_NEAR = 0.01
#: A part of a symbol this small is not published on its own: rounded, it would be off by too much.
_SLIVER = 2.0**-38
#: A part of a bin this small counts as none.
_NOTHING = 1e-12
#: What a proven floor is lowered by, so that another machine's rounding proves it too.
_ROOM = 1e-12
#: Parts of a symbol go to the low end, to the high end, or stay alone: columns 0, 1 and 2.
_ALONE = 2


def optimise(polytope: Polytope, limits: Limits) -> Outcome:
    """Return atoms of the polytope that mix to P_X, and a bound on what any could reach."""
    return _Search(polytope, limits).run()


class _Pairs(NamedTuple):
    """Atoms at one end: a symbol below, one above, and units of mass times distance."""

    below: Ints
    above: Ints
    units: Floats
    g: Floats
    k: Floats

    @property
    def entropy(self) -> float:
        """What these atoms add to H(X|Y), in nats."""
        ratio = np.log1p(self.k / self.g) / self.k + np.log1p(self.g / self.k) / self.g
        return float(self.units @ ratio)


class _Solution(NamedTuple):
    """What part of each bin goes where, (bins, 3), the duals, and the pairs at either end."""

    parts: Floats
    duals: Floats
    pairs: list[_Pairs]


class _Bins:
    """Neighbouring symbols of one kind as one: their mass, their mean, and what is known of them.

    `of` is the bin of each symbol.
    """

    def __init__(self, of: Ints, p_x: Floats, line: Floats, is_allowed: Bools) -> None:
        self.of = of
        self.p_x = np.bincount(of, p_x).astype(np.float64)
        self.line = np.bincount(of, p_x * line) / self.p_x
        self.is_allowed = np.zeros(len(self.p_x), np.bool_)
        self.is_allowed[of] = is_allowed

    def __len__(self) -> int:
        return len(self.p_x)


class _Search(Search):
    def __init__(self, polytope: Polytope, limits: Limits) -> None:
        prepare("pairs")
        super().__init__(limits)
        self.polytope = polytope
        self.is_allowed = ~risky_symbols(polytope.joint, polytope.criterion)[polytope.members]
        #: Where pairs are put: inside the region, by a hair.
        self.ends = _ends_inside(polytope, self.is_allowed)
        self.interval = Interval(polytope)
        self.line = self.interval.line
        self.order = np.argsort(self.line, kind="stable")
        #: Where a bin starts, in that order.
        self.starts = self._kinds()
        #: What part of each symbol goes where, (|X|, 3); none before there is a mixture.
        self.parts = np.zeros((0, 3))
        self.pairs = list[_Pairs]()
        self.cost, self.atoms = math.inf, 0
        self.duals, self.floor = np.zeros(polytope.n_x), 0.0
        self.columns = 0

    # ---- what is where

    @property
    def nmi(self) -> float:
        return max(0.0, 1 - self.cost / self.entropy)

    # ---- bins

    def _kinds(self) -> Bools:
        """Tell where, in order, symbols of another kind begin: outside, near an end, or inside."""
        low, high = self.ends
        sorted_line = self.line[self.order]
        kind = np.searchsorted([low, high], sorted_line) * 2 + self.is_allowed[self.order]
        return np.asarray(np.diff(kind, prepend=-1) != 0)

    def _narrower(self, size: int) -> _Bins:
        """Return about so many bins, parts of the last ones; what was divided becomes single."""
        p_x, line = self.polytope.p_x[self.order], self.line[self.order]
        n = len(line)
        if size >= n:
            self.starts[:] = True
        else:
            # By mass, by number and by width alike.
            weight = p_x / p_x.sum() + 1 / n
            width = np.diff(line, prepend=line[0])
            weight = np.cumsum(weight + width / max(width.sum(), 1e-300)) / 3
            self.starts |= np.diff(np.floor(weight * size), prepend=-1) != 0
            if len(self.parts):
                is_mixed = (self.parts[self.order] > 0).sum(axis=1) > 1
                if is_mixed.sum() <= size:
                    self.starts |= is_mixed | np.roll(is_mixed, 1)
        of = np.empty(n, np.int64)
        of[self.order] = np.cumsum(self.starts) - 1
        return _Bins(of, self.polytope.p_x, self.line, self.is_allowed)

    # ---- the program on bins

    def _all_pairs(self, bins: _Bins) -> Ints:
        """Return all pairs of bins, (3, k): end, below, above."""
        found = []
        for number, end in enumerate(self.ends):
            sides = sides_of(bins.line, end)
            below = np.repeat(sides.below, len(sides.above))
            above = np.tile(sides.above, len(sides.below))
            found.append(np.stack([np.full(len(below), number), below, above]))
        return np.concatenate(found, axis=1)

    def _priced(self, bins: _Bins, duals: Floats, below: float, count: int) -> Ints:
        """Return the pairs of least ``H(v) - pi . v`` of each bin, (3, k)."""
        found = []
        for number, end in enumerate(self.ends):
            low, g, high, k = sides_of(bins.line, end)
            one, other = (g, duals[low]), (k, duals[high])
            rows, best = partners(*one, *other, below, count, self.jobs, self._is_over)
            found.append(np.stack([np.full(len(rows), number), low[rows], high[best]]))
            rows, best = partners(*other, *one, below, count, self.jobs, self._is_over)
            found.append(np.stack([np.full(len(rows), number), low[best], high[rows]]))
        return np.concatenate(found, axis=1)

    def _first_pairs(self, bins: _Bins) -> Ints:
        """Return pairs that a program starts with: all, or what the last mixture has, and more."""
        if not len(self.parts):
            return self._all_pairs(bins)
        parts = np.zeros((len(bins), 3))
        parts[bins.of] = self.parts
        matched = [
            np.stack([np.full(len(pairs.below), number), pairs.below, pairs.above])
            for number, pairs in enumerate(self._matched(bins.line, bins.p_x[:, None] * parts))
        ]
        duals = np.zeros(len(bins))
        np.maximum.at(duals, bins.of, self.duals)
        near = self._priced(bins, duals, _DEAR, _START)
        return _not_among(np.concatenate([*matched, near], axis=1), np.zeros((3, 0), np.int64))

    def _solved(self, bins: _Bins) -> _Solution | None:
        """Return the best mixture of bins; None without time."""
        program, ends = Rows(bins.p_x), np.array(self.ends)
        alone = np.flatnonzero(bins.is_allowed)
        program.add_columns(np.zeros(len(alone)), np.arange(len(alone)), alone, np.ones(len(alone)))
        pairs, new = np.zeros((3, 0), np.int64), self._first_pairs(bins)
        while True:
            pairs = np.concatenate([pairs, new], axis=1)
            shares = _shares(bins.line, ends[new[0]], new[1], new[2])
            costs = -(shares * np.log(shares)).sum(axis=0)
            program.add_columns(
                costs, 2 * np.arange(len(costs)), new[1:].T.ravel(), shares.T.ravel()
            )
            if self._tell(self.columns, self.nmi) or not program.solve(self.deadline.left):
                self.is_stopped = True
                return None
            new = _not_among(self._priced(bins, program.pi, -_TOLERANCE, _MORE), pairs)
            if not new.shape[1]:
                break
        self.columns = len(alone) + pairs.shape[1]
        masses = np.zeros((len(bins), 3))
        masses[alone, _ALONE] = program.beta[: len(alone)]
        taken = _shares(bins.line, ends[pairs[0]], pairs[1], pairs[2]) * program.beta[len(alone) :]
        np.add.at(masses, (pairs[1], pairs[0]), taken[0])
        np.add.at(masses, (pairs[2], pairs[0]), taken[1])
        masses[masses <= _NOTHING * bins.p_x[:, None]] = 0.0
        is_used = taken.min(axis=0) > 0
        used = []
        for number, end in enumerate(self.ends):
            below, above = pairs[1:, is_used & (pairs[0] == number)]
            g = end - bins.line[below]
            units = taken[0, is_used & (pairs[0] == number)] * g
            used.append(_Pairs(below, above, units, g, bins.line[above] - end))
        return _Solution(masses / masses.sum(axis=1, keepdims=True), program.pi, used)

    # ---- from bins to symbols

    def _matched(self, line: Floats, masses: Floats) -> list[_Pairs]:
        """Return the cheapest atoms at either end for these masses, (points, 3), of a line."""
        from lowlift._kernels import intervals

        out = []
        for number, end in enumerate(self.ends):
            low, g, high, k = sides_of(line, end)
            low, g = low[::-1], np.ascontiguousarray(g[::-1])
            first, second, units, count = intervals.match(
                g, masses[low, number], k, masses[high, number]
            )
            first, second, units = first[:count], second[:count], units[:count]
            out.append(_Pairs(low[first], high[second], units, g[first], k[second]))
        return out

    def _consistent(self, bins: _Bins, duals: Floats) -> Floats:
        """Return duals of bins that no pair of bins refutes, at the ends that the proof has."""
        low, high = ends = self.interval.ends
        line, is_low, is_high = bins.line, bins.line < low, bins.line > high
        out = np.where(is_low | is_high, duals, np.minimum(duals, 0.0))
        # Those near an end depend on where it is most: they give way to the others.
        is_near = (is_low & (line > low - _NEAR * low)) | (is_high & (line < high + _NEAR * high))
        for mine in (is_near, is_near & is_high, is_low & ~is_near, is_high & ~is_near):
            if mine.any() and not mine.all():
                others = line[~mine], out[~mine], self.jobs, self._is_over
                found = largest_duals(ends, line[mine], *others)
                out[mine] = out[mine] if found is None else np.minimum(out[mine], found)
        return out

    def _improve(self, bins: _Bins) -> bool:
        """Solve the program on bins, and keep the better mixture and bound. Tell if it was done."""
        found = self._solved(bins)
        if found is None:
            return False
        duals, parts = self._consistent(bins, found.duals), found.parts[bins.of]
        pairs = self._matched(self.line, self.polytope.p_x[:, None] * parts)
        alone, is_single = int((parts[:, _ALONE] > 0).sum()), len(bins) == self.polytope.n_x
        count = alone + sum(len(one.units) for one in pairs)
        if is_single and count > len(bins):  # ties: a basic solution has at most one for each row
            symbols = np.argsort(bins.of)
            pairs = [
                one._replace(below=symbols[one.below], above=symbols[one.above])
                for one in found.pairs
            ]
        cost = sum(one.entropy for one in pairs)
        if cost < self.cost or not len(self.parts):
            self.parts, self.pairs, self.cost, self.atoms = parts, pairs, cost, count
        mine: Floats | None = duals[bins.of]
        if not is_single:
            mine = largest_duals(
                self.interval.ends, self.line, bins.line, duals, self.jobs, self._is_over
            )
        if mine is None:
            return False
        # Far below what the duals leave open, a floor takes long and gains nothing.
        open_ = self.cost - float(mine @ self.polytope.p_x)
        cut = -max(0.05 * self.gap * self.entropy, 0.2 * open_)
        floor = self.interval.floor(mine, cut, self.jobs, self._is_over) - _ROOM
        bound = nmi_bound(self.polytope.p_x, mine, floor, self.entropy)
        if bound < self.bound:
            self.bound, self.duals, self.floor = bound, mine, floor
        return True

    def run(self) -> Outcome:
        """Make bins narrower until bound and mixture are close enough, or time is up."""
        size, n, bins = _FIRST, self.polytope.n_x, 0
        # Whatever the solver can no longer do, the last mixture and the last bound are true.
        with suppress(SolverFailed):
            while not self._is_over():
                size = n if n <= 2 * size else size
                narrower = self._narrower(size)
                if (
                    len(narrower) == bins
                    or not self._improve(narrower)
                    or self._tell(self.columns, self.nmi)
                ):
                    break
                bins, is_close = len(narrower), self.bound - self.nmi <= self.gap
                if is_close and self.atoms <= n:
                    break
                size *= 1 if is_close else _GROWTH
        tangents = tuple(self.polytope.tangents)
        return Outcome(
            self._atoms(), self.bound, self.duals, self.floor, 0, tangents, self.is_stopped
        )

    def _atoms(self) -> Mixture:
        """Return the mixture as atoms of symbols."""
        if not len(self.parts):
            return []
        masses = self.polytope.p_x * self.parts[:, _ALONE]
        out: Mixture = [
            (float(masses[x]), (np.array([x]), np.ones(1))) for x in np.flatnonzero(masses)
        ]
        for pairs in self.pairs:
            out += _joined(pairs, self.polytope.p_x)
        return out


def _shares(line: Floats, ends: Floats, below: Ints, above: Ints) -> Floats:
    """Return the shares of pairs whose lift is an end, (2, k)."""
    g, k = ends - line[below], line[above] - ends
    return np.stack([k, g]) / (g + k)


def _not_among(pairs: Ints, known: Ints) -> Ints:
    """Return the pairs (3, k), each once, that are not known."""
    size = 1 + max(pairs.max(initial=0), known.max(initial=0))
    keys, others = ((found[0] * size + found[1]) * size + found[2] for found in (pairs, known))
    keys, which = np.unique(keys, return_index=True)
    return np.asarray(pairs[:, which[~np.isin(keys, others)]])


def _joined(pairs: _Pairs, p_x: Floats) -> Mixture:
    """Return pairs as atoms; one that takes too little of a symbol is joined with the one before.

    All have the same lift, so what is joined has it too.
    """
    first, second = pairs.units / pairs.g, pairs.units / pairs.k
    is_thin = (first < _SLIVER * p_x[pairs.below]) | (second < _SLIVER * p_x[pairs.above])
    group = np.maximum(np.cumsum(~is_thin) - 1, 0)
    out: Mixture = []
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    for a, b in pairwise([*starts.tolist(), len(group)]):
        members = np.concatenate([pairs.below[a:b], pairs.above[a:b]])
        masses = np.concatenate([first[a:b], second[a:b]])
        if b - a > 1:
            members, number = np.unique(members, return_inverse=True)
            masses = np.bincount(number, masses)
        mass = float(masses.sum())
        out.append((mass, (members, masses / mass)))
    return out


def _ends_inside(polytope: Polytope, is_allowed: Bools) -> tuple[float, float]:
    """Return the interval of lifts that is allowed, less a hair; add tangents at its ends.

    It is where the line from P_X to the outermost symbols leaves the region.
    """
    line = polytope.lift[np.argmax(np.ptp(polytope.lift, axis=1))]
    outer = [int(np.argmin(line)), int(np.argmax(line))]
    lifts, is_bound = polytope.lift[:, outer], ~is_allowed[outer]
    edge = polytope.shares_inside(lifts, is_exact=True)
    if not polytope.is_box:
        near = polytope.toward(lifts, edge + 1e-6 * (1 - edge))
        polytope.cut(near[:, is_bound])
    center = float(line @ polytope.p_x)
    away = edge * (line[outer] - center)
    hair = np.minimum(_HAIR * np.maximum(1.0, center + away), 1e-3 * np.abs(away))
    ends = np.where(is_bound, center + away - np.sign(away) * hair, [-math.inf, math.inf])
    return float(ends[0]), float(ends[1])
