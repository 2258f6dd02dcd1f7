"""The verdict in one sentence: the word comes from the exact audit, numbers say how it stands."""

import math
from collections.abc import Sequence

from lowlift.audit import Audit
from lowlift.criteria import AlphaLift, BuiltIn, Chi2Lift, Criterion, L1Lift
from lowlift.guarantees import EMPTY, FAILS, HOLDS, UNPROVEN, promise_in_full
from lowlift.guarantees import verdict_word as _word
from lowlift.report.notions import Ends, closeness, ends_of
from lowlift.report.records import Number, Verdict
from lowlift.report.wording import counted, joined, percent, times
from lowlift.rounding import at_least, at_most, percent_at_most

__all__ = [
    "curve_verdict",
    "numbers_of",
    "promise_in_full",
    "promise_of",
    "public_verdict",
    "verdict_of",
    "with_uncovered",
]

BEYOND = "Not for all that was published"
_TONES = {HOLDS: "good", FAILS: "bad", UNPROVEN: "plain", EMPTY: "plain", BEYOND: "bad"}
_NOTHING = "This bound is always kept, whatever is published: it promises nothing."
_EXACT = (
    "Decided exactly, in whole numbers: the counts of the table and the weights by which values "
    "are drawn. The numbers shown are rounded."
)


def promise_of(criterion: Criterion) -> str:
    """Return what the bound promises: one sentence, without jargon where that is possible.

    Examples
    --------
    >>> from lowlift.criteria import ALIP, MaxLift
    >>> promise_of(ALIP(0.5, 1.0))
    'seeing a published value makes no sensitive value more than 2.72 times or less than 0.606 \
times as likely as it was'
    >>> promise_of(MaxLift(0.0))
    'seeing a published value tells nothing about the sensitive values'
    """
    if not isinstance(criterion, BuiltIn):
        return f"what a published value tells satisfies {criterion}"
    ends = ends_of(criterion)
    if ends == Ends(0.0, 0.0):
        return "seeing a published value tells nothing about the sensitive values"
    if math.isinf(criterion.lower) and math.isinf(criterion.upper):
        return "nothing is bounded"
    sides = []
    if math.isfinite(ends.upper):
        sides.append(f"more than {at_most(ends.upper)} times")
    if math.isfinite(ends.lower):
        sides.append(f"less than {at_least(-ends.lower)} times")
    if sides:
        words = " or ".join(sides)
        return f"seeing a published value makes no sensitive value {words} as likely as it was"
    return _on_average(criterion)


def _on_average(criterion: Criterion) -> str:
    lower, upper = criterion.lower, criterion.upper
    share = closeness(criterion)
    if isinstance(criterion, L1Lift | Chi2Lift) and share < 1:
        moved = f"{math.ceil(share * (1 + 1e-12) * 1000) / 10:g}%"
        words = f"moves at most {moved} of the belief in some sensitive values to others"
        return f"seeing a published value {words}"
    if isinstance(criterion, AlphaLift):
        sides = []
        if math.isfinite(upper):
            sides.append(f"more than {at_most(upper)} times as likely")
        if math.isfinite(lower):
            sides.append(f"less than 1/{at_most(lower)} times as likely")
        words = " or ".join(sides)
        return f"seeing a published value makes the sensitive values, on average, no {words}"
    return "what a published value tells stays within the bound that was asked for"


def _measured(audit: Audit) -> str:
    """Say how far the lifts of an audit go."""
    high, low = float(audit.lift.max()), float(audit.lift.min())
    more = f"make a sensitive value {high:.3g} times as likely as it was"
    if low == 0:
        return f"{more}, or rule it out"
    return f"{more}, or reduce it to {low:.3g} times"


