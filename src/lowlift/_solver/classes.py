"""Symbols of X with the same P(s|x): for an optimiser they are one symbol, exactly.

Let c be the class of x. An atom v of X and its sums v_c over classes have the same lift, and
``H(v) >= H(v_c)``, so no mechanism on X beats the best one on classes. Conversely `Classes.split`
cuts an atom of classes into atoms with one symbol per class: same shares, same lift, same entropy.
So ``I(X;Y) = H(X) - H(X_c) + I(X_c;Y)`` at the optimum, for every criterion on lifts.

Columns that are equal up to a factor e**+-w (`binned`, `Classes.spread`) may be joined too: what is
designed at budgets lowered by w holds on X, and a bound at budgets raised by w is one on X.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats, Ints
from lowlift._joint import Joint

#: A posterior: numbers of symbols, and their shares.
Atom: TypeAlias = tuple[Ints, Floats]
#: Masses and posteriors that together are P_X.
Mixture: TypeAlias = list[tuple[float, Atom]]

#: A part of an atom that takes less than this of a symbol stays with the part beside it: rounded
#: to integers, an output of its own would be off by too much.
_SLIVER = 1e-6
#: The share of a symbol that is alone.
_ALL = np.ones(1)


class Classes:
    """The classes of symbols with exactly the same P(s|x), and the joint of S and the class.

    Examples
    --------
    >>> classes = Classes(Joint.from_counts([[1, 2, 3], [1, 2, 0]]))
    >>> classes.of.tolist(), classes.joint.counts.tolist()
    ([0, 0, 1], [[3, 3], [3, 0]])
    """

    def __init__(self, joint: Joint, of: Ints | None = None) -> None:
        # Given, `of` may also join symbols whose columns differ: see `spread`.
        if of is None:
            of = np.arange(joint.n_x) if _all_differ(joint) else _numbered(joint.counts)
        #: The class of each symbol, (|X|,): numbered by their first symbols.
        self.of = of
        #: P(s, class); the joint itself where all columns differ.
        self.joint = joint
        self.p_x, self._lift, self._error = joint.p_x, joint.lift, joint.lift_error
        if len(self) < joint.n_x:
            order, starts = self._sorted()
            sums = np.add.reduceat(joint.counts[:, order], starts, axis=1)
            self.joint = Joint.from_counts(sums, joint.s_labels)

    def __len__(self) -> int:
        return int(self.of.max()) + 1

    def _sorted(self) -> tuple[Ints, Ints]:
        """Return the symbols by class, rare ones first, and where each class starts."""
        order = np.lexsort((self.p_x, self.of))
        starts = np.flatnonzero(np.diff(self.of[order], prepend=-1))
        return order, starts

    @property
    def spread(self) -> float:
        """Up to which w every lift is within a factor e**+-w of that of its class; inf for no w.

        0 for classes of equal columns, up to rounding; rounded up.
        """
        mine, theirs = self._lift, self.joint.lift[:, self.of]
        both = (mine == 0) & (theirs == 0)
        with np.errstate(divide="ignore"):
            off = np.abs(np.log(np.where(both, 1.0, mine)) - np.log(np.where(both, 1.0, theirs)))
        return float(off.max()) * (1 + 2.0**-50) + 2 * (self._error + self.joint.lift_error)

    def largest(self, values: Floats) -> Floats:
        """Return the largest of one value per symbol in each class."""
        out = np.full(len(self), -math.inf)
        np.maximum.at(out, self.of, values)
        return out

    def blocks(self, blocks: Sequence[Sequence[int]]) -> list[list[int]]:
        """Return blocks of symbols for blocks of classes: a class alone becomes symbols alone."""
        order, starts = self._sorted()
        members = np.split(order, starts[1:])
        out: list[list[int]] = []
        for block in blocks:
            symbols = [x for c in block for x in members[c].tolist()]
            out += [symbols] if len(block) > 1 else [[x] for x in symbols]
        return out

    def split(self, atoms: Mixture) -> Mixture:
        """Return atoms of X with the shares of these atoms of classes, mostly one symbol per class.

        Each class's symbols are laid end to end, and each atom takes a stretch of each of its
        classes. All its stretches are walked through at once; where one of them passes to another
        symbol, the next atom begins. That is at most one more for each symbol beyond the first of
        its class.
        """
        if len(self) == len(self.of):
            return atoms
        order, starts = self._sorted()
        ends = np.append(starts[1:], len(order))
        # Positions are parts of a class: from 0, where floats are finest, over rare symbols to 1.
        stops = [np.cumsum(self.p_x[order[a:b]]) for a, b in zip(starts, ends, strict=True)]
        stops = [found / found[-1] for found in stops]
        totals = np.zeros(len(self))
        for beta, (members, shares) in atoms:
            totals[members] += beta * shares
        place, used = np.zeros(len(self), np.int64), np.zeros(len(self))
        out: Mixture = []
        for beta, (members, shares) in atoms:
            walks = []
            for c, share in zip(members.tolist(), shares.tolist(), strict=True):
                stretch = beta * share / totals[c]
                walks.append(_walk(stops[c], int(place[c]), used[c], stretch))
                place[c], used[c] = walks[-1][-1].symbol, used[c] + stretch
            firsts = starts[members]
            if len(members) == 1:  # a symbol alone has its lift whatever its weight
                before = 0.0
                for symbol, end, _ in walks[0]:
                    if end > before:
                        number = order[firsts[0] + symbol : firsts[0] + symbol + 1]
                        out.append((beta * (end - before), (number, _ALL)))
                        before = end
                continue
            for part, symbols, weights in _together(walks):
                numbers = order[firsts[symbols[0]] + symbols[1]]
                out.append((beta * part, (numbers, shares[symbols[0]] * weights)))
        return out


def binned(joint: Joint, most: int) -> Classes:
    """Return at most so many classes of nearly equal columns: cells of a grid of log-lifts.

    Zeros stay with zeros.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(joint.lift)
    spread = float(np.ptp(logs[np.isfinite(logs)]))
    narrow, wide = spread * 1e-9, 2 * spread
    for _ in range(24):
        width = math.sqrt(narrow * wide)
        if len(np.unique(_cells(logs, width))) > most:
            narrow = width
        else:
            wide = width
    return Classes(joint, _by_first(_cells(logs, wide)))


