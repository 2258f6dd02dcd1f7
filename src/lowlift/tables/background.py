"""Work in a thread of its own, whose result or error is asked for later."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Found = TypeVar("Found")


def started(work: Callable[[], Found], name: str) -> Future[Found]:
    """Start the work; an interpreter that ends does not wait for it."""
    done: Future[Found] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 (raised again where the result is asked for)
            done.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return done
