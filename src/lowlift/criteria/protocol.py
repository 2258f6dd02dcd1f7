"""What a criterion knows: the protocol, and what the built-in ones share."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    NamedTuple,
    Protocol,
    Self,
    overload,
    runtime_checkable,
)

import numpy as np

from lowlift._arrays import Bools, Floats
from lowlift.errors import InvalidInput

#: What one zero lift adds to a risk, when the lower side enters it: more than any finite part.
ZERO_RISK = 1e6

#: The relative error allowed to the platform's log and exp; real ones are 2**10 times better.
_LIBM = 2.0**-40


class HalfSpaces(NamedTuple):
    """The lift vectors l with ``normals @ l <= offsets``."""

    normals: Floats
    offsets: Floats


@runtime_checkable
class Criterion(Protocol):
    """What every criterion knows; bring your own by giving it these.

    Three more methods are used when they are there:

    - ``verdict(posterior, prior) -> bool``: the exact verdict on one output, from whole numbers
      proportional to P(s, y) and to P(s). Without it the verdict is made of floats, and audits
      say ``is_certified == False``.
    - ``half_spaces(p_s) -> HalfSpaces``: half-spaces that hold on the whole (convex) region.
    - ``cut(lift_s, p_s) -> HalfSpaces``: for a lift vector outside the region, half-spaces that
      hold on the region, at least one of which that vector violates.

    Examples
    --------
    A bound on the Kullback-Leibler divergence D(P(s|y) || P(s)), float only:

    >>> import lowlift as ll
    >>> class Divergence:
    ...     lower, upper = math.inf, 0.05
    ...     def leakage(self, lift_sy, p_s):
    ...         logs = np.log(np.where(lift_sy > 0, lift_sy, 1.0))
    ...         divergence = p_s @ (lift_sy * logs)
    ...         return np.zeros_like(divergence), divergence
    ...     def risk(self, lift_sy, p_s):
    ...         return self.leakage(lift_sy, p_s)[1]
    >>> release = ll.subset_merging(ll.Joint.random(3, 8, seed=1), Divergence())
    >>> release.audit.is_satisfied, release.audit.is_certified
    (True, False)
    """

    @property
    def lower(self) -> float:
        """The budget of the lower side in nats; inf when it is not bounded."""

    @property
    def upper(self) -> float:
        """The budget of the upper side in nats; inf when it is not bounded."""

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return, per output, what to compare with `lower` and with `upper`: two (|Y|,) arrays."""

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return, per output, the number by which merging orders blocks: (|Y|,), never NaN."""


def budget(value: Any, name: str) -> float:
    """Return a budget as a float: 0 or more, possibly inf.

    A whole number or fraction that is no float is rounded down: never looser.
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not number >= 0 or isinstance(value, bool | np.bool_ | str):
        raise InvalidInput(
            f"{name} must be a number of nats, 0 or more (inf allowed); got {value!r}."
        )
    if isinstance(value, Rational | Decimal) and number < math.inf and Fraction(number) > value:
        return math.nextafter(number, 0.0)
    return number


def split_budget(epsilon: Any, lam: Any) -> tuple[float, float]:
    """Return ``lam * epsilon`` and ``(1 - lam) * epsilon``; a share of 0 is 0 even of inf."""
    total = budget(epsilon, "epsilon")
    share = budget(lam, "lam")
    if share > 1:
        raise InvalidInput(f"lambda, the lower side's share, must lie in [0, 1]; got {lam!r}.")
    return (share * total if share else 0.0), ((1 - share) * total if share < 1 else 0.0)


