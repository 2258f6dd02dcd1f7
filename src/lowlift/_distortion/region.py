"""A criterion's region of lifts as directions with two ends, and the half-spaces they come from."""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._joint import Joint
from lowlift.criteria import Criterion, HalfSpaces, cut_of, half_spaces_of

#: The least probability of a symbol that the program can take.
_RAREST = 1e-10


@dataclass(frozen=True)
class Region:
    """``low_k <= n_k . (l - 1) <= high_k`` for each direction k, for every output.

    `low_space` and `high_space` say which half-space gives an end (-1: none), and the factors, by
    how much its multiplier is that of the direction.
    """

    normals: Floats
    low: Floats
    high: Floats
    low_space: Ints
    high_space: Ints
    low_factor: Floats
    high_factor: Floats

    @classmethod
    def of(cls, spaces: HalfSpaces, p_s: Floats) -> Self:
        """Return the directions of some half-spaces; parallel ones share a direction.

        Where S has two values, lifts lie on a line, so that there is one direction.
        """
        normals, room = spaces.normals, spaces.offsets - spaces.normals.sum(axis=1)
        if len(p_s) == 2:
            along = normals @ np.array([1.0, -p_s[0] / p_s[1]])
            normals = np.column_stack([along, np.zeros(len(normals))])
        found: dict[tuple[float, ...], list[float]] = {}
        for h, (normal, end) in enumerate(zip(normals, room, strict=True)):
            size = float(np.abs(normal).max())
            if size > 0:
                sign = 1.0 if normal[np.flatnonzero(normal)[0]] > 0 else -1.0
                key = tuple(np.round(normal * (sign / size), 12).tolist())
                ends = found.setdefault(key, [-math.inf, math.inf, -1, -1, 1.0, 1.0])
                side = int(sign > 0)
                if (end / size < ends[1]) if side else (-end / size > ends[0]):
                    ends[side], ends[2 + side], ends[4 + side] = sign * end / size, h, 1 / size
        table = np.array(list(found.values())).reshape(-1, 6)
        spaces_at = table[:, 2:4].astype(np.int64)
        return cls(
            np.array(list(found)).reshape(-1, len(p_s)),
            table[:, 0], table[:, 1], spaces_at[:, 0], spaces_at[:, 1], table[:, 4], table[:, 5],
        )  # fmt: skip

    def shrunk(self, by: float) -> Self:
        """Return the region moved toward lift 1 by this share."""
        return replace(self, low=self.low * (1 - by), high=self.high * (1 - by))

    def spaces_multipliers(self, lifts: Floats, count: int) -> Floats:
        """Return multipliers of the half-spaces, (count, m), from those of the directions."""
        out = np.zeros((count, lifts.shape[1]))
        for k, row in enumerate(lifts):
            if self.low_space[k] >= 0:
                out[self.low_space[k]] += np.maximum(row, 0.0) * self.low_factor[k]
            if self.high_space[k] >= 0:
                out[self.high_space[k]] += np.maximum(-row, 0.0) * self.high_factor[k]
        return out


def spaces_of(criterion: Criterion, p_s: Floats) -> HalfSpaces:
    """Return half-spaces that hold on the region; of LDP, say, those of every pair of values."""
    normals, offsets = half_spaces_of(criterion, p_s)
    if getattr(criterion, "is_polyhedral", False) and not getattr(criterion, "is_box", False):
        parts = []
        for s in range(len(p_s)):
            for t in range(len(p_s)):
                point = np.ones(len(p_s))
                point[s], point[t] = 1e300, 0.0
                if s != t:
                    parts.append(cut_of(criterion, point, p_s))
        if not all(len(part.offsets) for part in parts):  # then a face may be needed as well
            parts.append(HalfSpaces(normals, offsets))
        if parts:
            normals = np.concatenate([part.normals for part in parts])
            offsets = np.concatenate([part.offsets for part in parts])
    kept = np.isfinite(offsets) & np.isfinite(normals).all(axis=1)
    return HalfSpaces(normals[kept], offsets[kept])


def tangents_at(
    criterion: Criterion, lift_sy: Floats, p_s: Floats, outputs: Ints
) -> tuple[Ints, HalfSpaces]:
    """Return a tangent for each output whose lift vector one cuts off, and of which outputs."""
    at, normals, offsets = list[int](), list[Floats](), list[float]()
    for y in outputs.tolist():
        spaces = cut_of(criterion, lift_sy[:, y], p_s)
        if (
            len(spaces.offsets)
            and np.isfinite(np.append(spaces.normals[0], spaces.offsets[0])).all()
        ):
            at.append(y)
            normals.append(spaces.normals[0])
            offsets.append(float(spaces.offsets[0]))
    return np.array(at, np.int64), HalfSpaces(
        np.array(normals).reshape(-1, len(p_s)), np.array(offsets)
    )


def is_beyond_floats(joint: Joint, criterion: Criterion) -> bool:
    """Tell whether a budget or a probability is too small for a solver in floats."""
    rarest = min(joint.p_x.min(), joint.p_s.min())
    is_tight = min(criterion.lower, criterion.upper) < 1e-6
    return is_tight or rarest < _RAREST or math.isinf(joint.lift_error)
