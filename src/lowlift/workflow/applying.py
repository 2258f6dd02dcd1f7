"""Publish: draw a released value for each row of a table, and write nothing else."""

import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lowlift._logs import LOG
from lowlift._receipts import Receipt, receipt_path
from lowlift._release import Release
from lowlift._version import __version__
from lowlift.encodings import Encoded, published
from lowlift.errors import BoundViolated, InvalidInput, LowliftWarning
from lowlift.tables import Column, Counts, Draw, Output, OutputColumn, Staged, Table, open_table
from lowlift.tables.formulas import formula_warnings, row_warnings
from lowlift.tables.schema import COLUMNS, column_names
from lowlift.workflow.bounds import check_here, refuse_false, refuse_unchecked, why_not_covered
from lowlift.workflow.keys import check_key, subkey_of
from lowlift.workflow.recording import Recording, recorded
from lowlift.workflow.transaction import Content, commit, drafts

KEPT_WITH_ROWS = (
    "rows must be published without kept columns: such a column stays with its row, whose values "
    "are published elsewhere, so that both together would tell more than the bound allows. Name it "
    "among the released columns instead."
)


@dataclass(frozen=True)
class Options:
    """How to publish; the defaults are the safe ones.

    Parameters
    ----------
    keep
        Columns to publish beside Y, as they are. The audit is then of both together.
    accept_uncovered
        Publish kept columns although the bound does not hold with them, or cannot be told.
    accept_unchecked
        Publish a table that lacks a sensitive column: the bound cannot be checked on it.
    keep_order
        Keep the order of the rows, which is outside the guarantee.
    id, key
        Draw by the key and this column, so that repeating the release repeats the draws.
    seed
        Draw by a seed: for tests, never for publication.
    unseen
        What to do with values that the design did not have: "error" or "suppress" (leave rows out).
    force
        Overwrite an output that exists.
    recording
        A `Recording`, or the path of a ledger: asked before anything is published, and told of it.
    """

    keep: Sequence[str] = ()
    accept_uncovered: bool = False
    keep_order: bool = False
    id: str | None = None
    key: bytes | None = None
    seed: int | None = None
    unseen: str = "error"
    force: bool = False
    accept_unchecked: bool = False
    recording: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "recording", Recording.of(self.recording))
        if (self.id is None) != (self.key is None):
            raise InvalidInput("keyed draws need both an id column and a key file.")
        if self.key is not None:
            check_key(self.key)
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise InvalidInput(f"seed must be a whole number, 0 or more; got {self.seed!r}.")
        object.__setattr__(self, "keep", tuple(column_names(self.keep, "keep")))
        twice = sorted({name for name in self.keep if self.keep.count(name) > 1})
        if twice:
            raise InvalidInput(f"{twice[0]!r} is kept twice; name it once.")
        if self.id is not None and self.seed is not None:
            raise InvalidInput("give a key or a seed, not both; a seed is for tests only.")
        if self.unseen not in {"error", "suppress"}:
            raise InvalidInput(f"unseen must be error or suppress; got {self.unseen!r}.")

    @property
    def is_by_row(self) -> bool:
        """Whether rows are drawn one by one, so that they are read again after they are counted."""
        return bool(self.keep) or self.keep_order or self.id is not None

    def hold(self, table: Table, names: Iterable[str]) -> None:
        """Read the table once where its rows are read again; `names` are the columns of S and X."""
        if self.is_by_row:
            table.hold([*names, *self.keep, *filter(None, [self.id])])

    @property
    def mode(self) -> str:
        """How rows are drawn, in a word."""
        if self.id is not None:
            return "keyed"
        return "fresh" if self.seed is None else "seeded"


