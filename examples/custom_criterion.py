"""A researcher's sweep with a criterion of her own.

Often one value of S carries the stigma: that an answer makes "HIV positive" much more likely is a
harm, that it makes "HIV negative" more likely is none. A bound on every lift pays for values that
need no protection. Here is a criterion that bounds the lift of chosen values alone:

    P(s|y) <= factor * P(s)    for every s in `protected`, for every y.

`Criterion` asks for four things (lower, upper, leakage, risk). Three more methods earn more:
``verdict`` makes audits exact, ``half_spaces`` and ``cut`` let the random response find the optimum
and prove it. With every value protected it must agree with the built-in ``MaxLift(log(factor))``.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import lowlift as ll
from lowlift.criteria import HalfSpaces

Floats: TypeAlias = npt.NDArray[np.float64]

FACTORS = (Fraction(11, 10), Fraction(5, 4), Fraction(3, 2), Fraction(2), Fraction(3))
#: How many random joints of 4 values of S by 10 of X the sweep runs over.
JOINTS = 20
STIGMA = (0,)
EVERY = (0, 1, 2, 3)


@dataclass(frozen=True)
class ChosenLift:
    """No protected value of S becomes more than `factor` times as likely.

    The factor is a fraction, so that a verdict is a comparison of whole numbers.
    """

    protected: tuple[int, ...]
    factor: Fraction
    lower = math.inf
    #: The half-spaces below are the region itself, so an outer search need not refine it.
    is_polyhedral = True

    @property
    def upper(self) -> float:
        """The budget in nats."""
        return math.log(self.factor)

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002
        """Return zeros (no lower side) and the log of the largest protected lift, per output."""
        largest = lift_sy[list(self.protected)].max(axis=0)
        return np.zeros_like(largest), np.log(np.maximum(largest, 1.0))

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:  # noqa: ARG002
        """Return what merging orders blocks by: the largest protected lift."""
        return np.asarray(lift_sy[list(self.protected)].max(axis=0))

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s)."""
        mass, total = sum(posterior), sum(prior)
        return all(posterior[s] * total <= self.factor * prior[s] * mass for s in self.protected)

    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return the region: one half-space a protected value."""
        normals = np.eye(len(p_s))[list(self.protected)]
        return HalfSpaces(normals, np.full(len(normals), float(self.factor)))

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return the half-spaces that a lift vector violates."""
        normals, offsets = self.half_spaces(p_s)
        out = normals @ lift_s > offsets
        return HalfSpaces(normals[out], offsets[out])


def main() -> None:
    """Sweep budgets for the built-in criterion, and for one's own over all values and over one."""
    joints = [ll.Joint.random(4, 10, seed=k) for k in range(JOINTS)]
    sweeps: dict[str, list[ll.Criterion]] = {
        "MaxLift": [ll.MaxLift(math.log(f)) for f in FACTORS],
        "all values": [ChosenLift(EVERY, f) for f in FACTORS],
        "one value": [ChosenLift(STIGMA, f) for f in FACTORS],
    }
    print(f"Mean NMI over {JOINTS} random joints of 4 values of S by 10 of X.")
    for mechanism in (ll.subset_merging, ll.random_response):
        print(f"\n{mechanism.__name__}")
        print(f"  {'factor':<12}" + "".join(f"{float(f):>8.2f}" for f in FACTORS))
        for name, criteria in sweeps.items():
            found = ll.tradeoff(joints, mechanism, criteria)
            row = "".join(f"{value:>8.4f}" for value in found.mean("nmi"))
            kept = "satisfied" if found["is_satisfied"].all() else "VIOLATED"
            print(f"  {name:<12}{row}  {kept} {found['is_satisfied'].sum()} of {len(found)}")

    release = ll.random_response(joints[0], ChosenLift(STIGMA, Fraction(3, 2)))
    print(f"\nOne release: {release.audit}")
    print(f"  verdict exact: {release.audit.is_certified}")
    if release.certificate is not None:
        print(f"  proven: no mechanism has an NMI above {release.certificate.upper_bound:.6f}")
    print("  largest lift of each value of S: " + ", ".join(map("{:.4f}".format, largest(release))))


def largest(release: ll.Release) -> list[float]:
    """Return the largest lift of each value of S over the outputs."""
    return [float(value) for value in release.audit.lift.max(axis=1)]


if __name__ == "__main__":
    main()
