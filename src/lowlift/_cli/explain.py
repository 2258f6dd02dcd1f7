"""``lowlift explain``: short pages that ship with the package."""

from typing import Annotated

import typer

from lowlift._cli import options as o


def explain(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC]", help="promise, criteria, encodings, budgets, columns, exit-codes"
        ),
    ] = None,
    json: o.Json = False,
) -> None:
    """Explain what is promised and what is not, the criteria, encodings, budgets and exit codes."""
    from lowlift._cli import json_data
    from lowlift._explanations import TOPICS, page

    if topic is not None and json:
        json_data.print_json({"topic": topic, "text": page(topic)})
    elif topic is not None:
        typer.echo(page(topic).rstrip())
    elif json:
        json_data.print_json({"topics": TOPICS})
    else:
        for name in TOPICS:
            title = page(name).partition("\n")[0].removeprefix("# ")
            typer.echo(f"  lowlift explain {name:<12}  {title}")
