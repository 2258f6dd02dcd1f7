"""The search for the release of least distortion: program, tangents, integer weights, proof."""

import math

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._deadline import Deadline
from lowlift._distortion.certificate import DistortionCertificate
from lowlift._distortion.program import Multipliers, Plan, Program
from lowlift._distortion.proof import Proof, proven_bound, rounded_outward
from lowlift._distortion.region import Region, is_beyond_floats, spaces_of, tangents_at
from lowlift._distortion.weights import channel_of
from lowlift._exact import largest_remainders
from lowlift._joint import Joint
from lowlift._release import Release
from lowlift.criteria import Criterion, HalfSpaces, leakage_of
from lowlift.criteria.averaged import TotalVariation

#: By how much the region is shrunk so that rounding stays inside: the next where one fails.
_PRECISE_SHRINKS, _SHRINKS = (1e-9, 1e-7, 1e-5, 1e-3), (1e-4, 1e-3, 1e-2)
#: Tangents need more: they come near the region's boundary, but not onto it.
_TANGENT_SHRINKS = (1e-6, 1e-5, 1e-4, 1e-3)
#: Shares of the release that ignores x, mixed in where rounding breaks the bound all the same.
_MIXTURES = (1e-6, 1e-4, 1e-3, 1e-2, 0.1)
#: Rounds of tangents for criteria that are no polytopes.
_MOST_ROUNDS = 25
#: Lifts outside by less than this, in all, are left to rounding.
_BROKEN = 1e-6
#: Seconds per symbol that rounding, audit and proof take.
_AFTERWARDS = 2e-3


