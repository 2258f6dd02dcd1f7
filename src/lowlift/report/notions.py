"""What a bound means in the words of other notions of privacy, promised and measured."""

import math
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from lowlift._audit import Audit
from lowlift._guarantees import closeness, ends_of
from lowlift._rounding import at_least, at_most, expm1_at_most
from lowlift._wording import percent, times
from lowlift.criteria import LDP, Criterion
from lowlift.figures.page import Table
from lowlift.measures import bayes_vulnerability

_NOT = "not bounded"


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
        "beta": expm1_at_most(ends.upper) if ends.upper < 700 else _NOT,
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
