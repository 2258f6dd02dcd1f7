"""What commands print: a few lines and tables."""

import math
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import typer

from lowlift._cli.json_data import (
    TIME_LIMIT,
    extremes,
    is_distortion,
    limits_of_rows,
    receipt_notes,
    sample_data,
    verdict,
    word,
)
from lowlift._guarantees import MORE_TIME, stopped_note
from lowlift._rounding import floor
from lowlift._wording import cell, counted, shown
from lowlift.tables.schema import OF_CELLS

if TYPE_CHECKING:
    from lowlift._audit import Audit
    from lowlift._cells.utility import Utility
    from lowlift._certificates import Certificate
    from lowlift.confidence import LiftIntervals
    from lowlift.encodings import Encoded
    from lowlift.estimation import GroupEstimate
    from lowlift.report import Point
    from lowlift.workflow import Design, Receipt, TableAudit, TableEstimate, Verification

THREATS = "What is promised, against whom, and what is not: lowlift explain promise"
#: Cells of a release of rows that are printed.
_MOST_CELLS = 20
#: Groups of an estimate that are printed.
_MOST_GROUPS = 200
#: Characters that a wrapped column needs to be readable, and those between two columns.
_READABLE, _GAP = 15, 3


def warn(lines: Iterable[str]) -> None:
    """Print warnings, a line each."""
    for line in lines:
        typer.echo(f"Warning: {line}")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    title: str = "",
    whole: Collection[str] = (),
) -> None:
    """Print a table; numbers to the right, and the columns named in `whole` never wrapped.

    Where the screen is too narrow for these, each row is printed as lines of names and values.
    """
    from rich import box
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    grid = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    rows = [tuple(row) for row in rows]
    for k, name in enumerate(head):
        is_number = bool(rows) and all(_is_number(row[k]) for row in rows)
        grid.add_column(
            name,
            justify="right" if is_number else "left",
            overflow="fold",
            no_wrap=name in whole,
        )
    for row in rows:
        grid.add_row(*(escape(cell) for cell in row))
    console = Console(highlight=False)
    if not whole or _fits(console.width, head, rows, whole):
        console.print(grid)
        return
    typer.echo(title)
    for row in rows:
        facts([(name, cell) for name, cell in zip(head, row, strict=True) if cell])


def _fits(
    width: int, head: Sequence[str], rows: Sequence[Sequence[str]], whole: Collection[str]
) -> bool:
    """Tell whether a table has a readable width for each column that is wrapped."""
    longest = [max(map(len, cells)) for cells in zip(head, *rows, strict=True)]
    least = (
        size if name in whole else min(size, _READABLE)
        for name, size in zip(head, longest, strict=True)
    )
    return sum(least) + _GAP * len(head) <= width


def facts(lines: Sequence[tuple[str, str]]) -> None:
    """Print names and values, a line each."""
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        typer.echo(f"  {name:<{width}}  {value}")


def _is_number(text: str) -> bool:
    try:
        float(text.rstrip("%").replace(",", "") or "0")
    except ValueError:
        return text == ""
    return True


def _bins_from_data(found: "TableAudit") -> None:
    """Print which columns have bins whose edges were taken from the data, or none."""
    for note in found.notes:
        typer.echo(note)
    spec = found.spec
    if spec.from_data:
        names = ", ".join(spec.from_data)
        typer.echo(f"The bins of {names} were taken from the data, as asked for.")


def _sample(intervals: "LiftIntervals", audit: "Audit", *, is_rows: bool = False) -> None:
    """Print what to know if the table is a sample."""
    found = sample_data(intervals, audit, is_rows=is_rows)
    for note in found["notes"]:
        typer.echo(note)
    warn(found["warnings"])


def audit_screen(found: "TableAudit") -> None:
    """Print the verdict on a table's columns as they are, and the riskiest values."""
    audit, spec = found.audit, found.spec
    names = ", ".join(column.name for column in spec.released)
    as_is = "as it is" if len(spec.released) == 1 else "as they are"
    typer.echo(f"{spec.source}: {counted(spec.rows, 'row')}; publishing {names} {as_is}")
    typer.echo(verdict(audit))
    _bins_from_data(found)
    for name, part in found.columns:
        typer.echo(f"  {name} alone: {word(part.is_satisfied)}")
    _sample(found.intervals, audit)
    _extreme(audit)
    typer.echo(THREATS)


def _extreme(audit: "Audit") -> None:
    """Print the values with the highest and with the lowest lifts, in turn."""
    rows = [
        (
            shown(each["value"]),
            f"{each['share']:.4f}" if each["share"] < 1 else "1",
            f"{each['max_lift']:.3f}",
            shown(each["max_lift_of"]),
            f"{each['min_lift']:.3f}",
            shown(each["min_lift_of"]),
            "yes" if each["is_allowed"] else "no",
        )
        for each in extremes(audit)
    ]
    head = ("value", "share", "max lift", "of", "min lift", "of", "allowed")
    title = f"The highest and lowest lifts: {len(rows)} of {audit.channel.n_y:,} values"
    table(head, rows, title)


