"""Proven upper bounds on what any mechanism can keep of X, and how to check them again.

A mechanism is a set of atoms (mass beta, posterior v) with ``sum beta v = P_X``, each v in the
polytope Pi that the criterion allows, and keeps ``I(X;Y) = H(X) - sum beta H(v)``. So for any pi::

    I(X;Y) = H(X) - pi . P_X - sum beta (H(v) - pi . v)
          <= H(X) - pi . P_X - min over Pi of (H(v) - pi . v)

`prove_floor` bounds that minimum from below by branch and bound. Nothing here knows how pi was
found, so a bound can be checked by whoever has the joint, the criterion and pi.
"""

import json
import math
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np

from lowlift._arguments import check_instance
from lowlift._arrays import Floats
from lowlift._deadline import Deadline
from lowlift._display import card
from lowlift._files import read_json, refusing_damage
from lowlift._guarantees import stopped_note
from lowlift._joint import Joint, check_joint
from lowlift._kernels.compilation import prepare
from lowlift._rounding import ceiling, percent_at_most
from lowlift._solver.classes import Classes
from lowlift._solver.polytope import Polytope
from lowlift._solver.population import PopulationPolytope
from lowlift._solver.proving import coordinate_bounds, information_bound, prove_floor
from lowlift._solver.search import State
from lowlift._threads import cores
from lowlift.criteria import BuiltIn, Criterion, Population, check_criterion
from lowlift.errors import InvalidInput
from lowlift.schemas import check

__all__ = ["Certificate", "State", "verify_certificate"]

_FORMAT, _VERSION = "lowlift-certificate", 1


@dataclass(frozen=True)
class Certificate:
    """What is proven about the best that could be reached, and what is needed to check it.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint, criterion = ll.datasets.titanic(), ll.ALIP(0.5, 0.5)
    >>> certificate = ll.random_response(joint, criterion).certificate
    >>> certificate.scope, certificate.is_optimal, certificate.proven
    ('mechanisms', True, 'at most 89.6%')
    >>> ll.verify_certificate(joint, criterion, certificate)
    True
    """

    #: Among what the bound holds: "partitions", or "mechanisms" for every mechanism there is.
    scope: str
    #: No member of the scope that satisfies the criterion has a larger NMI.
    upper_bound: float
    #: Whether the release reaches the bound, up to the gap asked for.
    is_optimal: bool
    #: The bound less the NMI of the release.
    gap: float = math.nan
    #: pi, and a proven lower bound of ``H(v) - pi . v`` over the allowed posteriors v.
    duals: tuple[float, ...] = ()
    floor: float = 0.0
    #: Nodes of branch and bound that it took.
    nodes: int = 0
    #: Lift vectors at which tangents of a convex criterion were taken.
    tangents: tuple[tuple[float, ...], ...] = field(default=(), repr=False)
    #: Seconds after which the search was stopped; None when it ended by itself.
    stopped_after: float | None = None
    #: Where nearly equal columns were joined, the bin of each symbol: the floor is then proven for
    #: bins, at budgets raised by the spread of their log-lifts. Empty: nothing was joined.
    bins: tuple[int, ...] = field(default=(), repr=False)

    @property
    def is_stopped(self) -> bool:
        """Whether more time might have found a better release, or a tighter bound."""
        return self.stopped_after is not None

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write what a third party needs, with joint and criterion, to check the bound."""
        saved = {"format": _FORMAT, "version": _VERSION, **self.to_dict()}
        Path(path).write_text(json.dumps(saved, allow_nan=False), encoding="utf-8")

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values; a gap that is not known is None."""
        return asdict(self) | {"gap": None if math.isnan(self.gap) else self.gap}

    @classmethod
    def from_dict(cls, saved: dict[str, Any]) -> Self:
        """Return the certificate that `to_dict` described."""
        check(saved, "release", "certificate")
        stopped = saved.get("stopped_after")  # files written before there was one have none
        try:
            return cls(
                scope=saved["scope"],
                upper_bound=float(saved["upper_bound"]),
                is_optimal=saved["is_optimal"],
                gap=math.nan if saved["gap"] is None else float(saved["gap"]),
                duals=tuple(map(float, saved["duals"])),
                floor=float(saved["floor"]),
                nodes=saved["nodes"],
                tangents=tuple(tuple(map(float, point)) for point in saved["tangents"]),
                stopped_after=None if stopped is None else float(stopped),
                bins=tuple(saved.get("bins", ())),
            )
        except OverflowError as error:
            raise InvalidInput("this is no certificate (OverflowError).") from error

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Self:
        """Read a certificate; `verify_certificate` checks it."""
        saved = read_json(path, "certificate", _VERSION)
        with refusing_damage(Path(path).name):
            return cls.from_dict({k: v for k, v in saved.items() if k not in {"format", "version"}})

    def is_proven(
        self,
        joint: Joint,
        criterion: Criterion,
        distance: Any = None,  # noqa: ARG002 (of a bound on distances)
        weights: Any = None,  # noqa: ARG002 (the same)
        *,
        time_limit: float = 600.0,
    ) -> bool:
        """Prove the bound anew; see `verify_certificate`, which checks its arguments first."""
        return _is_proven(self, joint, criterion, time_limit)

    @property
    def proven(self) -> str:
        """The bound in words, rounded up."""
        share = percent_at_most(self.upper_bound) if self.upper_bound < math.inf else "100%"
        return f"at most {share}" + (" for merging" if self.scope == "partitions" else "")

    def _repr_html_(self) -> str:
        """Return the bound and how it was proven, as a notebook shows them."""
        gap = "not known" if math.isnan(self.gap) else ceiling(self.gap)
        return card(
            f"Certificate for all {self.scope}",
            word="optimal" if self.is_optimal else "not proven optimal",
            tone="good" if self.is_optimal else "plain",
            text=stopped_note(self) or "",
            facts=[
                ("Proven", f"{self.proven} of the information is kept (NMI)"),
                ("Bound less what the release keeps", gap),
                ("Nodes of branch and bound", f"{self.nodes:,}"),
            ],
        )


