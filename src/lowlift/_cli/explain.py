"""``lowlift explain``: short pages that ship with the package."""

from typing import Annotated

import typer

from lowlift._cli import output


def explain(
    topic: Annotated[
        str | None,
        typer.Argument(
            metavar="[TOPIC]",
            help="promise, criteria, encodings, budgets, columns, config, exit-codes",
        ),
    ] = None,
) -> None:
    """Explain what is promised and what is not, the criteria, encodings, budgets, files."""
    from lowlift._explanations import TOPICS, page

    if topic is not None:
        text = page(topic)
        data = {"topic": topic, "text": text}
        output.show(lambda: data, lambda: typer.echo(text.rstrip()))
        return
    titles = {name: page(name).partition("\n")[0].removeprefix("# ") for name in TOPICS}
    lines = [f"  lowlift explain {name:<12}  {title}" for name, title in titles.items()]
    output.show(lambda: {"topics": TOPICS, "titles": titles}, lambda: typer.echo("\n".join(lines)))
