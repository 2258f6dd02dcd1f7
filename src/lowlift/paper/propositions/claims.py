"""Every inequality tried on random cases: how each fared, and a counter-example where it fails."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt

from lowlift._joint import Joint
from lowlift._mechanisms.watchdog import watchdog
from lowlift.criteria import ALIP, LDP
from lowlift.errors import InvalidInput
from lowlift.paper.propositions.cases import SHAPES, published, random_cases
from lowlift.paper.propositions.enclosures import DOUBT, LEAST, Enclosure, Number, exact_slack, log
from lowlift.paper.propositions.inequalities import INEQUALITIES, Inequality, exact_sides, slacks
from lowlift.paper.propositions.measures import Cases, Exact, Table

#: Counter-examples to Proposition 2, as counts, epsilon and lambda. The first: LDP publishes both
#: symbols, ALIP randomises the first, alone, which changes nothing. The second: X_H is one symbol
#: for LDP and two for ALIP; the one takes a large symbol in.
ONE_RISKY_SYMBOL = (((2, 9), (1, 9)), 0.6, 0.5)
WORSE_PARTNER = (((5, 4, 2, 1), (4, 6, 1, 4)), 1.0, 0.5)


@dataclass(frozen=True)
class Claim:
    """One inequality, and how it fared.

    Attributes
    ----------
    proposition
        Its number in the paper, such as "1(2)".
    form
        "printed", "corrected", "printed, where it holds" or "with repair".
    statement
        The inequality.
    cases
        Cases tried, the known counter-examples among them.
    smallest_slack
        The least of right minus left (left minus right for ≥ and >) over all cases; below 0 when
        violated, a strict inequality also at 0; inf when no case was tried. The sign is exact.
    violations
        Cases in which it does not hold; each is decided exactly.
    counter_example
        One line with the smallest example known, recomputed; empty when it holds.
    """

    proposition: str
    form: str
    statement: str
    cases: int
    smallest_slack: float
    violations: int
    counter_example: str = ""

    @property
    def holds(self) -> bool:
        """Whether no case violates it."""
        return self.violations == 0


def try_propositions(cases: int = 2000, seed: int = 0) -> list[Claim]:
    """Try every inequality of Propositions 1 to 7 and of Theorem 1 on random cases.

    Parameters
    ----------
    cases
        Random cases; Proposition 2 runs four watchdogs a case and takes a tenth of them.
    seed
        0 or more.

    Cost
        About 0.5 ms a case; the first call also loads numba (for the repaired watchdog).

    Examples
    --------
    >>> claims = try_propositions(60)
    >>> all(claim.holds for claim in claims if claim.form == "corrected")
    True
    """
    if cases < 1 or seed < 0:
        raise InvalidInput(f"cases must be 1 or more and seed 0 or more; got {cases} and {seed}.")
    rng = np.random.default_rng(seed)
    sizes = np.bincount(np.arange(cases) % len(SHAPES), minlength=len(SHAPES)).tolist()
    batches = [random_cases(rng, k, *shape) for k, shape in zip(sizes, SHAPES, strict=True) if k]
    found = [_tried(inequality, batches) for inequality in INEQUALITIES]
    place = next(k for k, claim in enumerate(found) if claim.proposition > "2")
    return [*found[:place], *_proposition_2(rng, batches, max(1, cases // 10)), *found[place:]]


def _tried(inequality: Inequality, batches: Sequence[Cases]) -> Claim:
    cases = violations = 0
    smallest, found = math.inf, ""
    if inequality.example is not None:
        batches = [published(inequality.example), *batches]
    for batch in batches:
        slack = np.min([slacks(formula, batch) for formula in inequality.formulas], axis=0)
        claimed = np.full(len(batch), fill_value=True)
        if inequality.where is not None:
            claimed = slacks(inequality.where, batch) >= 0
        bad = np.flatnonzero(claimed & (slack < 0))
        cases, violations = cases + int(claimed.sum()), violations + len(bad)
        smallest = min(smallest, float(slack.min(where=claimed, initial=math.inf)))
        if len(bad) and not found:  # the known example is first, then the smallest shapes
            found = _counter_example(inequality, batch.exact(int(bad[0])))
    kind = (inequality.proposition, inequality.form, inequality.statement)
    return Claim(*kind, cases, smallest, violations, found)


def _counter_example(inequality: Inequality, case: Exact) -> str:
    """Return P_S, the lifts and both sides of a violating case in one line."""
    sides = (partial(exact_sides, formula, case) for formula in inequality.formulas)
    smaller, larger = map(_shown, min(sides, key=exact_slack)(128))
    lifts = case.lift[0].T.tolist()
    some = [_tuple(l_s) for l_s in lifts[:3]] + ["…"] * (len(lifts) > 3)
    return f"P_S = {_tuple(case.p_s[0])}, lifts {', '.join(some)}: {smaller} > {larger}"


def _tuple(values: Iterable[Fraction]) -> str:
    return f"({', '.join(map(_shown, values))})"


def _shown(number: Number) -> str:
    """Return a short decimal or ratio where that is exact, else four digits."""
    value = number.middle if isinstance(number, Enclosure) else number
    if value * 10_000 == int(value * 10_000):
        return f"{float(value):g}"
    return str(value) if value.denominator < 1000 else f"{float(value):.4g}"


def _proposition_2(rng: np.random.Generator, batches: Sequence[Cases], cases: int) -> list[Claim]:
    """Compare what LDP's and ALIP's watchdogs keep at the same budget."""
    tables = [table for batch in batches for table in batch.counts]
    picked = rng.choice(len(tables), min(cases, len(tables)), replace=False).tolist()
    # Budgets in sixteenths make lam * epsilon and (1 - lam) * epsilon exact, and so their sum.
    epsilons = (rng.integers(1, 65, len(picked)) / 16).tolist()
    shares = (rng.integers(1, 16, len(picked)) / 16).tolist()
    drawn = zip((tables[k] for k in picked), epsilons, shares, strict=True)
    runs = [ONE_RISKY_SYMBOL, WORSE_PARTNER, *drawn]
    plain, repaired = (
        np.array([kept_more(_kept(*run, repair)) for run in runs]) for repair in (False, True)
    )
    text = "I(X;Y) of LDP(ε) {} that of ALIP(λε, (1 − λ)ε), {} watchdogs"
    rows = [
        ("printed", (">", "unrepaired"), plain, plain <= 0, _told(ONE_RISKY_SYMBOL, False)),
        ("corrected", ("≥", "unrepaired"), plain, plain < 0, ""),
        ("with repair", ("≥", "repaired"), repaired, repaired < 0, _told(WORSE_PARTNER, True)),
    ]
    return [
        Claim("2", form, text.format(*words), len(slack), float(slack.min()), int(bad.sum()), line)
        for form, words, slack, bad, line in rows
    ]


def _kept(
    counts: npt.ArrayLike, epsilon: float, lam: float, repair: bool
) -> list[tuple[float, list[int]]]:
    """Return I(X;Y) in nats and the masses of the outputs, of LDP's and of ALIP's watchdog."""
    joint, found = Joint.from_counts(counts), list[tuple[float, list[int]]]()
    p_x = joint.counts.sum(axis=0).tolist()
    for criterion in (LDP(epsilon), ALIP.split(epsilon, lam)):
        release = watchdog(joint, criterion, repair=repair)
        blocks = (release.channel.atom(y)[0] for y in range(release.channel.n_y))
        masses = sorted(sum(p_x[x] for x in block) for block in blocks)
        found.append((release.audit.mutual_information, masses))
    return found


def kept_more(pair: Sequence[tuple[float, Sequence[int]]]) -> float:
    """Return by how much the first keeps more than the second, with an exact sign."""
    (ldp, ldp_masses), (alip, alip_masses) = pair
    if ldp - alip > DOUBT:
        return ldp - alip
    if ldp_masses == alip_masses:
        return 0.0
    # I(X;Y) = H(Y) = log n - sum n_y log n_y / n: the smaller sum keeps more.
    slack = exact_slack(lambda bits: (_log_sum(ldp_masses, bits), _log_sum(alip_masses, bits)))
    return slack / sum(ldp_masses) or math.copysign(LEAST, slack)


def _told(run: tuple[Table, float, float], repair: bool) -> str:
    """Return a run (counts, epsilon, lam) and what both watchdogs keep in one line."""
    counts, epsilon, lam = run
    (ldp, _), (alip, _) = _kept(counts, epsilon, lam, repair)
    return (
        f"counts {counts}, ε = {epsilon:g}, λ = {lam:g}: LDP keeps {ldp:.4f} nats, ALIP {alip:.4f}"
    )


def _log_sum(masses: Sequence[int], bits: int) -> Number:
    return sum((log(Fraction(n), bits) * Fraction(n) for n in masses), Fraction())
