"""The answer in plain words: which of three states a release is in, and what it keeps."""

import math
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from lowlift._audit import Audit
from lowlift._guarantees import Ends, limited, promise_of
from lowlift._rounding import at_most, percent_at_most
from lowlift._wording import capital, counted, joined, of_rows
from lowlift.criteria import (
    AlphaLift,
    Chi2Lift,
    Criterion,
    L1Lift,
    Population,
    TCloseness,
    plain_criterion,
)
from lowlift.encodings import Encoded
from lowlift.report.beliefs import Belief, beliefs_of, worst_first
from lowlift.tables.schema import OF_CELLS

#: The state of an answer: it holds and is useful; it holds and keeps almost nothing; it does not.
USEFUL, EMPTY, CANNOT = "useful", "empty", "cannot"
#: How one that holds and is useful is shown where a row can make a value certain: not in green.
PROVES = "proves"
TITLES = {
    USEFUL: "Holds, and is useful",
    EMPTY: "Holds, but keeps almost nothing",
    CANNOT: "Cannot be promised",
    PROVES: "Holds, but can prove a value",
}
#: Values that say nothing without the name of their column.
_BARE = ("true", "false", "yes", "no", "(missing)")
_AVERAGED = (AlphaLift, Chi2Lift, L1Lift, TCloseness)
#: A release that keeps less than this keeps almost nothing.
LEAST_KEPT = 0.1
#: A number of which less is better.
MOVED = "points that shares are expected to move"
#: Of rows that are drawn from cells: how many are drawn from their own.
_OWN_KIND = "of rows get one of their own kind"
#: What `Encoded.nmi` is a share of.
TOLD = "of what values tell apart"


class Kept(NamedTuple):
    """A plain number on what is kept: ``72%``, ``of rows as they are``."""

    value: str
    words: str


class Outcome(NamedTuple):
    """What a page says first of a release.

    Attributes
    ----------
    state
        `USEFUL`, `EMPTY` or `CANNOT`; only the first is shown green, unless it is `PROVES`.
    sentence
        What is promised, or why it is not.
    why
        Why a release that holds keeps almost nothing; else empty.
    kept
        A few numbers on what is kept.
    share
        What is kept, 0 to 1: of rows the share that stay in their cell, of values the information
        about X.
    most
        What no release can keep more of; None where that is not proven.
    beliefs
        Of all values of S, in the order of the joint.
    is_average
        Whether the limit is on an average over values: a single one can go further.
    """

    state: str
    sentence: str
    why: str
    kept: tuple[Kept, ...]
    share: float
    most: float | None
    beliefs: tuple[Belief, ...]
    is_average: bool = False

    @property
    def certain(self) -> tuple[str, ...]:
        """The values of S that a published row can make certain, which they were not before."""
        return tuple(each.value for each in self.beliefs if each.before < 1 <= each.most)

    @property
    def shown(self) -> str:
        """The state as it is shown: `PROVES` for a useful one by which a value becomes certain."""
        return PROVES if self.state == USEFUL and self.certain else self.state

    @property
    def proves(self) -> str:
        """What a useful release can prove, in a sentence; else empty."""
        if self.shown != PROVES:
            return ""
        values = joined(self.certain, "or")
        return f"A published row can make it certain that the value is {values}: 100% after."

    @property
    def title(self) -> str:
        """The state in words."""
        return TITLES[self.shown]

    @property
    def worst(self) -> Belief:
        """The value of S that can become the most times as likely."""
        return worst_first(self.beliefs)[0]


def outcome_of(
    encoded: Encoded,
    audit: Audit,
    *,
    is_satisfied: bool,
    sensitive: tuple[str, ...],
    failing: tuple[str, ...] = (),
) -> Outcome:
    """Return what to say first of a release.

    Parameters
    ----------
    encoded
        What would be published.
    audit
        Of that.
    is_satisfied
        Whether the bound holds for S and for each of its columns.
    sensitive
        The columns of S.
    failing
        Those of them for which alone the bound does not hold.
    """
    promise = _promise(audit.criterion, sensitive)
    state, share = state_of(encoded, is_satisfied=is_satisfied)
    if state == CANNOT:
        is_of_all = len(sensitive) > 1 and encoded.release.audit.is_satisfied
        each = f"{joined(failing, 'or')} alone" if failing else "each of them alone"
        alone = f"kept for {joined(sensitive)} together, but not for {each}"
        promise = f"not kept: {promise}" if not is_of_all else f"{alone}. Asked for: {promise}"
    why = _why(encoded, audit) if state == EMPTY else ""
    most = proven_most(encoded)
    sentence = f"{capital(promise)}."
    beliefs = tuple(
        named(belief, sensitive)._replace(is_kept=belief.is_kept and state != CANNOT)
        for belief in beliefs_of(audit)
    )
    is_average = isinstance(plain_criterion(audit.criterion), _AVERAGED)
    numbers = _numbers(encoded, state)
    return Outcome(state, sentence, why, numbers, share, most, beliefs, is_average)


def _promise(criterion: Criterion, sensitive: tuple[str, ...]) -> str:
    """Return what is promised of a row, with the names of what is protected."""
    words = of_rows(promise_of(plain_criterion(criterion), _within))
    words = words.replace("sensitive values", f"values of {joined(sensitive)}")
    words = words.replace("sensitive value", f"value of {joined(sensitive, 'or')}")
    if not isinstance(criterion, Population):
        return words
    sample = "for the population that the rows are a random sample of"
    return f"{words}, {sample}, with {_confidence(criterion)}"


