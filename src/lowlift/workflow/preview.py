"""Eight rows of a table before and after, as a design would publish them: for its owner alone.

The rows are the owner's own data, and a published value stands beside the row that it replaces:
who sees both can undo the draw. So a preview is shown on the owner's machine and written nowhere.
Its draws come from a seed made of the release; those of a publication come from the operating
system, so that a preview never repeats them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np

from lowlift._arrays import Ints
from lowlift._draw import draw
from lowlift.encodings import Encoded
from lowlift.encodings.encoded import parts_of
from lowlift.errors import InvalidInput
from lowlift.tables import Column, Table, open_table
from lowlift.tables.schema import COLUMNS, OF_CELLS
from lowlift.workflow.designing import Design
from lowlift.workflow.utility import published_for, row_within

#: How a published value differs: drawn anew, so that it may be false; or coarser, and true.
NEW, COARSER = "new", "coarser"
#: Rows that a preview shows, and those that it chooses from and draws in.
ROWS, _MOST_ROWS = 8, 30_000


class Value(NamedTuple):
    """A published value as text, None for a missing one, and how it differs from the row's own."""

    text: str | None
    change: str = ""


class PreviewRow(NamedTuple):
    """A row of the table, and what would be published in its place."""

    sensitive: tuple[str | None, ...]
    before: tuple[str | None, ...]
    after: tuple[Value, ...]


@dataclass(frozen=True)
class Preview:
    """Rows before and after, and how many values stay as they are.

    Attributes
    ----------
    sensitive, before, after
        The names of the columns: of S, of X, and those that are published.
    rows
        The rows that were chosen.
    table_rows
        How many rows the table has.
    unchanged
        For each released column the expected share of rows whose value stays as it is; nothing
        where no values of columns are published.
    whole
        The expected share of rows of which every value stays as it is.
    """

    sensitive: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    rows: tuple[PreviewRow, ...]
    table_rows: int
    unchanged: tuple[tuple[str, float], ...] = ()
    whole: float | None = None

    @property
    def values_unchanged(self) -> float | None:
        """The mean of `unchanged`."""
        shares = [share for _, share in self.unchanged]
        return sum(shares) / len(shares) if shares else None


def preview(source: Any, made: Design, page: int = 0, *, engine: str | None = None) -> Preview:
    """Return eight rows of a table before and after; another `page` shows eight others.

    The same design, table and page give the same preview. It is one possible draw, and not the one
    that will be published.

    Raises
    ------
    InvalidInput
        When no row of the table has values that the design knows.

    Cost
        Up to 30,000 rows are read.
    """
    with open_table(source, engine) as table:
        return preview_table(table, made, page)


def preview_table(table: Table, made: Design, page: int = 0) -> Preview:
    """Return eight rows of an open table before and after; see `preview`."""
    encoded, origin = made.encoded, made.spec
    is_rows = encoded.name in OF_CELLS
    # Pages of rows show one draw of all rows, so that each says the same of what it keeps.
    seed = _seed(made, 0 if is_rows else page)
    names = list(origin.schema.released)
    sensitive = [column.name for column in origin.sensitive]
    symbols = [origin.cells] if origin.cells is not None else list(origin.released)
    if origin.cells is not None:
        table.hold([*names, *sensitive])  # cells of a copy are found much faster
    rows = table.sample([*names, *sensitive], [*symbols, *origin.sensitive], _MOST_ROWS)
    rows.sort(key=repr)  # engines give rows in any order
    width = len(names) + len(sensitive)
    x = _numbers([row[width : width + len(symbols)] for row in rows], symbols, encoded)
    known = np.flatnonzero(x >= 0)
    if not known.size:
        raise InvalidInput(
            "no row of the table has values that the design knows; was it changed? Read it again."
        )
    rows, x = [rows[k] for k in known.tolist()], x[known]
    rng = np.random.default_rng(seed)
    # Pages are parts of one order, so that they share no row until all were shown.
    order = np.random.default_rng(_seed(made, 0)).permutation(len(rows))
    chosen = np.sort(np.roll(order, -ROWS * page)[:ROWS])
    before = [tuple(map(_shown, rows[k][: len(names)])) for k in chosen.tolist()]
    whole: float | None
    if is_rows:
        after, unchanged, whole = _of_rows(rows, x, chosen, encoded, names, rng)
    else:
        after = _of_symbols(x[chosen], encoded, rng)
        unchanged, whole = _unchanged(encoded, names)
    found = [
        PreviewRow(tuple(map(_shown, rows[k][len(names) : width])), own, values)
        for k, own, values in zip(chosen.tolist(), before, after, strict=True)
    ]
    return Preview(
        tuple(sensitive), tuple(names), encoded.names, tuple(found), table.rows, unchanged, whole
    )


