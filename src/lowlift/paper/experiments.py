"""What each figure of the paper plots: joints, budgets, mechanisms, and what we add to it."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from lowlift._mechanisms.merging import subset_merging
from lowlift._mechanisms.optimal_merging import optimal_merging
from lowlift._mechanisms.random_response import random_response
from lowlift._mechanisms.subset_random_response import subset_random_response
from lowlift._mechanisms.watchdog import watchdog
from lowlift._sweeps import Mechanism
from lowlift.criteria import ALIP, LDP, AlphaLift, Chi2Lift, Criterion, L1Lift
from lowlift.errors import InvalidInput
from lowlift.paper import points, variants

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
    #: Whether the paper's own points can be set beside it.
    is_printed: bool = True

    def printed(self, series: str, quantity: str) -> Mapping[float, float]:
        """Return the printed values of a series by epsilon; empty where there are none."""
        return points.printed(self.number, series, quantity) if self.is_printed else {}


def _alip(lam: float, prefix: str, mechanism: str, label: str) -> Series:
    return Series(f"{prefix}-{lam}", f"{label} λ={lam}", mechanism, Notion("alip", lam))


def _pointwise(mechanism: str, lambdas: tuple[float, ...]) -> tuple[Series, ...]:
    alip = (_alip(lam, "alip", mechanism, "ALIP") for lam in lambdas)
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


#: The figures that have one lambda.
_ONE_LAMBDA = (5, 6, 8)
_LAMBDAS = (0.35, 0.5, 0.65)


@dataclass(frozen=True)
class Setup:
    """Where a run departs from the paper; what is None or empty is the paper's.

    Attributes
    ----------
    n_s, n_x
        The sizes of S and X.
    lambdas
        The shares of the budget on the lower side; one for Figures 5, 6 and 8.
    alphas
        The orders of Figure 8.
    """

    n_s: int | None = None
    n_x: int | None = None
    lambdas: tuple[float, ...] = ()
    alphas: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("s", self.n_s), ("x", self.n_x)):
            if value is not None and (type(value) is not int or value < 2):
                raise InvalidInput(f"{name} must be a whole number, 2 or more; got {value!r}.")
        for name, values in (("lambdas", self.lambdas), ("alphas", self.alphas)):
            if len(set(values)) < len(values):
                raise InvalidInput(f"{name} must differ; one occurs twice.")
        if not all(0 < lam < 1 for lam in self.lambdas):
            raise InvalidInput(f"lambdas must lie between 0 and 1; got {list(self.lambdas)}.")
        if not all(1 < alpha < math.inf for alpha in self.alphas):
            raise InvalidInput(f"alphas must be above 1 and finite; got {list(self.alphas)}.")

    @property
    def is_papers(self) -> bool:
        """Whether nothing departs from the paper."""
        return self == PAPERS


PAPERS = Setup()


@functools.cache
def experiment_of(number: int, setup: Setup = PAPERS) -> Experiment:
    """Return what a figure plots under a setup."""
    if number in _ONE_LAMBDA and len(setup.lambdas) > 1:
        raise InvalidInput(
            f"Figure {number} takes one lambda; got {len(setup.lambdas)}. "
            "Figures 2, 3, 4 and 7 take several."
        )
    if setup.alphas and number != 8:
        raise InvalidInput(f"Figure {number} has no alpha. Figure 8 does.")
    builders = (_figure_2, _figure_3, _figure_4, _figure_5, _figure_6, _figure_7, _figure_8)
    found = builders[number - 2](setup)
    n_s, n_x = setup.n_s or found.n_s, setup.n_x or found.n_x
    title = found.title.format(n_s=n_s, n_x=n_x)
    return replace(found, n_s=n_s, n_x=n_x, title=title, is_printed=setup.is_papers)


def _main(lambdas: tuple[float, ...]) -> float:
    """Return the lambda that markers and readings have."""
    return 0.5 if 0.5 in lambdas else lambdas[0]


def _figure_2(setup: Setup) -> Experiment:
    lambdas = setup.lambdas or _LAMBDAS
    lam = _main(lambdas)
    return Experiment(
        2,
        "Watchdog with complete merging",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        _pointwise("complete merging", lambdas),
        readings=(
            _reading("repaired", "complete merging, repaired", f"alip-{lam}", Notion("alip", lam)),
            _reading("gamma", "complete merging, Γ > ε", "ldp", Notion("ldp")),
        ),
    )


def _figure_3(setup: Setup) -> Experiment:
    return Experiment(
        3,
        "Optimal random response (AORR)",
        *(5, 17, 100, _BUDGETS, _LEAKAGES),
        tuple(_alip(lam, "aorr", "random response", "AORR") for lam in setup.lambdas or _LAMBDAS),
    )


def _figure_4(setup: Setup) -> Experiment:
    lambdas = setup.lambdas or _LAMBDAS
    lam = _main(lambdas)
    return Experiment(
        4,
        "Watchdog with subset merging",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        _pointwise("subset merging", lambdas),
        _best(lam, f"alip-{lam}"),
        tuple(
            _reading(name, mechanism, f"alip-{lam}", Notion("alip", lam))
            for name, mechanism in (
                ("loop", "subset merging, literal loop"),
                ("risk", "subset merging, ω = Λ + Ψ"),
                ("max", "subset merging, ω = max"),
            )
        ),
    )


def _figure_5(setup: Setup) -> Experiment:
    lam = _main(setup.lambdas or (0.65,))
    notion = Notion("alip", lam)
    return Experiment(
        5,
        f"AORR, subset random response and subset merging, λ={lam}",
        *(5, 17, 100, _BUDGETS, (*_LEAKAGES, "seconds")),
        (
            Series("aorr", "AORR", "random response", notion),
            Series("srr", "SRR", "subset random response", notion),
            Series("subset-merging", "subset merging", "subset merging", notion),
        ),
        _best(lam),
    )


def _figure_6(setup: Setup) -> Experiment:
    lam = _main(setup.lambdas or (0.5,))
    notion = Notion("alip", lam)
    return Experiment(
        6,
        "Subset random response and subset merging at |X|={n_x}, |S|={n_s}",
        *(15, 200, 10, _BUDGETS[3:], (*_LEAKAGES, "seconds")),
        (
            Series("srr", "SRR", "subset random response", notion),
            Series("subset-merging", "subset merging", "subset merging", notion),
        ),
        _best(lam),
        (_reading("max", "subset merging, ω = max", "subset-merging", notion),),
        marker_joints=1,
        marker_epsilons=(1.0, 2.0, 4.0, 8.0),
    )


def _figure_7(setup: Setup) -> Experiment:
    lambdas = setup.lambdas or (0.5, 0.65)
    lam = _main(lambdas)
    l1, chi2 = (
        tuple(
            Series(f"{kind}-{share}", f"{label} λ={share}", "subset merging", Notion(kind, share))
            for share in lambdas
        )
        for kind, label in (("l1", "ℓ1"), ("chi2", "χ²"))
    )
    at = lambdas.index(lam)
    return Experiment(
        7,
        "Subset merging under ALIP, ℓ1- and χ²-privacy",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        (_alip(lam, "alip", "subset merging", "ALIP"), *l1, *chi2),
        (
            _responses(l1[at], f"ℓ1 λ={lam}, random response, upper side only", True),
            _responses(chi2[at], f"χ² λ={lam}, random response, upper side only", True),
        ),
        (_reading("unrepaired", "subset merging, unrepaired", chi2[at].name, chi2[at].notion),),
    )


def _figure_8(setup: Setup) -> Experiment:
    lam = _main(setup.lambdas or (0.5,))
    alpha = tuple(
        Series(f"alpha-{a:g}", f"α-lift, α={a:g}", "subset merging", Notion("alpha", lam, float(a)))
        for a in setup.alphas or (2, 10, 100)
    )
    some = alpha[min(1, len(alpha) - 1)]
    return Experiment(
        8,
        "Subset merging under ALIP and α-lift-privacy",
        *(5, 17, 1000, _BUDGETS, _LEAKAGES),
        (_alip(lam, "alip", "subset merging", "ALIP"), *alpha),
        tuple(_responses(series, f"{series.label}, random response") for series in alpha),
        (_reading("unrepaired", "subset merging, unrepaired", some.name, some.notion),),
    )


EXPERIMENTS: Mapping[int, Experiment] = MappingProxyType(
    {number: experiment_of(number) for number in range(2, 9)}
)