def _cells(logs: Floats, width: float) -> Ints:
    """Return a number for the cell of each column; rarely the same for two cells."""
    cells = np.where(np.isfinite(logs), np.floor(logs / width), -(2.0**40)).astype(np.int64)
    factors = np.random.default_rng(0).integers(-(2**62), 2**62, len(logs)) | 1
    return np.asarray((cells * factors[:, None]).sum(axis=0))


def _all_differ(joint: Joint) -> bool:
    """Tell whether floats already show that all columns differ; False where they cannot tell."""
    first = np.sort(joint.p_s_given_x[0])
    return bool((np.diff(first) > 8 * joint.lift_error).all())


def _numbered(counts: npt.NDArray[np.generic]) -> Ints:
    """Return each column's class: columns that are multiples of each other, exactly."""
    if counts.dtype == object:
        seen: dict[tuple[int, ...], int] = {}
        columns = (tuple(column) for column in counts.T.tolist())
        reduced = (tuple(n // math.gcd(*column) for n in column) for column in columns)
        return np.array([seen.setdefault(column, len(seen)) for column in reduced])
    return _by_first(counts // np.gcd.reduce(counts, axis=0))


def _by_first(values: npt.NDArray[np.generic]) -> Ints:
    """Return the numbers of different values, or columns, in the order of their first ones."""
    _, first, number = np.unique(values, axis=-1, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[number.reshape(-1)])


class _Step(NamedTuple):
    """A symbol that a stretch passes, the part of the stretch where it ends, and its own length."""

    symbol: int
    end: float
    length: float


def _walk(stops: Floats, place: int, start: float, stretch: float) -> list[_Step]:
    """Return the symbols of a stretch of a class."""
    out = list[_Step]()
    while True:
        length = float(stops[place] - (stops[place - 1] if place else 0.0)) / stretch
        if place == len(stops) - 1 or stops[place] >= start + stretch:
            return [*out, _Step(place, 1.0, length)]
        out.append(_Step(place, (float(stops[place]) - start) / stretch, length))
        place += 1


def _together(walks: Sequence[list[_Step]]) -> Iterator[tuple[float, tuple[Ints, Ints], Floats]]:
    """Walk through all stretches at once; yield parts, the (class, symbol) of each, and weights.

    Parts too thin for an output of their own are joined with their neighbours: a class may then
    have several symbols, whose weights add up to 1.
    """
    at, before = [0] * len(walks), 0.0
    groups, is_last_thin = list[list[tuple[float, list[int]]]](), False
    for turn in sorted({max(step.end, 0.0) for walk in walks for step in walk}):
        steps = [walk[k] for walk, k in zip(walks, at, strict=True)]
        for c, walk in enumerate(walks):
            while at[c] < len(walk) - 1 and walk[at[c]].end <= turn:
                at[c] += 1
        if turn <= before:
            continue
        is_thin = turn - before < _SLIVER * max(step.length for step in steps)
        found = turn - before, [step.symbol for step in steps]
        before = turn
        if groups and (is_thin or is_last_thin):
            groups[-1].append(found)
            is_last_thin = is_thin and is_last_thin
        else:
            groups.append([found])
            is_last_thin = is_thin
    for group in groups:
        whole = sum(part for part, _ in group)
        weights: dict[tuple[int, int], float] = {}
        for part, symbols in group:
            for c, symbol in enumerate(symbols):
                weights[c, symbol] = weights.get((c, symbol), 0.0) + part / whole
        pairs = np.array(list(weights), np.int64).T
        yield whole, (pairs[0], pairs[1]), np.array(list(weights.values()))
