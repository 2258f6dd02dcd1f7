"""Where pricing starts: points made when they are asked for, so that few exist at a time."""

from collections.abc import Sequence

import numpy as np

from lowlift.arrays import Floats
from lowlift.solver.classes import Atom


class Starts:
    """Points to start from, made when asked for: one near each corner, then atoms, then others."""

    def __init__(
        self,
        corners: int = 0,
        atoms: Sequence[tuple[float, Atom]] = (),
        found: Floats | None = None,
    ) -> None:
        self.corners, self.atoms = corners, atoms
        self.found = np.zeros((0, corners)) if found is None else found

    def __len__(self) -> int:
        return self.corners + len(self.atoms) + len(self.found)

    def points(self, which: range) -> Floats:
        """Return the points of these numbers, (k, |X|)."""
        if not (self.corners or self.atoms):
            return np.ascontiguousarray(self.found[which.start : which.stop])
        n = self.corners
        points = np.zeros((len(which), n))
        for row, k in zip(points, which, strict=True):
            if k < n:
                row[:] = 0.02 / n
                row[k] = 1.0
            else:
                members, shares = self.atoms[k - n][1]
                row[members] = shares
        return points


def ranges(which: range, size: int) -> list[range]:
    """Return the numbers in pieces of a size."""
    return [which[k : k + size] for k in range(0, len(which), size)]
