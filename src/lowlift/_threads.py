"""Work for several threads: the kernels hold no lock, so threads are enough."""

import os
from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from lowlift._arrays import Ints

T = TypeVar("T")
R = TypeVar("R")
Numbers = TypeVar("Numbers", range, Ints)

#: Seconds between two questions whether to stop.
_ASK = 0.2


@cache
def cores() -> int:
    """Return the number of cores."""
    return os.cpu_count() or 1


def pieces(numbers: Numbers, size: int) -> list[Numbers]:
    """Return the numbers in pieces of a size; the last may be smaller."""
    return [numbers[k : k + size] for k in range(0, len(numbers), size)]


def in_order(work: Callable[[T], R], items: Sequence[T], jobs: int) -> list[R]:
    """Return the results in the order of the items, from threads when there are jobs for them."""
    if jobs < 2 or len(items) < 2:
        return [work(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(min(jobs, len(items))) as pool:
        return list(pool.map(work, items))


def until_over(
    work: Callable[[T], R],
    items: Sequence[T],
    jobs: int,
    stop: Ints,
    is_over: Callable[[], bool] | None,
) -> list[R]:
    """Return the results in the order of the items; set `stop[0]` when `is_over` says so.

    It is asked a few times a second. The work must look at `stop` and then end early.
    """
    from concurrent.futures import ThreadPoolExecutor, wait

    with ThreadPoolExecutor(jobs) as pool:
        try:
            futures = [pool.submit(work, item) for item in items]
            while wait(futures, timeout=_ASK).not_done:
                if is_over is not None and is_over():
                    stop[0] = 1
                    break
            return [future.result() for future in futures]
        except BaseException:
            stop[0] = 1
            raise
