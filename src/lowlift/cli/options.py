"""The options that commands share, each with help and an example."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lowlift.criteria import Criterion
    from lowlift.workflow import Asked

__all__ = [
    "RELEASED",
    "SENSITIVE",
    "Alpha",
    "Bin",
    "CriterionName",
    "Encoding",
    "Engine",
    "Epsilon",
    "Force",
    "Json",
    "Lower",
    "MechanismName",
    "Missing",
    "OutFile",
    "PublicReportFile",
    "Released",
    "ReportFile",
    "Sensitive",
    "Source",
    "Split",
    "TimeLimit",
    "Upper",
    "asked_of",
    "bound_of",
]

_TABLE = (
    "A file or glob (people.csv, 'data/*.parquet'), a DuckDB table (data.duckdb?table=people), "
    "PostgreSQL (postgresql://host/db?table=people; password from PGPASSWORD or pgpass), or with "
    "--engine spark a Spark table or path."
)
Source = Annotated[str, typer.Argument(metavar="TABLE", help=_TABLE)]
SENSITIVE = typer.Option(
    "-s",
    "--sensitive",
    metavar="COLUMN",
    help="A sensitive column; several protect their joint. For example: -s disease",
)
RELEASED = typer.Option(
    "-x",
    "--released",
    metavar="COLUMN",
    help="A column to publish; several are released together. For example: -x age -x zip",
)
Sensitive = Annotated[list[str], SENSITIVE]
Released = Annotated[list[str], RELEASED]
Bin = Annotated[
    list[str] | None,
    typer.Option(
        "--bin",
        metavar="COLUMN=BINS",
        help="How a numeric column becomes symbols: age=0,18,65 (edges), age=width:10, class=each "
        "(every whole number), age=quantiles:4 (edges from the data). Dates: born=month (day, "
        "quarter, year), born=width:7 (days), born=2024-01-01,2024-07-01.",
    ),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="value|drop|error",
        help="What a missing value is: a symbol of its own by default. For example: --missing drop",
    ),
]
CriterionName = Annotated[
    str | None,
    typer.Option(
        "--criterion",
        metavar="NAME",
        help="lip, alip, ldp, max-lift, l1, chi2 or alpha. For example: --criterion alip "
        "--lower 1 --upper 1",
    ),
]
Epsilon = Annotated[
    float | None,
    typer.Option(help="The budget in nats, divided by --split for two-sided criteria, e.g. 2."),
]
Split = Annotated[
    float | None, typer.Option(help="The lower side's share of --epsilon, e.g. 0.65 (default 0.5).")
]
Lower = Annotated[
    float | None,
    typer.Option(help="No sensitive value becomes less than e**-LOWER times as likely, e.g. 1."),
]
Upper = Annotated[
    float | None,
    typer.Option(help="No sensitive value becomes more than e**UPPER times as likely, e.g. 1."),
]
Alpha = Annotated[float | None, typer.Option(help="The order of criterion alpha, e.g. 2.")]
MechanismName = Annotated[
    str,
    typer.Option(
        "--mechanism",
        metavar="NAME",
        help="auto, watchdog, subset-merging, optimal-merging, random-response or "
        "subset-random-response. For example: --mechanism optimal-merging",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="codes|groups|values",
        help="How Y is written: numbers with a codebook (most utility), merged values listed, or "
        "values drawn in the original columns. For example: --encoding values",
    ),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Write an apostrophe before published texts that a spreadsheet would run as formulas "
        "(=, +, -, @); the release and the codebook know of it.",
    ),
]
TimeLimit = Annotated[
    float, typer.Option(help="Seconds for searches, which then give the best so far, e.g. 30.")
]
Engine = Annotated[
    str | None, typer.Option(metavar="duckdb|postgres|spark", help="For example: --engine spark")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]
OutFile = Annotated[
    Path, typer.Option("-o", "--out", metavar="FILE", help="For example: -o release.json")
]


ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Also write a report, one page that stands alone (confidential), e.g. report.html.",
    ),
]
PublicReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report-public",
        metavar="FILE",
        help="Also write the report's public form: nothing of S by X, no counts, e.g. public.html.",
    ),
]


def bound_of(
    name: str | None,
    epsilon: float | None,
    split: float | None,
    lower: float | None,
    upper: float | None,
    alpha: float | None,
) -> "Criterion":
    """Return the criterion that the options name; there is no default bound."""
    from lowlift.errors import InvalidInput
    from lowlift.workflow import criterion_of

    if name is None:
        raise InvalidInput("name a bound, for example --criterion alip --lower 1 --upper 1.")
    return criterion_of(name, epsilon=epsilon, split=split, lower=lower, upper=upper, alpha=alpha)


def asked_of(
    sensitive: list[str],
    released: list[str],
    bins: list[str] | None,
    missing: str,
    *,
    escape_formulas: bool = False,
) -> "Asked":
    """Return the columns that the options name."""
    from lowlift.errors import InvalidInput
    from lowlift.tables import parse_bins
    from lowlift.workflow import Asked

    parsed = [parse_bins(text) for text in bins or ()]
    names = [name for name, _ in parsed]
    if len(set(names)) < len(names):
        raise InvalidInput("bins are given twice for the same column.")
    return Asked(tuple(sensitive), tuple(released), dict(parsed), missing, escape_formulas)