class BuiltIn(ABC):
    """What the criteria of this package share; each is a frozen dataclass of its budgets."""

    #: How the compiled merging kernel tells the notions apart.
    kind: ClassVar[int]
    #: Whether mixing allowed outputs is allowed.
    is_convex: bool = True
    #: Whether the region is a box of lifts, all of it given by `half_spaces`.
    is_box: bool = False
    #: Whether finitely many half-spaces are the region.
    is_polyhedral: bool = False
    #: Parameters that are no budgets.
    fixed: ClassVar[tuple[str, ...]] = ()

    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]

        @property
        def lower(self) -> float:
            """The budget of the lower side."""

        @property
        def upper(self) -> float:
            """The budget of the upper side."""

    @abstractmethod
    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return, per output, what to compare with `lower` and with `upper`."""

    @abstractmethod
    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return, per output, the number by which merging orders blocks."""

    @abstractmethod
    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:
        """Decide one output from whole numbers proportional to P(s, y) and P(s), exactly."""

    @abstractmethod
    def half_spaces(self, p_s: Floats) -> HalfSpaces:
        """Return half-spaces that hold on the whole region."""

    @abstractmethod
    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:
        """Return half-spaces that hold on the region and that a lift vector violates."""

    def __post_init__(self) -> None:
        for name in self.parameters():
            object.__setattr__(self, name, budget(getattr(self, name), name))

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def in_nats(self) -> "BuiltIn":
        """The bound as budgets in nats: itself, or for a notion with another scale its translation.

        The budgets are floats, rounded down: where they differ from the bound itself, the
        translation is the stricter one.
        """
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 (scikit-learn passes it)
        """Return `parameters`, for scikit-learn's clone and its nested names.

        There is no ``set_params``: a criterion does not change, and scikit-learn would drop a new
        one. `lowlift.sklearn.LiftPrivatizer` takes ``criterion__epsilon`` and replaces its own.
        """
        return self.parameters()

    def scaled(self, factor: float) -> "BuiltIn":
        """Return the same notion with every budget multiplied by `factor`; inf stays inf."""
        return self._with(lambda side: side * factor if side < math.inf else side)

    def shifted(self, by: float) -> "BuiltIn":
        """Return the same notion with every budget raised by `by`, or lowered, but not below 0.

        Where this holds for lifts l, it holds at the raised budgets for all lifts from
        ``l e**-by`` to ``l e**by``.
        """
        return self._with(lambda side: max(0.0, side + by))

    def _with(self, change: Callable[[float], float]) -> Self:
        """Return the same notion with every budget changed."""
        given = self.parameters().items()
        return type(self)(**{k: v if k in self.fixed else change(v) for k, v in given})

    def screen(self, lift_sy: Floats, p_s: Floats, error: float) -> tuple[Bools, Bools]:
        """Return per output whether it surely is allowed, and whether it surely is not.

        When lifts carry a relative error of at most `error`, every built-in leakage (a logarithm,
        in nats) is off by at most ``16 error + 2**-40 (1 + leakage)``: docs/decisions/0004.
        """
        low, high = self.leakage(lift_sy, p_s)
        low_inner, low_outer = _limits(self.lower, error)
        high_inner, high_outer = _limits(self.upper, error)
        within = (low <= low_inner) & (high <= high_inner)
        beyond = (low > low_outer) | (high > high_outer)
        return within, beyond


@dataclass(frozen=True)
class TwoSided(BuiltIn):
    """A criterion of two budgets in nats."""

    lower: float
    upper: float

    @classmethod
    def split(cls, epsilon: float, lam: float) -> Self:
        """Return the criterion with budgets ``lam * epsilon`` and ``(1 - lam) * epsilon``."""
        return cls(*split_budget(epsilon, lam))


@overload
def plain_criterion(criterion: BuiltIn) -> BuiltIn: ...
@overload
def plain_criterion(criterion: Criterion) -> Criterion: ...


def plain_criterion(criterion: Criterion) -> Criterion:
    """Return what a criterion bounds: of one for the population, the criterion inside."""
    return (
        getattr(criterion, "criterion", criterion) if isinstance(criterion, BuiltIn) else criterion
    )


def _in_nats(criterion: Criterion) -> Criterion:
    """Return what a criterion bounds, as budgets in nats."""
    plain = plain_criterion(criterion)
    return plain.in_nats if isinstance(plain, BuiltIn) else plain


def epsilon_of(criterion: Criterion) -> float:
    """Return the whole budget in nats: both sides of a criterion that has two.

    Of a bound on beliefs it is that of the factor for all values; NaN without one.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, LIP, MaxLift
    >>> epsilon_of(ALIP(0.5, 1.0)), epsilon_of(LIP(0.5)), epsilon_of(MaxLift(2.0))
    (1.5, 0.5, 2.0)
    """
    criterion = _in_nats(criterion)
    if isinstance(criterion, BuiltIn) and "epsilon" in criterion.parameters():
        return float(criterion.parameters()["epsilon"])
    if isinstance(criterion, BuiltIn) and "beliefs" in criterion.parameters():
        return criterion.lower if criterion.lower < math.inf else math.nan  # that of all values
    return math.fsum(side for side in (criterion.lower, criterion.upper) if side < math.inf)


def split_of(criterion: Criterion) -> float:
    """Return the lower side's share of `epsilon_of`; NaN for a criterion of one budget.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, LIP
    >>> split_of(ALIP(0.5, 1.5)), split_of(LIP(0.5))
    (0.25, nan)
    """
    criterion = _in_nats(criterion)
    if isinstance(criterion, BuiltIn) and {"epsilon", "beliefs"} & set(criterion.parameters()):
        return math.nan
    sides = criterion.lower, criterion.upper
    if math.inf in sides:
        return math.nan
    return sides[0] / sum(sides) if sum(sides) else 0.5


@lru_cache(maxsize=4096)
def _limits(side: float, error: float) -> tuple[float, float]:
    """Return up to where a leakage in floats surely is in budget, and from where it is not."""
    if math.isinf(side):
        return side, side
    margin = 16 * error + 2 * _LIBM * (1 + side)
    return side - margin, side + margin