def design_screen(made: "Design") -> None:
    """Print what a release keeps and promises."""
    from lowlift.workflow import guesses

    audit, certificate = made.encoded.release.audit, made.release.certificate
    spec, is_rows = made.spec, made.encoded.name in OF_CELLS
    rows = counted(spec.rows, "row")
    typer.echo(f"{spec.source}: {rows}; {made.chosen.name} ({made.chosen.reason})")
    typer.echo(verdict(audit, is_rows=is_rows))
    before, after = guesses(audit.joint, audit.channel)
    lines = _row_lines(made.encoded) if is_rows else _symbol_lines(made.encoded)
    if (kept := made.kept) is not None:
        words = f"{kept.share:.1%}; {kept.chance:.1%} by chance"
        lines.append(("values that stay as they are", words))
        words = f"{kept.nearness:.1%}; 100% is the row itself, 0% any row"
        lines.append(("how close rows stay", words))
    if certificate is not None and certificate.scope == "mechanisms":
        lines.insert(3, ("no mechanism keeps more than", f"{certificate.upper_bound:.4f} (proven)"))
    seen = "a published row" if is_rows else "Y"
    lines.append(("best guess of S right", f"{before:.1%} before, {after:.1%} after seeing {seen}"))
    facts(lines)
    _stopped(certificate)
    _bins_from_data(made)
    _sample(made.intervals, audit, is_rows=is_rows)
    if is_rows:
        typer.echo(limits_of_rows(audit.criterion))
    typer.echo(THREATS)


def _symbol_lines(encoded: "Encoded") -> list[tuple[str, str]]:
    audit = encoded.release.audit
    lines = [
        ("published as", encoded.name),
        ("values of X, of Y", f"{audit.joint.n_x:,}, {audit.channel.n_y:,}"),
        ("information kept (NMI)", f"{audit.nmi:.4f}"),
        ("rows changed", f"{encoded.share_changed:.1%}"),
    ]
    proven: Any = encoded.release.certificate
    if is_distortion(proven):
        lines.append(("mean distance", _distance(proven.distortion, proven.lower_bound)))
    return lines


def _row_lines(encoded: "Encoded") -> list[tuple[str, str]]:
    from lowlift.encodings.rows import RowChanges

    found = RowChanges.of(encoded.release)
    cells = f"{found.cells:,}"
    if found.parts > found.cells:
        cells += f", split into {found.parts:,} parts where the bound allows it"
    lines = [
        ("published as", f"rows of {counted(len(encoded.names), 'column')}, types as they are"),
        ("cells", cells),
        ("rows that stay in their cell", f"{found.stay:.1%}; what is published is drawn anew"),
    ]
    if found.distortion is not None and found.lower_bound is not None:
        words = f"{_distance(found.distortion, found.lower_bound)}; 0 is none, 1 is all columns"
        lines.insert(2, ("mean change of a row", words))
    return lines


def _distance(reached: float, least: float) -> str:
    return f"{reached:.4f} (proven: at least {floor(least)})"


def _stopped(certificate: "Certificate | None") -> None:
    if note := stopped_note(certificate, TIME_LIMIT):
        typer.echo(note)


def curve_screen(points: "Sequence[Point]", time_limit: float) -> None:
    """Print the points of a curve, and how many searches were stopped."""
    rows = [
        (
            *(point.mechanism, f"{point.split:g}", f"{point.epsilon:g}", f"{point.nmi:.4f}"),
            *(f"{point.min_lift_leakage:.3f}", f"{point.max_lift_leakage:.3f}"),
        )
        for point in points
    ]
    table(("mechanism", "split", "ε", "NMI", "leakage below", "leakage above"), rows)
    typer.echo("Leakage in nats: minus the log of the smallest lift, the log of the largest.")
    if count := sum(point.is_stopped for point in points):
        longer = TIME_LIMIT.format(seconds=max(1, math.ceil(3 * time_limit)))
        stopped = f"{count} of {len(points)} searches stopped after {time_limit:.3g} s."
        typer.echo(f"{stopped} {MORE_TIME} try {longer}.")


def receipt_screen(receipt: "Receipt") -> None:
    """Print what was published."""
    typer.echo(
        f"Wrote {counted(receipt.rows_out, 'row')} to {receipt.output} ({receipt.draws} draws, "
        f"{receipt.rows_in / max(receipt.seconds, 1e-9):,.0f} rows/s)."
    )
    if receipt.dropped or receipt.unseen:
        typer.echo(f"Left out: {receipt.dropped:,} with missing values, {receipt.unseen:,} unseen.")
    for note in receipt_notes(receipt):
        typer.echo(note)