def verdict_of(
    raw: Audit,
    published: Audit | None,
    holds: bool,
    names: Sequence[str],
    numbers: Sequence[Number],
) -> Verdict:
    """Return the verdict on what is published, or on publishing X as it is.

    Parameters
    ----------
    raw
        The audit of X as it is.
    published
        The audit of what is published instead; None without a release.
    holds
        Whether every exact audit says that the bound holds.
    names
        The released columns.
    numbers
        From `numbers_of`.
    """
    subject = published or raw
    columns = joined(list(names)) if names else "X"
    word = _word(raw.criterion, subject.is_certified, holds)
    if word == EMPTY:
        sentence = _NOTHING
    elif word == HOLDS:
        start = (
            "This release keeps its promise" if published else f"{columns} may be published as is"
        )
        sentence = f"{start}: {promise_of(raw.criterion)}."
    elif word == UNPROVEN:
        sentence = (
            "This bound is not one of lowlift's own and was compared in floating point only: "
            "no verdict is given."
        )
    else:
        start = (
            "This release breaks its promise" if published else f"Do not publish {columns} as is"
        )
        sentence = f"{start}: a published value can {_measured(subject)}."
    detail = _EXACT if word == HOLDS else ""
    if word == FAILS:
        broken, all_of_them = len(subject.violations), subject.channel.n_y
        broken_by = f"{broken:,} of {counted(all_of_them, 'value')} break it"
        if not broken:  # a criterion that is not convex can hold for all columns and fail for one
            broken_by = "it does not hold for each sensitive column alone"
        detail = f"The bound asks that {promise_of(raw.criterion)}; {broken_by}. {_EXACT}"
    return Verdict(word, _TONES[word], _capital(sentence), detail, tuple(numbers))


def public_verdict(
    criterion: Criterion, is_release: bool, is_certified: bool, holds: bool
) -> Verdict:
    """Return the verdict without any number of the table."""
    word = _word(criterion, is_certified, holds)
    tone = _TONES[word]
    if word == EMPTY:
        return Verdict(word, tone, _NOTHING, "")
    if word == HOLDS:
        start = (
            "This release keeps its promise" if is_release else "The columns may be published as is"
        )
        return Verdict(word, tone, f"{start}: {promise_of(criterion)}.", _EXACT)
    if word == UNPROVEN:
        return Verdict(word, tone, "The bound was not decided exactly: no verdict is given.", "")
    start = "This release breaks its promise" if is_release else "The columns break the bound as is"
    return Verdict(word, tone, f"{start}.", f"The bound asks that {promise_of(criterion)}.")


def with_uncovered(found: Verdict, uncovered: str) -> Verdict:
    """Return the verdict, unless it holds and something was published that it does not cover."""
    if not uncovered or found.word in {FAILS, UNPROVEN}:
        return found
    sentence = f"The bound holds for the released columns alone, but {uncovered}."
    return found._replace(word=BEYOND, tone=_TONES[BEYOND], sentence=sentence)


def curve_verdict(raw: Audit, names: Sequence[str], how_many: int) -> Verdict:
    """Return what a trade-off says first: how risky X is as it is."""
    columns = joined(list(names)) if names else "X"
    sentence = f"Published as is, a value of {columns} can {_measured(raw)}."
    detail = (
        f"The curve shows what {counted(how_many, 'release')} keep under bounds from strict to "
        "loose. Each was audited exactly."
    )
    return Verdict("Trade-off", "plain", sentence, detail, ())


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def numbers_of(
    raw: Audit,
    published: Audit | None,
    *,
    share_changed: float,
    upper_bound: float | None,
    guesses: tuple[float, float],
) -> tuple[Number, ...]:
    """Return the numbers behind the verdict."""
    subject, ends = published or raw, ends_of(raw.criterion)
    most = f"allowed: at most ×{at_most(ends.upper)}" if math.isfinite(ends.upper) else "no bound"
    least = (
        f"allowed: at least ×{at_least(-ends.lower)}" if math.isfinite(ends.lower) else "no bound"
    )
    before = (float(raw.lift.max()), float(raw.lift.min()))
    if published is not None:
        most, least = (
            f"{words}; X as it is: {times(value)}"
            for words, value in zip((most, least), before, strict=True)
        )
    broken, outputs = len(subject.violations), subject.channel.n_y
    how = "decided exactly" if subject.is_certified else "compared in floating point"
    found = [
        Number("Largest lift", times(float(subject.lift.max())), most),
        Number("Smallest lift", times(float(subject.lift.min())), least),
        Number("Values that break the bound", f"{broken:,}", f"of {outputs:,}, {how}"),
        Number(
            "Best guess right",
            percent(guesses[1]),
            f"{percent(guesses[0])} without seeing anything",
        ),
    ]
    if published is None:
        return tuple(found)
    bound = "" if upper_bound is None else f"proven: at most {percent_at_most(upper_bound)}"
    kept = percent(min(1.0, subject.nmi))
    changed = Number("Rows changed", percent(share_changed), "expected share")
    return (*found, Number("Information kept", kept, bound), changed)
