"""What one bound implies for another measure: Propositions 1 and 3 to 6, corrected.

Every number is rounded to the safe side: upper bounds up, lower bounds down. With ``u = e**upper``
and ``d = e**-lower``, a lift vector of ALIP has ``d <= l(s) <= u`` and ``sum_s P(s) l(s) = 1``.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lowlift._arrays import Floats
from lowlift._exact import exp_of
from lowlift._joint import Joint
from lowlift._rounding import float_below
from lowlift.criteria import ALIP, LIP, AlphaLift, Chi2Lift, L1Lift, MaxLift
from lowlift.errors import InvalidInput
from lowlift.paper.propositions.enclosures import Enclosure, power

_BITS = 128
#: From here on e**budget is no float; it counts as infinite, which is the safe side.
_LARGEST = 700.0


@dataclass(frozen=True)
class ImpliedMeasures:
    """Upper bounds on every measure that follow from bounds on the lift.

    Attributes
    ----------
    mutual_information
        I(S;Y) in nats, Proposition 1(1).
    total_variation, chi2_divergence
        T(S;Y) and chi2(S;Y), Proposition 1(2), corrected.
    sibson_information, arimoto_information
        Of the order asked for, in nats, Proposition 1(3).
    local_differential_privacy
        The epsilon of LDP in nats, Proposition 1(4).
    l1_lift, chi2_lift, alpha_lift
        The largest over the outputs, Proposition 3, corrected.
    l1_lift_inverse, chi2_lift_inverse, alpha_lift_inverse
        The largest over the outputs, Proposition 5, corrected.
    """

    mutual_information: float
    total_variation: float
    chi2_divergence: float
    sibson_information: float
    arimoto_information: float
    local_differential_privacy: float
    l1_lift: float
    chi2_lift: float
    alpha_lift: float
    l1_lift_inverse: float
    chi2_lift_inverse: float
    alpha_lift_inverse: float


def implied_measures(criterion: ALIP | LIP | MaxLift, *, alpha: float = 2.0) -> ImpliedMeasures:
    r"""Return what a bound on the lift implies for the averaged measures (Propositions 1, 3, 5).

    With ``u = e**upper`` and ``d = e**-lower``: the l1-lift is at most ``2(u-1)(1-d)/(u-d)``, the
    total variation half of that, the chi2-lift and the chi2-divergence ``(u-1)(1-d)``. The l1- and
    the chi2-lift-inverse are at most ``((t-1) f(d) + (1-d) f(t)) / (t-d)`` for the t in (1, u]
    that makes it largest, with ``f(l) = |1/l - 1|`` and ``(1/l - 1)**2``. The paper prints
    ``u - 1``, ``(u-1)**2``, ``1/d - 1`` and ``(1/d - 1)**2`` for these, which is false in general.
    Two values of S reach each of these bounds, so no smaller one holds.

    Parameters
    ----------
    criterion
        `ALIP`, `LIP` or `MaxLift`.
    alpha
        The order of the alpha-lift, its inverse, and Sibson's and Arimoto's information; above 1.

    Returns
    -------
    ImpliedMeasures
        Bounds that hold for every joint and channel that satisfy the criterion.

    Examples
    --------
    >>> import lowlift as ll
    >>> found = implied_measures(ll.ALIP(math.log(2), math.log(2)))  # lifts between 1/2 and 2
    >>> round(found.l1_lift, 4), round(found.total_variation, 4), round(found.chi2_lift, 4)
    (0.6667, 0.3333, 0.5)
    >>> round(found.local_differential_privacy, 4)
    1.3863
    >>> joint = ll.Joint.from_counts([[2, 4], [4, 2]])  # lifts between 2/3 and 4/3
    >>> ll.measures.l1_lift(joint, ll.Channel.identity(joint)).round(4)
    array([0.3333, 0.3333])
    >>> round(found.l1_lift_inverse, 4), round(found.chi2_lift_inverse, 4)
    (0.8333, 0.75)
    """
    if not isinstance(criterion, ALIP | LIP | MaxLift):
        raise InvalidInput(
            f"criterion must be ALIP, LIP or MaxLift; got {type(criterion).__name__}. For "
            "L1Lift, Chi2Lift and AlphaLift use implied_lifts."
        )
    if not 1 < alpha < math.inf:
        raise InvalidInput(f"alpha must be above 1 and finite; got {alpha!r}.")
    lower, upper = float(criterion.lower), float(criterion.upper)
    u, inverse = _exp_up(upper), _exp_up(lower)  # inverse is 1/d
    d = Fraction(0) if inverse is None else 1 / inverse
    chord = _chord(u, d)
    order = Fraction(alpha) / (Fraction(alpha) - 1)
    information = None if math.isinf(upper) else Fraction(upper)
    both = None if math.isinf(lower + upper) else Fraction(lower) + Fraction(upper)
    chi2 = None if u is None else (u - 1) * (1 - d)
    tilted = _up(None if information is None else order * information)
    return ImpliedMeasures(
        _up(information),
        _up(chord),
        _up(chi2),
        tilted,
        tilted,
        _up(both),
        _up(2 * chord),
        _up(chi2),
        _up(u),
        _up(_l1_inverse(u, d)),
        _up(_chi2_inverse(u, d)),
        _up(inverse),
    )


@dataclass(frozen=True, eq=False)
class ImpliedLifts:
    """Bounds on the lift of each value of S, in the order of the joint's labels.

    Attributes
    ----------
    low, high
        Shape (|S|,): no output has a lift of s below or above.
    """

    low: Floats
    high: Floats

    @property
    def min_lift(self) -> float:
        """The smallest lift that is possible, Proposition 6."""
        return float(self.low.min())

    @property
    def max_lift(self) -> float:
        """The largest lift that is possible, Proposition 4."""
        return float(self.high.max())


def implied_lifts(criterion: L1Lift | Chi2Lift | AlphaLift, joint: Joint) -> ImpliedLifts:
    r"""Return what a bound on an averaged measure implies for each lift (Propositions 4 and 6).

    With ``U = e**upper`` and ``L = e**lower``, a lift of s is at most ``1 + (U-1)/P(s)`` under
    `L1Lift`, ``1 + (U-1)/sqrt(P(s))`` under `Chi2Lift` and ``U / P(s)**(1/alpha)`` under
    `AlphaLift`, and never above ``1/P(s)``. It is at least ``1 / (1 + (L-1)/P(s))``,
    ``1 / (1 + (L-1)/sqrt(P(s)))`` and ``P(s)**(1/alpha) / L``.

    Parameters
    ----------
    criterion
        `L1Lift`, `Chi2Lift` or `AlphaLift`.
    joint
        Gives P(s); what X is does not matter.

    Examples
    --------
    >>> import lowlift as ll
    >>> joint = ll.Joint.from_counts([[1, 3], [8, 8]])  # P(s) = 1/5, 4/5
    >>> found = implied_lifts(ll.L1Lift(math.log(2), math.log(1.2)), joint)
    >>> found.high.round(4), found.low.round(4)
    (array([2.  , 1.25]), array([0.1667, 0.4444]))
    """
    exponents = {L1Lift: Fraction(1), Chi2Lift: Fraction(1, 2)}
    if isinstance(criterion, AlphaLift):
        alpha = criterion.alpha
        exponent = Fraction(0) if math.isinf(alpha) else 1 / Fraction(alpha)
    elif type(criterion) in exponents:
        exponent = exponents[type(criterion)]
    else:
        raise InvalidInput(
            f"criterion must be L1Lift, Chi2Lift or AlphaLift; got {type(criterion).__name__}. For "
            "ALIP, LIP and MaxLift use implied_measures."
        )
    u, inverse = _exp_up(criterion.upper), _exp_up(criterion.lower)
    low, high = [], []
    for p in _prior(joint):
        scaled = power(1 / p, exponent, _BITS)
        scale = scaled.high if isinstance(scaled, Enclosure) else scaled
        is_norm = isinstance(criterion, AlphaLift)
        above, below = (
            None if end is None else end * scale if is_norm else 1 + (end - 1) * scale
            for end in (u, inverse)
        )
        high.append(_up(1 / p if above is None else min(above, 1 / p)))
        low.append(0.0 if below is None else float_below(1 / below))
    return ImpliedLifts(np.array(low), np.array(high))


def _prior(joint: Joint) -> list[Fraction]:
    """Return P(s) exactly."""
    rows = [sum(map(Fraction, row), Fraction()) for row in joint.masses.tolist()]
    total = sum(rows, Fraction())
    return [row / total for row in rows]


def _chord(u: Fraction | None, d: Fraction) -> Fraction:
    """Return (u - 1)(1 - d) / (u - d); its limit where u is infinite, 0 where a side is 0."""
    if u is None:
        return 1 - d
    return (u - 1) * (1 - d) / (u - d) if u > 1 and d < 1 else Fraction(0)


def _l1_inverse(u: Fraction | None, d: Fraction) -> Fraction | None:
    """Return the largest mean of |1/l - 1|, or a little more; None for infinity.

    The best t is u, but at most ``d / (1 - r)`` with ``r = sqrt(2(1 - d))``, where r < 1.
    """
    if u == 1 or d == 1:
        return Fraction(0)
    if d == 0:
        return None
    turns = 2 * d > 1 and (u is None or (u > d and (1 - d / u) ** 2 >= 2 * (1 - d)))
    if turns:
        root = power(2 * (1 - d), Fraction(1, 2), _BITS)
        r = root.low if isinstance(root, Enclosure) else root
        return (1 - d) * (3 - d - 2 * r) / d**2
    if u is None:
        return 1 / d - 1
    return (1 - d) * (u - 1) * (u + d) / (d * u * (u - d))


def _chi2_inverse(u: Fraction | None, d: Fraction) -> Fraction | None:
    """Return the largest mean of (1/l - 1)**2, or a little more; None for infinity.

    The best t is u, but at most the root above 1 of `slope`, where 2d > 1.
    """
    if u == 1 or d == 1:
        return Fraction(0)
    if d == 0:
        return None
    far = (1 / d - 1) ** 2

    def slope(t: Fraction) -> Fraction:
        return (far - 1) * t**3 + 4 * t**2 - (3 + 2 * d) * t + 2 * d

    if 2 * d <= 1 or (u is not None and slope(u) >= 0):
        if u is None:
            return far
        low = high = u
    else:
        low, high = Fraction(1), Fraction(2) if u is None else u
        while slope(high) >= 0:
            low, high = high, 2 * high
        for _ in range(_BITS):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) >= 0 else (low, middle)
    return ((high - 1) * far + (1 - d) * (1 - 1 / high) ** 2) / (low - d)


def _exp_up(budget: float) -> Fraction | None:
    """Return a fraction that is e**budget or a little above; None for infinity."""
    if budget > _LARGEST:
        return None
    if budget == 0:
        return Fraction(1)
    return Fraction(exp_of(Fraction(budget), _BITS)[1], 1 << _BITS)


def _up(value: Fraction | None) -> float:
    """Return the smallest float that is not below."""
    return math.inf if value is None else 0.0 - float_below(-value)