def verification_screen(found: "Verification") -> None:
    """Print each check."""
    for check in found.checks:
        word = "ok  " if check.is_ok else "NOT " if check.is_accepted else "FAIL"
        typer.echo(f"{word} {check.name}: {check.detail}")
    if not found.is_ok:
        typer.echo("NOT verified.")
    elif found.exceptions:
        typer.echo(f"Verified, except: {'; '.join(found.exceptions)}.")
    else:
        typer.echo("Verified.")


def release_screen(encoded: "Encoded") -> None:
    """Print a release as it is published: its audit, and what each output mixes."""
    release, is_rows = encoded.release, encoded.name in OF_CELLS
    typer.echo(verdict(release.audit, is_rows=is_rows))
    lines = [("mechanism", release.mechanism or "(not said)")]
    if is_rows:
        lines += _row_lines(encoded)
    else:
        sizes = f"{release.joint.n_s}, {release.joint.n_x}, {release.channel.n_y}"
        lines += _symbol_lines(encoded)
        lines[2] = ("values of S, X, Y", sizes)
        if release.certificate is not None and not is_distortion(release.certificate):
            lines.insert(4, ("proven bound on NMI", f"{release.certificate.upper_bound:.4f}"))
    facts([*lines, ("fingerprint", release.fingerprint[:16])])
    _stopped(release.certificate)
    if is_rows:
        _cells_table(encoded)
        return
    p_x_given_y, audit, names = release.p_x_given_y, release.audit, encoded.x_texts
    rows = []
    order = (-audit.p_y).argsort(kind="stable").tolist()
    for y in order[:40]:
        column = p_x_given_y[:, y]
        members = [x for x in (-column).argsort(kind="stable").tolist() if column[x] > 0]
        words = "; ".join(f"{names[x]} {column[x]:.0%}" for x in members[:5])
        more = f"; {len(members) - 5} more" if len(members) > 5 else ""
        lifts = audit.lift[:, y]
        ends = f"{lifts.min():.3f}", f"{lifts.max():.3f}"
        name = shown(encoded.labels[y]) if encoded.name == "values" else str(y)
        rows.append((name, f"{audit.p_y[y]:.4f}", words + more, *ends))
    title = f"{len(rows)} of {release.channel.n_y:,} outputs, by share"
    head = {"values": "value", "codes": "code"}.get(encoded.name, "output")
    table((head, "share", "stands for", "min lift", "max lift"), rows, title)


def _cells_table(encoded: "Encoded") -> None:
    """Print the largest cells: the share of rows that are published from each, and its lifts."""
    audit = encoded.release.audit
    order = (-audit.p_y).argsort(kind="stable").tolist()[:_MOST_CELLS]
    lifts = audit.lift
    rows = [
        (
            cell(encoded.texts[y]),
            f"{audit.p_y[y]:.4f}",
            f"{lifts[:, y].min():.3f}",
            f"{lifts[:, y].max():.3f}",
        )
        for y in order
    ]
    title = f"The {len(rows)} largest of {counted(audit.channel.n_y, 'part')} of cells"
    table(("rows with", "share", "min lift", "max lift"), rows, title)


def estimate_screen(found: "TableEstimate") -> None:
    """Print the estimate of P(X) with its intervals."""
    result = found.estimate
    labels = [shown(label) for label in result.x_labels]
    rows = [
        (
            labels[k],
            f"{result.p_x[k]:.4f}" if result.is_identified[k] else "",
            *(
                f"{end:.4f}" if math.isfinite(end) else ""
                for end in (result.low[k], result.high[k])
            ),
        )
        for k in range(len(labels))
    ]
    title = f"P(X) from {found.rows:,} published rows, {result.level:.0%} intervals (all at once)"
    table(("value", "estimate", "from", "to"), rows, title)
    totals = [
        (
            " | ".join(labels[x] for x in block.symbols),
            *(f"{value:.4f}" if math.isfinite(value) else "" for value in block[1:]),
        )
        for block in result.blocks
        if len(block.symbols) > 1
    ]
    if totals:
        table(("values that are merged", "total", "from", "to"), totals)
    for note in result.notes:
        typer.echo(f"Note: {note}")


def groups_screen(found: "GroupEstimate") -> None:
    """Print shares and means by groups."""
    title = f"From {found.rows:,} published rows, {found.level:.0%} intervals"
    table(found.head, found.lines[:_MOST_GROUPS], title)
    more = len(found.groups) - _MOST_GROUPS
    if more > 0:
        typer.echo(f"{more:,} more groups are not shown: use --json.")
    for note in found.notes:
        typer.echo(f"Note: {note}")


def utility_screen(found: "Utility") -> None:
    """Print what an analyst gets."""
    from lowlift._cells.utility import CONFIDENTIAL, OTHER_PROMISE

    table(found.head, found.rows)
    facts(found.facts)
    typer.echo(f"\n{OTHER_PROMISE}\n{CONFIDENTIAL}")
