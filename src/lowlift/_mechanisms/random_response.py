"""The optimal random response: the best that a convex criterion allows, with a proven bound."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from lowlift._arguments import check_callable, check_positive
from lowlift._arrays import Ints
from lowlift._audit import risky_symbols
from lowlift._certificates import Certificate
from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._deadline import Deadline
from lowlift._joint import Joint
from lowlift._mechanisms.merging import release_blocks
from lowlift._population.rows import population_region
from lowlift._release import Release
from lowlift._solver.classes import Classes, Mixture
from lowlift._solver.growing import kept_by, merge_subsets, started
from lowlift._solver.polytope import Polytope
from lowlift._solver.population import LEAST_GAIN, PopulationPolytope
from lowlift._solver.proving import entropy_of, nmi_bound
from lowlift._solver.search import Limits, Outcome, State
from lowlift._solver.unit_lift import unit_lift_channel
from lowlift._threads import cores
from lowlift.criteria import AtMost, BuiltIn, Criterion, Population, check_criterion
from lowlift.errors import InvalidInput

#: Seconds per symbol of X that rounding and the audit take, after the search.
AFTERWARDS = 1e-4
#: Beyond this many different columns, nearly equal ones are joined too.
_MOST_CLASSES = 2000
#: What is folded into an output at once is at most this part of it.
_TRIFLE = 1e-6
#: Up to this many symbols, merging them all is so short that it is always compared with.
_ALWAYS_MERGED = 2000
#: Beyond, a release this close to the bound is not compared with merging.
_CLOSE = 1e-4


def random_response(
    joint: Joint,
    criterion: Criterion,
    *,
    gap: float = 1e-6,
    time_limit: float | None = 60.0,
    jobs: int | None = None,
    progress: Callable[[State], object] | None = None,
) -> Release:
    """Return the best mechanism that satisfies a convex criterion, and a bound on all others.

    Solves ``min sum beta H(v)`` over atoms v of ``Pi = {v : lift of v in the region}`` with
    ``sum beta v = P_X`` (AORR, equation 12; ORR for LIP and LDP) by column generation, and proves
    by branch and bound how much any mechanism could keep.

    Parameters
    ----------
    joint
        P(s, x).
    criterion
        LIP, ALIP, MaxLift, LDP, L1Lift and Chi2Lift with ``lower=math.inf``, AlphaLift; or your own
        with ``half_spaces`` and ``cut``.
    gap
        Stop when the proven bound on NMI is this close.
    time_limit
        Seconds; then the best so far is returned with the bound so far, and the certificate's
        `stopped_after` says so. None: no limit.
    jobs
        Threads; default: all cores. A result stopped by `gap` does not depend on it.
    progress
        Called with a `State` (columns, nmi, bound, seconds); returning False stops the search.

    Returns
    -------
    Release
        With a certificate of scope "mechanisms": `upper_bound`, `gap`, and what is needed to prove
        the bound anew (`verify_certificate`).

    Raises
    ------
    InvalidInput
        For a criterion that is not convex, or gap or time_limit not positive.

    Guarantee
        The release satisfies the criterion by the exact audit of its integer weights; it is never
        below `subset_merging`, beyond 2000 symbols by no more than `gap` or 1e-4. At most |X|
        outputs. The bound holds for every mechanism.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> release = random_response(Joint.random(5, 17, seed=0), LIP(0.5))
    >>> round(release.audit.nmi, 5), release.certificate.gap <= 1e-6
    (0.84951, True)
    """
    check_convex(criterion)
    check_callable(progress, "progress")
    check_positive(gap, "gap")
    check_positive(math.inf if time_limit is None else time_limit, "time_limit")
    if jobs is not None and (not isinstance(jobs, int) or jobs < 1):
        raise InvalidInput(f"jobs must be a whole number, 1 or more; got {jobs!r}.")
    if not risky_symbols(joint, criterion).any():
        certificate = Certificate("mechanisms", 1.0, is_optimal=True, gap=0.0)
        alone = [[x] for x in range(joint.n_x)]
        return release_blocks(joint, criterion, alone, "random_response", certificate)
    is_line = joint.n_s == 2 and not isinstance(criterion, Population)
    whole = started(time_limit, criterion, "pairs" if is_line else "search")
    deadline = whole.earlier(AFTERWARDS * joint.n_x)
    if math.isinf(joint.lift_error):  # cells so small that no float polytope can be trusted
        blocks, is_stopped = merge_subsets(joint, criterion, deadline=deadline)
        trivial = Certificate(
            "mechanisms", 1.0, is_optimal=False, stopped_after=time_limit if is_stopped else None
        )
        return release_blocks(joint, criterion, blocks, "random_response", trivial)
    # For the population, symbols with the same shares of S are known with different precision.
    apart = np.arange(joint.n_x) if isinstance(criterion, Population) else None
    classes = Classes(joint, apart)
    limits = Limits(gap, deadline, jobs or cores(), progress, entropy_of(joint.p_x))
    start, found = _searched(classes.joint, criterion, limits)
    duals = found.duals[classes.of]
    upper_bound = min(1.0, nmi_bound(joint.p_x, duals, found.floor))
    release = _mixed(joint, criterion, classes.split(found.atoms), whole)
    is_short = joint.n_x <= _ALWAYS_MERGED
    if release is None or is_short or upper_bound - release.audit.nmi > max(gap, _CLOSE):
        others = [] if start is None else [classes.blocks(start)]
        if start is None or classes.joint is not joint:  # symbols may do better than classes
            others.append(merge_subsets(joint, criterion, deadline=whole)[0])
        blocks = max(others, key=lambda other: kept_by(joint, other))
        if release is None or release.audit.mutual_information < kept_by(joint, blocks):
            release = release_blocks(joint, criterion, blocks, "random_response")
    reached = upper_bound - release.audit.nmi
    stopped_after = None
    if found.is_stopped and reached > gap:
        stopped_after = time_limit if deadline.is_over else deadline.elapsed
    certificate = Certificate(
        "mechanisms",
        upper_bound,
        is_optimal=reached <= gap,
        gap=reached,
        duals=tuple(duals.tolist()),
        floor=found.floor,
        nodes=found.nodes,
        tangents=found.tangents,
        stopped_after=stopped_after,
        bins=() if found.bins is None else tuple(found.bins[classes.of].tolist()),
    )
    return release.with_certificate(certificate)


def _searched(
    joint: Joint, criterion: Criterion, limits: Limits
) -> tuple[list[list[int]] | None, Outcome]:
    """Return what the search began with, if it was merging, and what it found."""
    if isinstance(criterion, Population):
        return _searched_for_population(joint, criterion, limits)
    is_large = joint.n_s > 2 and joint.n_x > _MOST_CLASSES
    if is_large and isinstance(criterion, BuiltIn) and not isinstance(criterion, AtMost):
        from lowlift._solver.nearly_equal import optimise_bins

        found = optimise_bins(joint, criterion, limits)
        if found is not None:
            return None, found
    start = None
    if joint.n_s > 2:
        start, _ = merge_subsets(joint, criterion, deadline=limits.deadline)
    return start, best_mixture(Polytope(joint, criterion), start or [], limits)


def _searched_for_population(
    joint: Joint, criterion: Population, limits: Limits
) -> tuple[list[list[int]], Outcome]:
    """Return the merged blocks, and what a search that starts from them found."""
    start, _ = merge_subsets(joint, criterion, deadline=limits.deadline)
    gains = population_region(joint, criterion).floats[2]
    if gains.min(initial=1.0) < LEAST_GAIN:  # hardly any output but a constant one is allowed
        return start, Outcome([], 1.0, np.zeros(joint.n_x), -math.log(joint.n_x), 0, (), False)
    return start, best_mixture(PopulationPolytope(joint, criterion), start, limits)


def _mixed(
    joint: Joint, criterion: Criterion, atoms: Mixture, deadline: Deadline
) -> Release | None:
    """Return the mixture as a release that is allowed; None where rounding leaves none."""
    candidates = [round_atoms(joint, criterion, atoms, "random_response", deadline)]
    # Where hardly any lift but 1 is allowed, rounding would break the bound.
    if atoms and min(criterion.lower, criterion.upper) < 1e-6:
        channel = unit_lift_channel(joint, atoms, deadline)
        candidates.append(Release.of(joint, channel, criterion, mechanism="random_response"))
    allowed = [other for other in candidates if other and other.audit.is_satisfied]
    return max(allowed, key=lambda other: other.audit.nmi, default=None)


def best_mixture(polytope: Polytope, blocks: Sequence[Sequence[int]], limits: Limits) -> Outcome:
    """Return atoms of the polytope that mix to P_X, and a bound on what any could reach.

    `blocks` are an allowed partition of its symbols; not needed where S has two values.
    """
    if polytope.is_line:
        from lowlift._solver import binary

        return binary.optimise(polytope, limits)
    from lowlift._solver import column_generation

    return column_generation.optimise(polytope, blocks, limits)


def check_convex(criterion: Criterion) -> None:
    """Refuse a criterion that is not convex, or that cannot say where it ends."""
    check_criterion(criterion)
    if not getattr(criterion, "is_convex", True):
        raise InvalidInput(
            f"drawing values by chance needs a convex criterion; {criterion} is not: mixing two "
            "allowed outputs can break its lower (lift-inverse) side. Use lower=math.inf, ALIP or "
            "AlphaLift, or a merging mechanism."
        )
    if not (hasattr(criterion, "half_spaces") and hasattr(criterion, "cut")):
        raise InvalidInput(
            "drawing values by chance needs the criterion's half_spaces and cut; "
            f"{type(criterion).__name__} has not both. Use a merging mechanism."
        )


def round_atoms(
    joint: Joint, criterion: Criterion, atoms: Mixture, mechanism: str, deadline: Deadline
) -> Release | None:
    """Return the atoms as integer weights that pass the exact audit; None if they do not in time.

    Each row P(y|x) is rounded to a denominator of 2**48, and the rest goes to its largest entry. An
    output too small to survive that is folded into a larger one, which convexity allows.
    """
    entries = _rounded(joint, atoms)
    while len(entries.outputs):
        release = Release.of(joint, _channel_of(joint, entries), criterion, mechanism=mechanism)
        verdict = release.audit
        if verdict.is_satisfied:
            return release
        if deadline.is_over or not verdict.allowed.any():
            return None
        failing, p_y = np.flatnonzero(~verdict.allowed), verdict.p_y
        large = int(np.argmax(np.where(verdict.allowed, p_y, -1.0)))
        # The smallest that fails, with others that are next to nothing in the largest.
        failing = failing[np.argsort(p_y[failing])]
        count = max(1, int(np.searchsorted(np.cumsum(p_y[failing]), _TRIFLE * p_y[large])))
        entries = _folded(joint, entries, failing[:count], large)
    return None


class _Entries(NamedTuple):
    """The positive weights of a channel, by output: of which symbol, and how much."""

    outputs: Ints
    members: Ints
    weights: Ints


def _rounded(joint: Joint, atoms: Mixture) -> _Entries:
    """Return whole weights of the atoms; none when a symbol is in no atom.

    Any that sum to the denominator for each symbol will do: the audit decides. Where S has two
    values, each but the largest of a symbol is rounded to the side that moves the lift of its
    output toward 1.
    """
    none = _Entries(*np.zeros((3, 0), np.int64))
    if not atoms:
        return none
    sizes = [len(members) for _, (members, _) in atoms]
    outputs = np.repeat(np.arange(len(atoms)), sizes)
    members = np.concatenate([members for _, (members, _) in atoms])
    shares = np.concatenate([shares for _, (_, shares) in atoms])
    masses = np.repeat([beta for beta, _ in atoms], sizes) * shares
    totals = np.bincount(members, masses, joint.n_x)
    if not (totals > 0).all():
        return none
    weights = np.floor(masses * (MAX_DENOMINATOR / totals[members])).astype(np.int64)
    if joint.n_s == 2:
        line = joint.lift[np.argmax(np.ptp(joint.lift, axis=1))]
        lifts = np.bincount(outputs, shares * line[members])[outputs]
        weights += (line[members] - lifts) * (1 - lifts) > 0
    # Of each symbol the last in this order is the largest, the first of equal ones.
    order = np.lexsort((-np.arange(len(masses)), masses, members))
    largest = order[np.flatnonzero(np.diff(members[order], append=-1))]
    sums = np.zeros(joint.n_x, np.int64)
    np.add.at(sums, members, weights)
    weights[largest] += MAX_DENOMINATOR - sums[members[largest]]
    kept = weights > 0
    # Numbers without gaps, as those of the channel are: an output may have lost all its weights.
    _, outputs = np.unique(outputs[kept], return_inverse=True)
    return _Entries(outputs, members[kept], weights[kept])


def _folded(joint: Joint, entries: _Entries, small: Ints, large: int) -> _Entries:
    """Return the entries with some outputs made part of a large one."""
    outputs = np.where(np.isin(entries.outputs, small), large, entries.outputs)
    _, outputs = np.unique(outputs, return_inverse=True)
    keys, place = np.unique(outputs * joint.n_x + entries.members, return_inverse=True)
    weights = np.zeros(len(keys), np.int64)
    np.add.at(weights, place, entries.weights)
    return _Entries(keys // joint.n_x, keys % joint.n_x, weights)


def _channel_of(joint: Joint, entries: _Entries) -> Channel:
    _, sizes = np.unique(entries.outputs, return_counts=True)
    return Channel.from_entries(joint, sizes, entries.members, entries.weights, MAX_DENOMINATOR)
