"""Mechanisms as the paper prints them, where its figures were made with others."""

import math
from dataclasses import dataclass

import numpy as np

from lowlift._arrays import Floats
from lowlift._audit import risky_symbols
from lowlift._joint import Joint
from lowlift._mechanisms.merging import release_blocks, subset_merging
from lowlift._mechanisms.watchdog import watchdog
from lowlift._release import Release
from lowlift._solver.growing import grower_for, repaired
from lowlift.criteria import ALIP, LDP, Criterion
from lowlift.errors import InvalidInput


def literal_loop(joint: Joint, criterion: Criterion) -> Release:
    """Run Algorithm 1 with line 4 as printed: the loop ends once what is left is allowed whole.

    What is left then is one block, so a high-risk set that is allowed whole is merged completely.
    """
    risky = risky_symbols(joint, criterion)
    left, alone = risky.nonzero()[0].tolist(), [[x] for x in (~risky).nonzero()[0].tolist()]
    grower, blocks = grower_for(joint, criterion), list[list[int]]()
    risk = criterion.risk(joint.lift, joint.p_s)
    while left and not grower.holds(left):
        first = max(left, key=lambda x: risk[x])
        left.remove(first)
        block, pool = [first], grower.pool([[x] for x in left])
        grower.absorb(block, pool)
        left = [x for group in pool.rest() for x in group]
        blocks.append(block)
    if left or not blocks:
        blocks += [left] if left else []
        return release_blocks(joint, criterion, [*blocks, *alone], "literal_loop")
    return release_blocks(joint, criterion, repaired(grower, blocks, alone), "literal_loop")


def unrepaired_merging(joint: Joint, criterion: Criterion) -> Release:
    """Run Algorithm 1 without its last loop: the last block may violate, and the audit says so."""
    risky = risky_symbols(joint, criterion)
    alone = [[x] for x in (~risky).nonzero()[0].tolist()]
    high = risky.nonzero()[0].tolist()
    blocks = grower_for(joint, criterion).cover(high)[0] if high else []
    return release_blocks(joint, criterion, [*blocks, *alone], "unrepaired_merging")


def literal_test(joint: Joint, criterion: Criterion) -> Release:
    """Run the unrepaired watchdog with the LDP test as printed: Gamma > eps, not e**eps."""
    if not isinstance(criterion, LDP):
        raise InvalidInput(f"criterion must be an LDP; got {criterion}.")
    if criterion.epsilon < 1:  # Gamma is 1 or more: every symbol is high-risk
        return release_blocks(joint, criterion, [list(range(joint.n_x))], "literal_test")
    found = watchdog(joint, LDP(math.log(criterion.epsilon)), repair=False)
    return _judged(found, criterion)


def _judged(found: Release, criterion: Criterion) -> Release:
    """Return a release made for another criterion, audited by this one."""
    return Release.of(
        found.joint,
        found.channel,
        criterion,
        partition=found.partition,
        mechanism=found.mechanism,
    )


@dataclass(frozen=True)
class _WithRisk:
    """ALIP, ordered by another risk; not a built-in criterion, so merging asks it."""

    inner: ALIP
    is_max: bool

    @property
    def lower(self) -> float:
        return self.inner.lower

    @property
    def upper(self) -> float:
        return self.inner.upper

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        return self.inner.leakage(lift_sy, p_s)

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:  # noqa: ARG002 (the protocol's)
        low, high = lift_sy.min(axis=0), lift_sy.max(axis=0)
        if not self.is_max:
            return np.asarray(high + low)
        with np.errstate(divide="ignore"):
            return np.asarray(np.minimum(np.maximum(np.log(high), -np.log(low)), 1e6))


def _reordered(joint: Joint, criterion: Criterion, is_max: bool) -> Release:
    if not isinstance(criterion, ALIP):
        raise InvalidInput(f"criterion must be an ALIP; got {criterion}.")
    return _judged(subset_merging(joint, _WithRisk(criterion, is_max)), criterion)


def printed_risk(joint: Joint, criterion: Criterion) -> Release:
    """Run subset merging with ALIP's risk as printed: Lambda + Psi."""
    return _reordered(joint, criterion, is_max=False)


def printed_lip_risk(joint: Joint, criterion: Criterion) -> Release:
    """Run subset merging with LIP's risk as printed: the larger of log Lambda and |log Psi|."""
    return _reordered(joint, criterion, is_max=True)
