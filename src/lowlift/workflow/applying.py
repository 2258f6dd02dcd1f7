"""Publish: draw a released value for each row of a table, and write nothing else."""

import json
import platform
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lowlift.audit import Audit, audit
from lowlift.channel import Channel
from lowlift.encodings import Encoded, published
from lowlift.errors import BoundViolated, InvalidInput, LowliftWarning
from lowlift.joint import Joint, Label
from lowlift.logs import LOG
from lowlift.release import Release
from lowlift.tables import (
    Column,
    Counts,
    Draw,
    Each,
    Output,
    OutputColumn,
    Staged,
    Table,
    open_table,
)
from lowlift.tables.formulas import escaped, formula_warnings
from lowlift.version import __version__
from lowlift.workflow.columns import (
    Spec,
    after_missing,
    last_columns,
    per_column,
    quiet_joint,
)
from lowlift.workflow.keys import check_key, subkey_of
from lowlift.workflow.receipts import Receipt, receipt_path
from lowlift.workflow.transaction import commit, drafts

__all__ = [
    "Options",
    "apply",
    "apply_to_frame",
    "drawn",
    "first_broken",
    "key_scope",
    "output_columns",
    "refuse_false",
]

#: Kinds of columns whose values can be told apart one by one, so that keeping them can be audited.
_AUDITABLE = {"text", "integer", "boolean", "date", "uuid"}


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
    """

    keep: tuple[str, ...] = ()
    accept_uncovered: bool = False
    keep_order: bool = False
    id: str | None = None
    key: bytes | None = None
    seed: int | None = None
    unseen: str = "error"
    force: bool = False
    accept_unchecked: bool = False

    def __post_init__(self) -> None:
        if (self.id is None) != (self.key is None):
            raise InvalidInput("keyed draws need both an id column and a key file.")
        if self.key is not None:
            check_key(self.key)
        if self.seed is not None and (type(self.seed) is not int or self.seed < 0):
            raise InvalidInput(f"seed must be a whole number, 0 or more; got {self.seed!r}.")
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
        here too; only `accept_unchecked` lets a table without S through. Rows out are rows in, less
        those dropped.

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
    encoded, spec = published(release), Spec.from_dict(release.table)
    # Before anything is written: a warning may be made an error.
    for line in formula_warnings(output_columns(encoded, spec), target):
        warnings.warn(line, LowliftWarning, stacklevel=2)
    with (
        open_table(source, engine) as table,
        drawn(table, encoded, spec, target, options, progress=progress) as (written, receipt),
        drafts([receipt.content(receipt_file)]) as files,
    ):
        commit(written, files, force=options.force)
    return receipt


def apply_to_frame(
    source: Any, release: Release, options: Options | None = None, *, engine: str | None = None
) -> tuple[Any, Receipt]:
    """Draw Y for each row and return it as a frame of the kind that came in, with the receipt.

    Nothing is written; otherwise as `apply`.
    """
    encoded, spec = published(release), Spec.from_dict(release.table)
    with (
        open_table(source, engine) as table,
        drawn(table, encoded, spec, None, options or Options()) as (written, receipt),
    ):
        written.commit()
        return written.frame, receipt


@contextmanager
def drawn(
    table: Table,
    encoded: Encoded,
    spec: Spec,
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
    refuse_false(encoded, spec)
    start = time.perf_counter()
    present = tuple(column for column in spec.sensitive if column.name in table.kinds)
    has_s = present == spec.sensitive
    table.check_columns((*spec.released, *present))
    outside = _outside(table, options, target)
    if not has_s:
        outside.append(_unchecked(spec, present, options))
    options.hold(table, (column.name for column in (*present, *spec.released)))
    if counts is None:
        counts = table.count([*present, *spec.released])
    # Rows that are read again must be the ones that were counted.
    if options.is_by_row and not table.is_steady:
        _refuse_unsteady(table, counts, (*present, *spec.released))
    if present:  # some of S alone can show that the bound fails
        _check_here(counts, replace(spec, sensitive=present), encoded)
    if options.keep:
        outside += _check_kept(table, spec, encoded, options)
    draw = Draw(
        columns=spec.released,
        channel=encoded.channel,
        symbols=encoded.release.joint.x_labels,
        missing=spec.missing,
        unseen=options.unseen,
        id=options.id,
        subkey=options.key and subkey_of(options.key, key_scope(encoded, spec)),
        seed=options.seed,
    )
    columns = tuple(
        replace(column, width=table.widths.get(column.name, ""))
        if encoded.name == "values"
        and column.kind == "integer"
        and column.fits(table.widths.get(column.name, ""))
        else column
        for column in output_columns(encoded, spec)
    )
    output = Output(target, columns, options.keep, options.keep_order, options.force)
    released = after_missing(last_columns(counts, len(spec.released)), spec.missing)
    digest = table.sha256()  # before the engine looks whether its files changed
    with table.stage(draw, output, counts=released, progress=progress) as written:
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
            checked_on_this_table=has_s,
            kept=options.keep,
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
        yield written, receipt


def _described(target: str | None) -> str:
    if target is None:
        return "a frame"
    return target if "://" in target or target.startswith("table:") else Path(target).name


def key_scope(encoded: Encoded, spec: Spec) -> str:
    """Return what a key is for: the same channel on other columns draws by another subkey."""
    names = [encoded.release.fingerprint, *(column.name for column in spec.released)]
    return json.dumps(names)


def refuse_false(encoded: Encoded, spec: Spec) -> None:
    """Refuse a release whose audit is false, as a whole or for one sensitive column."""
    release = encoded.release
    parts = per_column(release.joint, release.channel, release.criterion, spec)
    if not all(part.is_satisfied for part in (release.audit, *(found for _, found in parts))):
        raise BoundViolated(
            f"this release does not satisfy {release.criterion}; nothing was written. "
            "Design it again with a mechanism that repairs it."
        )


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


def _unchecked(spec: Spec, present: tuple[Column, ...], options: Options) -> str:
    """Refuse a table without S, unless that is accepted; return what the receipt says of it."""
    missing = [column.name for column in spec.sensitive if column not in present]
    if not options.accept_unchecked:
        raise BoundViolated(
            f"the sensitive columns must be in the table; {', '.join(map(repr, missing))} of the "
            "release is not, so the bound cannot be checked here. Nothing was written. Give the "
            "table with that column under its name, or accept a table on which the bound is not "
            "checked.",
            advice="unchecked",
        )
    return "whether the bound holds on this table: S is not in it"


def _check_here(counts: Counts, spec: Spec, encoded: Encoded) -> None:
    """Audit the channel under this table's own counts."""
    size, sensitive = len(spec.released), len(spec.sensitive)
    after_missing(counts, spec.missing)  # refuses missing values where they are an error
    if spec.missing == "drop":
        without = sum(
            amount
            for symbol, amount in zip(counts.symbols, counts.counts, strict=True)
            if None in symbol[:sensitive] and None not in symbol[-size:]
        )
        if without:
            raise InvalidInput(
                f"{without:,} rows have no value of S, so they were not part of the design, but "
                "would be published.",
                advice="missing",
            )
    found = first_broken(counts, spec, encoded)
    if found is None:
        return
    raise BoundViolated(
        f"on this table the release does not satisfy {encoded.release.criterion}: "
        f"{len(found.violations)} of {found.channel.n_y} outputs break it (leakage "
        f"{found.leakage.lower:.4f} below, {found.leakage.upper:.4f} above). Nothing was written. "
        "Design the release on this table; a design with a smaller budget leaves room for change."
    )


