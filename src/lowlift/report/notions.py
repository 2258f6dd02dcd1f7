"""What a bound means in the words of other notions of privacy, promised and measured."""

import math
from decimal import ROUND_CEILING, Context, Decimal

import numpy as np

from lowlift._audit import Audit
from lowlift._guarantees import closeness, ends_of
from lowlift._rounding import at_least, at_most, expm1_at_most, percent_at_most
from lowlift._wording import of_rows, percent
from lowlift.criteria import LDP, Criterion, Population, TCloseness, plain_criterion
from lowlift.figures.page import Table
from lowlift.measures import bayes_vulnerability
from lowlift.report.records import at_least_times, at_most_times

_NOT = "no limit"


def _promises(criterion: Criterion, blind: float = 1.0) -> dict[str, str]:
    """Return what a limit promises of each notion; `blind` is how often a guess is right before."""
    ends = ends_of(criterion)
    both = Decimal(ends.lower) + Decimal(ends.upper)
    ratio = Decimal(criterion.epsilon) if isinstance(criterion, LDP) else both
    plain, distance = plain_criterion(criterion), closeness(criterion)
    close = Decimal(repr(plain.t)) if isinstance(plain, TCloseness) else _safe(distance)
    up = f"×{at_most(ends.upper)}"
    return {
        "more": up if math.isfinite(ends.upper) else _NOT,
        "less": f"×{at_least(-ends.lower)}" if math.isfinite(ends.lower) else _NOT,
        "ldp": f"{_up(ratio)} nats" if ratio.is_finite() else _NOT,
        "beta": expm1_at_most(ends.upper) if ends.upper < 700 else _NOT,
        "delta": f"{_up(Decimal(max(ends)))} nats" if both.is_finite() else _NOT,
        "close": _up(close) if distance < 1 else _NOT,
        "guess": f"{at_most(ends.upper)} times as often, at most {_guessed(ends.upper, blind)}"
        if ends.upper < 700
        else _NOT,
    }


def _guessed(upper: float, blind: float) -> str:
    """Return how often a guess can be right at most."""
    return percent_at_most(min(1.0, math.exp(upper) * blind * (1 + 1e-12)))


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
        "a protected value becomes at most this many times as likely as it was",
    ),
    "less": ("Min-lift", "it stays at least this many times as likely as it was; ×0: ruled out"),
    "ldp": (
        "Local differential privacy (ε)",
        "how far a published value can tell two protected values apart, whoever sees it",
    ),
    "beta": ("β-likeness", "the largest relative gain of belief in a protected value"),
    "delta": ("δ-disclosure", "the largest change of log-belief, up or down"),
    "close": (
        "t-closeness",
        "the largest distance of belief before and after (total variation, 0 to 1)",
    ),
    "guess": ("Best attacker", "how often the best guess of the protected value is right"),
}


def promised_notions(criterion: Criterion, *, of_table: bool = False) -> Table:
    """Return what the limit alone promises, notion by notion; `of_table` is it of rows."""
    promises = _promises(criterion)
    say = of_rows if of_table else str
    rows = tuple((name, say(words), promises[key]) for key, (name, words) in _WORDS.items())
    caption = "What the limit promises, in the words of other notions; rounded to the safe side."
    return Table(caption, ("notion", "in words", "promised"), rows, (2,))


def notions(
    raw: Audit, published: Audit | None, *, is_rows: bool = False, of_table: bool = False
) -> Table:
    """Return each notion as promised and as measured, before and after.

    `of_table` says that rows of a table are published, `is_rows` that they are drawn from cells.
    """
    is_sample = isinstance(raw.criterion, Population)  # whose shares are not known exactly
    promises = _promises(raw.criterion, 1.0 if is_sample else float(raw.joint.p_s.max()))
    before = _measured(raw)
    after = None if published is None else _measured(published)
    blind = f" ({percent(float(raw.joint.p_s.max()))} without seeing anything)"
    rows = []
    for key, (name, words) in _WORDS.items():
        said = of_rows(words) if of_table else words
        cells = [name, said + (blind if key == "guess" else ""), promises[key], before[key]]
        rows.append((*cells, *([] if after is None else [after[key]])))
    head = ("notion", "in words", "promised", "cells as they are" if is_rows else "X as it is")
    head = (*head, *(() if after is None else ("as published",)))
    caption = (
        "The same limit in other words. Promised: what the limit allows, rounded to the safe "
        "side. The rest is measured."
    )
    caption += " Rows themselves tell more than their cells." if is_rows else ""
    return Table(caption, head, tuple(rows), tuple(range(2, len(head))))


def _measured(audit: Audit) -> dict[str, str]:
    low, high = float(audit.lift.min()), float(audit.lift.max())
    with np.errstate(divide="ignore"):
        ratio = float(np.log(audit.lift.max(axis=0) / audit.lift.min(axis=0)).max())
    delta = max(audit.min_lift_leakage, audit.max_lift_leakage)
    distance = float((audit.joint.p_s @ np.abs(audit.lift - 1)).max()) / 2
    return {
        "more": at_most_times(high),
        "less": at_least_times(low),
        "ldp": _nats(ratio),
        "beta": f"{max(0.0, high - 1):.3g}",
        "delta": _nats(delta),
        "close": f"{distance:.3f}",
        "guess": percent(bayes_vulnerability(audit.joint, audit.channel)),
    }


def _nats(value: float) -> str:
    return "∞" if math.isinf(value) else f"{value:.3f} nats"
