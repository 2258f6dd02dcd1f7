"""``lowlift demo``: the whole path on a small real table."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from lowlift._cli import options as o


def demo(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="A new or empty folder, e.g. --out demo."),
    ] = Path("lowlift-demo"),
    json: o.Json = False,
) -> None:
    """Release the Titanic's passenger list: publish class, sex and age, protect who survived."""
    from lowlift._cli import json_data, screens
    from lowlift.criteria import ALIP
    from lowlift.datasets import write_titanic
    from lowlift.errors import InvalidInput
    from lowlift.workflow import Asked, audit_table, estimate_table, sanitize

    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise InvalidInput(f"{out} must be a new or empty folder. Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    source = str(out / "titanic.csv")
    write_titanic(source)
    asked, bound = Asked(("survived",), ("class", "sex", "age")), ALIP(0.5, 0.5)
    if json:
        made = sanitize(source, asked, bound, str(out / "safe.csv"))
        files = sorted(str(path) for path in out.iterdir())
        design = json_data.design_data(made.design)
        json_data.print_json(
            {"design": design, "files": files, "is_verified": made.verification.is_ok}
            | {"warnings": design["warnings"]}
        )
        return
    columns = "-s survived -x class -x sex -x age --criterion alip --lower 0.5 --upper 0.5"
    typer.echo(f"$ lowlift audit {quote(source)} {columns}\n")
    screens.audit_screen(audit_table(source, asked, bound))
    safe = str(out / "safe.csv")
    typer.echo(f"\n$ lowlift sanitize {quote(source)} {columns} -o {quote(safe)}\n")
    made = sanitize(source, asked, bound, safe)
    screens.design_screen(made.design)
    screens.receipt_screen(made.receipt)
    screens.verification_screen(made.verification)
    codebook = str(made.files["codebook"])
    typer.echo(f"\n$ lowlift estimate {quote(safe)} {quote(codebook)}\n")
    screens.estimate_screen(estimate_table(safe, codebook))
    typer.echo(f"\nThe files are in {out}:")
    for path in sorted(out.iterdir()):
        typer.echo(f"  {path.name}")