def first_broken(counts: Counts, spec: Spec, encoded: Encoded) -> Audit | None:
    """Return the first false audit under counts of S by X (by kept columns), None when all hold.

    S is audited as a whole and column by column. Symbols that the design did not have are left
    out: their rows are refused or suppressed.
    """
    number = {label: x for x, label in enumerate(encoded.release.joint.x_labels)}
    n_s, n_x = len(spec.sensitive), len(spec.released)
    cells: dict[tuple[Label, ...], dict[tuple[Label, ...], int]] = {}
    for symbol, amount in zip(counts.symbols, counts.counts, strict=True):
        s, x, kept = symbol[:n_s], symbol[n_s : n_s + n_x], symbol[n_s + n_x :]
        label: Label = x[0] if n_x == 1 else x
        is_dropped = spec.missing == "drop" and None in x
        if label in number and not is_dropped:
            row = cells.setdefault((number[label], *kept), {})
            row[s] = row.get(s, 0) + amount
    if not cells:
        return None
    s_labels = list(dict.fromkeys(s for row in cells.values() for s in row))
    table = [[row.get(s, 0) for row in cells.values()] for s in s_labels]
    joint = quiet_joint(table, s_labels, list(cells))
    channel, criterion = _spread(joint, encoded.release.channel), encoded.release.criterion
    parts = per_column(joint, channel, criterion, spec)
    every = (audit(joint, channel, criterion), *(found for _, found in parts))
    return next((found for found in every if not found.is_satisfied), None)


