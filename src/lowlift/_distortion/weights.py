"""A plan of pairs as integer weights of a channel, that keep the law of the symbols exactly."""

import math
from math import gcd

import numpy as np

from lowlift._arrays import Bools, Floats, Ints
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._joint import Joint

#: A share of a symbol this small counts as none.
_NONE = 1e-12
#: The law is made exact by moves of up to this many of 2**48 parts of a symbol.
_SMALL_MOVE = 1 << 20
#: Symbols to choose from for a move, per output.
_MOST_GIVERS = 12


class Weights:
    """Whole numbers k(c, d) that sum to 2**48 for each symbol c.

    Parameters
    ----------
    sizes
        P(c) as whole numbers up to one factor.
    rows, columns, masses
        The plan: pairs (c, d) and their masses, in floats.
    allowed
        (m, m): which pairs may carry weight; None: all.
    """

    def __init__(
        self, sizes: list[int], rows: Ints, columns: Ints, masses: Floats, allowed: Bools | None
    ) -> None:
        self.sizes, self.allowed, self.m = sizes, allowed, len(sizes)
        self.rows: list[dict[int, int]] = [{} for _ in sizes]
        totals = np.bincount(rows, masses, self.m)
        shares = masses / totals[rows]
        kept = shares > _NONE
        whole = np.floor(shares[kept] * MAX_DENOMINATOR).astype(np.int64).tolist()
        for c, d, k in zip(rows[kept].tolist(), columns[kept].tolist(), whole, strict=True):
            self.rows[c][d] = k
        for row in self.rows:
            largest = max(row, key=row.__getitem__)
            row[largest] += MAX_DENOMINATOR - sum(row.values())

    def _excess(self) -> list[int]:
        """Return ``sum_c n_c k(c, d) - n_d 2**48`` for each d: 0 where the law is kept."""
        out = [-size * MAX_DENOMINATOR for size in self.sizes]
        for size, row in zip(self.sizes, self.rows, strict=True):
            for d, k in row.items():
                out[d] += size * k
        return out

    def _move(
        self, c: int, source: int, target: int, amount: int, most: float = _SMALL_MOVE
    ) -> bool:
        """Move weight of symbol c from one output to another; False where that is not possible."""
        row = self.rows[c]
        if amount == 0:
            return True
        is_small = amount <= min(most, row.get(source, 0))
        if not is_small or not (self.allowed is None or self.allowed[c, target]):
            return False
        row[target] = row.get(target, 0) + amount
        row[source] -= amount
        if not row[source]:
            del row[source]
        return True

    def keep_law(self) -> bool:
        """Mend the law, first nearly, then exactly; return whether it is exact."""
        excess = self._excess()
        givers: dict[int, list[int]] = {}
        for c, row in enumerate(self.rows):
            for d in row:
                givers.setdefault(d, []).append(c)
        short = [d for d, e in enumerate(excess) if e < 0]
        for d in sorted(range(self.m), key=lambda y: -excess[y]):
            if excess[d] <= 0:
                break
            for c in sorted(givers[d], key=lambda c: -self.rows[c].get(d, 0) * self.sizes[c]):
                while short and excess[d] >= self.sizes[c]:
                    target = short[-1]
                    amount = min(excess[d], -excess[target]) // self.sizes[c]
                    amount = min(amount, self.rows[c].get(d, 0))
                    if amount == 0 or not self._move(c, d, target, amount, math.inf):
                        break
                    excess[d] -= amount * self.sizes[c]
                    excess[target] += amount * self.sizes[c]
                    if -excess[target] < self.sizes[c]:
                        short.pop()
        nearly = [dict(row) for row in self.rows]
        is_exact = self._keep_exactly(excess)
        if not is_exact:
            self.rows = nearly
        return is_exact

    def _keep_exactly(self, excess: list[int]) -> bool:
        """Mend what is left by small moves between each output and one hub, in both directions.

        A symbol that gives weight to d gives some to the hub instead, or one that gives to the hub
        gives some to d: an excess of e is mended by ``n x - n_hub y = e``, which has a solution
        when gcd(n, n_hub) divides e. Where it divides for no two symbols, a third one moves some
        weight from an output that is mended later to d first.
        """
        common = gcd(*self.sizes)
        excess = [e // common for e in excess]
        sizes = [size // common for size in self.sizes]
        givers = self._givers()
        hub = max(range(self.m), key=lambda d: (len({sizes[c] for c in givers[d]}), -d))
        rest = [d for d in range(self.m) if d != hub]
        for at, d in enumerate(rest):
            if not givers[d] or not givers[hub]:
                if excess[d]:
                    return False
                continue
            pairs = [(gcd(sizes[c], sizes[h]), c, h) for c in givers[d] for h in givers[hub]]
            divisor, giver, taker = min(pairs)
            if excess[d] % divisor and not self._helped(
                d, divisor, rest[at + 1 :], givers, excess, sizes
            ):
                return False
            parts = (value // divisor for value in (sizes[giver], sizes[taker], excess[d]))
            gives, takes = _combination(*parts)
            if not (self._move(giver, d, hub, gives) and self._move(taker, hub, d, takes)):
                return False
            excess[hub] += excess[d]
            excess[d] = 0
        return not any(excess)

    def _helped(
        self,
        d: int,
        divisor: int,
        later: list[int],
        givers: list[list[int]],
        excess: list[int],
        sizes: list[int],
    ) -> bool:
        """Move weight from a later output to d, so that its excess becomes a multiple."""
        for other in later:
            for c in givers[other]:
                if gcd(sizes[c], divisor) == 1:
                    amount = (-excess[d]) * pow(sizes[c], -1, divisor) % divisor
                    if self._move(c, other, d, amount):
                        excess[other] -= amount * sizes[c]
                        excess[d] += amount * sizes[c]
                        return True
        return False

    def _givers(self) -> list[list[int]]:
        """Return for each output symbols that give it much weight, of different sizes."""
        found: list[dict[int, int]] = [{} for _ in range(self.m)]
        for c, row in enumerate(self.rows):
            for d, k in row.items():
                if k > 4 * _SMALL_MOVE and len(found[d]) < _MOST_GIVERS:
                    found[d].setdefault(self.sizes[c], c)
        return [list(by_size.values()) for by_size in found]

    def entries(self) -> tuple[Ints, Ints, Ints]:
        """Return outputs, members and weights, sorted by output and member."""
        triples = sorted((d, c, k) for c, row in enumerate(self.rows) for d, k in row.items() if k)
        table = np.array(triples, dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def channel_of(
    joint: Joint,
    rows: Ints,
    columns: Ints,
    masses: Floats,
    *,
    allowed: Bools | None = None,
    keep_law: bool = True,
) -> Channel:
    """Return the channel from X to X of a plan of pairs."""
    sizes = [int(n) for n in joint.counts.sum(axis=0).tolist()]
    weights = Weights(sizes, rows, columns, masses, allowed)
    if keep_law:
        weights.keep_law()
    outputs, members, entries = weights.entries()
    used, counts = np.unique(outputs, return_counts=True)
    labels = tuple(joint.x_labels[y] for y in used.tolist())
    return Channel.from_entries(joint, counts, members, entries, MAX_DENOMINATOR, labels)


def _combination(a: int, b: int, e: int) -> tuple[int, int]:
    """Return small x, y >= 0 with ``a x - b y = e``, for coprime a, b >= 1."""
    x = e * pow(a, -1, b) % b if b > 1 else max(0, e)
    y = (a * x - e) // b
    steps = max(0, -(y // a))
    return x + steps * b, y + steps * a
