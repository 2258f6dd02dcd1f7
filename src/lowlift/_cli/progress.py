"""What a terminal shows while a search or a drawing goes on."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lowlift._cli.output import MODE

if TYPE_CHECKING:
    from lowlift._solver.search import State


@contextmanager
def searching() -> "Iterator[Callable[[State], object] | None]":
    """Show how far a search is: NMI reached and bound proven."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (MODE.has_screen and console.is_terminal):
        yield None
        return
    status = console.status("searching")

    def show(state: "State") -> None:
        status.start()  # not before, when a bar for compiling may be there
        status.update(
            f"NMI {state.nmi:.5f}, proven at most {state.bound:.5f}, {state.seconds:.0f} s"
        )

    try:
        yield show
    finally:
        status.stop()


@contextmanager
def drawing() -> Iterator[Callable[[int, int], object] | None]:
    """Show a bar and a rate while rows are drawn and written."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if not (MODE.has_screen and console.is_terminal):
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[words]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("drawing", total=None, visible=False, words="")
        start = time.monotonic()

        def show(done: int, total: int) -> None:
            # Each row is drawn and written: two steps.
            rate = done / 2 / max(time.monotonic() - start, 1e-3)
            words = f"{done // 2:,} of {total // 2:,} rows, {rate:,.0f}/s"
            progress.update(bar, completed=done, total=total, visible=True, words=words)

        yield show
