"""The answer in plain words: which of three states a release is in, and what it keeps."""

import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import chain
from typing import NamedTuple

import numpy as np

from lowlift._audit import Audit
from lowlift._cells.kept import ValuesKept
from lowlift._certificates import Certificate
from lowlift._rounding import ceiling, percent_at_most
from lowlift._wording import capital, counted, joined
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
from lowlift.report.beliefs import Belief, beliefs_of, in_same_digits, worst_first
from lowlift.report.promises import confidence, not_kept, promise, unmarked
from lowlift.tables.schema import OF_CELLS

#: The state of an answer: it holds and is useful; it holds and keeps almost nothing; it does not.
USEFUL, EMPTY, CANNOT = "useful", "empty", "cannot"
#: How one that holds and is useful is shown, not in green: where a row can make a value certain,
#: and where the limit is on an average.
PROVES, AVERAGE = "proves", "average"
TITLES = {
    USEFUL: "Holds, and is useful",
    EMPTY: "Holds, but keeps almost nothing",
    CANNOT: "Cannot be promised",
    PROVES: "Holds, but can prove a value",
    AVERAGE: "Holds on average; one value can go further",
}
#: Values that say nothing without the name of their column.
_BARE = ("true", "false", "yes", "no", "(missing)")
_AVERAGED = (AlphaLift, Chi2Lift, L1Lift, TCloseness)
#: A release that keeps less than this keeps almost nothing.
LEAST_KEPT = 0.1
#: A number of percentage points, of which less is better; see `shares_moved`.
MOVED = "largest expected change of any share"
#: What `ValuesKept.nearness` is.
NEARNESS = "how close rows stay to the originals"
#: What `Encoded.nmi` is a share of.
TOLD = "of the information"


class Kept(NamedTuple):
    """A plain number on what is kept: ``72%``, ``of rows as they are``.

    `number` is what `value` rounds; None where that says no more than `value`.
    """

    value: str
    words: str
    number: float | None = None


class Outcome(NamedTuple):
    """What a page says first of a release.

    Attributes
    ----------
    state
        `USEFUL`, `EMPTY` or `CANNOT`; only the first is shown green, and not always: see `shown`.
    marked
        What is promised, or of which columns it is not; names of columns are marked, see
        `lowlift.report.promises`.
    why
        Why a release that holds keeps almost nothing; of one that does not hold what was asked for,
        marked likewise; else empty.
    kept
        A few numbers on what is kept.
    share
        What is kept, 0 to 1: of rows how close they stay to the originals (`ValuesKept.nearness`),
        of values the information about X.
    most
        What no release can keep more of; None where that is not proven.
    beliefs
        Of all values of S, in the order of the joint; where the limit does not hold for single
        columns of S, of all values of those.
    is_average
        Whether the limit is on an average over values: a single one can go further.
    rarest
        Of the value of S that the fewest rows have, of ties the first.
    """

    state: str
    marked: str
    why: str
    kept: tuple[Kept, ...]
    share: float
    most: float | None
    beliefs: tuple[Belief, ...]
    is_average: bool = False
    rarest: Belief | None = None

    @property
    def sentence(self) -> str:
        """What is promised, or of which columns it is not."""
        return unmarked(self.marked)

    @property
    def certain(self) -> tuple[str, ...]:
        """The values of S that a published row can make certain, which they were not before."""
        return tuple(each.value for each in self.beliefs if _is_proven(each))

    @property
    def shown(self) -> str:
        """The state as it is shown: `PROVES` or `AVERAGE` for a useful one that is not green."""
        return shown_as(self.state, self.beliefs, is_average=self.is_average)

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


def _is_proven(belief: Belief) -> bool:
    return belief.before < 1 <= belief.most


def shown_as(state: str, beliefs: Iterable[Belief], *, is_average: bool) -> str:
    """Return how a state is shown; see `Outcome.shown`."""
    if state != USEFUL:
        return state
    return PROVES if any(map(_is_proven, beliefs)) else AVERAGE if is_average else USEFUL


def is_averaged(criterion: Criterion) -> bool:
    """Return whether a criterion is on an average over values."""
    return isinstance(plain_criterion(criterion), _AVERAGED)