class Search:
    """The search for one joint, criterion and matrix of distances.

    Parameters
    ----------
    joint, criterion
        What the release is for; the criterion is convex.
    distance
        (|X|, |X|), inf for pairs that are not allowed.
    keep_law
        Whether P(y) must equal P(x).
    gap
        When to stop, relative to the distance.
    deadline
        When to stop in any case.
    """

    def __init__(
        self,
        joint: Joint,
        criterion: Criterion,
        distance: Floats,
        keep_law: bool,
        gap: float,
        deadline: Deadline,
    ) -> None:
        self.joint, self.criterion, self.distance = joint, criterion, distance
        self.keep_law, self.gap = keep_law, gap
        self.whole, self.deadline = deadline, deadline.earlier(_AFTERWARDS * joint.n_x)
        self.spaces = spaces_of(criterion, joint.p_s)
        self.region = Region.of(self.spaces, joint.p_s)
        # The l1 distance of more than three values has more half-spaces than pairs and faces.
        is_whole = joint.n_s <= 3 or not isinstance(criterion, TotalVariation)
        self.is_polyhedral = getattr(criterion, "is_polyhedral", False) and is_whole
        self.sizes = [int(n) for n in joint.counts.sum(axis=0).tolist()]
        #: Lift vectors at which tangents were taken, of which outputs, and the tangents.
        self.points = np.zeros((0, joint.n_s))
        self.outputs = np.zeros(0, np.int64)
        self.tangents = HalfSpaces(np.zeros((0, joint.n_s)), np.zeros(0))
        self.best = Multipliers(
            np.zeros(joint.n_x), np.zeros((len(self.region.low), joint.n_x)), np.zeros(0)
        )
        self.bound = -math.inf
        self.is_stopped = self.is_unsolved = False

    def release(self) -> Release | None:
        """Return the release; None where no channel of the allowed pairs satisfies the criterion.

        Without a limit on distances there always is one: the release that ignores x.
        """
        plan = None
        if is_beyond_floats(self.joint, self.criterion):
            return self._mixed(None)
        shrinks = _PRECISE_SHRINKS if self.gap < 1e-4 else _SHRINKS
        if not self.is_polyhedral and self.gap < 1e-4:
            shrinks = _TANGENT_SHRINKS
        for shrink in shrinks:
            plan = self._plan(shrink)
            self.is_unsolved = plan is None
            if plan is None or plan.broken > _BROKEN:
                break
            release = self._rounded(plan.rows, plan.columns, plan.masses)
            if release.audit.is_satisfied:
                return release
        self.is_stopped = self.is_stopped or self.deadline.is_over
        return self._mixed(plan) if np.isfinite(self.distance).all() else None

    def _plan(self, shrink: float) -> Plan | None:
        """Solve the program; where the criterion is no polytope, with tangents until it holds."""
        joint = self.joint
        program = Program(
            joint.p_x, joint.lift, self.region.shrunk(shrink), self.distance, keep_law=self.keep_law
        )
        program.cut(self.outputs, self.tangents, shrink)
        plan = None
        for _ in range(_MOST_ROUNDS):
            found = program.solve(self.gap, self.deadline)
            if found is None:
                break
            plan = found
            if plan.bound > self.bound:
                self.bound, self.best = plan.bound, plan.multipliers
            if self.is_polyhedral:
                break
            lifts = self._lifts(plan)
            low, high = leakage_of(self.criterion, lifts, joint.p_s)
            outside = np.flatnonzero((low > self.criterion.lower) | (high > self.criterion.upper))
            at, spaces = tangents_at(self.criterion, lifts, joint.p_s, outside)
            if not len(at) or self.deadline.is_over:
                break
            self.outputs = np.concatenate([self.outputs, at])
            self.points = np.concatenate([self.points, lifts[:, at].T])
            both = zip(self.tangents, spaces, strict=True)
            self.tangents = HalfSpaces(*(np.concatenate(parts) for parts in both))
            program.cut(at, spaces, shrink)
        self.is_stopped = self.deadline.is_over
        return plan

    def _lifts(self, plan: Plan) -> Floats:
        """Return the lifts of the outputs, (|S|, |X|); 1 where an output never occurs."""
        m, p_s_given_x = self.joint.n_x, self.joint.p_s_given_x
        masses = np.array(
            [np.bincount(plan.columns, plan.masses * row[plan.rows], m) for row in p_s_given_x]
        )
        totals = masses.sum(axis=0)
        used = totals > 0
        out = np.ones_like(masses)
        out[:, used] = masses[:, used] / totals[used] / self.joint.p_s[:, None]
        return out

    def _rounded(self, rows: Ints, columns: Ints, masses: Floats) -> Release:
        """Return the release of a plan as integer weights, audited."""
        allowed = np.isfinite(self.distance)
        channel = channel_of(
            self.joint, rows, columns, masses, allowed=allowed, keep_law=self.keep_law
        )
        return Release.of(self.joint, channel, self.criterion, mechanism="least_distortion")

    def _mixed(self, plan: Plan | None) -> Release:
        """Return the plan mixed with the release that ignores x, whose lifts are all 1."""
        m, p = self.joint.n_x, self.joint.p_x
        rows, columns = np.divmod(np.arange(m * m), m)
        ignoring = np.outer(p, p).ravel()
        if plan is not None:
            pairs = plan.rows * m + plan.columns
            found = np.bincount(pairs, plan.masses, m * m).astype(np.float64)
            for share in _MIXTURES:
                release = self._rounded(rows, columns, (1 - share) * found + share * ignoring)
                if release.audit.is_satisfied:
                    return release
        # Equal rows have lift 1 exactly, whatever the budget; the law is off by the rounding.
        shares = largest_remainders(self.sizes, MAX_DENOMINATOR)
        used = np.flatnonzero(shares)
        labels = [self.joint.x_labels[x] for x in used.tolist()]
        channel = Channel(np.tile(np.array(shares)[used], (m, 1)), self.joint.x_labels, labels)
        return Release.of(self.joint, channel, self.criterion, mechanism="least_distortion")

    def certificate(
        self, release: Release, limit: float | None, stopped_after: float | None
    ) -> DistortionCertificate:
        """Return the bound that the best multipliers prove, in whole numbers."""
        joint, best = self.joint, self.best
        by_space = self.region.spaces_multipliers(best.lifts, len(self.spaces.offsets))
        spaces, outputs = np.nonzero(by_space)
        values = by_space[spaces, outputs]
        tight = np.flatnonzero(best.tangents > 0)
        points = self.points[tight]
        # Here a half-space bounds sum_c (a . l(c) - o) w(c, d), in the program it has p_d o aside.
        room = self.spaces.offsets - self.spaces.normals.sum(axis=1)
        proof = Proof(
            best.law - room @ by_space,
            np.concatenate([spaces, len(by_space) + np.arange(len(tight))]),
            np.concatenate([outputs, self.outputs[tight]]),
            np.concatenate([values, best.tangents[tight]]),
        )
        half_spaces = rounded_outward(joint, self.criterion, points)
        bound = proven_bound(joint, half_spaces, self.distance, proof, keep_law=self.keep_law)
        return DistortionCertificate.made(
            joint,
            release.channel,
            self.distance,
            proof,
            bound,
            gap=self.gap,
            keeps_law=self.keep_law,
            limit=limit,
            tangents=tuple(map(tuple, points.tolist())),
            stopped_after=stopped_after,
        )