def apply(
    source: Any,
    release: Release,
    target: str,
    options: Options | None = None,
    *,
    engine: str | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Receipt:
    """Draw Y for each row and write it to `target`, with a receipt beside it.

    Guarantee
        Table and receipt are written, or neither is. Nothing is written unless the release's audit
        holds and the channel, audited anew under this table's counts of S by X, satisfies the bound
        here too; only `accept_unchecked` lets a table without S through. A release for the
        population is refused only where these rows prove its bound broken. Rows out are rows in,
        less those dropped.

    Raises
    ------
    BoundViolated
        When the bound does not hold, for the release or on this table, or cannot be checked here.
    InvalidInput
        For a table, column or output that does not fit.

    Warns
    -----
    LowliftWarning
        For values in a CSV that a spreadsheet would run as formulas.
    """
    options = options or Options()
    receipt_file = receipt_path(target)
    if receipt_file.exists() and not options.force:
        raise InvalidInput(f"{receipt_file.name} exists.", advice="overwrite")
    encoded = published(release)
    with open_table(source, engine) as table:
        # Before anything is written: a warning may be made an error.
        for line in formulas_in(table, encoded, target, options.id):
            warnings.warn(line, LowliftWarning, stacklevel=2)
        with (
            drawn(table, encoded, target, options, progress=progress) as (written, receipt),
            drafts([Content(receipt_file, receipt.to_text(), is_private=True)]) as files,
        ):
            commit(written, files, force=options.force)
    return receipt


def formulas_in(
    table: Table, encoded: Encoded, target: str, identity: str | None = None
) -> tuple[str, ...]:
    """Return a warning for published texts that a spreadsheet would run.

    Rows are looked at; the column of ids by which they will be drawn is held with them.
    """
    cells = encoded.origin.cells
    if cells is None:
        return formula_warnings(encoded.columns, target)
    table.check_columns([cells])
    _hold_rows(table, encoded, identity)
    return row_warnings(table, cells.names, target)


def _hold_rows(table: Table, encoded: Encoded, identity: str | None) -> None:
    columns = (*encoded.origin.sensitive, *encoded.origin.released)
    names = [name for column in columns for name in column.names]
    table.hold([*names, *filter(None, [identity])])


def apply_to_frame(
    source: Any, release: Release, options: Options | None = None, *, engine: str | None = None
) -> tuple[Any, Receipt]:
    """Draw Y for each row and return it as a frame of the kind that came in, with the receipt.

    Nothing is written; otherwise as `apply`.
    """
    with (
        open_table(source, engine) as table,
        drawn(table, published(release), None, options or Options()) as (written, receipt),
    ):
        written.commit()
        return written.frame, receipt


@contextmanager
def drawn(
    table: Table,
    encoded: Encoded,
    target: str | None,
    options: Options,
    *,
    counts: Counts | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Iterator[tuple[Staged, Receipt]]:
    """Check the bound on a table, draw Y for each row, and lend what was written before its commit.

    Parameters
    ----------
    target
        Where to write; None makes a frame of the kind that came in.
    counts
        Of S by X with missing values as values; None counts the table.
    """
    start, origin = time.perf_counter(), encoded.origin
    counts, outside = _checked(table, encoded, target, options, counts)
    draw = Draw(
        columns=origin.released,
        channel=encoded.channel,
        symbols=encoded.release.joint.x_labels,
        missing=origin.missing,
        unseen=options.unseen,
        id=options.id,
        subkey=options.key and subkey_of(options.key, encoded.key_scope),
        seed=options.seed,
        layout=encoded.release.draws,
    )
    output = Output(
        target,
        _in_widths(table, encoded),
        tuple(options.keep),
        options.keep_order,
        options.force,
        origin.cells,
        encoded.name == COLUMNS,
    )
    released = counts.last_columns(len(origin.released)).after_missing(origin.missing)
    digest = table.sha256()  # before the engine looks whether its files changed
    with (
        recorded(table, encoded, target, options) as begin,
        table.stage(draw, output, counts=released, progress=progress) as written,
    ):
        receipt = Receipt(
            release=encoded.release.fingerprint,
            criterion=str(encoded.release.criterion),
            encoding=encoded.name,
            source=table.description,
            source_sha256=digest,
            output=_described(target),
            output_sha256=written.found.sha256,
            rows_in=written.applied.rows_in,
            rows_out=written.applied.rows_out,
            dropped=written.applied.dropped,
            unseen=written.applied.unseen,
            draws=options.mode if options.seed is None else "seeded: not for publication",
            checked_on_this_table=_sensitive_in(table, encoded) == origin.sensitive,
            kept=tuple(options.keep),
            outside_the_guarantee=tuple(outside),
            nmi=encoded.nmi,
            share_changed=encoded.share_changed,
            seconds=time.perf_counter() - start,
            lowlift=__version__,
            python=platform.python_version(),
        )
        LOG.info(
            "apply: %s rows of %s written as %s, %s draws, %.3f s",
            *(f"{receipt.rows_out:,}", f"{receipt.rows_in:,}", encoded.name),
            *(options.mode, receipt.seconds),
        )
        begin(receipt)
        yield written, receipt


def _sensitive_in(table: Table, encoded: Encoded) -> tuple[Column, ...]:
    """Return the sensitive columns that the table has."""
    return tuple(column for column in encoded.origin.sensitive if column.name in table.kinds)


def _checked(
    table: Table, encoded: Encoded, target: str | None, options: Options, counts: Counts | None
) -> tuple[Counts, list[str]]:
    """Check the columns and the bound on a table.

    Returns its counts of S by X, and what the guarantee does not cover, for the receipt.
    """
    refuse_false(encoded)
    if options.id is None:
        encoded.release.refuse_fresh()
    origin, present = encoded.origin, _sensitive_in(table, encoded)
    used = (*present, *origin.released)
    table.check_columns(used)
    outside = _outside(table, options, target)
    if present != origin.sensitive:
        if not options.accept_unchecked:
            refuse_unchecked(encoded, present)
        outside.append("whether the bound holds on this table: S is not in it")
    if origin.cells is not None:
        _refuse_by_row(options)
        _hold_rows(table, encoded, options.id)
    options.hold(table, (name for column in used for name in column.names))
    if counts is None:
        counts = table.count(used)
    # Rows that are read again must be the ones that were counted.
    if options.is_by_row and not table.is_steady:
        _refuse_unsteady(table, counts, used)
    if present:  # some of S alone can show that the bound fails
        check_here(counts, encoded)
    why = why_not_covered(table, encoded, options.keep) if options.keep else ""
    if why and not options.accept_uncovered:
        raise BoundViolated(
            f"with the kept columns the bound does not hold: {why}. Nothing was written.",
            advice="uncovered",
        )
    if why:
        outside.append(f"the kept columns ({why})")
    return counts, outside


def _in_widths(table: Table, encoded: Encoded) -> tuple[OutputColumn, ...]:
    """Return the published columns, values of whole numbers in the types in which they came."""
    if encoded.name != "values":
        return encoded.columns
    widths = [table.widths.get(column.name, "") for column in encoded.columns]
    return tuple(
        replace(column, width=width) if column.kind == "integer" and column.fits(width) else column
        for column, width in zip(encoded.columns, widths, strict=True)
    )


def _refuse_by_row(options: Options) -> None:
    if options.keep:
        raise InvalidInput(KEPT_WITH_ROWS)
    if options.keep_order:
        raise InvalidInput(
            "rows must be published in any order: each is another row of a cell, and no row keeps "
            "its place. Leave the order out, or declare bins instead of cells."
        )


def _described(target: str | None) -> str:
    if target is None:
        return "a frame"
    return target if "://" in target or target.startswith("table:") else Path(target).name


def _refuse_unsteady(table: Table, counts: Counts, columns: tuple[Column, ...]) -> None:
    """Refuse a view or frame that gives other rows when it is read a second time."""
    again = table.count(columns)
    found = [dict(zip(each.symbols, each.counts, strict=True)) for each in (counts, again)]
    if found[0] != found[1]:
        raise InvalidInput(
            f"a table must read the same each time; {table.description} does not. Nothing was "
            "written. Store what it computes in a table, and publish that."
        )


def _outside(table: Table, options: Options, target: str | None) -> list[str]:
    """List what the guarantee does not cover, for the receipt."""
    found = []
    if options.keep_order:
        found.append("the order of the rows" if target else "the order and the index of the rows")
    if options.seed is not None:
        found.append("draws by a seed: who knows it can undo them")
    if options.id is not None and options.id not in table.kinds:
        raise InvalidInput(f"the id column {options.id!r} is not in the table.")
    return found