def verify_certificate(
    joint: Joint,
    criterion: Criterion,
    certificate: Certificate,
    *,
    distance: Any = None,
    weights: Any = None,
    time_limit: float = 600.0,
) -> bool:
    """Prove the certificate's bound anew, from the joint, the criterion and its duals alone.

    Parameters
    ----------
    joint, criterion
        What the bound is claimed for.
    certificate
        Of scope "mechanisms", or "distortion" (of `least_distortion`).
    distance, weights
        As they were given to `least_distortion`.
    time_limit
        Seconds; a bound that is not proven by then counts as not verified.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint, criterion = ll.Joint.random(3, 6, seed=0), ll.LIP(0.3)
    >>> release = ll.random_response(joint, criterion)
    >>> ll.verify_certificate(joint, criterion, release.certificate)
    True
    """
    check_joint(joint)
    check_criterion(criterion)
    check_instance(certificate, Certificate, "certificate")
    return certificate.is_proven(joint, criterion, distance, weights, time_limit=time_limit)


def _is_proven(
    certificate: Certificate, joint: Joint, criterion: Criterion, time_limit: float
) -> bool:
    if certificate.scope != "mechanisms":
        raise InvalidInput(
            'only a certificate of scope "mechanisms", or one of least_distortion, can be '
            f"verified; got one of scope {certificate.scope!r}."
        )
    pi = np.array(certificate.duals)
    numbers = [certificate.upper_bound, certificate.floor, *pi.flat]
    if not np.isfinite(numbers).all():
        raise InvalidInput("the certificate's bound, floor and duals must be finite numbers.")
    if certificate.upper_bound >= 1:
        return True  # NMI is at most 1
    if pi.shape != (joint.n_x,):
        raise InvalidInput(f"the certificate must have {joint.n_x} duals; got {pi.size}.")
    if isinstance(criterion, Population):
        classes, polytope = _for_population(joint, criterion, certificate)
    else:
        classes = Classes(joint)
        if certificate.bins:
            classes, criterion = _binned(joint, criterion, certificate.bins)
        polytope = Polytope(classes.joint, criterion)
        polytope.cut(tangent_points(certificate, classes.joint, 1e-9).T)
    claimed = information_bound(joint.p_x, pi, certificate.floor)
    if not claimed / joint.entropy_x <= certificate.upper_bound:  # or it is no number
        return False
    prepare("pairs" if polytope.is_line else "search")  # compiling is no part of the time limit
    deadline = Deadline(time_limit)
    # H(v) - pi . v is least where the symbol with the largest pi has all of its class.
    proof = prove_floor(
        polytope,
        classes.largest(pi),
        certificate.floor,
        coordinate_bounds(polytope, cores(), deadline),
        jobs=cores(),
        is_over=lambda: deadline.is_over,
    )
    return proof.floor >= certificate.floor


def tangent_points(certificate: Certificate, joint: Joint, room: float) -> Floats:
    """Return the lift vectors at which tangents were taken, (t, |S|).

    Far from the lifts there are, a tangent computed in floats may cut into the region.
    """
    ends = joint.lift.min(axis=1) - room, joint.lift.max(axis=1) + room
    return _tangents(certificate, *ends, "lift vectors of the joint")


def _tangents(certificate: Certificate, low: Floats, high: Floats, what: str) -> Floats:
    """Return the certificate's tangents; refuse those that do not lie between these vectors."""
    try:
        points = np.array(certificate.tangents, dtype=np.float64).reshape(-1, len(low))
        is_inside = bool(((points >= low) & (points <= high)).all())
    except ValueError:
        is_inside = False
    if not is_inside:
        raise InvalidInput(f"the certificate's tangents must be {what}.")
    return points


def _for_population(
    joint: Joint, criterion: Population, certificate: Certificate
) -> tuple[Classes, Polytope]:
    """Return symbols each in a class of its own, and the polytope with the certificate's cuts."""
    ends = np.full(joint.n_x, -1e-9), (1 + 1e-9) / joint.p_x
    polytope = PopulationPolytope(joint, criterion)
    polytope.cut(_tangents(certificate, *ends, "columns of a channel").T)
    return Classes(joint, np.arange(joint.n_x)), polytope


def _binned(joint: Joint, criterion: Criterion, bins: tuple[int, ...]) -> tuple[Classes, Criterion]:
    """Return the bins as classes, and the criterion that each mechanism on X gives them."""
    if len(bins) != joint.n_x:
        raise InvalidInput(f"the certificate must have a bin for each of {joint.n_x} symbols.")
    _, of = np.unique(bins, return_inverse=True)
    classes = Classes(joint, of.reshape(-1))
    spread = classes.spread
    if not (isinstance(criterion, BuiltIn) and spread < math.inf):
        raise InvalidInput("the certificate's bins must join nearly equal columns.")
    return classes, criterion.shifted(spread)