def _spread(joint: Joint, channel: Channel) -> Channel:
    """Return the channel (x, kept) -> (y, kept); the joint's symbols are (number of x, kept)."""
    outputs: dict[Label, list[tuple[int, int]]] = {}
    for y in range(channel.n_y):
        for x, weight in zip(*channel.atom(y), strict=True):
            outputs.setdefault(x, []).append((y, weight))
    atoms: dict[tuple[Label, ...], tuple[list[int], list[int]]] = {}
    for place, label in enumerate(joint.x_labels):
        number, *kept = label if isinstance(label, tuple) else (label,)
        for y, weight in outputs[number]:
            members, weights = atoms.setdefault((y, *kept), ([], []))
            members.append(place)
            weights.append(weight)
    return Channel.from_atoms(joint, list(atoms.values()), channel.denominator, list(atoms))


def _check_kept(table: Table, spec: Spec, encoded: Encoded, options: Options) -> list[str]:
    """Audit Y and the kept columns together; return what is not covered, when that is accepted."""
    used = {column.name for column in (*spec.sensitive, *spec.released)}
    clash = sorted(set(options.keep) & used)
    if clash:
        raise InvalidInput(f"{clash[0]!r} is a column of S or X; it cannot be kept as it is.")
    why = _why_not_covered(table, spec, encoded, options)
    if not why:
        return []
    if not options.accept_uncovered:
        raise BoundViolated(
            f"with the kept columns the bound does not hold: {why}. Nothing was written.",
            advice="uncovered",
        )
    return [f"the kept columns ({why})"]


def _why_not_covered(table: Table, spec: Spec, encoded: Encoded, options: Options) -> str:
    missing = [column.name for column in spec.sensitive if column.name not in table.kinds]
    if missing:
        return "S is not in this table, so it cannot be told"
    columns = []
    for name in options.keep:
        if name not in table.kinds:
            raise InvalidInput(f"the kept column {name!r} is not in the table.")
        kind = table.kinds[name]
        if kind not in _AUDITABLE:
            return f"{name!r} is of kind {kind}, too fine to be counted"
        columns.append(Column(name, kind, Each() if kind == "integer" else None))
    try:
        # A missing value of a kept column is published as such: it counts as a value.
        counts = table.count([*spec.sensitive, *spec.released, *columns])
    except InvalidInput as error:
        return f"they have too many values to be counted: {error}"
    found = first_broken(counts, spec, encoded)
    if found is None:
        return ""
    return (
        f"{len(found.violations):,} of {found.channel.n_y:,} pairs of output and kept values break "
        f"{encoded.release.criterion}"
    )


def output_columns(encoded: Encoded, spec: Spec) -> tuple[OutputColumn, ...]:
    """Return the columns that are published, with the text of each output."""
    labels = encoded.release.channel.y_labels
    names = [column.name for column in spec.released]
    if encoded.name == "codes":
        return (OutputColumn("code", "integer", tuple(str(y) for y in range(len(labels)))),)
    found: tuple[OutputColumn, ...]
    if encoded.name == "groups":
        found = (OutputColumn("+".join(names), "text", encoded.texts),)
    else:
        parts = [label if isinstance(label, tuple) else (label,) for label in labels]
        found = tuple(
            OutputColumn(
                column.name,
                column.output_kind,
                tuple(_text(column, part[k]) for part in parts),
            )
            for k, column in enumerate(spec.released)
        )
    return tuple(map(escaped, found)) if spec.escape_formulas else found


def _text(column: Column, label: Label) -> str | None:
    if label is None or column.output_kind == "text":
        return None if label is None else str(label)
    return column.text_of(label)
