"""What is proven about the least distortion, saved with a release and checked anew."""

import hashlib
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from lowlift._arrays import Floats
from lowlift._certificates import Certificate, tangent_points
from lowlift._channel import Channel
from lowlift._distortion.distances import Distance, distances_of, limited
from lowlift._distortion.proof import Proof, proven_bound, rounded_outward
from lowlift._joint import Joint
from lowlift._rounding import ceiling, float_below, floor
from lowlift.criteria import Criterion, plain_criterion
from lowlift.errors import InvalidInput
from lowlift.schemas import check

SCOPE = "distortion"


@dataclass(frozen=True)
class DistortionCertificate(Certificate):
    """What is proven about the least mean distance, and what is needed to check it.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint, criterion = ll.datasets.titanic(), ll.LIP(0.5)
    >>> certificate = ll.least_distortion(joint, criterion).certificate
    >>> certificate.scope, certificate.is_optimal, certificate.keeps_law
    ('distortion', True, True)
    >>> ll.verify_certificate(joint, criterion, certificate)
    True
    """

    #: The mean distance between a symbol and what is published for it.
    distortion: float = math.nan
    #: No channel from X to X that satisfies the criterion (and keeps the law) has less.
    lower_bound: float = 0.0
    #: Whether the channels are to publish each symbol as often as it occurs.
    keeps_law: bool = True
    #: The total variation between P(y) and P(x), 0 where the law is kept exactly.
    law_error: float = 0.0
    #: No symbol becomes one that is further away; None: no limit.
    limit: float | None = None
    #: Multipliers of the criterion's half-spaces, and of its tangents after them: of which, of
    #: which output, how large. Those of the law are `duals`.
    spaces: tuple[int, ...] = field(default=(), repr=False)
    outputs: tuple[int, ...] = field(default=(), repr=False)
    multipliers: tuple[float, ...] = field(default=(), repr=False)
    #: SHA-256 of the distances, as 64-bit floats by row.
    distances: str = field(default="", repr=False)

    @classmethod
    def made(
        cls, joint: Joint, channel: Channel, distance: Floats, proof: Proof, bound: Fraction,
        **facts: Any,
    ) -> Self:  # fmt: skip
        """Return the certificate of a channel to symbols of X."""
        reached, law_error = _reached(joint, channel, distance)
        lower = max(0.0, float_below(bound))
        return cls(
            SCOPE,
            1.0,
            is_optimal=reached - lower <= facts.pop("gap") * reached,
            gap=reached - lower,
            duals=tuple(proof.law.tolist()),
            distortion=reached,
            lower_bound=lower,
            law_error=law_error,
            spaces=tuple(proof.spaces.tolist()),
            outputs=tuple(proof.outputs.tolist()),
            multipliers=tuple(proof.values.tolist()),
            distances=_digest(distance),
            **facts,
        )

    @property
    def proven(self) -> str:
        """The bound in words, rounded down."""
        return f"a mean distance of at least {floor(self.lower_bound)}"

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("Mean distance of what is published", ceiling(self.distortion)),
            ("Proven", f"no channel has {self.proven.replace('at least', 'less than')}"),
        ]

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """Return the certificate that `to_dict` described."""
        check(saved, "release", "distortion_certificate")
        floats = ("duals", "multipliers"), ("spaces", "outputs", "bins")
        parts: dict[str, Any] = {name: tuple(map(float, saved[name])) for name in floats[0]}
        parts |= {name: tuple(saved.get(name, ())) for name in floats[1]}
        parts["tangents"] = tuple(tuple(map(float, point)) for point in saved["tangents"])
        return cls(**{**saved, **parts})

    def is_proven(
        self,
        joint: Joint,
        criterion: Criterion,
        distance: Distance = None,
        weights: Any = None,
        *,
        time_limit: float = 600.0,  # noqa: ARG002 (it takes no search)
    ) -> bool:
        """Prove the bound anew, in whole numbers, from the multipliers alone."""
        if self.bins:
            joint = _joined(joint, self.bins)
        matrix = distances_of(joint, distance, weights)
        if self.limit is not None:
            matrix = limited(matrix, self.limit)
        if _digest(matrix) != self.distances:
            raise InvalidInput(
                "distance must be the one that the certificate was made for; it is another."
            )
        points = tangent_points(self, joint, 1e-6)
        # What satisfies a bound for the population satisfies it for the table too.
        half_spaces = rounded_outward(joint, plain_criterion(criterion), points)
        proof = Proof(
            np.array(self.duals, np.float64),
            np.array(self.spaces, np.int64),
            np.array(self.outputs, np.int64),
            np.array(self.multipliers, np.float64),
        )
        proof.check(len(half_spaces[1]), joint.n_x)
        bound = proven_bound(joint, half_spaces, matrix, proof, keep_law=self.keeps_law)
        return Fraction(self.lower_bound) <= max(bound, Fraction(0))


def certificate_from_dict(saved: dict[str, Any]) -> Certificate:
    """Return the certificate of either kind that `to_dict` described."""
    is_distortion = isinstance(saved, dict) and saved.get("scope") == SCOPE
    return (DistortionCertificate if is_distortion else Certificate).from_dict(saved)


def _reached(joint: Joint, channel: Channel, distance: Floats) -> tuple[float, float]:
    """Return the mean distance of a channel to symbols of X, and how far P(y) is from P(x)."""
    number = {label: x for x, label in enumerate(joint.x_labels)}
    targets = np.array([number[label] for label in channel.y_labels])[channel.entry_outputs]
    masses = joint.p_x[channel.members] * (channel.member_weights / channel.denominator)
    sizes = joint.counts.sum(axis=0).tolist()
    excess = [-size * channel.denominator for size in sizes]
    entries = zip(
        targets.tolist(), channel.members.tolist(), channel.member_weights.tolist(), strict=True
    )
    for y, x, weight in entries:
        excess[y] += sizes[x] * weight
    off = Fraction(sum(map(abs, excess)), 2 * sum(sizes) * channel.denominator)
    return math.fsum(masses * distance[channel.members, targets]), float(off)


def _joined(joint: Joint, bins: tuple[int, ...]) -> Joint:
    """Return the joint of cells from that of their parts."""
    if len(bins) != joint.n_x:
        raise InvalidInput(f"the certificate must have a cell for each of {joint.n_x} symbols.")
    _, of = np.unique(bins, return_inverse=True)
    counts = np.zeros((joint.n_s, int(of.max()) + 1), dtype=joint.counts.dtype)
    np.add.at(counts.T, of, joint.counts.T)
    return Joint.from_counts(counts, joint.s_labels)


def _digest(distance: Floats) -> str:
    return hashlib.sha256(np.ascontiguousarray(distance, dtype="<f8").tobytes()).hexdigest()
