"""Atoms of small support: what mixes to an atom, has its lift, and no more entropy."""

from collections.abc import Callable

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._solver.classes import Atom

#: An atom is halved at most 5 times over; of larger ones this many extreme atoms are peeled off.
_MOST_HALVINGS, _MOST_PEELED = 5, 48
#: A share this small counts as none.
_NOTHING = 1e-12


def split_support(
    lift: Floats, members: Ints, shares: Floats, is_over: Callable[[], bool] = lambda: False
) -> list[Atom]:
    """Return atoms of the same lift, most with independent columns, that mix to this one.

    Along a direction that keeps the lift, both ends are reached where a share becomes 0; entropy
    is concave, so they are together no worse. Ends at supports of at most rank P(s|x), but for one
    atom that is left over of a large block, or where time runs out.
    """
    if len(members) == 1 or is_over():
        return [(members, shares)]
    if len(members) - len(lift) > _MOST_HALVINGS:
        return _peeled(lift, members, shares, is_over)
    _, sizes, directions = np.linalg.svd(lift[:, members])
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    if rank == len(members):
        return [(members, shares)]
    if len(members) - rank > _MOST_HALVINGS:
        return _peeled(lift, members, shares, is_over)
    direction = directions[-1]
    out = []
    for sign in (1.0, -1.0):
        moved = _moved(shares, sign * direction)
        if moved is None:
            return [(members, shares)]
        kept = moved > _NOTHING
        out += split_support(lift, members[kept], moved[kept] / moved[kept].sum(), is_over)
    return out


def _moved(shares: Floats, direction: Floats) -> Floats | None:
    """Return the shares moved along the direction until one is 0; None when none falls."""
    falls = direction < -_NOTHING
    if not falls.any():
        return None
    return np.asarray(shares + (shares[falls] / -direction[falls]).min() * direction)


def _peeled(lift: Floats, members: Ints, shares: Floats, is_over: Callable[[], bool]) -> list[Atom]:
    """Take extreme atoms off, as much of each as there is, and return them and what is left.

    Halving would give two to the number of symbols.
    """
    out: list[Atom] = []
    for _ in range(_MOST_PEELED):
        if len(members) <= len(lift):
            break
        end = _extreme(lift[:, members], shares, is_over)
        if end is None:
            break
        used = end > 0
        out.append((members[used], end[used]))
        rest = shares - (shares[used] / end[used]).min() * end
        kept = rest > _NOTHING
        if not kept.any():
            return out
        members, shares = members[kept], rest[kept] / rest[kept].sum()
    return [*out, (members, shares)]


def _extreme(columns: Floats, shares: Floats, is_over: Callable[[], bool]) -> Floats | None:
    """Return shares of the same lift on at most |S| of the columns (Caratheodory's reduction).

    None when time runs out.
    """
    end, n_s = shares.copy(), len(columns)
    while True:
        if is_over():
            return None
        used = np.flatnonzero(end > _NOTHING)
        if len(used) <= n_s:
            break
        some = used[: n_s + 1]
        direction = np.linalg.svd(columns[:, some])[2][-1]
        moved = _moved(end[some], direction if direction.min() < -_NOTHING else -direction)
        if moved is None:
            break
        moved[moved <= _NOTHING] = 0.0
        end[some] = moved
    end[end <= _NOTHING] = 0.0
    return np.asarray(end / end.sum())
