"""``lowlift paper``: the paper's figures and propositions, recomputed."""

import os
from pathlib import Path
from typing import Annotated

import typer

from lowlift._cli import output


def paper(
    figures: Annotated[
        list[int] | None,
        typer.Argument(metavar="FIGURE", help="Figures from 1 to 8, e.g. 4 6. Default: all."),
    ] = None,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            metavar="DIR",
            help="A new or empty folder, or one from an earlier run, which then goes on where it "
            "stopped. For example: --out reproduction",
        ),
    ],
    joints: Annotated[
        int | None,
        typer.Option(
            help="At most this many random joints a figure, e.g. 50. Default: the paper's 1000, "
            "100 or 10. At other sizes: this many."
        ),
    ] = None,
    x: Annotated[
        int | None,
        typer.Option("--x", help="|X| of the random joints, e.g. 30. Default: 17 or 200."),
    ] = None,
    s: Annotated[
        int | None, typer.Option("--s", help="|S| of the random joints, e.g. 8. Default: 5 or 15.")
    ] = None,
    lambdas: Annotated[
        list[float] | None,
        typer.Option(
            "--lambda",
            help="Share of the budget on the lower side, e.g. 0.3; may be repeated for Figures 2, "
            "3, 4 and 7.",
        ),
    ] = None,
    alphas: Annotated[
        list[float] | None,
        typer.Option(
            "--alpha", help="Order of the alpha-lift in Figure 8, e.g. 5; may be repeated."
        ),
    ] = None,
    budgets: Annotated[
        list[float] | None,
        typer.Option(
            "--budget", help="Budget in nats, e.g. 1; may be repeated. Default: 0.25 to 8."
        ),
    ] = None,
    seconds: Annotated[
        float | None,
        typer.Option(help="Time limit of one search that adds to the paper, e.g. 5. Default: 30."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer joints and budgets, for a first look.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of the random joints, e.g. 7.")] = 9,
    jobs: Annotated[
        int | None, typer.Option(help="Processes, e.g. 2. Default: one for each core.")
    ] = None,
) -> None:
    """Recompute the paper's figures and propositions, with its own points beside ours.

    Writes index.html and each figure as SVG, PNG and CSV into DIR. This takes minutes; a run that
    was stopped goes on where it was. With other sizes, lambdas or orders the same curves are drawn
    without the paper's points: lowlift paper 5 --x 30 --s 8 --joints 20 --out larger
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from lowlift.paper import FIGURES, reproduce

    console = Console(stderr=True)
    is_silent = not (output.MODE.has_screen and console.is_terminal)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    bars: dict[int, TaskID] = {}
    with Progress(*columns, console=console, disable=is_silent) as progress:

        def show(figure: int, done: int, total: int) -> None:
            if figure not in bars:
                bars[figure] = progress.add_task(f"Figure {figure}", total=total)
            progress.update(bars[figure], completed=done)

        page = reproduce(
            out,
            figures or FIGURES,
            joints=joints,
            quick=quick,
            seed=seed,
            jobs=jobs if jobs is not None else os.cpu_count(),
            progress=show,
            n_s=s,
            n_x=x,
            lambdas=lambdas or (),
            alphas=alphas or (),
            epsilons=budgets or (),
            seconds=seconds,
        )
    data = {"page": str(page), "figures": sorted(set(figures or FIGURES))}
    output.show(lambda: data, lambda: typer.echo(f"Wrote {page}"))
