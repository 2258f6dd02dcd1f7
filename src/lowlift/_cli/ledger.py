"""``lowlift ledger show``, ``check``, ``export``, ``withdraw``, ``off`` and ``on``."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lowlift._cli import options as o
from lowlift._cli import output
from lowlift._cli.ledger_options import LedgerFile

#: Columns that are named in a list of publications.
_MOST_NAMES = 4
#: Characters of a number that is shown as it is.
_LONG = 7

ledger = output.group("What was published of whom, and to whom.")


def _path(given: Path | None) -> Path:
    from lowlift._ledger import default_ledger
    from lowlift.errors import InvalidInput

    found = given or default_ledger()
    if found is None:
        raise InvalidInput("the ledger is off; name one with --ledger.")
    return found


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMES else f"{len(names)} columns"


@ledger.command("show")
@output.json_and_quiet
def show(file: LedgerFile = None) -> None:
    """List the publications, the oldest first."""
    from lowlift._cli import screens
    from lowlift._wording import counted
    from lowlift.workflow import read_ledger

    path = _path(file)
    found = read_ledger(path)
    head = ("id", "when", "published", "bound", "draws", "to", "state")
    rows = [
        (
            each.id,
            each.at[:10],
            f"{each.source}: {_few((*each.released, *each.kept))}",
            re.sub(r"\d+\.\d+", _shortened, re.sub(r"\w+=", "", each.criterion)),
            "refines" if each.refines else each.draws,
            each.recipient,
            f"{each.state}, unaudited" if each.is_unaudited else each.state,
        )
        for each in found
    ]
    title = f"{path}: {counted(len(found), 'publication')}"
    output.show(
        lambda: {"ledger": str(path), "publications": [asdict(each) for each in found]},
        lambda: screens.table(head, rows, title, whole=set(head) - {"published"}),
    )


def _shortened(number: re.Match[str]) -> str:
    """Return a number as it was given, or if it is long, to three digits."""
    from lowlift._rounding import ceiling

    text = number[0]
    return f"{float(text):g}" if len(text) <= _LONG else ceiling(float(text))


@ledger.command("check")
@output.json_and_quiet
def check(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[TABLE]", help="Also audit what is held of its people, e.g. people.csv."
        ),
    ] = None,
    file: LedgerFile = None,
    people: Annotated[
        str | None, typer.Option(metavar="NAME", help="Whose rows these are, e.g. members.")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="The id column, e.g. pid.")
    ] = None,
    earlier: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A release that is no longer where it was written."),
    ] = None,
    engine: o.Engine = None,
) -> None:
    """Check that the releases are there; with a table, that what each recipient holds is allowed.

    The bound is that of the last publication to the recipient. Exit code 0: all is so; 1: not.
    """
    from lowlift._cli import screens
    from lowlift.workflow import check_ledger

    found = check_ledger(
        _path(file), source, people=people, id=id_column, releases=earlier or (), engine=engine
    )
    rows = [("yes" if c.is_ok else "NO", c.name, c.detail) for c in found.checks]
    output.show(
        lambda: {"is_ok": found.is_ok, "checks": [asdict(each) for each in found.checks]},
        lambda: screens.table(("so", "what", "detail"), rows),
    )
    raise typer.Exit(0 if found.is_ok else 1)


@ledger.command("export")
@output.json_and_quiet
def export(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FILE", help="ledger.json or ledger.csv")
    ],
    file: LedgerFile = None,
    force: o.Force = False,
) -> None:
    """Write the ledger to a JSON or CSV file; no value of the data is in it."""
    from lowlift.workflow import export_ledger
    from lowlift.workflow.sanitizing import refuse_existing

    refuse_existing(out, force=force)
    number = export_ledger(_path(file), out)
    data = {"file": str(out), "publications": number}
    line = f"Wrote {number} publication{'s'[: number != 1]} to {out}."
    output.show(lambda: data, lambda: typer.echo(line))


@ledger.command("withdraw")
@output.json_and_quiet
def withdraw(
    entry: Annotated[str, typer.Argument(metavar="ID", help="From lowlift ledger show.")],
    file: LedgerFile = None,
) -> None:
    """Declare that a table was never handed out, so that it no longer counts; the entry stays."""
    from lowlift.workflow import withdraw as run

    found = run(_path(file), entry)
    line = f"{found.id} ({found.output}) no longer counts. Delete that table."
    output.show(lambda: asdict(found) | {"notes": [line]}, lambda: typer.echo(line))


@ledger.command("off")
@output.json_and_quiet
def off() -> None:
    """Turn your ledger off for good: commands ask and tell none, unless --ledger names one."""
    _switch(is_on=False)


@ledger.command("on")
@output.json_and_quiet
def on() -> None:
    """Turn your ledger on again; what was published meanwhile is not in it."""
    _switch(is_on=True)


def _switch(*, is_on: bool) -> None:
    from lowlift._ledger import switch

    setting = switch(is_on=is_on)
    data = {"is_on": is_on, "setting": str(setting)}
    line = f"Your ledger is {'on' if is_on else 'off'}."
    output.show(lambda: data, lambda: typer.echo(line))