def first_rows(source: str) -> tuple[tuple[str | None, ...], ...]:
    """Return any eight rows of a table that was written, below the names of its columns."""
    with open_table(source) as table:
        names = list(table.kinds)
        rows = table.sample(names, [], _MOST_ROWS)
    few = np.random.default_rng().permutation(len(rows))[:ROWS].tolist()
    return (tuple(names), *(tuple(map(_shown, rows[k][: len(names)])) for k in few))


def _seed(made: Design, page: int) -> int:
    text = f"lowlift preview {made.release.fingerprint} {page}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def _numbers(
    texts: Sequence[tuple[str | None, ...]], columns: Sequence[Column], encoded: Encoded
) -> Ints:
    """Return the symbol of X of each row, -1 for one that the design does not know."""
    number = {}
    for k, label in enumerate(encoded.release.joint.x_labels):
        parts = label if isinstance(label, tuple) and len(columns) > 1 else (label,)
        key = tuple(c.text_of(part) for c, part in zip(columns, parts, strict=True))
        number[key] = k
    return np.array([number.get(tuple(key), -1) for key in texts], np.int64)


def _shown(value: Any) -> str | None:
    """Return a value as the page shows it; None for a missing one."""
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime | date):
        return value.isoformat(*([" "] if isinstance(value, datetime) else []))
    return str(value)


def _of_rows(
    rows: Sequence[tuple[Any, ...]],
    x: Ints,
    chosen: Ints,
    encoded: Encoded,
    names: Sequence[str],
    rng: np.random.Generator,
) -> tuple[list[tuple[Value, ...]], tuple[tuple[str, float], ...], float]:
    """Draw a row of a cell for each row, and return the chosen ones with what all of them keep."""
    every = np.arange(len(rows))
    place = {name: k for k, name in enumerate(names)}
    columns = [place[name] for name in encoded.names]

    def drawn() -> Ints:
        here, donors = published_for(encoded.channel, x, every, int(rng.integers(2**62)))
        found = every.copy()  # a cell without rows in the sample: the row itself stands for it
        found[here] = donors
        return found

    if encoded.name == COLUMNS:  # one cell for a row, and in it a row of its own for each column
        first = drawn()
        donors = [row_within(x, x[first], rng) for _ in columns]
    else:
        donors = [drawn()] * len(columns)
    values = [np.array([row[k] for row in rows], object) for k in columns]
    same = np.array([column == column[of] for column, of in zip(values, donors, strict=True)], bool)
    after = []
    for k in chosen.tolist():
        pairs = [
            (_shown(own[k]), _shown(own[of[k]])) for own, of in zip(values, donors, strict=True)
        ]
        after.append(tuple(Value(text, "" if text == own else NEW) for own, text in pairs))
    shares = zip(encoded.names, same.mean(axis=1).tolist(), strict=True)
    return after, tuple(shares), float(same.all(axis=0).mean())


def _of_symbols(x: Ints, encoded: Encoded, rng: np.random.Generator) -> list[tuple[Value, ...]]:
    """Draw an output for each symbol, and compare it with the symbol."""
    outputs = draw(encoded.channel, x, rng)
    own = encoded.release.joint.x_labels
    sizes = np.diff(encoded.channel.offsets)
    found = []
    for k, y in zip(x.tolist(), outputs.tolist(), strict=True):
        texts = [column.texts[y] for column in encoded.columns]
        if encoded.name == "values":
            pairs = zip(parts_of(own[k]), parts_of(encoded.labels[y]), strict=True)
            changes = ["" if a == b else NEW for a, b in pairs]
        else:
            changes = [COARSER if sizes[y] > 1 else ""]
        found.append(tuple(map(Value, texts, changes)))
    return found


def _unchanged(
    encoded: Encoded, names: Sequence[str]
) -> tuple[tuple[tuple[str, float], ...], float]:
    """Return the expected share of rows whose value stays, by column and in all."""
    columns = encoded.unchanged_by_column  # none of groups and codes
    return tuple(zip(names if columns else (), columns, strict=True)), 1 - encoded.share_changed
