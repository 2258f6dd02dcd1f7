"""Least distortion: publish symbols of X that are as near as the criterion allows.

Where `random_response` keeps the most information, this keeps values: each symbol becomes itself
or a near one, and, unless asked otherwise, each symbol is published as often as it occurs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from lowlift._arguments import check_positive
from lowlift._arrays import Floats
from lowlift._deadline import Deadline, check_time_limit
from lowlift._distortion.distances import Distance, distances_of, limited
from lowlift._joint import Joint, check_joint
from lowlift._mechanisms.distortion_search import Search
from lowlift._mechanisms.population_distortion import PopulationSearch
from lowlift._mechanisms.random_response import check_convex
from lowlift._release import Release
from lowlift.criteria import Criterion, Population
from lowlift.errors import Infeasible, InvalidInput, SolverFailed

#: Up to so many symbols the program is solved to the last digit, beyond to a hundredth.
_PRECISE_SYMBOLS, _FINE_GAP, _COARSE_GAP = 600, 1e-6, 0.01


def least_distortion(
    joint: Joint,
    criterion: Criterion,
    distance: Distance = None,
    *,
    keep_law: bool = True,
    limit: float | None = None,
    weights: Mapping[str, float] | Sequence[float] | None = None,
    gap: float | None = None,
    time_limit: float | None = 60.0,
) -> Release:
    """Return the release of symbols of X whose mean distance from the true ones is least.

    Solves ``min sum P(x) P(y|x) D(x, y)`` over all channels from X to X that satisfy the criterion
    by a linear program, and proves by its dual how small the distance can be.

    Parameters
    ----------
    joint
        P(s, x).
    criterion
        LIP, ALIP, MaxLift, LDP; L1Lift and Chi2Lift with ``lower=math.inf``, AlphaLift; or your own
        with ``half_spaces`` and ``cut``.
    distance
        D(x, y): an array (|X|, |X|), inf where x must not become y; a function of two labels; or a
        mapping of columns to arrays, which are averaged. Default: the share of the label's parts
        (of columns, where a label has several) that differ; of a table's columns with bins and of
        dates the difference of ranks instead, scaled to 0..1.
    keep_law
        Publish each symbol as often as it occurs: P(y) = P(x), exactly.
    limit
        No symbol becomes one that is further away.
    weights
        One number per column, what its distance counts; for a mapping, or labels of several parts.
    gap
        Stop when the proven bound is this close, relative to the distance. Default: 1e-6 up to
        600 symbols, 0.01 beyond.
    time_limit
        Seconds; then the best so far is returned, and the certificate's `stopped_after` says so.
        None: no limit.

    Returns
    -------
    Release
        With a `DistortionCertificate`: `distortion` and `lower_bound`, and what is needed to prove
        the bound anew (`verify_certificate`).

    Raises
    ------
    Infeasible
        When no channel within `limit` satisfies the criterion; the message says from which limit on
        there is one.
    InvalidInput
        For a distance or weights that do not fit, or a criterion that is not convex.

    Guarantee
        The release satisfies the criterion by the exact audit of its integer weights. No channel
        from X to X that satisfies it (and keeps the law) has a mean distance below the bound; for
        `Population` the bound is that of the table's criterion, which is not tight.

    Cost
        O(|X|**2 |S|) a round of prices, and linear programs of about 20 |X| pairs.

    Examples
    --------
    >>> from lowlift.criteria import LIP
    >>> joint = Joint.from_counts([[4, 3, 2, 1], [1, 2, 3, 4]], x_labels=[20, 30, 40, 50])
    >>> release = least_distortion(joint, LIP(0.3), lambda x, y: abs(x - y))
    >>> release.certificate.distortion.__round__(3), release.certificate.is_optimal
    (4.26, True)
    >>> release.audit.p_y
    array([0.25, 0.25, 0.25, 0.25])
    """
    check_joint(joint)
    check_convex(criterion)
    check_time_limit(time_limit)
    if not isinstance(keep_law, bool):
        raise InvalidInput(f"keep_law must be True or False; got {type(keep_law).__name__}.")
    matrix = distances_of(joint, distance, weights)
    if limit is not None:
        matrix = limited(matrix, limit)
    if gap is None:
        gap = _FINE_GAP if joint.n_x <= _PRECISE_SYMBOLS else _COARSE_GAP
    check_positive(gap, "gap")
    deadline = Deadline(time_limit)
    search = _search(joint, criterion, matrix, keep_law, gap, deadline)
    release = search.release()
    if release is None:
        if search.is_unsolved:
            raise SolverFailed(
                "no release within the limit was found in time. Raise time_limit or limit."
            )
        whole = distances_of(joint, distance, weights)
        _refuse(joint, criterion, whole, keep_law, deadline, limit or 0.0)
    certificate = search.certificate(release, limit, time_limit if search.is_stopped else None)
    # Its outputs are values of X: there is no other channel to publish them by.
    return replace(release, certificate=certificate, is_encoded=True)


def _search(joint: Joint, criterion: Criterion, *more: Any) -> Search:
    """Return the search for a bound for the table, or for the population."""
    if isinstance(criterion, Population):
        return PopulationSearch(joint, criterion, *more)
    return Search(joint, criterion, *more)


def _refuse(
    joint: Joint,
    criterion: Criterion,
    matrix: Floats,
    keep_law: bool,
    deadline: Deadline,
    limit: float,
) -> NoReturn:
    """Say that no channel was found within the limit, and from which limit on there is one."""
    ends = np.unique(matrix[np.isfinite(matrix) & (matrix > limit)])
    low, high = 0, len(ends) - 1  # the largest allows the release that ignores x
    while low < high and not deadline.is_over:
        middle = (low + high) // 2
        tried = _search(joint, criterion, limited(matrix, ends[middle]), keep_law, 0.1, deadline)
        low, high = (low, middle) if tried.release() is not None else (middle + 1, high)
    nearest = f"; the nearest limit for which there is one is {ends[high]:.6g}" if len(ends) else ""
    # For the population, some channels that satisfy it are not looked at.
    does = "was found to satisfy" if isinstance(criterion, Population) else "satisfies"
    raise Infeasible(
        f"no channel that moves symbols by at most {limit:g} {does} {criterion}{nearest}."
    )
