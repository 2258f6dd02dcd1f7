"""The answer in plain words: which of three states a release is in, and what it keeps."""

from typing import NamedTuple

from lowlift._audit import Audit
from lowlift._guarantees import FAILS, promise_of, verdict_word
from lowlift._rounding import percent_at_most
from lowlift._wording import capital, counted, joined, of_rows
from lowlift.criteria import Population
from lowlift.encodings import Encoded
from lowlift.report.beliefs import Belief, beliefs_of, worst_first
from lowlift.tables.schema import OF_CELLS

#: The state of an answer: it holds and is useful; it holds and keeps almost nothing; it does not.
USEFUL, EMPTY, CANNOT = "useful", "empty", "cannot"
TITLES = {
    USEFUL: "Holds, and is useful",
    EMPTY: "Holds, but keeps almost nothing",
    CANNOT: "Cannot be promised",
}
#: A release that keeps less than this keeps almost nothing.
LEAST_KEPT = 0.1


class Kept(NamedTuple):
    """A plain number on what is kept: ``72%``, ``of rows as they are``."""

    value: str
    words: str


class Outcome(NamedTuple):
    """What a page says first of a release.

    Attributes
    ----------
    state
        `USEFUL`, `EMPTY` or `CANNOT`; only the first is shown green.
    sentence
        What is promised, or why it is not.
    why
        Why a release that holds keeps almost nothing; else empty.
    kept
        A few numbers on what is kept.
    share
        What is kept, 0 to 1: of rows the share that stay in their cell, less what chance alone
        would leave there; of values the information about X.
    most
        What no release can keep more of; None where that is not proven.
    beliefs
        Of all values of S, in the order of the joint.
    """

    state: str
    sentence: str
    why: str
    kept: tuple[Kept, ...]
    share: float
    most: float | None
    beliefs: tuple[Belief, ...]

    @property
    def title(self) -> str:
        """The state in words."""
        return TITLES[self.state]

    @property
    def worst(self) -> Belief:
        """The value of S that can become the most times as likely."""
        return worst_first(self.beliefs)[0]


def outcome_of(
    encoded: Encoded, audit: Audit, *, is_satisfied: bool, sensitive: tuple[str, ...]
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
    """
    is_rows, criterion = encoded.name in OF_CELLS, audit.criterion
    promise = promise_of(criterion).replace("sensitive value", f"value of {joined(sensitive)}")
    promise = of_rows(promise) if is_rows else promise
    share = kept_share(encoded)
    state = USEFUL if share >= LEAST_KEPT else EMPTY
    if verdict_word(criterion, audit.is_certified, is_satisfied) == FAILS or not is_satisfied:
        state, promise = CANNOT, f"not kept for each sensitive column alone: {promise}"
    why = _why(encoded, audit) if state == EMPTY else ""
    proven, most = encoded.release.certificate, None
    if proven is not None and getattr(proven, "scope", "") == "mechanisms" and not is_rows:
        most = min(1.0, proven.upper_bound)
    sentence = f"{capital(promise)}."
    return Outcome(state, sentence, why, _numbers(encoded), share, most, beliefs_of(audit))


def kept_share(encoded: Encoded) -> float:
    """Return what a release keeps, 0 to 1; see `Outcome.share`."""
    joint = encoded.release.joint
    if joint.n_x == 1:
        return 0.0
    if encoded.name not in OF_CELLS:
        return min(1.0, max(0.0, encoded.nmi))
    by_chance = float(joint.p_x @ joint.p_x)  # the law of the table is kept
    return max(0.0, (1 - encoded.share_changed - by_chance) / (1 - by_chance))


def _numbers(encoded: Encoded) -> tuple[Kept, ...]:
    if encoded.name in OF_CELLS:
        return (
            Kept(whole_percent(1 - encoded.share_changed), "of rows stay among rows like them"),
            Kept(f"{encoded.release.joint.n_x:,}", "kinds of rows are told apart"),
            Kept("0 pts", "shares of values move, but for chance"),
        )
    same = Kept(whole_percent(1 - encoded.share_changed), "of rows as they are")
    told = Kept(whole_percent(encoded.nmi), "of what values tell apart")
    if encoded.name == "values":
        return same, told, Kept("0 pts", "shares of values move, but for chance")
    values, outputs = encoded.release.joint.n_x, encoded.channel.n_y
    what = "group" if encoded.name == "groups" else "code"
    words = f"{what}{'' if outputs == 1 else 's'} for {counted(values, 'value')}"
    return same, told, Kept(f"{outputs:,}", words)


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
    return f"No method keeps more than {percent_at_most(most)} at this limit (proven)."


def _why(encoded: Encoded, audit: Audit) -> str:
    """Return why almost nothing is kept."""
    joint, criterion = audit.joint, audit.criterion
    if joint.n_x == 1:
        return "All rows are of one kind: there are too few of them, or they are alike."
    if isinstance(criterion, Population):
        rows = counted(int(joint.counts.sum()), "row")
        return (
            f"{rows} prove little about the people they were drawn from, with "
            f"{criterion.confidence:.0%} confidence: nearly every published row would say the same."
        )
    what = "row" if encoded.name in OF_CELLS else "value"
    return (
        f"The columns tell much of the sensitive values, so that the limit holds only because "
        f"nearly every published {what} would say the same."
    )