def outcome_of(
    encoded: Encoded,
    audit: Audit,
    *,
    is_satisfied: bool,
    sensitive: tuple[str, ...],
    failing: tuple[tuple[str, Audit], ...] = (),
    kept: ValuesKept | None = None,
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
        Those of them for which alone the bound does not hold, with their audits.
    kept
        How many values of published rows stay as they are.
    """
    criterion = audit.criterion
    state, share = state_of(encoded, is_satisfied=is_satisfied, kept=kept)
    sentence, why = f"{capital(promise(criterion, sensitive))}.", ""
    if state == CANNOT:
        is_of_all = len(sensitive) > 1 and encoded.release.audit.is_satisfied
        sentence, why = not_kept(criterion, sensitive, failing, is_of_all=is_of_all)
    if state == EMPTY:
        why = _why(encoded, audit)
    every = beliefs = _beliefs(audit, sensitive, state)
    if failing:
        parts = (_beliefs(each, (name,), state) for name, each in failing)
        beliefs = in_same_digits(tuple(chain.from_iterable(parts)))
    rarest = min(every, key=lambda belief: belief.before)
    is_average = is_averaged(criterion)
    numbers, most = _numbers(encoded, state, kept), proven_most(encoded)
    return Outcome(state, sentence, why, numbers, share, most, beliefs, is_average, rarest)


def _beliefs(audit: Audit, columns: tuple[str, ...], state: str) -> tuple[Belief, ...]:
    return tuple(
        named(belief, columns)._replace(is_kept=belief.is_kept and state != CANNOT)
        for belief in beliefs_of(audit)
    )


def named(belief: Belief, sensitive: tuple[str, ...]) -> Belief:
    """Return a belief whose value says of which column it is, where it is no word by itself."""
    is_word = any(letter.isalpha() for letter in belief.value)
    if is_word and len(belief.value) > 1 and belief.value.lower() not in _BARE:
        return belief
    return belief._replace(value=f"{joined(sensitive)} = {belief.value}")


def state_of(
    encoded: Encoded, *, is_satisfied: bool, kept: ValuesKept | None = None
) -> tuple[str, float]:
    """Return the state of a release, and what it keeps; see `outcome_of`."""
    if not is_satisfied or not encoded.release.audit.is_satisfied:
        return CANNOT, 0.0
    share = kept_share(encoded, kept)
    return (USEFUL if share >= LEAST_KEPT else EMPTY), share


def proven_most(encoded: Encoded) -> float | None:
    """Return what no release can keep more of, as `kept_share` measures it; None if not proven."""
    proven = encoded.release.certificate
    if proven is None or encoded.name in OF_CELLS or proven.scope != "mechanisms":
        return None
    return min(1.0, proven.upper_bound)


def kept_share(encoded: Encoded, kept: ValuesKept | None = None) -> float:
    """Return what a release keeps, 0 to 1; see `Outcome.share`."""
    if encoded.release.joint.n_x == 1:
        return 0.0
    if encoded.name in OF_CELLS:
        return 1 - encoded.share_changed if kept is None else kept.nearness
    return min(1.0, max(0.0, encoded.nmi))


def _numbers(encoded: Encoded, state: str, kept: ValuesKept | None) -> tuple[Kept, ...]:
    same, is_chance = 1 - encoded.share_changed, state == EMPTY
    stay = "happen to stay as they are" if is_chance else "as they are"
    if encoded.name in OF_CELLS:
        if kept is None:  # how many rows stay in their cell says little of how many values stay
            return (_moved(encoded),)
        as_is = _share(kept.share, f"of values {stay}")
        return as_is, _share(kept.nearness, NEARNESS), _moved(encoded)
    told, own = _share(encoded.nmi, TOLD), _share(same, f"of rows {stay}")
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
    number = f"{math.ceil(moved * 1000) / 10:g}"
    if 0 < moved < Fraction(1, 1000):  # the rounding of the channel
        return Kept("<0.1 points", MOVED)
    return Kept(f"{number} point{'' if number == '1' else 's'}", MOVED, float(moved))


def _share(share: float, words: str) -> Kept:
    return Kept(whole_percent(share), words, share)


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


def stopped_words(proven: Certificate | None, *, is_advised: bool = True) -> str:
    """Return that a search was stopped, without jargon; empty for one that ended by itself.

    Parameters
    ----------
    proven
        Of a release. What is proven of every method is said elsewhere on a page.
    is_advised
        Whether more time is advised.

    Examples
    --------
    >>> stopped = Certificate("mechanisms", 0.743, False, 0.258, stopped_after=20.0)
    >>> stopped_words(stopped)
    'The search stopped after 20 s. More time may keep more: try a time limit of 60 s.'
    """
    if proven is None or proven.stopped_after is None:
        return ""
    words, could = f"The search stopped after {proven.stopped_after:.3g} s", "keep more"
    if proven.scope == "distortion":
        words += f": the mean change of a row is within {ceiling(proven.gap)} of the proven least"
        could = "change less"
    elif proven.scope == "partitions":
        most = percent_at_most(proven.upper_bound)
        words += f": no merging of values keeps more than {most} {TOLD} (proven)"
    if not is_advised:
        return f"{words}."
    seconds = max(1, math.ceil(3 * proven.stopped_after))
    return f"{words}. More time may {could}: try a time limit of {seconds} s."


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
            f"{confidence(criterion)}: nearly every published row would tell almost nothing."
        )
    columns = "column tells" if len(encoded.origin.schema.released) == 1 else "columns tell"
    return (
        f"The {columns} so much of what is protected that the limit holds only if nearly every "
        "published row tells almost nothing."
    )
