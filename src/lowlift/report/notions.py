"""What a bound means in the words of other notions of privacy, promised and measured."""

import math
from decimal import ROUND_CEILING, Context, Decimal
from typing import NamedTuple

import numpy as np

from lowlift.audit import Audit
from lowlift.criteria import LDP, BuiltIn, Chi2Lift, Criterion, L1Lift
from lowlift.figures.page import Table
from lowlift.measures import bayes_vulnerability
from lowlift.rounding import at_least, at_most
from lowlift.wording import percent, times

_NOT = "not bounded"


class Ends(NamedTuple):
    """How far a criterion bounds every lift, in nats; inf where it does not."""

    lower: float
    upper: float


def ends_of(criterion: Criterion) -> Ends:
    """Return the bounds on single lifts that follow from a criterion, whatever P(s) is.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, MaxLift
    >>> ends_of(ALIP(0.5, 1.0)), ends_of(LDP(1.0)), ends_of(MaxLift(2.0))
    (Ends(lower=0.5, upper=1.0), Ends(lower=1.0, upper=1.0), Ends(lower=inf, upper=2.0))
    """
    if isinstance(criterion, LDP):
        return Ends(criterion.epsilon, criterion.epsilon)
    if isinstance(criterion, BuiltIn) and criterion.is_box:
        lower, upper = criterion.lower, criterion.upper
        # Lifts average to 1: none can be above alone, or below alone.
        return Ends(0.0, 0.0) if 0 in {lower, upper} else Ends(lower, upper)
    return Ends(math.inf, math.inf)


def closeness(criterion: Criterion) -> float:
    """Return the largest total variation between P(s|y) and P(s) that follows from a criterion.

    Examples
    --------
    >>> from lowlift.criteria import ALIP
    >>> round(closeness(ALIP(0.5, 0.5)), 4), closeness(ALIP(math.inf, math.inf))
    (0.2449, 1.0)
    """
    ends = ends_of(criterion)
    if isinstance(criterion, LDP):
        return math.tanh(criterion.epsilon / 4) if criterion.epsilon < 700 else 1.0
    if isinstance(criterion, L1Lift | Chi2Lift):
        return min(1.0, math.expm1(criterion.upper) / 2 if criterion.upper < 700 else 1.0)
    low = math.exp(-ends.lower)
    if ends.upper > 700:
        return 1.0 - low
    high = math.exp(ends.upper)
    return 0.0 if high == low else (high - 1) * (1 - low) / (high - low)


def _promises(criterion: Criterion) -> dict[str, str]:
    ends = ends_of(criterion)
    both = Decimal(ends.lower) + Decimal(ends.upper)
    ratio = Decimal(criterion.epsilon) if isinstance(criterion, LDP) else both
    distance = closeness(criterion)
    up = f"×{at_most(ends.upper)}"
    return {
        "more": up if math.isfinite(ends.upper) else _NOT,
        "less": f"×{at_least(-ends.lower)}" if math.isfinite(ends.lower) else _NOT,
        "ldp": f"{_up(ratio)} nats" if ratio.is_finite() else _NOT,
        "beta": _up(_safe(math.expm1(ends.upper))) if ends.upper < 700 else _NOT,
        "delta": f"{_up(Decimal(max(ends)))} nats" if both.is_finite() else _NOT,
        "close": _up(_safe(distance)) if distance < 1 else _NOT,
        "guess": f"{up} as often" if ends.upper < 700 else _NOT,
    }


def _safe(value: float) -> Decimal:
    """Return a number that is not below what a few float operations stand for."""
    return Decimal(value * (1 + 1e-12))


def _up(value: Decimal) -> str:
    """Return a number to three decimals, rounded up.

    Examples
    --------
    >>> _up(Decimal(1)), _up(Decimal("0.2441"))
    ('1', '0.245')
    """
    if value >= 10**6:
        return f"{Context(prec=4, rounding=ROUND_CEILING).create_decimal(value):.3e}"
    return f"{value.quantize(Decimal('0.001'), ROUND_CEILING).normalize():f}"


_WORDS = {
    "more": (
        "Max-lift",
        "a sensitive value becomes at most this many times as likely as it was",
    ),
    "less": ("Min-lift", "it stays at least this many times as likely as it was; ×0: ruled out"),
    "ldp": (
        "Local differential privacy (ε)",
        "how far a published value can tell two sensitive values apart, whoever sees it",
    ),
    "beta": ("β-likeness", "the largest relative gain of belief in a sensitive value"),
    "delta": ("δ-disclosure", "the largest change of log-belief, up or down"),
    "close": (
        "t-closeness",
        "the largest distance of belief before and after (total variation, 0 to 1)",
    ),
    "guess": ("Best attacker", "how often the best guess of the sensitive value is right"),
}


def promised_notions(criterion: Criterion) -> Table:
    """Return what the budgets alone promise, notion by notion."""
    promises = _promises(criterion)
    rows = tuple((name, promises[key], words) for key, (name, words) in _WORDS.items())
    caption = "What the bound promises, in the words of other notions; rounded to the safe side."
    return Table(caption, ("notion", "promised", "in words"), rows, (1,))


def notions(raw: Audit, published: Audit | None) -> Table:
    """Return each notion as promised and as measured, before and after."""
    promises = _promises(raw.criterion)
    before = _measured(raw)
    after = None if published is None else _measured(published)
    blind = f" ({percent(float(raw.joint.p_s.max()))} without seeing anything)"
    rows = []
    for key, (name, words) in _WORDS.items():
        cells = [name, promises[key], before[key]]
        if after is not None:
            cells.append(after[key])
        rows.append((*cells, words + (blind if key == "guess" else "")))
    head = ["notion", "promised", "X as it is", "in words"]
    if after is not None:
        head.insert(3, "as published")
    caption = (
        "The same bound in other words. Promised: what the budgets allow, rounded to the safe "
        "side. The rest is measured."
    )
    return Table(caption, tuple(head), tuple(rows), tuple(range(1, len(head) - 1)))


def _measured(audit: Audit) -> dict[str, str]:
    low, high = float(audit.lift.min()), float(audit.lift.max())
    with np.errstate(divide="ignore"):
        ratio = float(np.log(audit.lift.max(axis=0) / audit.lift.min(axis=0)).max())
    delta = max(audit.min_lift_leakage, audit.max_lift_leakage)
    distance = float((audit.joint.p_s @ np.abs(audit.lift - 1)).max()) / 2
    return {
        "more": times(high),
        "less": times(low),
        "ldp": _nats(ratio),
        "beta": f"{max(0.0, high - 1):.3g}",
        "delta": _nats(delta),
        "close": f"{distance:.3f}",
        "guess": percent(bayes_vulnerability(audit.joint, audit.channel)),
    }


def _nats(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3f} nats"
