"""What each figure of the paper plots: joints, budgets, mechanisms, and what we add to it."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from lowlift._mechanisms.merging import subset_merging
from lowlift._mechanisms.optimal_merging import optimal_merging
from lowlift._mechanisms.random_response import random_response
from lowlift._mechanisms.subset_random_response import subset_random_response
from lowlift._mechanisms.watchdog import watchdog
from lowlift._sweeps import Mechanism
from lowlift.criteria import ALIP, LDP, AlphaLift, Chi2Lift, Criterion, L1Lift
from lowlift.paper import variants

#: What is plotted, in the order of the panels.
QUANTITIES: Mapping[str, str] = MappingProxyType(
    {
        "nmi": "NMI, I(X;Y)/H(X)",
        "min_lift_leakage": "min-lift leakage (nats)",
        "max_lift_leakage": "max-lift leakage (nats)",
        "seconds": "seconds per release",
    }
)
#: The panels by their titles.
TITLES: Mapping[str, str] = MappingProxyType(
    {
        "nmi": "Utility",
        "min_lift_leakage": "Min-lift leakage",
        "max_lift_leakage": "Max-lift leakage",
        "seconds": "Time",
    }
)
_LEAKAGES = ("nmi", "min_lift_leakage", "max_lift_leakage")
_BUDGETS = tuple(k / 4 for k in range(1, 33))
#: The gap at which the proven optima of the added markers stop.
GAP = 1e-5

_MECHANISMS: Mapping[str, Mechanism] = MappingProxyType(
    {
        "complete merging": functools.partial(watchdog, repair=False),
        "complete merging, repaired": watchdog,
        "complete merging, Γ > ε": variants.literal_test,
        "subset merging": subset_merging,
        "subset merging, literal loop": variants.literal_loop,
        "subset merging, ω = Λ + Ψ": variants.printed_risk,
        "subset merging, ω = max": variants.printed_lip_risk,
        "subset merging, unrepaired": variants.unrepaired_merging,
        "random response": functools.partial(random_response, jobs=1),
        "subset random response": subset_random_response,
    }
)


def mechanism_for(name: str, seconds: float) -> Mechanism:
    """Return the mechanism by its name; searches that add to the paper stop after `seconds`."""
    if name == "optimal merging":
        return functools.partial(optimal_merging, time_limit=seconds)
    if name == "proven random response":
        return functools.partial(random_response, jobs=1, gap=GAP, time_limit=seconds)
    return _MECHANISMS[name]


@dataclass(frozen=True)
class Notion:
    """A privacy notion as a function of the LDP budget epsilon that its budgets add up to."""

    kind: str
    lam: float = 0.5
    alpha: float = math.inf
    is_one_sided: bool = False

    def __call__(self, epsilon: float) -> Criterion:
        """Return the criterion with budgets ``lam * epsilon`` and ``(1 - lam) * epsilon``."""
        if self.kind == "ldp":
            return LDP(epsilon)
        if self.kind == "alpha":
            return AlphaLift.split(self.alpha, epsilon, self.lam)
        kinds: dict[str, type[ALIP | L1Lift | Chi2Lift]]
        kinds = {"alip": ALIP, "l1": L1Lift, "chi2": Chi2Lift}
        kind = kinds[self.kind]
        if self.is_one_sided:
            return kind(math.inf, (1 - self.lam) * epsilon)
        return kind.split(epsilon, self.lam)


@dataclass(frozen=True)
class Series:
    """One curve: a mechanism under a notion. `name` is that of the printed points, if any."""

    name: str
    label: str
    mechanism: str
    notion: Notion
    #: For a marker or a reading: the curve it is to be compared with.
    beside: str = ""


@dataclass(frozen=True)
class Experiment:
    """One figure of the paper, and what is added to it."""

    number: int
    title: str
    n_s: int
    n_x: int
    #: Joints over which the paper takes means; 10 is our guess for Figure 6, which does not say.
    joints: int
    epsilons: tuple[float, ...]
    quantities: tuple[str, ...]
    curves: tuple[Series, ...]
    #: What the paper does not have, on 5 joints and 8 budgets.
    markers: tuple[Series, ...] = ()
    #: The printed reading of what the figure cannot have been made with.
    readings: tuple[Series, ...] = ()
    marker_joints: int = 5
    marker_epsilons: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 8.0)
    seconds: float = 30.0


def _alip(lam: float, prefix: str, mechanism: str, label: str) -> Series:
    return Series(f"{prefix}-{lam}", f"{label} λ={lam}", mechanism, Notion("alip", lam))


def _pointwise(mechanism: str) -> tuple[Series, ...]:
    alip = (_alip(lam, "alip", mechanism, "ALIP") for lam in (0.35, 0.5, 0.65))
    return (Series("ldp", "LDP", mechanism, Notion("ldp")), *alip)


def _best(lam: float, beside: str = "subset-merging") -> tuple[Series, ...]:
    notion = Notion("alip", lam)
    return (
        Series("best-merging", "optimal merging", "optimal merging", notion, beside),
        Series("best", "random response", "proven random response", notion, beside),
    )


def _reading(name: str, mechanism: str, beside: str, notion: Notion) -> Series:
    return Series(name, mechanism, mechanism, notion, beside)


def _responses(series: Series, label: str, is_one_sided: bool = False) -> Series:
    notion = Notion(series.notion.kind, series.notion.lam, series.notion.alpha, is_one_sided)
    return Series(f"best-{series.name}", label, "proven random response", notion, series.name)


_L1 = tuple(
    Series(f"l1-{lam}", f"ℓ1 λ={lam}", "subset merging", Notion("l1", lam)) for lam in (0.5, 0.65)
)
_CHI2 = tuple(
    Series(f"chi2-{lam}", f"χ² λ={lam}", "subset merging", Notion("chi2", lam))
    for lam in (0.5, 0.65)
)
_ALPHA = tuple(
    Series(f"alpha-{a}", f"α-lift, α={a}", "subset merging", Notion("alpha", 0.5, float(a)))
    for a in (2, 10, 100)
)
#: ALIP with equal budgets, and with more of the budget on the lower side.
_HALF, _MOSTLY_LOWER = Notion("alip", 0.5), Notion("alip", 0.65)
_ALIP = _alip(0.5, "alip", "subset merging", "ALIP")

_FIGURES = (
    Experiment(
        2,
        "Watchdog with complete merging",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        _pointwise("complete merging"),
        readings=(
            _reading("repaired", "complete merging, repaired", "alip-0.5", _HALF),
            _reading("gamma", "complete merging, Γ > ε", "ldp", Notion("ldp")),
        ),
    ),
    Experiment(
        3,
        "Optimal random response (AORR)",
        *(5, 17, 100, _BUDGETS, _LEAKAGES),
        tuple(_alip(lam, "aorr", "random response", "AORR") for lam in (0.35, 0.5, 0.65)),
    ),
    Experiment(
        4,
        "Watchdog with subset merging",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        _pointwise("subset merging"),
        _best(0.5, "alip-0.5"),
        tuple(
            _reading(name, mechanism, "alip-0.5", _HALF)
            for name, mechanism in (
                ("loop", "subset merging, literal loop"),
                ("risk", "subset merging, ω = Λ + Ψ"),
                ("max", "subset merging, ω = max"),
            )
        ),
    ),
    Experiment(
        5,
        "AORR, subset random response and subset merging, λ=0.65",
        *(5, 17, 100, _BUDGETS, (*_LEAKAGES, "seconds")),
        (
            Series("aorr", "AORR", "random response", _MOSTLY_LOWER),
            Series("srr", "SRR", "subset random response", _MOSTLY_LOWER),
            Series("subset-merging", "subset merging", "subset merging", _MOSTLY_LOWER),
        ),
        _best(0.65),
    ),
    Experiment(
        6,
        "Subset random response and subset merging at |X|=200, |S|=15",
        *(15, 200, 10, _BUDGETS[3:], (*_LEAKAGES, "seconds")),
        (
            Series("srr", "SRR", "subset random response", _HALF),
            Series("subset-merging", "subset merging", "subset merging", _HALF),
        ),
        _best(0.5),
        (_reading("max", "subset merging, ω = max", "subset-merging", _HALF),),
        marker_joints=1,
        marker_epsilons=(1.0, 2.0, 4.0, 8.0),
    ),
    Experiment(
        7,
        "Subset merging under ALIP, ℓ1- and χ²-privacy",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        (_ALIP, *_L1, *_CHI2),
        (
            _responses(_L1[0], "ℓ1 λ=0.5, random response, upper side only", True),
            _responses(_CHI2[0], "χ² λ=0.5, random response, upper side only", True),
        ),
        (_reading("unrepaired", "subset merging, unrepaired", "chi2-0.5", Notion("chi2")),),
    ),
    Experiment(
        8,
        "Subset merging under ALIP and α-lift-privacy",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        (_ALIP, *_ALPHA),
        tuple(_responses(series, f"{series.label}, random response") for series in _ALPHA),
        (_reading("unrepaired", "subset merging, unrepaired", "alpha-10", _ALPHA[1].notion),),
    ),
)
EXPERIMENTS: Mapping[int, Experiment] = MappingProxyType(
    {experiment.number: experiment for experiment in _FIGURES}
)
