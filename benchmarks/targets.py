"""What the optimal random response is to reach: joints, criteria, goals of gap, time and memory."""

from dataclasses import dataclass
from typing import Any

PAIRS = ("all pairs, HiGHS simplex", "all pairs, HiGHS interior point")


@dataclass(frozen=True)
class Target:
    """A joint, a criterion, and what is to be reached.

    Parameters
    ----------
    name
        The joint in words.
    joint, criterion
        A name of `target_process`, and its arguments.
    gap, seconds
        The goal: a proven gap in NMI, and in how long. They are also what the call is told. Without
        seconds there is no goal: the row compares with rivals.
    memory_mb
        The goal for the peak memory of the process; None without.
    limit
        The time limit of the call where it is not the goal's.
    rivals
        Who else does it.
    """

    name: str
    joint: tuple[Any, ...]
    criterion: tuple[Any, ...]
    gap: float
    seconds: float | None
    memory_mb: float | None = None
    limit: float | None = None
    rivals: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return what tells it from the others."""
        return " ".join(map(str, (*self.joint, *self.criterion)))


def random(
    n_x: int, n_s: int, epsilon: float, gap: float, seconds: float | None, **more: Any
) -> Target:
    """Return a random joint and budgets that are epsilon in all: `share` of it is the lower one."""
    seed = more.pop("seed", 0)
    criterion = ("ALIP", epsilon, more.pop("share", 0.5))
    name = f"random, seed {seed}"
    return Target(name, ("random", n_x, n_s, seed), criterion, gap, seconds, **more)


def survey(columns: int, sensitive: str, epsilon: float) -> Target:
    """Return counts of a real table; all of these have fewer than 500 classes."""
    return Target(
        f"happiness, {columns} columns, S = {sensitive}",
        ("happiness", columns, sensitive),
        ("ALIP", epsilon, 0.5),
        1e-6,
        5.0,
        1500.0,
        rivals=PAIRS if sensitive == "black" else (),
    )


TINY = [
    random(40, 2, 1.0, 1e-4, 10.0, rivals=PAIRS),
    random(6, 3, 1.0, 1e-6, 10.0, share=0.65, rivals=("qhull + HiGHS", "cddlib + HiGHS")),
]
SHORT = [
    random(17, 5, 1.0, 1e-6, 0.004, share=0.65, limit=60.0,
           rivals=("qhull + HiGHS", "cddlib + HiGHS")),
    *(survey(columns, "black", 0.5) for columns in (3, 6)),
    random(500, 2, 1.0, 1e-6, None, rivals=PAIRS),
    random(5_000, 2, 1.0, 1e-4, 10.0),
]  # fmt: skip
FULL = [
    SHORT[0],
    *(survey(k, s, eps) for s in ("happy", "black") for k in (3, 4, 6) for eps in (0.5, 1.0)),
    *(random(n_x, 2, 1.0, 1e-6, None, rivals=PAIRS) for n_x in (500, 1_000, 2_000)),
    random(5_000, 2, 1.0, 1e-4, 10.0, rivals=PAIRS),
    random(20_000, 2, 1.0, 1e-4, 30.0),
    random(100_000, 2, 1.0, 1e-3, 60.0),
    random(200, 15, 0.5, 1e-3, 60.0),
    random(200, 15, 0.25, 1e-2, 60.0),
    random(17, 50, 0.5, 1e-2, 20.0),
    random(50, 15, 0.25, 1e-2, 20.0),
    *(random(1_000, 15, 2.0, 1e-4, 20.0, seed=seed) for seed in range(5)),
    # Half of epsilon = 0.5, as for ALIP: chi2 then has the gap that the goal was set against.
    Target("random, seed 0", ("random", 200, 5, 0), ("chi2", 0.25), 1e-3, 30.0),
    Target("random, seed 0", ("random", 200, 5, 0), ("alpha", 2.0, 0.25), 1e-3, 30.0),
    Target("random, seed 0", ("random", 200, 5, 0), ("chi2", 0.5), 1e-3, None, limit=30.0),
    Target("random, seed 0", ("random", 200, 5, 0), ("alpha", 2.0, 0.5), 1e-3, None, limit=30.0),
    # No slower than before these goals: the times of the same jobs in the record of 0.1.0.
    random(200, 15, 1.0, 1e-5, 14.4, limit=60.0),
    random(200, 15, 2.0, 1e-5, 3.03, limit=60.0),
    random(200, 15, 8.0, 1e-5, 0.546, limit=60.0),
]
