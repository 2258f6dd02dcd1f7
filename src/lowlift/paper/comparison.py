"""Our means against the printed points: deviations, what chance allows, and a verdict."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift.paper.density import lifts_of
from lowlift.paper.experiments import Experiment, Series
from lowlift.paper.runs import Sweep

#: What a printed mean may be off by at the paper's number of joints; leakages at 100 joints are
#: judged by their standard error instead.
_TOLERANCE = {"nmi": 0.015, "max_lift_leakage": 0.03, "min_lift_leakage": 0.15}
_NMI_TOLERANCE = {
    **dict.fromkeys([(7, "alip-0.5"), (7, "l1-0.5"), (7, "l1-0.65")], 0.025),
    **dict.fromkeys([(7, "chi2-0.5"), (7, "chi2-0.65")], 0.025),
    (5, "srr"): 0.03,
    (6, "srr"): 0.01,
    (6, "subset-merging"): 0.02,
}
#: How many standard errors of the difference of two means are put down to chance.
STANDARD_ERRORS = 4.0
#: Joints over which the spread of X's own leakage is taken.
OWN_JOINTS = 2000
#: The smallest deviation of a leakage that is called one: curves are printed to about this.
_RESOLUTION = 0.005


_SRR = (
    "From ε=2.5 on the printed SRR keeps more than AORR, which is the optimum, and it ends at the "
    "leakages of subset merging: it cannot be Algorithm 2 within its bound."
)
_CHI2 = (
    "Printed leakages at the smallest budgets exceed what Propositions 4 and 6 allow, so the "
    "releases behind them break the bound."
)
_MERGING = (
    "The printed min-lift leakage of subset merging at large budgets is about .05 above every rule "
    "we tried for high-risk sets that must take in low-risk symbols."
)
_ALPHA = (
    "Printed leakages exceed what Propositions 4 and 6 allow; Algorithm 1 without its last loop, "
    "which breaks the bound, comes near them."
)


def explanation(figure: int, series: str, quantity: str, epsilon: float) -> str:
    """Return why a printed point cannot be right, if a reason is known."""
    if quantity == "seconds":
        return ""
    if figure == 5 and series == "srr" and epsilon >= 2.5:
        return _SRR
    if figure == 7 and series.startswith("chi2") and epsilon <= 1.0:
        return _CHI2
    if quantity == "min_lift_leakage" and series in {"alip-0.5", "subset-merging"}:
        return _MERGING if epsilon >= 3.5 and figure != 2 else ""
    return _ALPHA if figure == 8 and series.startswith("alpha") else ""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One series of one panel beside its printed points."""

    series: Series
    quantity: str
    #: The budgets at which both are there.
    epsilons: Floats
    ours: Floats
    theirs: Floats
    #: The deviation that is put down to chance and to reading the curve.
    allowed: Floats
    #: What is known about each point.
    notes: tuple[str, ...]

    @property
    def deviation(self) -> Floats:
        """Our mean minus the printed value, per point."""
        return self.ours - self.theirs

    @property
    def largest(self) -> float:
        """The largest absolute deviation; NaN when nothing is printed."""
        return float(np.abs(self.deviation).max()) if len(self.epsilons) else math.nan

    @property
    def mean(self) -> float:
        """The mean absolute deviation."""
        return float(np.abs(self.deviation).mean()) if len(self.epsilons) else math.nan

    @property
    def is_off(self) -> Bools:
        """Per point, whether the deviation is more than is allowed."""
        return np.abs(self.deviation) > self.allowed

    @property
    def verdict(self) -> str:
        """One of "agrees", "differs", "other machine" (seconds) and "not printed"."""
        if not len(self.epsilons):
            return "not printed"
        if self.quantity == "seconds":
            return "other machine"
        return "differs" if self.is_off.any() else "agrees"

    @property
    def where(self) -> str:
        """The budgets at which it differs, in words."""
        off = self.epsilons[self.is_off].tolist()
        if not off:
            return ""
        return f"ε={off[0]:g}" if len(off) == 1 else f"{len(off)} points, ε={off[0]:g}–{off[-1]:g}"

    @property
    def reason(self) -> str:
        """Say why points are off, or for seconds how much faster ours are."""
        if self.quantity == "seconds" and len(self.epsilons):
            ratio = float(np.median(self.theirs / self.ours))
            return (
                f"The printed seconds, from another machine, are {ratio:.2g} times ours (median)."
            )
        found = dict.fromkeys(self.notes[k] for k in self.is_off.nonzero()[0])
        return " ".join(note or "No reading that we know explains it." for note in found)


def compare(experiment: Experiment, sweep: Sweep, quantity: str) -> Comparison:
    """Set the means of a sweep beside the printed points of its series."""
    series, points = sweep.series, experiment.printed(sweep.series.name, quantity)
    at = [k for k, e in enumerate(sweep.epsilons.tolist()) if e in points]
    epsilons = sweep.epsilons[at]
    return Comparison(
        series,
        quantity,
        epsilons,
        sweep.mean(quantity)[at],
        np.array([points[e] for e in epsilons.tolist()]),
        _allowed(experiment, sweep, quantity)[at],
        tuple(explanation(experiment.number, series.name, quantity, e) for e in epsilons.tolist()),
    )


def _allowed(experiment: Experiment, sweep: Sweep, quantity: str) -> Floats:
    """Return, per budget, the stated tolerance, or what chance allows where that is the measure."""
    size = len(sweep.epsilons)
    if quantity == "seconds":
        return np.full(size, np.inf)
    fixed = _TOLERANCE[quantity]
    if quantity == "nmi":
        fixed = _NMI_TOLERANCE.get((experiment.number, sweep.series.name), fixed)
    is_whole = sweep.joints >= experiment.joints
    if is_whole and (quantity == "nmi" or experiment.joints >= 1000):
        return np.full(size, fixed)
    spread = _spread(experiment, sweep, quantity)
    error = spread * math.sqrt(1 / sweep.joints + 1 / experiment.joints)
    floor = _RESOLUTION if is_whole else fixed
    return np.asarray(np.maximum(_quantile(sweep.joints) * error, floor))


@functools.cache
def _quantile(joints: int) -> float:
    """Return how many standard errors, estimated from so many joints, are as rare as 4 true ones.

    Student's t; fewer than 10 joints, as in a short run, count as 10.
    """
    from scipy import stats

    return float(stats.t.isf(stats.norm.sf(STANDARD_ERRORS), max(10, joints) - 1))


def _spread(experiment: Experiment, sweep: Sweep, quantity: str) -> Floats:
    """Return the standard deviation over joints, per budget.

    Most releases use a budget up, so a small sample may show no spread at all where a few joints
    in a hundred stay below. X's own leakage cut at the budget shows how many do.
    """
    sample = np.nan_to_num(sweep.spread(quantity))
    if quantity == "nmi":
        return sample
    side = ("min_lift_leakage", "max_lift_leakage").index(quantity)
    own = _own_leakages(experiment.n_s, experiment.n_x)[side]
    criteria = map(sweep.series.notion, sweep.epsilons.tolist())
    cut = [np.minimum(own, (bound.lower, bound.upper)[side]).std() for bound in criteria]
    return np.asarray(np.maximum(sample, cut))


@functools.cache
def _own_leakages(n_s: int, n_x: int) -> tuple[Floats, Floats]:
    """Return min-lift and max-lift leakage of X itself over random joints."""
    lift = lifts_of(np.random.default_rng(0).random((OWN_JOINTS, n_s, n_x)))
    return -np.log(lift.min(axis=(1, 2))), np.log(lift.max(axis=(1, 2)))
