"""The options that commands share, each with help and an example.

Options that go together are the fields of a record. A command that is `grouped` takes records; its
users see the fields as options, at the record's place in the signature.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from lowlift.workflow import Asked, Options, Recording


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command whose parameters of a record's type are replaced by the record's fields."""
    parameters, records = list[inspect.Parameter](), dict[str, Any]()
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind: Any = parameter.annotation
        found = [parameter]
        if hasattr(kind, "__dataclass_fields__"):
            records[parameter.name] = kind
            found = list(inspect.signature(kind, eval_str=True).parameters.values())
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in found]

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for name, kind in records.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect reads it
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


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
#: Of commands that publish all columns but S and identifiers when none is named.
RELEASED_OR_ALL = typer.Option(
    "-x",
    "--released",
    metavar="COLUMN",
    help="A column to publish; several are released together. Without it: all columns but the "
    "sensitive ones and identifiers, as rows. For example: -x age -x zip",
)
ReleasedOrAll = Annotated[list[str] | None, RELEASED_OR_ALL]
Sensitive = Annotated[list[str], SENSITIVE]
Released = Annotated[list[str], RELEASED]
ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="From lowlift design.")]
Target = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="OUTPUT",
        help="A file (safe.parquet, safe.csv), a new table (safe.duckdb?table=t, "
        "postgresql://host/db?table=t), or for Spark a folder or table:NAME.",
    ),
]
Alpha = Annotated[float | None, typer.Option(help="The order of criterion alpha, e.g. 2.")]
Bin = Annotated[
    list[str] | None,
    typer.Option(
        "--bin",
        metavar="COLUMN=BINS",
        help="How a numeric column becomes symbols: age=0,18,65 (edges), age=width:10, "
        "class=each (every whole number), age=quantiles:4 (edges from the data). Dates: "
        "born=month (day, quarter, year), born=width:7 (days), born=2024-01-01,2024-07-01.",
    ),
]
RoundTo = Annotated[
    float | None,
    typer.Option(help="Round the codebook's probabilities outward to multiples, e.g. 0.01."),
]
TimeLimit = Annotated[
    float, typer.Option(help="Seconds for searches, which then give the best so far, e.g. 30.")
]
Engine = Annotated[
    str | None, typer.Option(metavar="duckdb|postgres|spark", help="For example: --engine spark")
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="FILE",
        help="Also write a report, one page that stands alone (confidential), e.g. report.html.",
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]


@dataclass(frozen=True)
class Reading:
    """How columns are read."""

    bins: Bin = None
    missing: Annotated[
        str,
        typer.Option(
            metavar="value|drop|error",
            help="What a missing value is: a symbol of its own by default. For example: --missing "
            "drop",
        ),
    ] = "value"

    def asked(
        self, sensitive: list[str] | None, released: list[str] | None, **more: Any
    ) -> "Asked":
        """Return the columns as the workflow takes them; `more` are other fields of the schema."""
        from lowlift.errors import InvalidInput
        from lowlift.tables import parse_bins
        from lowlift.workflow import Asked

        parsed = [parse_bins(text) for text in self.bins or ()]
        bins = dict(parsed)
        if len(bins) < len(parsed):
            raise InvalidInput("bins are given twice for the same column.")
        return Asked(tuple(sensitive or ()), tuple(released or ()), bins, self.missing, **more)


@dataclass(frozen=True)
class Method:
    """How a release is made and written."""

    mechanism: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto, watchdog, subset-merging, optimal-merging, random-response, "
            "subset-random-response or least-distortion. For example: --mechanism optimal-merging",
        ),
    ] = "auto"
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="codes|groups|values",
            help="How Y is written: numbers with a codebook (most utility), merged values listed, "
            "or values drawn in the original columns. For example: --encoding values",
        ),
    ] = None
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="Write an apostrophe before published texts that a spreadsheet would run as "
            "formulas (=, +, -, @); the release and the codebook know of it.",
        ),
    ] = False


