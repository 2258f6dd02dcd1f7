"""A bound that holds for the population that rows were drawn from, with some confidence."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NoReturn, Self

from lowlift._arrays import Bools, Floats
from lowlift.criteria.protocol import BuiltIn, HalfSpaces
from lowlift.errors import InvalidInput


@dataclass(frozen=True)
class Population(BuiltIn):
    """A criterion for the population: with this confidence it holds for what the rows came from.

    A bound for a table holds for that table alone: the best release lies on the bound, so the bound
    breaks in the population by sampling error. This one holds for every population in a confidence
    region of the counted rows. It says nothing of values of X that the table does not have.

    Parameters
    ----------
    criterion
        One of lowlift's. For LIP, ALIP, MaxLift, LDP, AtMost, and L1Lift with up to 6 values of S
        and Chi2Lift with 2 (both with ``lower=math.inf``), the audit refuses what some population
        of the region breaks, and no more. Of L1Lift and Chi2Lift otherwise, and AlphaLift, it
        allows what a box of lifts that implies them allows, which is less.
    confidence
        Between 0 and 1: the least probability, over samples, that the bound holds.

    Guarantee
        Rows drawn independently from one population give, with probability `confidence` or more, a
        region that holds the population. Every channel that the audit allows then satisfies the
        criterion under the population's own P(s, x), also a channel chosen with the same rows.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[400, 600], [600, 400]])
    >>> channel = ll.Channel.identity(joint)
    >>> [ll.audit(joint, channel, ll.Population(ll.LIP(e))).is_satisfied for e in (0.3, 0.5)]
    [False, True]
    """

    criterion: BuiltIn
    confidence: float = 0.95

    kind: ClassVar[int] = -1  # no compiled kernel

    def __post_init__(self) -> None:
        if not isinstance(self.criterion, BuiltIn) or isinstance(self.criterion, Population):
            kind = type(self.criterion).__name__
            raise InvalidInput(
                "Population must be given one of lowlift's other criteria, such as LIP(0.5); got "
                f"{kind}."
            )
        object.__setattr__(self, "confidence", check_confidence(self.confidence))

    @property
    def lower(self) -> float:
        """The budget of the lower side, that of the criterion."""
        return self.criterion.lower

    @property
    def upper(self) -> float:
        """The budget of the upper side, that of the criterion."""
        return self.criterion.upper

    def parameters(self) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {"criterion": self.criterion, "confidence": self.confidence}

    def shifted(self, by: float) -> Self:
        """Return the criterion with every budget raised by `by`, at the same confidence."""
        return replace(self, criterion=self.criterion.shifted(by))

    def scaled(self, factor: float) -> Self:
        """Return the criterion with every budget multiplied, at the same confidence."""
        return replace(self, criterion=self.criterion.scaled(factor))

    def leakage(self, lift_sy: Floats, p_s: Floats) -> tuple[Floats, Floats]:
        """Return what the criterion says of lifts of the table, for display."""
        return self.criterion.leakage(lift_sy, p_s)

    def risk(self, lift_sy: Floats, p_s: Floats) -> Floats:
        """Return the number by which merging orders blocks: that of the criterion."""
        return self.criterion.risk(lift_sy, p_s)

    def screen(self, lift_sy: Floats, p_s: Floats, error: float) -> tuple[Bools, Bools]:  # noqa: ARG002 (it refuses)
        """Refuse: lifts of a table do not decide a bound for the population."""
        self._refuse()

    def verdict(self, posterior: Sequence[int], prior: Sequence[int]) -> bool:  # noqa: ARG002 (it refuses)
        """Refuse: lifts of a table do not decide a bound for the population."""
        self._refuse()

    def half_spaces(self, p_s: Floats) -> HalfSpaces:  # noqa: ARG002 (it refuses)
        """Refuse: the region is one of channels, not of lifts."""
        self._refuse()

    def cut(self, lift_s: Floats, p_s: Floats) -> HalfSpaces:  # noqa: ARG002 (it refuses)
        """Refuse: the region is one of channels, not of lifts."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise InvalidInput(
            "a bound for the population must be judged on the counts and the channel, not on lifts "
            f"of the table; this function judges lifts by {self}. Use the bound for this table "
            "here."
        )


def check_confidence(confidence: Any) -> float:
    """Return a confidence as a float between 0 and 1."""
    try:
        number = math.nan if isinstance(confidence, bool | str) else float(confidence)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0 < number < 1:
        raise InvalidInput(
            f"confidence must lie between 0 and 1; got {confidence!r}. For example: 0.95."
        )
    return number
