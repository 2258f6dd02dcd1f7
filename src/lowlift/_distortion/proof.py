"""The bound that multipliers give on the distortion of every channel, in whole numbers.

A half-space ``a . l <= o`` of lifts gives ``sum_c w(c, d) (a . l(c) - o) <= 0`` for each output d.
So for multipliers g >= 0 of half-spaces and any b (b = 0 where the law is not kept)::

    sum D w >= sum_c p_c min_d [D(c, d) - b_d + sum_h g_hd (a_h . l(c) - o_h)] + sum_d p_d b_d

Rounding distances, normals and -offsets down lowers the right side: lifts are 0 or more. So the
bound stays true, and all that is left is a sum of integers.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Floats, Ints
from lowlift._distortion.region import spaces_of
from lowlift._joint import Joint
from lowlift.criteria import Criterion, HalfSpaces, cut_of
from lowlift.errors import InvalidInput

#: Distances and multipliers are multiples of 2**-30, half-spaces of 2**-40.
_BITS, _FINE = 30, 40
#: Relative room for powers of e computed in floats, and for tangents.
_POWER, _TANGENT = 2.0**-40, 1e-10
#: Entries of a block of the matrix of reduced costs.
_BLOCK = 4_000_000
_FITS = 1 << 62


@dataclass(frozen=True)
class Proof:
    """Multipliers that prove a bound: b, and those of half-spaces (their numbers) by output."""

    law: Floats
    spaces: Ints
    outputs: Ints
    values: Floats

    def check(self, n_spaces: int, n_x: int) -> None:
        """Refuse multipliers that do not fit."""
        size = len(self.values)
        fits = self.law.shape == (n_x,) and len(self.spaces) == len(self.outputs) == size
        if not (
            fits
            and np.isfinite(self.law).all()
            and np.isfinite(self.values).all()
            and (self.values >= 0).all()
            and ((self.spaces >= 0) & (self.spaces < n_spaces)).all()
            and ((self.outputs >= 0) & (self.outputs < n_x)).all()
        ):
            raise InvalidInput("the certificate's multipliers must fit the joint and criterion.")


def rounded_outward(
    joint: Joint, criterion: Criterion, tangents: Floats
) -> tuple[list[list[int]], list[int]]:
    """Return the half-spaces as whole numbers over 2**40, each holding on the whole region.

    First those of the criterion, then its tangents at the lift vectors `tangents` (t, |S|).
    """
    spaces = spaces_of(criterion, joint.p_s)
    most = joint.lift.max(axis=1)
    room = [_POWER if hasattr(criterion, "verdict") else _TANGENT] * len(spaces.offsets)
    parts = [spaces]
    for point in tangents:
        cut = cut_of(criterion, point, joint.p_s)
        parts.append(HalfSpaces(cut.normals[:1], cut.offsets[:1]))
        if len(cut.offsets) == 0:
            raise InvalidInput("a tangent of the certificate must be outside the region.")
        room.append(_TANGENT)
    normals = np.concatenate([part.normals for part in parts])
    offsets = np.concatenate([part.offsets for part in parts])
    reach = np.abs(normals) @ most + np.abs(offsets)
    above = [
        math.ceil((Fraction(o) + Fraction(r) * Fraction(w)) * (1 << _FINE))
        for o, r, w in zip(offsets.tolist(), room, reach.tolist(), strict=True)
    ]
    below = [
        [math.floor(Fraction(a) * (1 << _FINE)) for a in normal] for normal in normals.tolist()
    ]
    return below, above


def proven_bound(
    joint: Joint,
    half_spaces: tuple[list[list[int]], list[int]],
    distance: Floats,
    found: Proof,
    *,
    keep_law: bool,
) -> Fraction:
    """Return a number that the mean distance of no channel in the region is below."""
    counts = joint.counts
    sizes, prior = [int(n) for n in counts.sum(axis=0).tolist()], joint.prior
    whole, m = sum(prior), joint.n_x
    law = _whole(found.law) if keep_law else [0] * m
    rates, ends = _by_output(half_spaces, found, m, joint.n_s)
    shift = 1 << _FINE
    constant = [-b - _ceil(end, shift) for b, end in zip(law, ends, strict=True)]
    slopes = [
        [rate * whole // (p * shift) for rate in row] for row, p in zip(rates, prior, strict=True)
    ]
    finite = np.isfinite(distance)
    units = np.floor(np.where(finite, distance, 0.0) * 2.0**_BITS)
    steep = max(
        (abs(rate) * p for row, p in zip(slopes, prior, strict=True) for rate in row), default=0
    )
    flat = max(map(abs, constant)) + int(units.max())
    dtype: Any = np.int64 if max(sizes) * flat + joint.n_s * steep < _FITS else object
    total = sum(size * b for size, b in zip(sizes, law, strict=True))
    slope, base = np.array(slopes, dtype=dtype), np.array(constant, dtype=dtype)
    step = max(1, _BLOCK // m)
    for at in range(0, m, step):
        part = slice(at, at + step)
        cost = units[part].astype(np.int64).astype(dtype) + base
        cost *= np.array(sizes[part], dtype=dtype)[:, None]
        cost += counts[:, part].T.astype(dtype) @ slope
        total += sum(_least(cost, finite[part]))
    return Fraction(total, whole << _BITS)


def _least(cost: npt.NDArray[Any], finite: npt.NDArray[np.bool_]) -> list[int]:
    """Return the least entry of each row among the pairs that are allowed."""
    if finite.all():
        return [int(value) for value in cost.min(axis=1)]
    return [int(row[kept].min()) for row, kept in zip(cost, finite, strict=True)]


def _by_output(
    half_spaces: tuple[list[list[int]], list[int]], found: Proof, m: int, n_s: int
) -> tuple[list[list[int]], list[int]]:
    """Return, per output, the sums of multipliers times normals, and times offsets."""
    rates, ends = [[0] * m for _ in range(n_s)], [0] * m
    normals, offsets = half_spaces
    weights = _whole(found.values)
    for h, d, g in zip(found.spaces.tolist(), found.outputs.tolist(), weights, strict=True):
        ends[d] += g * offsets[h]
        for s in range(n_s):
            rates[s][d] += g * normals[h][s]
    return rates, ends


def _whole(values: Floats) -> list[int]:
    return [round(value * 2.0**_BITS) for value in values.tolist()]


def _ceil(a: int, b: int) -> int:
    return -((-a) // b)
