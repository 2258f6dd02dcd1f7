"""The channel as a table, and the shares of values before and after."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lowlift._arrays import Floats, Ints
from lowlift._audit import Audit
from lowlift._rounding import percent_at_most
from lowlift._wording import cell, counted, percent, shown
from lowlift.codebook import Codebook, is_by_blocks
from lowlift.encodings import Encoded
from lowlift.figures.page import Table
from lowlift.report.outcome import whole_percent
from lowlift.report.records import Number, at_least_times, at_most_times
from lowlift.report.rows import by_column, mean_distance
from lowlift.report.rows import numbers_of as rows_kept

if TYPE_CHECKING:
    from lowlift.report.report import Report

_OUTPUTS, _MEMBERS, _BARS = 60, 6, 24
#: Columns that are named in a sentence.
_NAMED = 30
#: Cells, whose names are long.
_CELLS = 6
#: The share of rows that are published as they are, in expectation; it is said first.
AS_THEY_ARE = "Rows published as they are"
#: The share of the information in X that Y has: the normalised mutual information.
INFORMATION = "Information kept"


class Shares(NamedTuple):
    """Bars: names, shares, the part of each that is drawn dark, and the longest that is drawn.

    `letters` is how long a name may be: both sides of a report have one scale.
    """

    labels: tuple[str, ...]
    shares: Floats
    parts: Floats
    most: float
    letters: int = 0


def kept(report: "Report") -> tuple[Number, ...]:
    """Return how much of X is kept, as cards."""
    encoded, proven = report.encoded, report.certificate
    if encoded is None:
        return ()
    if report.is_rows:
        return rows_kept(report.analysis, report.values_kept)
    found = [as_they_are(encoded), Number(INFORMATION, percent(min(1.0, encoded.nmi)))]
    if proven is not None and proven.scope == "distortion":
        found.append(mean_distance(proven))
    elif proven is not None:
        what = "merging of values" if proven.scope == "partitions" else "method"
        name = f"Most information that any {what} could keep at this limit"
        found.append(Number(name, percent_at_most(proven.upper_bound), "proven"))
    what, published = report.unit, unit_of(report, is_published=True)
    after = f"{encoded.channel.n_y:,}"
    after = after if published == what else counted(encoded.channel.n_y, published)
    numbers = f"{report.raw.joint.n_x:,} before, {after} after"
    return (*found, Number(f"Different {what}s", numbers))


def as_they_are(encoded: Encoded) -> Number:
    """Return how many rows are published as they are: the plain number on what is kept."""
    note = "on average" if encoded.name == "values" else ""
    return Number(AS_THEY_ARE, percent(1 - encoded.share_changed), note)


def unit_of(report: "Report", *, is_published: bool = False) -> str:
    """Return what a symbol of X, or one of what is published instead, is called."""
    origin, encoded = report.origin, report.encoded
    if report.is_rows:
        return "cell"
    if origin is None:
        return "value"
    if is_published and encoded is not None and encoded.name != "values":
        return encoded.name.removesuffix("s")
    return "value" if len(origin.schema.released) == 1 else "combination"


def kept_by_column(report: "Report") -> str:
    """Return how many rows keep their value, column by column; empty where that is not known."""
    if report.encoded is None or report.origin is None or len(report.origin.schema.released) == 1:
        return ""
    if report.is_rows:
        shares = by_column(report.values_kept, report.analysis)
    else:
        names = report.origin.schema.released
        shares = dict(zip(names, report.encoded.unchanged_by_column, strict=False))
    words = [f"{cell(name)} {whole_percent(share)}" for name, share in shares.items()]
    more = [f"and {len(words) - _NAMED:,} more columns"] if len(words) > _NAMED + 1 else []
    return ", ".join([*words[: _NAMED if more else None], *more])


def channel_table(report: "Report", named: tuple[tuple[str, ...], tuple[str, ...]]) -> Table:
    """Return the outputs by share: what each stands for, and its extreme lifts.

    `named` are what values of X and outputs are called.
    """
    audit, channel, is_cells = report.subject, report.subject.channel, report.is_rows
    names, p_x = named[0], audit.joint.p_x
    most = _CELLS if is_cells else _OUTPUTS
    order = np.argsort(-audit.p_y, kind="stable")[:most].tolist()
    rows = []
    for y in order:
        members, weights = channel.atom(y)
        masses = p_x[members] * np.array(weights, np.float64)
        words = _mixture([cell(names[x]) for x in members], masses / masses.sum())
        lifts = audit.lift[:, y]
        extremes = at_most_times(float(lifts.max())), at_least_times(float(lifts.min()))
        rows.append((cell(named[1][y]), percent(float(audit.p_y[y])), words, *extremes))
    first = "cell" if is_cells else "published"
    head = (first, "share", "stands for", "largest lift", "smallest lift")
    behind = "the cells that their rows come from" if is_cells else "the values behind each"
    what = unit_of(report, is_published=True)
    some = _some(len(rows), channel.n_y, what if is_cells else f"published {what}")
    caption = f"{some}, by share, and {behind}."
    return Table(caption, head, tuple(rows), (1, 3, 4), channel.n_y - len(rows))


def public_channel_table(
    book: Codebook, what: str = "value", *, is_withheld: bool = False
) -> Table:
    """Return the outputs in their order: what each stands for, in the codebook's intervals.

    Without probabilities when they were fitted to S: from them P(s|x) can be worked out; nor when
    the codebook is withheld, as small counts can be worked out of them.
    """
    is_told = book.channel is not None and is_by_blocks(book.channel) and not is_withheld
    rows = []
    for y, text in enumerate(book.texts[:_OUTPUTS]):
        names = [cell(shown(book.x_labels[x])) for x in book.members[y]]
        pairs = list(zip(names, book.p_x_given_y[y], strict=True))
        if is_told:  # else in the order of X: the likeliest first would tell too
            pairs.sort(key=lambda pair: -pair[1][0])
        words = [
            f"{name} ({100 * low:.6g}% to {100 * high:.6g}%)" if is_told and pairs[1:] else name
            for name, (low, high) in pairs[:_MEMBERS]
        ]
        rows.append((cell(text), "; ".join(_cut(words, len(pairs)))))
    hidden = len(book.texts) - len(rows)
    likely = ", with how likely each is" if is_told else ""
    some = _some(len(rows), len(book.texts), f"published {what}")
    caption = f"{some}, and the values behind each{likely}."
    return Table(caption, ("published", "stands for"), tuple(rows), (), hidden)


def _some(few: int, all_of_them: int, what: str) -> str:
    if few == all_of_them:
        return counted(few, what)
    return f"{few} of {counted(all_of_them, what)}"


def _mixture(names: list[str], shares: Floats) -> str:
    if len(names) == 1:
        return names[0]
    order = np.argsort(-shares, kind="stable")[:_MEMBERS].tolist()
    words = [f"{names[k]} ({percent(float(shares[k]))})" for k in order]
    return "; ".join(_cut(words, len(names)))


def _cut(words: list[str], whole: int) -> list[str]:
    return [*words, f"{whole - len(words):,} more"] if whole > len(words) else words


def shares_of(raw: Audit, encoded: Encoded | None) -> tuple[Shares, ...]:
    """Return the shares before, and after where something else is published, on one scale."""
    sides = [_before(raw, encoded)] + ([] if encoded is None else [_after(encoded)])
    most = max(side.most for side in sides)
    letters = max(len(label) for side in sides for label in side.labels)
    return tuple(side._replace(most=most, letters=letters) for side in sides)


def _before(raw: Audit, encoded: Encoded | None) -> Shares:
    """Return P(x), and how much of it is published as x itself, alone."""
    kept = p_x = raw.joint.p_x
    if encoded is not None:
        kept = _summed(encoded.channel.members, encoded.unchanged, len(p_x))
    names = [shown(label) for label in raw.joint.x_labels] if encoded is None else encoded.x_texts
    return _most(list(names), p_x, kept)


def _after(encoded: Encoded) -> Shares:
    """Return P(y), and how much of it is a value of X published as itself."""
    channel, p_y = encoded.channel, encoded.release.audit.p_y
    kept = _summed(channel.entry_outputs, encoded.unchanged, channel.n_y)
    return _most(list(encoded.texts), p_y, kept)


def _summed(places: Ints, masses: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(places, masses, size), np.float64)


def _most(names: list[str], shares: Floats, parts: Floats) -> Shares:
    """Return all bars in their order, or the longest and one number for the rest."""
    if len(names) <= _BARS:
        return Shares(tuple(names), shares, np.minimum(parts, shares), float(shares.max()))
    order = np.argsort(-shares, kind="stable")
    first, last = order[: _BARS - 1], order[_BARS - 1 :]
    found = [names[k] for k in first.tolist()]
    both = [np.append(part[first], part[last].sum()) for part in (shares, parts)]
    labels, parts = (*found, f"{len(last):,} others"), np.minimum(both[1], both[0])
    return Shares(labels, both[0], parts, float(both[0].max()))