def _within(ends: Ends) -> str:
    """Return `limited` in the form that is read fastest: 1/3, not 0.333 times."""
    if ends == Ends(0, 0):
        return limited(ends)
    likely, less = "times as likely as it was", f"less than 1/{at_most(ends.lower)}"
    words = f"more than {at_most(ends.upper)} {likely}, nor {less} as likely"
    if math.isinf(ends.lower):
        words = f"more than {at_most(ends.upper)} {likely}"
    if math.isinf(ends.upper):
        words = f"{less} as likely as it was"
    return f"seeing a published value makes no sensitive value {words}"


def _confidence(criterion: Population) -> str:
    """Return the confidence as it was chosen, in percent."""
    return f"{(Decimal(repr(criterion.confidence)) * 100).normalize():f}% confidence"


def named(belief: Belief, sensitive: tuple[str, ...]) -> Belief:
    """Return a belief whose value says of which column it is, where it is no word by itself."""
    is_word = any(letter.isalpha() for letter in belief.value)
    if is_word and len(belief.value) > 1 and belief.value.lower() not in _BARE:
        return belief
    return belief._replace(value=f"{joined(sensitive)} = {belief.value}")


def state_of(encoded: Encoded, *, is_satisfied: bool) -> tuple[str, float]:
    """Return the state of a release, and what it keeps."""
    if not is_satisfied or not encoded.release.audit.is_satisfied:
        return CANNOT, 0.0
    share = beyond_chance = kept_share(encoded)
    if encoded.name in OF_CELLS and share:  # drawn from all rows, some are of their own kind
        by_chance = float(encoded.release.joint.p_x @ encoded.release.joint.p_x)
        beyond_chance = (share - by_chance) / (1 - by_chance)
    return (USEFUL if beyond_chance >= LEAST_KEPT else EMPTY), share


def proven_most(encoded: Encoded) -> float | None:
    """Return what no release can keep more of, as `kept_share` measures it; None if not proven."""
    proven = encoded.release.certificate
    if proven is None or encoded.name in OF_CELLS or proven.scope != "mechanisms":
        return None
    return min(1.0, proven.upper_bound)


def kept_share(encoded: Encoded) -> float:
    """Return what a release keeps, 0 to 1; see `Outcome.share`."""
    if encoded.release.joint.n_x == 1:
        return 0.0
    kept = 1 - encoded.share_changed if encoded.name in OF_CELLS else encoded.nmi
    return min(1.0, max(0.0, kept))


def _numbers(encoded: Encoded, state: str) -> tuple[Kept, ...]:
    same, chance = whole_percent(1 - encoded.share_changed), ", by chance" if state == EMPTY else ""
    if encoded.name in OF_CELLS:
        return (
            Kept(same, f"{_OWN_KIND}{chance}"),
            Kept(f"{encoded.release.joint.n_x:,}", "kinds of rows are told apart"),
            _moved(encoded),
        )
    told, own = Kept(whole_percent(encoded.nmi), TOLD), Kept(same, f"of rows as they are{chance}")
    first = (told, own) if state == EMPTY else (own, told)
    if encoded.name == "values":
        return *first, _moved(encoded)
    values, outputs = encoded.release.joint.n_x, encoded.channel.n_y
    what = "group" if encoded.name == "groups" else "code"
    words = f"{what}{'' if outputs == 1 else 's'} for {counted(values, 'value')}"
    return *first, Kept(f"{outputs:,}", words)


def _moved(encoded: Encoded) -> Kept:
    """Return how much shares change, rounded up."""
    moved = shares_moved(encoded)
    value = f"{math.ceil(moved * 1000) / 10:g}"
    if 0 < moved < Fraction(1, 1000):  # the rounding of the channel
        value = "<0.1"
    return Kept(value, MOVED)


def shares_moved(encoded: Encoded) -> Fraction:
    """Return the most by which the share of any set of values is expected to change, exactly.

    This is half the sum of |P(y) - P(x)|, of what is published under the labels of X.
    """
    joint, channel = encoded.release.joint, encoded.channel
    rows: list[int] = np.array(joint.counts, dtype=object).sum(axis=0).tolist()
    change = {
        label: -n * channel.denominator for label, n in zip(joint.x_labels, rows, strict=True)
    }
    for y, label in enumerate(encoded.labels):
        members, weights = channel.atom(y)
        change[label] += sum(rows[x] * w for x, w in zip(members, weights, strict=True))
    return Fraction(sum(map(abs, change.values())), 2 * sum(rows) * channel.denominator)


def whole_percent(share: float) -> str:
    """Return a share that is kept in whole percent; little more than 0 or less than 1 is said so.

    Examples
    --------
    >>> whole_percent(0.719), whole_percent(0.0004), whole_percent(0.9991), whole_percent(1.0)
    ('72%', '<1%', '>99%', '100%')
    """
    if share in {0, 1}:
        return f"{share:.0%}"
    if not 0.01 <= share <= 0.99:
        return "<1%" if share < 0.5 else ">99%"
    return f"{share:.0%}"


def most_words(most: float | None) -> str:
    """Return what is proven of every method, or nothing."""
    if most is None:
        return ""
    return f"No method keeps more than {percent_at_most(most)} {TOLD} at this limit (proven)."


def _why(encoded: Encoded, audit: Audit) -> str:
    """Return why almost nothing is kept."""
    joint, criterion = audit.joint, audit.criterion
    if joint.n_x == 1:
        return "All rows are of one kind: there are too few of them, or they are alike."
    if isinstance(criterion, Population):
        rows = int(joint.counts.sum())
        little = "proves" if rows == 1 else "prove"
        return (
            f"{counted(rows, 'row')} {little} little about the people behind the sample, with "
            f"{_confidence(criterion)}: nearly every published row would tell almost nothing."
        )
    columns = "column tells" if len(encoded.origin.schema.released) == 1 else "columns tell"
    return (
        f"The {columns} so much of what is protected that the limit holds only if nearly every "
        "published row tells almost nothing."
    )
