"""What the watchdogs of LDP and of ALIP keep at the same budget: Proposition 2."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy.typing as npt

from lowlift.criteria import ALIP, LDP
from lowlift.joint import Joint
from lowlift.mechanisms.watchdog import watchdog
from lowlift.paper.propositions.enclosures import DOUBT, LEAST, Ends, exact_slack, log, weighted
from lowlift.paper.propositions.measures import Table

__all__ = ["kept", "kept_more", "told"]


def kept(
    counts: npt.ArrayLike, epsilon: float, lam: float, repair: bool
) -> list[tuple[float, list[int]]]:
    """Return I(X;Y) in nats and the masses of the outputs, of LDP's and of ALIP's watchdog."""
    joint, found = Joint.from_counts(counts), list[tuple[float, list[int]]]()
    p_x = joint.counts.sum(axis=0).tolist()
    for criterion in (LDP(epsilon), ALIP.split(epsilon, lam)):
        release = watchdog(joint, criterion, repair=repair)
        blocks = (release.channel.atom(y)[0] for y in range(release.channel.n_y))
        masses = sorted(sum(p_x[x] for x in block) for block in blocks)
        found.append((release.audit.mutual_information, masses))
    return found


def kept_more(pair: Sequence[tuple[float, Sequence[int]]]) -> float:
    """Return by how much the first keeps more than the second, with an exact sign."""
    (ldp, ldp_masses), (alip, alip_masses) = pair
    if ldp - alip > DOUBT:
        return ldp - alip
    if ldp_masses == alip_masses:
        return 0.0
    # I(X;Y) = H(Y) = log n - sum n_y log n_y / n: the smaller sum keeps more.
    slack = exact_slack(lambda bits: (_log_sum(ldp_masses, bits), _log_sum(alip_masses, bits)))
    return slack / sum(ldp_masses) or math.copysign(LEAST, slack)


def told(run: tuple[Table, float, float], repair: bool) -> str:
    """Return a run (counts, epsilon, lam) and what both watchdogs keep in one line."""
    counts, epsilon, lam = run
    (ldp, _), (alip, _) = kept(counts, epsilon, lam, repair)
    return (
        f"counts {counts}, ε = {epsilon:g}, λ = {lam:g}: LDP keeps {ldp:.4f} nats, ALIP {alip:.4f}"
    )


def _log_sum(masses: Sequence[int], bits: int) -> Ends:
    return weighted([Fraction(n) for n in masses], [log(Fraction(n), bits) for n in masses])
