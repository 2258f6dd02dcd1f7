"""The part of a report that is about published rows: what the analyst gets, and cells in words."""

from typing import Any

from lowlift._cells.utility import Utility
from lowlift._rounding import floor
from lowlift._wording import cell, percent
from lowlift.encodings import Encoded
from lowlift.encodings.rows import RowChanges
from lowlift.figures.page import Table
from lowlift.report.records import Number


def numbers_of(found: Utility | None, encoded: Encoded) -> tuple[Number, ...]:
    """Return what of the rows survives, as cards."""
    found_cells = RowChanges.of(encoded.release)
    note = "rows are drawn inside them"
    if found_cells.parts > found_cells.cells:
        note = f"split into {found_cells.parts:,} parts; {note}"
    cells = Number("Cells", f"{found_cells.cells:,}", note)
    cards = [*changes(encoded), cells]
    if found is None:
        return tuple(cards)
    if found.moved is not None and found.unchanged is not None:
        note = f"a random row: {found.moved_at_random:.3f}; 0 is the same row"
        cards.append(Number("Distance of a row to its published row", f"{found.moved:.3f}", note))
        note = "expected, equal in all columns"
        cards.append(Number("Rows published unchanged", percent(found.unchanged), note))
    note = f"bootstrap: {found.bootstrap_columns:.4f}"
    cards.append(Number("Tables of one column", f"{found.columns_mean:.4f}", note))
    if len(found.columns) > 1:
        note = f"bootstrap: {found.bootstrap_pairs:.4f}"
        cards.append(Number("Tables of two columns", f"{found.pairs_mean:.4f}", note))
        pair = " by ".join(found.worst_pair)
        note = f"{cell(pair)}; worst of the bootstrap: {found.bootstrap_worst:.4f}"
        cards.append(Number("Worst table of two columns", f"{found.pairs_worst:.4f}", note))
        cards.append(Number("Worst cell of them", f"{found.cell_worst:.4f}", "of all rows"))
    if found.correlation_mean is not None:
        note = f"mean {found.correlation_mean:.4f}; bootstrap: {found.bootstrap_correlation:.4f}"
        cards.append(Number("Correlations differ at most", f"{found.correlation_worst:.4f}", note))
    for score in found.scores:
        note = f"{score.measure}; raw {score.raw:.3f}, base {score.base:.3f}"
        cards.append(Number(score.name, f"{score.published:.3f}", note))
    return tuple(cards)


def unique_rows(found: Utility) -> tuple[Number, ...]:
    """Return how many rows are unique, before and after, as cards."""
    parts = (found.unique_before, found.rows_before), (found.unique_after, found.rows_after)
    before, after = (f"{percent(part / whole)} of the rows" for part, whole in parts)
    smallest = f"{found.smallest_before:,} → {found.smallest_after:,}"
    cards = [
        Number("Unique rows before", f"{found.unique_before:,}", before),
        Number("Unique rows after", f"{found.unique_after:,}", after),
        Number("Smallest group of equal rows", smallest, "before → after"),
    ]
    if (equal := found.unique_rows_published) is not None:
        name = "Published rows that equal a unique row of the source"
        note = f"{percent(equal / found.rows_after)} of the rows"
        cards.append(Number(name, f"{equal:,}", note))
    return tuple(cards)


def columns_table(found: Utility) -> Table:
    """Return the columns: distances of their tables, and what becomes of a row."""
    caption = (
        "Columns. Distance of its table: the share of rows that would have to change their value. "
        "Distance: between a row and its published row, of ranks for numbers, else 0 or 1; "
        "expected over the draws."
    )
    numeric = tuple(range(1, len(found.head)))
    return Table(caption, found.head, tuple(found.rows), numeric)


def mean_distance(certificate: Any) -> Number:
    """Return the mean distance that a certificate is of, and what is proven about it."""
    note = f"0: none, 1: all columns; proven: at least {floor(certificate.lower_bound)}"
    return Number("Mean change", f"{certificate.distortion:.3f}", note)


def changes(encoded: Encoded) -> tuple[Number, ...]:
    """Return how far rows move and how many stay in their cell."""
    found, proven = RowChanges.of(encoded.release), encoded.release.certificate
    stay = Number(
        "Rows that stay in their cell", percent(found.stay), "expected; values are drawn anew"
    )
    return (stay,) if proven is None else (mean_distance(proven), stay)