@dataclass(frozen=True)
class Rows:
    """How rows are published: the same columns and types, every row drawn inside a cell."""

    cells: Annotated[
        str | None,
        typer.Option(
            metavar="N|auto",
            help="Publish rows, from so many cells of the released columns. Chosen by itself "
            "without -x, for many columns, and for numbers without bins. For example: --cells 300",
        ),
    ] = None
    min_rows: Annotated[
        int | None, typer.Option(help="How many rows each cell has at least, e.g. 20 (default).")
    ] = None
    weights: Annotated[
        list[str] | None,
        typer.Option(
            "--weight",
            metavar="COLUMN=NUMBER",
            help="What a change of this column counts, 1 by default. For example: --weight age=3",
        ),
    ] = None

    def asked(
        self,
        sensitive: list[str],
        released: list[str] | None,
        reading: Reading,
        method: Method,
    ) -> "Asked":
        """Return the columns as the workflow takes them, with cells where they are asked for."""
        from lowlift.errors import InvalidInput
        from lowlift.workflow.rows import cells_by_default

        cells: str | int | None = self.cells
        if self.cells is not None and self.cells != "auto":
            if not self.cells.isdecimal():
                raise InvalidInput(f"--cells must be a whole number or auto; got {cells!r}.")
            cells = int(self.cells)
        if cells is None and (self.min_rows is not None or self.weights):
            cells = "auto"  # what only rows have
        if cells is None and not released:
            bins = [text.partition("=")[0] for text in reading.bins or ()]
            given = method.encoding, method.mechanism
            cells = cells_by_default(sensitive, dict.fromkeys(bins), *given)
        more = {"cells": cells, "weights": self._weights()}
        if self.min_rows is not None:
            more["min_rows"] = self.min_rows
        return reading.asked(sensitive, released, escape_formulas=method.escape_formulas, **more)

    def _weights(self) -> dict[str, float]:
        from lowlift.errors import InvalidInput

        found = {}
        for text in self.weights or ():
            name, _, number = text.rpartition("=")
            try:
                weight = float(number)
            except ValueError:
                weight = 0.0
            if not name or name in found or not weight > 0:
                raise InvalidInput(
                    f"--weight must be COLUMN=NUMBER with a positive number, once for a column; "
                    f"got {text!r}."
                )
            found[name] = weight
        return found


@dataclass(frozen=True)
class Draws:
    """How rows are drawn and what is published beside them."""

    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Publish this column too, audited with Y: --keep year"),
    ] = None
    accept_uncovered: Annotated[
        bool,
        typer.Option(
            "--accept-uncovered",
            help="Publish kept columns that the bound does not cover; recorded.",
        ),
    ] = False
    keep_order: Annotated[
        bool, typer.Option("--keep-order", help="Keep the order of rows; outside the guarantee.")
    ] = False
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COLUMN", help="Draw by this column and a key, e.g. --id pid."
        ),
    ] = None
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A key from lowlift key new, e.g. draws.key."),
    ] = None
    seed: Annotated[
        int | None, typer.Option(help="Repeat draws, for tests; never to publish, e.g. 7.")
    ] = None
    unseen: Annotated[
        str,
        typer.Option(
            metavar="error|suppress",
            help="Values that the design did not have: refuse, or leave out, e.g. --unseen "
            "suppress",
        ),
    ] = "error"

    def options(
        self,
        force: bool,
        accept_unchecked: bool = False,
        recording: "Recording | None" = None,
    ) -> "Options":
        """Return them as the workflow takes them, with the key read."""
        from lowlift.workflow import Options, read_key

        key = None if self.key_file is None else read_key(self.key_file)
        how = self.accept_uncovered, self.keep_order, self.id_column, key, self.seed, self.unseen
        return Options(tuple(self.keep or ()), *how, force, accept_unchecked, recording)


@dataclass(frozen=True)
class Output:
    """What is written beside the work."""

    report: ReportFile = None
    report_public: Annotated[
        Path | None,
        typer.Option(
            "--report-public",
            metavar="FILE",
            help="Also write the report's public form: nothing of S by X, no counts, e.g. "
            "public.html.",
        ),
    ] = None
    force: Force = False
