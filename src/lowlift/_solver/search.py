"""What the searches for a random response share: their limits, what they find, when they stop."""

from collections.abc import Callable
from typing import NamedTuple

from lowlift._arrays import Floats, Ints
from lowlift._deadline import Deadline
from lowlift._solver.classes import Mixture


class State(NamedTuple):
    """Where a search stands: atoms so far, NMI reached, proven bound, seconds."""

    columns: int
    nmi: float
    bound: float
    seconds: float


class Limits(NamedTuple):
    """When a search stops, and with what it works."""

    #: Stop when the bound on NMI and the NMI reached are this close.
    gap: float
    #: When to stop; every loop asks it.
    deadline: Deadline
    #: Threads.
    jobs: int
    #: Told where the search stands; False stops it.
    progress: Callable[[State], object] | None
    #: H(X) in nats: NMI is of X, also where a search sees classes of its symbols.
    entropy: float


class Outcome(NamedTuple):
    """The mixture found, and the bound with its proof.

    The bound is true whatever stopped the search. There are no atoms when it had no time to find a
    mixture.
    """

    atoms: Mixture
    upper_bound: float
    duals: Floats
    floor: float
    nodes: int
    tangents: tuple[tuple[float, ...], ...]
    #: Whether the deadline or `progress` stopped the search.
    is_stopped: bool
    #: The bin of each symbol, where the bound is that of bins of nearly equal columns.
    bins: Ints | None = None


class Search:
    """A search within limits: the bound so far, and whether to stop."""

    def __init__(self, limits: Limits) -> None:
        self.gap, self.deadline, self.jobs, self.progress, self.entropy = limits
        self.bound = 1.0
        self.is_stopped = False

    def _is_over(self) -> bool:
        self.is_stopped = self.is_stopped or self.deadline.is_over
        return self.is_stopped

    def _tell(self, columns: int, nmi: float) -> bool:
        """Tell progress where the search stands, and whether to stop."""
        if not self._is_over() and self.progress is not None:
            state = State(columns, nmi, self.bound, self.deadline.elapsed)
            self.is_stopped = self.progress(state) is False
        return self.is_stopped
