"""The part of a report that is about published rows: what the analyst gets, and cells in words."""

from typing import Any

from lowlift._cells.kept import ValuesKept
from lowlift._cells.utility import Utility
from lowlift._rounding import ceiling, floor
from lowlift._wording import cell, percent
from lowlift.encodings import Encoded
from lowlift.encodings.rows import RowChanges
from lowlift.figures.page import Table
from lowlift.report.outcome import whole_percent
from lowlift.report.records import Number


def numbers_of(found: Utility | None, kept: ValuesKept | None) -> tuple[Number, ...]:
    """Return what of the rows survives, as cards; empty where nothing of it is known."""
    cards = _as_they_are(kept, found)
    if found is None:
        return tuple(cards)
    if found.unchanged is not None:
        note = "on average, equal in all columns"
        cards.append(Number("Rows published unchanged", percent(found.unchanged), note))
    cards.append(_moved("of one column", found.columns_mean, found.bootstrap_columns))
    if len(found.columns) > 1:
        cards.append(_moved("of two columns", found.pairs_mean, found.bootstrap_pairs))
    return tuple(cards)


def _as_they_are(kept: ValuesKept | None, found: Utility | None) -> list[Number]:
    """Return the two numbers that a screen says of published rows, as far as they are known."""
    name = "Values that stay as they are"
    if kept is None:
        shares = list(by_column(kept, found).values())
        mean = sum(shares) / max(len(shares), 1)
        return [Number(name, whole_percent(mean), "on average")] if shares else []
    chance = f"on average; by chance alone {whole_percent(kept.chance)}"
    near = "100%: the row itself; 0%: any row of the table"
    return [
        Number(name, whole_percent(kept.share), chance),
        Number("How close rows stay to the originals", whole_percent(kept.nearness), near),
    ]


def by_column(kept: ValuesKept | None, found: Utility | None) -> dict[str, float]:
    """Return how many rows keep their value of each column; empty where that is not known."""
    if kept is not None:
        return dict(zip(kept.names, kept.shares, strict=True))
    columns = () if found is None else found.columns
    return {one.name: 1 - one.changed for one in columns if one.changed is not None}


def in_full(found: Utility | None, encoded: Encoded) -> tuple[Number, ...]:
    """Return what else becomes of the rows, as cards of the annex."""
    found_cells = RowChanges.of(encoded.release)
    note = "a row is replaced by a row of its own or of another kind; within that kind by chance"
    if found_cells.parts > found_cells.cells:
        note = f"split into {found_cells.parts:,} parts; {note}"
    cards = [*changes(encoded), Number("Kinds of rows", f"{found_cells.cells:,}", note)]
    if found is None:
        return tuple(cards)
    if len(found.columns) > 1:
        worst = _moved("of the worst pair", found.pairs_worst, found.bootstrap_worst)
        pair = cell(" by ".join(found.worst_pair))
        cards.append(worst._replace(note=f"{pair}: {worst.note}"))
    if found.moved is not None:
        note = f"a random row: {found.moved_at_random:.3f}; 0 is the same row"
        cards.append(Number("Distance of a row to its published row", f"{found.moved:.3f}", note))
    if found.correlation_mean is not None:
        mean, chance = found.correlation_mean, found.bootstrap_correlation
        note = f"on average {mean:.4f}; by chance {chance:.4f}"
        cards.append(Number("Correlations differ at most", f"{found.correlation_worst:.4f}", note))
    for score in found.scores:
        note = f"{score.measure}; raw {score.raw:.3f}, base {score.base:.3f}"
        cards.append(Number(score.name, f"{score.published:.3f}", note))
    return tuple(cards)


def _moved(which: str, share: float, by_chance: float) -> Number:
    """Return by how much counts differ from those of the source, beside what chance alone does."""
    note = f"of rows. Chance alone gives {percent(by_chance)}"
    return Number(f"How far counts {which} move", percent(share), note)


def unique_rows(found: Utility) -> tuple[Number, ...]:
    """Return how many rows are unique, before and after, as cards."""
    parts = (found.unique_before, found.rows_before), (found.unique_after, found.rows_after)
    before, after = (f"{percent(part / whole)} of the rows" for part, whole in parts)
    smallest = f"{found.smallest_before:,} before, {found.smallest_after:,} after"
    equal = found.unique_rows_published
    if equal is not None and equal > found.unique_after:
        after += "; some records are published more than once"
    cards = [
        Number("Unique rows before", f"{found.unique_before:,}", before),
        Number("Unique rows after", f"{found.unique_after:,}", after),
        Number("Smallest group of equal rows", smallest),
    ]
    if equal is not None:
        name = "Published rows that are a record of one person only"
        note = f"{percent(equal / found.rows_after)} of the rows"
        cards.append(Number(name, f"{equal:,}", note))
    return tuple(cards)


def columns_table(found: Utility) -> Table:
    """Return the columns: distances of their tables, and what becomes of a row."""
    caption = (
        "Columns. Distance of its table: the share of rows that would have to change their value; "
        "the bootstrap is what chance alone gives. "
        "Distance: between a row and its published row, of ranks for numbers, else 0 or 1; "
        "expected over the draws."
    )
    numeric = tuple(range(1, len(found.head)))
    return Table(caption, found.head, tuple(found.rows), numeric)


def mean_distance(certificate: Any) -> Number:
    """Return the mean distance that a certificate is of, and what is proven about it."""
    note = f"0: none, 1: all columns; proven: at least {floor(certificate.lower_bound)}"
    return Number("Mean change of a row", ceiling(certificate.distortion), note)


def changes(encoded: Encoded) -> tuple[Number, ...]:
    """Return how far rows move and how many stay in their cell."""
    found, proven = RowChanges.of(encoded.release), encoded.release.certificate
    stay = Number("Rows replaced by one of their own kind", percent(found.stay), "on average")
    return (stay,) if proven is None else (mean_distance(proven), stay)
