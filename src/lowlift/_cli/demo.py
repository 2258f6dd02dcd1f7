"""``lowlift demo``: the whole path on a small real table."""

from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from lowlift._cli import output


def demo(
    out: Annotated[
        Path,
        typer.Option("--out", metavar="DIR", help="A new or empty folder, e.g. --out demo."),
    ] = Path("lowlift-demo"),
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
    source, safe = str(out / "titanic.csv"), str(out / "safe.csv")
    write_titanic(source)
    asked, bound = Asked(("survived",), ("class", "sex", "age")), ALIP(0.5, 0.5)
    audited = audit_table(source, asked, bound)
    made = sanitize(source, asked, bound, safe)
    codebook = str(made.files["codebook"])
    estimated = estimate_table(safe, codebook)
    columns = "-s survived -x class -x sex -x age --criterion alip --lower 0.5 --upper 0.5"
    commands = [
        f"lowlift audit {quote(source)} {columns}",
        f"lowlift sanitize {quote(source)} {columns} -o {quote(safe)}",
        f"lowlift estimate {quote(safe)} {quote(codebook)}",
    ]
    files = sorted(out.iterdir())

    def data() -> dict[str, object]:
        published = json_data.published_data(made, {})
        steps = {
            "commands": commands,
            "audit": json_data.table_audit_data(audited),
            "estimate": json_data.estimate_data(estimated),
        }
        return steps | published | {"files": [str(path) for path in files]}

    def screen() -> None:
        typer.echo(f"$ {commands[0]}\n")
        screens.audit_screen(audited)
        typer.echo(f"\n$ {commands[1]}\n")
        screens.design_screen(made.design)
        screens.receipt_screen(made.receipt)
        screens.verification_screen(made.verification)
        typer.echo(f"\n$ {commands[2]}\n")
        screens.estimate_screen(estimated)
        typer.echo(f"\nThe files are in {out}:")
        for path in files:
            typer.echo(f"  {path.name}")

    output.show(data, screen)
