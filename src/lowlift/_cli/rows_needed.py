"""The command that tells how many rows a bound for the population needs."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lowlift._cli import options as o
from lowlift._cli import output
from lowlift._cli.bound_options import Budgets

if TYPE_CHECKING:
    from lowlift._mechanisms.rows_needed import RowsNeeded


@o.grouped
def rows_needed(
    *,
    source: o.Source,
    sensitive: o.Sensitive,
    released: o.Released,
    keep: Annotated[
        str,
        typer.Option(
            metavar="NMI", help="How much of the columns' information to keep, e.g. 0.8 or 80%."
        ),
    ],
    budgets: Budgets,
    confidence: Annotated[
        float, typer.Option(help="How sure the bound is, over samples, e.g. 0.99.")
    ] = 0.95,
    reading: o.Reading,
    time_limit: o.TimeLimit = 60.0,
    engine: o.Engine = None,
) -> None:
    """Tell how many rows a bound for the population needs to keep so much of the columns.

    For samples with the shares of this table. Exit code 0: that many rows; 1: none was found, or no
    number of rows is enough; 2: bad input.
    """
    from lowlift._cli import screens
    from lowlift._mechanisms.rows_needed import rows_needed as run
    from lowlift.criteria import Population
    from lowlift.workflow.columns import count_table

    wanted = _share(keep)
    bound = Population(budgets.plain(sensitive), confidence)  # type: ignore[arg-type]  # it checks its argument
    joint, _ = count_table(source, reading.asked(sensitive, released), engine=engine)
    found = run(joint, bound, wanted, time_limit=time_limit)
    lines = [
        f"{source}: {found.table_rows:,} rows; publishing {', '.join(released)}",
        *_answer(found, str(bound.criterion), confidence, time_limit).split("\n"),
    ]
    asked = {"source": source, "released": released, "criterion": str(bound)}
    output.show(
        lambda: asdict(found) | asked | {"confidence": confidence, "answer": lines[1:]},
        lambda: typer.echo("\n".join([*lines, screens.THREATS])),
    )
    raise typer.Exit(1 if found.rows is None else 0)


def _share(text: str) -> float:
    """Return 0.8 for 0.8 and for 80%."""
    from lowlift.errors import InvalidInput

    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError as error:
        raise InvalidInput(f"keep must be a number such as 0.8 or 80%; got {text!r}.") from error


def _answer(found: "RowsNeeded", bound: str, confidence: float, time_limit: float) -> str:
    """Return the answer in words."""
    asked = f"{bound} for the population, with confidence {confidence:g},"
    if found.rows is None and found.is_settled and found.too_few is None:
        return (
            f"No number of rows is enough: {bound} keeps at most {found.most:.4f} of the "
            f"information (NMI) even for a table that is everybody; asked for {found.keep:g}. "
            "Ask for less, or loosen the bound."
        )
    if found.rows is None:
        more = "" if found.is_settled else f" within {time_limit:g} seconds (--time-limit)"
        return (
            f"No number of rows was found{more} at which {asked} keeps {found.keep:g} of the "
            f"information (NMI); the most that were tried are {found.too_few or 0:,}. With the "
            f"bound for this table it is {found.table_nmi:.4f}."
        )
    few = "" if found.too_few is None else f"; for {found.too_few:,} no design was found that does"
    late = "" if found.is_settled else " Fewer may do: the search ran out of time (--time-limit)."
    return (
        f"About {found.rows:,} rows: then {asked} keeps {found.keep:g} of the information (NMI)"
        f"{few}.{late}\nWith the bound for this table it is {found.table_nmi:.4f}.\nThat is for "
        "samples with the shares of this table. A sample that is drawn anew has others, and keeps "
        "a little more or less."
    )
