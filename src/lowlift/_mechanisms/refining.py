r"""A second, finer release drawn given the first: both together satisfy a total criterion.

Who holds y1 gets y2 from a channel designed for P(X | y1). As ``l(s; y1, y2) = l(s; y1) l(s; y2 |
y1)``, the pair is allowed when ``P(X | y1, y2)`` lies in the region of the total criterion. So each
y1 is a problem of its own: the same region, and P(X | y1) in place of P(X).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lowlift._arguments import check_instance, check_positive
from lowlift._arrays import Floats
from lowlift._audit import audit
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._deadline import Deadline
from lowlift._exact import largest_remainders
from lowlift._joint import Joint, unwarned
from lowlift._mechanisms.merging import subset_merging
from lowlift._mechanisms.random_response import best_mixture, random_response
from lowlift._mechanisms.refinement import Refinement
from lowlift._release import Release
from lowlift._solver.growing import started
from lowlift._solver.population import LEAST_GAIN, PopulationPolytope
from lowlift._solver.proving import entropy_of, nmi_bound
from lowlift._solver.search import Limits
from lowlift._threads import cores
from lowlift.criteria import (
    Criterion,
    HalfSpaces,
    Population,
    check_criterion,
    criterion_on,
    is_certified,
)
from lowlift.encodings import published
from lowlift.errors import BoundViolated, InvalidInput, SolverFailed
from lowlift.tables.layouts import Layout, Refines

#: A refinement adds at most so many outputs for each symbol of X, those that tell the most.
_MOST_NEW = 4
#: Members of an output of the second release and their whole weights.
_Atom = tuple[list[int], list[int]]


def refine(
    release: Release | Refinement,
    criterion: Criterion,
    *,
    gap: float = 1e-6,
    time_limit: float | None = 60.0,
    jobs: int | None = None,
) -> Refinement:
    """Return a finer release, drawn given the first, such that both satisfy a total criterion.

    Parameters
    ----------
    release
        What was published, or a refinement of it.
    criterion
        The total: what all that is then published must satisfy, against the P(s) of before the
        first release. It must allow all that the first one published.
    gap, time_limit, jobs
        As for `random_response`; the time is for all outputs of the first release together.

    Raises
    ------
    InvalidInput
        For a total budget below that of the first release, a criterion without an exact verdict, or
        a release of rows drawn inside cells: a part of a cell has no rows of its own.
    BoundViolated
        When the first release alone breaks the total criterion.

    Guarantee
        Every pair (y1, y2) satisfies the criterion by the exact audit of whole weights, and the
        weights of the outputs that refine y1 sum to those of y1. So the law of y1 stays what it
        was.

    Cost
        One small problem for each output of the first release, of as many symbols as it has. At
        most 4 |X| outputs are added, where the most is left to say.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], x_labels="abc")
    >>> first = ll.subset_merging(joint, ll.LIP(0.5))
    >>> first.channel.y_labels
    (('a', 'b'), 'c')
    >>> refine(first, ll.LIP(0.7)).release.channel.y_labels
    ('a', 'b', 'c')
    """
    first = release.release if isinstance(release, Refinement) else release
    check_instance(first, Release, "release")
    check_positive(gap, "gap")
    check_positive(math.inf if time_limit is None else time_limit, "time_limit")
    if first.origin is not None and first.origin.encoding:
        if first.origin.cells is not None:
            raise InvalidInput(
                "a release of rows cannot be refined: a refinement publishes codes of parts of "
                "outputs, and its outputs are cells whose rows are published. Publish with bins "
                "instead of cells."
            )
        first = published(first).release
    total = _checked(first, criterion)
    deadline, scale = Deadline(time_limit), MAX_DENOMINATOR // first.channel.denominator
    atoms = [first.channel.atom(y) for y in range(first.channel.n_y)]
    parts = [[(members, [w * scale for w in weights])] for members, weights in atoms]
    entropies = _entropies(first)
    bounds: list[float] = entropies.tolist()  # of outputs that stay as they are
    unsaid = first.audit.p_y * entropies
    order = [y for y in np.argsort(-unsaid, kind="stable").tolist() if len(atoms[y][0]) > 1]
    room = _MOST_NEW * first.joint.n_x
    for done, y in enumerate(order):
        if room <= 0 or deadline.is_over:
            break
        left = None if time_limit is None else max(deadline.left / (len(order) - done), 1e-3)
        parts[y], bounds[y] = _given(first, total, y, parts[y][0][1], (gap, left, jobs))
        room -= len(parts[y]) - 1
    made = _audited(first, total, parts)
    parents = tuple(y for y, atoms in enumerate(parts) for _ in atoms)
    refines = Refines(first.fingerprint, first.channel.y_labels, parents, tuple(bounds))
    return Refinement(replace(made, refines=refines, draws=_draws(first, made.channel, parents)))


def _checked(first: Release, criterion: Criterion) -> Criterion:
    """Return the total criterion for the joint, when it allows all that was published."""
    check_criterion(criterion)
    if not is_certified(criterion):
        raise InvalidInput(
            "a total criterion must have an exact verdict; "
            f"{type(criterion).__name__} has none. Use one of lowlift's."
        )
    before, total = first.criterion, criterion_on(criterion, first.joint)
    is_smaller = total.lower < before.lower or total.upper < before.upper
    if type(total) is type(before) and is_smaller:
        raise InvalidInput(
            f"the total must allow what the first release was allowed; {total} is smaller than "
            f"{before}. What was published cannot be taken back: give a larger budget."
        )
    broken = audit(first.joint, first.channel, total)
    if not broken.is_satisfied:
        raise BoundViolated(
            f"the first release alone does not satisfy {total}: {len(broken.violations)} of "
            f"{first.channel.n_y} outputs break it (leakage {broken.leakage.lower:.4f} below, "
            f"{broken.leakage.upper:.4f} above). Give a larger total."
        )
    return total


class _Given:
    """The total criterion as one on the joint given y1: lifts are multiplied by those of y1."""

    def __init__(self, total: Any, joint: Joint, used: Sequence[int], lift: Floats) -> None:
        self.total, self.joint, self.used, self.first = total, joint, list(used), lift[list(used)]
        self.lower, self.upper = total.lower, total.upper
        self.is_convex = getattr(total, "is_convex", True)
        self.is_polyhedral = getattr(total, "is_polyhedral", False)
        self.is_box = getattr(total, "is_box", False)

    def _lifts(self, lift: Floats) -> Floats:
        """Return lifts against P(s); values of S that y1 ruled out have lift 0."""
        found = np.zeros((self.joint.n_s, lift.shape[1]))
        found[self.used] = lift * self.first[:, None]
        return found

    def leakage(self, lift_sy: Floats, _: Floats) -> Any:
        return self.total.leakage(self._lifts(lift_sy), self.joint.p_s)

    def risk(self, lift_sy: Floats, _: Floats) -> Any:
        return self.total.risk(self._lifts(lift_sy), self.joint.p_s)

    def verdict(self, posterior: Sequence[int], _: Sequence[int]) -> bool:
        every = [0] * self.joint.n_s
        for s, mass in zip(self.used, posterior, strict=True):
            every[s] = mass
        return bool(self.total.verdict(every, self.joint.prior))

    def half_spaces(self, _: Floats) -> HalfSpaces:
        return self._scaled(self.total.half_spaces(self.joint.p_s))

    def cut(self, lift_s: Floats, _: Floats) -> HalfSpaces:
        return self._scaled(self.total.cut(self._lifts(lift_s[:, None])[:, 0], self.joint.p_s))

    def _scaled(self, spaces: HalfSpaces) -> HalfSpaces:
        return HalfSpaces(spaces.normals[:, self.used] * self.first, spaces.offsets)


def _entropies(first: Release) -> Floats:
    """Return H(X | y1) for each output, in nats."""
    p = first.p_x_given_y
    return np.asarray(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=0)).clip(0.0)


def _given(
    first: Release,
    total: Criterion,
    y: int,
    wholes: list[int],
    limits: tuple[float, float | None, int | None],
) -> tuple[list[_Atom], float]:
    """Return how output y is refined, in whole weights, and a bound on what any could add."""
    members, weights = first.channel.atom(y)
    if isinstance(total, Population):
        return _given_population(first, total, y, wholes, limits)
    counts = [
        [n * w for n, w in zip(row, weights, strict=True)]
        for row in first.joint.counts[:, members].tolist()
    ]
    used = [s for s, row in enumerate(counts) if any(row)]
    factor = math.gcd(*(n for row in counts for n in row))
    table = np.array([[n // factor for n in counts[s]] for s in used], object)
    with unwarned():  # one value of S may be left
        joint = Joint.from_counts(table)
    criterion, (gap, seconds, jobs) = (
        _Given(total, first.joint, used, first.audit.lift[:, y]),
        limits,
    )
    is_mixed = criterion.is_convex and hasattr(total, "half_spaces") and hasattr(total, "cut")
    bound = joint.entropy_x
    try:
        if is_mixed:
            found = random_response(joint, criterion, gap=gap, time_limit=seconds, jobs=jobs)
            proven = found.certificate
            bound = joint.entropy_x * (1.0 if proven is None else proven.upper_bound)
        else:
            found = subset_merging(joint, criterion, time_limit=seconds)
    except SolverFailed:  # nothing is added to what y1 says
        return [(members, wholes)], bound
    return _split(found.channel.weights.tolist(), members, wholes), bound


def _given_population(
    first: Release,
    total: Population,
    y: int,
    wholes: list[int],
    limits: tuple[float, float | None, int | None],
) -> tuple[list[_Atom], float]:
    """Return how output y is refined under a total for the population, as `_given` does.

    The pairs are outputs of a channel from x, so the rows of the region are theirs: atoms in it
    that mix to the column of y.
    """
    (members, weights), (gap, seconds, jobs) = first.channel.atom(y), limits
    polytope = PopulationPolytope(first.joint, total, (members, weights))
    entropy = entropy_of(polytope.p_x)
    if polytope.slack < LEAST_GAIN:  # the output lies on the bound
        return [(members, wholes)], entropy
    deadline = started(seconds, total, "search")
    found = best_mixture(
        polytope, [range(len(members))], Limits(gap, deadline, jobs or cores(), None, entropy)
    )
    bound = entropy * min(1.0, nmi_bound(polytope.p_x, found.duals, found.floor))
    shares = np.zeros((len(members), max(1, len(found.atoms))))
    for k, (mass, (used, parts)) in enumerate(found.atoms):
        shares[used, k] = mass * np.asarray(parts) / polytope.p_x[used]
    if not (shares.sum(axis=1) > 0).all():  # no mixture was found in time
        return [(members, wholes)], bound
    rows = np.rint(shares / shares.sum(axis=1, keepdims=True) * MAX_DENOMINATOR)
    return _split(rows.astype(np.int64).tolist(), members, wholes), bound


def _split(shares: list[list[int]], members: list[int], wholes: list[int]) -> list[_Atom]:
    """Divide the weight of each member among outputs, by its row of shares."""
    found: list[_Atom] = [([], []) for _ in shares[0]]
    for x, whole, row in zip(members, wholes, shares, strict=True):
        used = [k for k, share in enumerate(row) if share]
        parts = largest_remainders([row[k] for k in used], whole)
        for k, part in zip(used, parts, strict=True):
            if part:
                found[k][0].append(x)
                found[k][1].append(int(part))
    return [atom for atom in found if atom[0]]


def _audited(first: Release, total: Criterion, parts: list[list[_Atom]]) -> Release:
    """Return the release of the pairs; outputs that rounding broke are joined until none is."""
    joint = first.joint
    if joint.origin is not None and joint.origin.encoding:
        joint = joint.with_table(replace(joint.origin, encoding="codes"))
    while True:
        atoms = [atom for part in parts for atom in part]
        channel = Channel.from_atoms(joint, atoms, MAX_DENOMINATOR)
        made = Release.of(joint, channel, total, mechanism="refine")
        if made.audit.is_satisfied:
            return made
        start = 0
        for part in parts:
            allowed = made.audit.allowed[start : start + len(part)].tolist()
            start += len(part)
            if not all(allowed):
                _fold(part, allowed, made.audit.p_y[start - len(part) : start].tolist())


def _fold(part: list[_Atom], allowed: list[bool], masses: list[float]) -> None:
    """Join the smallest output that is not allowed with the largest that is, or all of them."""
    if any(allowed):
        small = min((k for k, ok in enumerate(allowed) if not ok), key=masses.__getitem__)
        large = max((k for k, ok in enumerate(allowed) if ok), key=masses.__getitem__)
        joined = [part[small], part[large]]
        kept = [atom for k, atom in enumerate(part) if k not in {small, large}]
    else:
        joined, kept = list(part), []
    weights = dict[int, int]()
    for members, each in joined:
        for x, weight in zip(members, each, strict=True):
            weights[x] = weights.get(x, 0) + weight
    part[:] = [*kept, (list(weights), list(weights.values()))]


def _draws(first: Release, channel: Channel, parents: Sequence[int]) -> Layout | None:
    """Return the pieces of the first release's draws, cut; None without columns to draw by."""
    if first.origin is None or not first.origin.encoding:
        return None
    before = first.draws
    if before is None:
        before = Layout.of_alias(first.channel, published(first).key_scope)
    return before.cut(channel, parents)
