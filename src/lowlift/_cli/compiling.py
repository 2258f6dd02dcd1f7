"""Say on a terminal that functions are being compiled, and show how far it is."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from lowlift._cli.output import MODE


@contextmanager
def shown() -> Iterator[None]:
    """Print a line and a bar while functions are compiled, if standard error is a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    from lowlift._kernels.compilation import observe

    with ExitStack() as stack:
        bars: list[Any] = []

        def show(done: int, total: int) -> None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            if not MODE.has_screen:
                return
            if not bars:
                console = Console(stderr=True)
                console.print("Compiling for this machine; later runs load what is compiled.")
                columns = TextColumn("compiling"), BarColumn()
                bar = stack.enter_context(Progress(*columns, console=console, transient=True))
                bars.append((bar, bar.add_task("compiling")))
            bar, task = bars[-1]
            bar.update(task, completed=done, total=total)
            if done == total:
                stack.pop_all().close()
                bars.clear()

        with observe(show):
            yield
