"""How often a bound breaks in the population, and what a design for the population keeps.

Usage: population.py [--form quick|full] [--targets] [--setting TEXT] [--samples N] [--json FILE]

Each sample of a population is designed on twice: for the table, and for the population with
confidence 0.95. Both channels are then audited under the population's own P(s, x). Seeds are fixed.
The full form has 20 populations and 200 samples of each for every setting; it takes days of one
core. The quick form has 3 populations and 5 samples.
"""

import argparse
import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import lowlift as ll

CRITERIA = {
    "LIP(.5)": ll.LIP(0.5),
    "LIP(1)": ll.LIP(1.0),
    "ALIP(1, .5)": ll.ALIP(1.0, 0.5),
    "LDP(1)": ll.LDP(1.0),
    "MaxLift(.5)": ll.MaxLift(0.5),
}
#: Population, criterion, rows, and the mean NMI under the population that a design must reach.
TARGETS = (
    ("titanic", "LIP(.5)", 551, 0.45),
    ("titanic", "LIP(.5)", 2_201, 0.79),
    ("titanic", "LIP(.5)", 22_010, 0.878),
    ("titanic", "LIP(1)", 2_201, 0.91),
    ("17 x 5", "LIP(.5)", 10_000, 0.71),
    ("17 x 5", "LIP(.5)", 100_000, 0.81),
    ("titanic", "LDP(1)", 2_201, 0.85),
)
SIZES = (1_000, 10_000, 100_000, 1_000_000)
FORMS = {"quick": (3, 5), "full": (20, 200)}


@dataclass
class Line:
    """What the designs on the samples of one population are worth under that population."""

    population: str
    criterion: str
    rows: int
    samples: int
    #: NMI under the population: of the optimum for it, and the mean of the designs for it.
    knows: float
    nmi: float
    #: The part of the budgets that the worst output uses, on average.
    used: float
    broken: int
    #: The same of the designs for the table.
    table_nmi: float
    table_broken: int
    seconds: float
    least: float | None = None


def population(name: str) -> np.ndarray:
    """Return P(s, x) of a population by its name."""
    if name == "titanic":
        return np.asarray(ll.datasets.titanic().p_sx)
    if name == "17 x 5":
        return np.asarray(ll.Joint.random(5, 17, seed=0).p_sx)
    rng = np.random.default_rng(int(name))
    shape = int(rng.integers(2, 6)), int(rng.integers(5, 18))
    drawn = rng.dirichlet(np.full(shape[0] * shape[1], float(rng.choice([0.5, 1.0, 3.0]))))
    return np.asarray(np.maximum(drawn, 1e-5).reshape(shape) / np.maximum(drawn, 1e-5).sum())


def measured(name: str, criterion: str, rows: int, samples: int, limit: float) -> Line:
    """Design on samples of a population, and audit under the population."""
    truth, bound = population(name), CRITERIA[criterion]
    rng = np.random.default_rng([rows, samples, *name.encode()])
    whole = ll.Joint(truth)
    knows = ll.random_response(whole, bound, gap=1e-4, time_limit=limit).audit.nmi
    found: dict[bool, list[tuple[float, float, bool]]] = {True: [], False: []}
    start = time.process_time()
    while len(found[True]) < samples:
        counts = rng.multinomial(rows, truth.ravel()).reshape(truth.shape)
        if (counts.sum(axis=1) == 0).any():
            continue
        seen = counts.sum(axis=0) > 0
        joint = ll.Joint.from_counts(counts[:, seen])
        people = ll.Joint(truth[:, seen] / truth[:, seen].sum())
        for is_for_population in (True, False):
            asked = ll.Population(bound) if is_for_population else bound
            release = ll.random_response(joint, asked, gap=1e-3, time_limit=limit)
            verdict = ll.audit(people, release.channel, bound)
            sides = zip(verdict.leakage, (bound.lower, bound.upper), strict=True)
            used = max(leakage / budget for leakage, budget in sides if budget < np.inf)
            found[is_for_population].append((verdict.nmi, used, verdict.is_satisfied))
    mine, table = (np.array(found[key], float) for key in (True, False))
    return Line(
        name, criterion, rows, samples, knows, mine[:, 0].mean(), mine[:, 1].mean(),
        int((mine[:, 2] == 0).sum()), table[:, 0].mean(), int((table[:, 2] == 0).sum()),
        time.process_time() - start,
    )  # fmt: skip


def main() -> None:
    """Run the settings, print a line each, and fail where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--form", choices=FORMS, default="quick")
    parser.add_argument("--targets", action="store_true", help="only the settings with targets")
    parser.add_argument("--setting", help="only settings whose name has this text")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--populations", type=int)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of each search")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    populations, samples = FORMS[given.form]
    samples = given.samples or samples
    names = ["titanic", "17 x 5", *map(str, range(18))][: given.populations or populations]
    tasks: list[tuple[str, str, int, float | None]] = [*TARGETS]
    if not given.targets:
        every = ((name, c, rows, None) for name in names for c in CRITERIA for rows in SIZES)
        tasks += [task for task in every if task[:3] not in {t[:3] for t in TARGETS}]
    lines, misses = [], 0
    for name, criterion, rows, least in tasks:
        label = f"{name} {criterion} {rows:,}"
        if given.setting and given.setting not in label:
            continue
        line = measured(name, criterion, rows, samples, given.limit)
        line.least = least
        lines.append(line)
        is_missed = line.broken > 0.05 * samples or (least is not None and line.nmi < least)
        misses += is_missed
        print(
            f"{label}: NMI {line.nmi:.3f} of {line.knows:.3f} (for the table "
            f"{line.table_nmi:.3f}), {line.used:.0%} of the budget used; broken {line.broken} of "
            f"{samples}, for the table {line.table_broken}; {line.seconds / samples:.1f} CPU s each"
            + ("" if least is None else f"; target {least}{' MISSED' if is_missed else ''}"),
            flush=True,
        )
        if given.json:
            given.json.write_text(json.dumps([asdict(each) for each in lines], indent=1) + "\n")
    raise SystemExit(1 if misses else 0)


if __name__ == "__main__":
    main()
