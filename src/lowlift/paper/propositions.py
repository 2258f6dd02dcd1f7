"""Every inequality of Propositions 1 to 7 and Theorem 1, printed and corrected, on many cases.

A case is a positive table of counts and a channel of whole weights. Its budgets are as tight as can
be: e**upper is the largest lift u, e**-lower the smallest lift d. Floats say how large a slack is;
a slack within 1e-9 of zero, and every violation, is decided in rationals and enclosures.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lowlift.criteria import ALIP, LDP
from lowlift.errors import InvalidInput
from lowlift.exact import exp_between, log_of, precisions
from lowlift.joint import Joint
from lowlift.mechanisms.watchdog import watchdog

__all__ = ["Claim", "try_propositions"]

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Table: TypeAlias = Sequence[Sequence[int]]
#: A real number lies between the two ends; a rational is both.
Ends: TypeAlias = tuple[Fraction, Fraction]
#: From measures to (smaller, larger), in floats or rationals alike.
Formula: TypeAlias = Callable[[Any], tuple[Any, Any]]

#: Few symbols show what is false; 1(2) needs three values of S and of Y (it holds for two).
_SHAPES = ((2, 2), (2, 3), (3, 3), (3, 4), (4, 4), (4, 6), (5, 17))
_ALPHAS = (Fraction(3, 2), Fraction(2), Fraction(10))
#: Counts and weights: whole numbers this small have exact sums and products in floats.
_COUNTS, _WEIGHTS = 1 << 16, 1 << 10
#: Floats decide beyond this part of the larger side (and of 1); their error is below 1e-12 of it.
_DOUBT = 1e-9
#: The smallest positive float: a sign where a difference underflows.
_LEAST = 5e-324


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
    sizes = np.bincount(np.arange(cases) % len(_SHAPES), minlength=len(_SHAPES)).tolist()
    batches = [_random_cases(rng, k, *shape) for k, shape in zip(sizes, _SHAPES, strict=True) if k]
    found = [_tried(inequality, batches) for inequality in _INEQUALITIES]
    place = next(k for k, claim in enumerate(found) if claim.proposition > "2")
    return [*found[:place], *_proposition_2(rng, batches, max(1, cases // 10)), *found[place:]]


class _Measures:
    """What floats (many cases) and rationals (one case) share.

    `l1`, `chi2` and their inverses are the largest over the outputs.
    """

    u: Any
    d: Any
    #: Per output, sum_s P(s) f(l(s, y)).
    means: Callable[[Callable[[Any], Any]], Any]
    #: sum_y P(y) values.
    average: Callable[[Any], Any]
    #: max_y values.
    largest: Callable[[Any], Any]

    @cached_property
    def total_variation(self) -> Any:
        return self.average(self.means(lambda v: abs(v - 1))) / 2

    @cached_property
    def chi2_divergence(self) -> Any:
        return self.average(self.means(lambda v: (v - 1) ** 2))

    @cached_property
    def l1(self) -> Any:
        return self.largest(self.means(lambda v: abs(v - 1)))

    @cached_property
    def chi2(self) -> Any:
        return self.largest(self.means(lambda v: (v - 1) ** 2))

    @cached_property
    def l1_inverse(self) -> Any:
        return self.largest(self.means(lambda v: abs(1 / v - 1)))

    @cached_property
    def chi2_inverse(self) -> Any:
        return self.largest(self.means(lambda v: (1 / v - 1) ** 2))


class _Cases(_Measures):
    """Cases of one shape, measured in floats.

    `counts` is (k, |S|, |X|), `weights` (k, |X|, |Y|), `high` (k, |X|) marks X_H. An output that
    never occurs has mass 0 and counts as lift 1, which changes no measure.
    """

    def __init__(self, counts: Ints, weights: Ints, high: Bools) -> None:
        self.counts, self.weights, self.high = counts, weights, high
        self._exact: dict[int, _Exact] = {}
        self.masses = counts @ weights
        self.rows = self.masses.sum(axis=2)
        p_sy = self.masses / self.masses.sum(axis=(1, 2), keepdims=True)
        self.p_s, self.p_y = p_sy.sum(axis=2), p_sy.sum(axis=1)
        above = self.masses * self.rows.sum(axis=1)[:, None, None].astype(np.float64)
        below = self.rows[:, :, None].astype(np.float64) * self.masses.sum(axis=1)[:, None]
        self.lift = np.divide(above, below, out=np.ones(above.shape), where=below > 0)
        self.u, self.d = self.lift.max(axis=(1, 2)), self.lift.min(axis=(1, 2))
        self.means = lambda function: self._mean(self.p_s, function(self.lift))
        self.average = lambda values: (self.p_y * values).sum(axis=1)
        self.largest = lambda values: values.max(axis=1)

    def __len__(self) -> int:
        return len(self.counts)

    @staticmethod
    def _mean(p_s: Floats, values: Floats) -> Floats:
        return np.asarray(np.einsum("ks,ksy->ky", p_s, values))

    def exact(self, k: int) -> "_Exact":
        """Return case k in rationals."""
        if k not in self._exact:
            table = self.counts[k].tolist()
            self._exact[k] = _Exact(table, self.weights[k].tolist(), self.high[k].tolist())
        return self._exact[k]

    @cached_property
    def chord(self) -> Floats:
        """(u - 1)(1 - d) / (u - d), 0 when every lift is 1."""
        spread = self.u - self.d
        top = (self.u - 1) * (1 - self.d)
        return np.asarray(np.divide(top, spread, out=np.zeros(len(self)), where=spread > 0))

    @cached_property
    def farthest(self) -> Floats:
        """The largest deviation of 1/l from 1 that d <= l <= u leaves."""
        return np.asarray(np.maximum(1 / self.d - 1, 1 - 1 / self.u))

    @cached_property
    def information(self) -> Any:
        return self.average(self.means(lambda v: v * np.log(v)))

    def powers(self, alpha: float) -> Any:
        """Return max_y sum_s P(s) l**alpha."""
        return self.largest(self.means(lambda v: v**alpha))

    def sibson(self, alpha: float) -> Any:
        norms = self.means(lambda v: v**alpha) ** (1 / alpha)
        return alpha / (alpha - 1) * np.log(self.average(norms))

    def arimoto(self, alpha: float) -> Any:
        """Return Sibson's form under the tilted prior."""
        tilted = self.p_s**alpha / (self.p_s**alpha).sum(axis=1, keepdims=True)
        norms = self._mean(tilted, self.lift**alpha) ** (1 / alpha)
        return alpha / (alpha - 1) * np.log(self.average(norms))

    # Where nearly equal lifts compete, the largest P(s) is the hardest case.

    @cached_property
    def p_at_max(self) -> Floats:
        """P(s) where the lift is largest."""
        near = self.lift.max(axis=2) >= self.u[:, None] * (1 - 1e-12)
        return np.asarray(np.where(near, self.p_s, 0.0).max(axis=1))

    @cached_property
    def p_at_min(self) -> Floats:
        """P(s) where the lift is smallest."""
        near = self.lift.min(axis=2) <= self.d[:, None] * (1 + 1e-12)
        return np.asarray(np.where(near, self.p_s, 0.0).max(axis=1))

    def _largest_gamma(self, masses: npt.NDArray[Any]) -> Floats:
        """Return max_y of max_s P(y|s) / min_s P(y|s), over the outputs that occur."""
        rates = masses / self.rows[:, :, None]
        high, low = rates.max(axis=1), rates.min(axis=1)
        ratios = np.divide(high, low, out=np.ones(high.shape), where=low > 0)
        return np.asarray(ratios.max(axis=1))

    @cached_property
    def gamma(self) -> Floats:
        return self._largest_gamma(self.masses)

    @cached_property
    def gamma_merged(self) -> Floats:
        """Gamma of X_H as one output."""
        return self._largest_gamma((self.counts * self.high[:, None]).sum(axis=2, keepdims=True))

    @cached_property
    def gamma_invariant(self) -> Floats:
        """The largest Gamma(y) when every x of X_H is randomised by the first row of weights."""
        merged = (self.counts * self.high[:, None]).sum(axis=2, keepdims=True)
        return self._largest_gamma(merged * self.weights[:, :1])

    @cached_property
    def gamma_randomised(self) -> Floats:
        """The largest Gamma(y) when each x of X_H is randomised by its own row of weights."""
        return self._largest_gamma((self.counts * self.high[:, None]) @ self.weights)


class _Exact(_Measures):
    """One case in rationals: the same measures by the same names."""

    def __init__(self, counts: Table, weights: Table, high: Sequence[bool]) -> None:
        self.weights = weights
        self.high_counts = [list(map(int.__mul__, row, map(int, high))) for row in counts]
        columns = _columns(counts, weights)
        self.rows = [sum(column[s] for column in columns) for s in range(len(counts))]
        total = sum(self.rows)
        self.p_s = [Fraction(row, total) for row in self.rows]
        self.p_y = [Fraction(sum(column), total) for column in columns]
        self.lifts = [
            [Fraction(n * total, row * mass) for n, row in zip(column, self.rows, strict=True)]
            for column in columns
            for mass in (sum(column),)
        ]
        self.u, self.d = max(map(max, self.lifts)), min(map(min, self.lifts))
        self.means = lambda function: [_dot(self.p_s, map(function, l_s)) for l_s in self.lifts]
        self.average = lambda values: _dot(self.p_y, values)
        self.largest = max

    @property
    def chord(self) -> Fraction:
        u, d = Fraction(self.u), Fraction(self.d)
        return (u - 1) * (1 - d) / (u - d) if u > d else Fraction()

    @property
    def farthest(self) -> Fraction:
        return Fraction(max(1 / self.d - 1, 1 - 1 / self.u))

    def _p_where(self, value: Fraction) -> Fraction:
        pairs = (pair for l_s in self.lifts for pair in zip(self.p_s, l_s, strict=True))
        return max(p for p, v in pairs if v == value)

    @property
    def p_at_max(self) -> Fraction:
        return self._p_where(self.u)

    @property
    def p_at_min(self) -> Fraction:
        return self._p_where(self.d)

    def _largest_gamma(self, columns: Iterable[Sequence[int]]) -> Fraction:
        rates = [list(map(Fraction, column, self.rows)) for column in columns]
        return max(max(rate) / min(rate) for rate in rates)

    @property
    def gamma(self) -> Fraction:
        return max(max(l_s) / min(l_s) for l_s in self.lifts)

    @cached_property
    def gamma_merged(self) -> Fraction:
        return self._largest_gamma([list(map(sum, self.high_counts))])

    @property
    def gamma_invariant(self) -> Fraction:
        merged = list(map(sum, self.high_counts))
        return self._largest_gamma([[n * w for n in merged] for w in self.weights[0] if w])

    @property
    def gamma_randomised(self) -> Fraction:
        return self._largest_gamma(_columns(self.high_counts, self.weights))

    def information(self, bits: int) -> Ends:
        parts = [
            (p_y * p_s * v, _log(v, bits))
            for p_y, l_s in zip(self.p_y, self.lifts, strict=True)
            for p_s, v in zip(self.p_s, l_s, strict=True)
        ]
        return _sum((p * lo, p * hi) for p, (lo, hi) in parts)

    def powers(self, alpha: Fraction, bits: int) -> list[Ends]:
        """Enclose sum_s P(s) l**alpha per output."""
        return [_weighted(self.p_s, [_power(v, alpha, bits) for v in l_s]) for l_s in self.lifts]

    def sibson(self, alpha: Fraction, bits: int) -> Ends:
        norms = [_root(ends, alpha, bits) for ends in self.powers(alpha, bits)]
        return _scaled_log(alpha, _weighted(self.p_y, norms), bits)

    def arimoto(self, alpha: Fraction, bits: int) -> Ends:
        if self.u == 1:  # it is 0, which no enclosure can tell from a little more
            return Fraction(), Fraction()
        norms = [
            _root(_sum(_power(p * v, alpha, bits) for p, v in pairs), alpha, bits)
            for pairs in (list(zip(self.p_s, l_s, strict=True)) for l_s in self.lifts)
        ]
        prior = _root(_sum(_power(p, alpha, bits) for p in self.p_s), alpha, bits)
        low, high = _weighted(self.p_y, norms)
        return _scaled_log(alpha, (low / prior[1], high / prior[0]), bits)


def _columns(counts: Table, weights: Table) -> list[list[int]]:
    """Return counts @ weights per output, without the outputs of mass 0."""
    found = [
        [sum(map(int.__mul__, row, shares)) for row in counts]
        for shares in zip(*weights, strict=True)
    ]
    return [column for column in found if any(column)]


def _dot(weights: Iterable[Fraction], values: Iterable[Fraction]) -> Fraction:
    return sum((w * v for w, v in zip(weights, values, strict=True)), Fraction())


def _sum(parts: Iterable[Ends]) -> Ends:
    low, high = zip(*parts, strict=True)
    return sum(low, Fraction()), sum(high, Fraction())


def _weighted(weights: Sequence[Fraction], parts: Sequence[Ends]) -> Ends:
    return _sum((w * lo, w * hi) for w, (lo, hi) in zip(weights, parts, strict=True))


def _log(value: Fraction, bits: int) -> Ends:
    if value == 1:
        return Fraction(), Fraction()
    low, high = log_of(value.numerator, value.denominator, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _power(value: Fraction, alpha: Fraction, bits: int) -> Ends:
    """Enclose value**alpha for a positive value; exactly where it is plainly rational."""
    if alpha.denominator == 1 or value == 1:
        power = value ** int(alpha)
        return power, power
    ends = [alpha * end for end in _log(value, bits)]
    low, high = math.floor(min(ends) * 2**bits), math.ceil(max(ends) * 2**bits)
    low, high = exp_between(low, high, bits)
    return Fraction(low, 1 << bits), Fraction(high, 1 << bits)


def _root(ends: Ends, alpha: Fraction, bits: int) -> Ends:
    """Enclose the root of order alpha of every number between two ends."""
    if ends[1] == 0:
        return ends
    return _power(ends[0], 1 / alpha, bits)[0], _power(ends[1], 1 / alpha, bits)[1]


def _scaled_log(alpha: Fraction, ends: Ends, bits: int) -> Ends:
    """Enclose alpha / (alpha - 1) times the logarithm of every number between two ends."""
    factor = alpha / (alpha - 1)
    return factor * _log(ends[0], bits)[0], factor * _log(ends[1], bits)[1]


def _slack(sides: Callable[[int], tuple[Ends, Ends]]) -> float:
    """Return larger - smaller with its exact sign; an open one counts as violated."""
    for bits in precisions():
        smaller, larger = sides(bits)
        if smaller[1] < larger[0] or smaller[0] > larger[1]:
            slack = float(_middle(larger) - _middle(smaller))
            return slack or math.copysign(_LEAST, larger[0] - smaller[1])
        if smaller[0] == smaller[1] == larger[0] == larger[1]:
            return 0.0
    return -_LEAST


def _middle(ends: Ends) -> Fraction:
    return (ends[0] + ends[1]) / 2


@dataclass(frozen=True)
class _Part:
    """A comparison: (smaller, larger) of many cases in floats, and of one case exactly."""

    floats: Callable[[Any], tuple[Floats, Floats]]
    exact: Callable[[Any, int], tuple[Ends, Ends]]

    def slacks(self, cases: _Cases) -> Floats:
        """Return larger - smaller per case, with exact signs."""
        smaller, larger = self.floats(cases)
        slack = larger - smaller
        scale = np.maximum(1.0, np.maximum(np.abs(smaller), np.abs(larger)))
        for k in np.flatnonzero(slack <= _DOUBT * scale).tolist():
            slack[k] = _slack(partial(self.exact, cases.exact(k)))
        return slack


def _rational(formula: Formula) -> _Part:
    """Return the part whose sides are rational in the lifts: one formula for floats and exactly."""

    def exact(case: Any, bits: int) -> tuple[Ends, Ends]:  # noqa: ARG001 (rationals need none)
        smaller, larger = formula(case)
        return (smaller, smaller), (larger, larger)

    return _Part(formula, exact)


@dataclass(frozen=True)
class _Inequality:
    """A statement with the parts that must all hold, where it is claimed, and its known example."""

    proposition: str
    form: str
    statement: str
    parts: tuple[_Part, ...]
    where: _Part | None = None
    example: Table | None = None


def _tried(inequality: _Inequality, batches: Sequence[_Cases]) -> Claim:
    cases = violations = 0
    smallest, found = math.inf, ""
    if inequality.example is not None:
        batches = [_published(inequality.example), *batches]
    for batch in batches:
        slack = np.min([part.slacks(batch) for part in inequality.parts], axis=0)
        claimed = np.full(len(batch), fill_value=True)
        if inequality.where is not None:
            claimed = inequality.where.slacks(batch) >= 0
        bad = np.flatnonzero(claimed & (slack < 0))
        cases, violations = cases + int(claimed.sum()), violations + len(bad)
        smallest = min(smallest, float(slack.min(where=claimed, initial=math.inf)))
        if len(bad) and not found:  # the known example is first, then the smallest shapes
            found = _counter_example(inequality, batch.exact(int(bad[0])))
    kind = (inequality.proposition, inequality.form, inequality.statement)
    return Claim(*kind, cases, smallest, violations, found)


def _published(counts: Table) -> _Cases:
    """Return the one case that publishes X itself."""
    table = np.array([counts])
    return _Cases(
        table, np.eye(table.shape[2], dtype=np.int64)[None], np.ones(table[:, 0].shape, np.bool_)
    )


def _counter_example(inequality: _Inequality, case: _Exact) -> str:
    """Return P_S, the lifts and both sides of a violating case in one line."""
    part = min(inequality.parts, key=lambda part: _slack(partial(part.exact, case)))
    smaller, larger = (_shown(_middle(side)) for side in part.exact(case, 128))
    lifts = [_tuple(l_s) for l_s in case.lifts[:3]] + ["…"] * (len(case.lifts) > 3)
    return f"P_S = {_tuple(case.p_s)}, lifts {', '.join(lifts)}: {smaller} > {larger}"


def _tuple(values: Sequence[Fraction]) -> str:
    return f"({', '.join(map(_shown, values))})"


def _shown(value: Fraction) -> str:
    """Return a short decimal or ratio where that is exact, else four digits."""
    if value * 10_000 == int(value * 10_000):
        return f"{float(value):g}"
    return str(value) if value.denominator < 1000 else f"{float(value):.4g}"


def _random_cases(rng: np.random.Generator, k: int, n_s: int, n_x: int) -> _Cases:
    """Return k random positive tables, each with a channel and a set of riskiest symbols."""
    shape = (k, n_s, n_x)
    uniform, normal = rng.random(shape), rng.standard_normal(shape)
    diagonal = np.arange(n_s)[:, None] == np.arange(n_x) % n_s
    factor = rng.random((k, 1, 1))
    entries = np.choose(
        rng.integers(0, 5, k)[:, None, None],
        [
            uniform,
            -np.log1p(-uniform),
            np.abs(normal),
            # One value of S is nearly ruled out, or made likely, by each symbol.
            (4 + uniform) * np.where(diagonal, factor, 1.0),
            (4 + uniform) * np.where(diagonal, 1 + 4 * factor, 1.0),
        ],
    )
    is_skewed = rng.random((k, 1, 1)) < 0.4
    entries = entries * np.where(is_skewed, np.exp(rng.standard_normal((k, n_s, 1))), 1.0)
    scaled = entries / entries.max(axis=(1, 2), keepdims=True)
    counts = 1 + (_COUNTS * scaled).astype(np.int64)
    return _Cases(counts, _random_weights(rng, k, n_x), _riskiest(rng, counts))


def _random_weights(rng: np.random.Generator, k: int, n_x: int) -> Ints:
    """Return k channels (k, |X|, |X|): the identity, a partition, or noise on the diagonal."""
    identity = np.broadcast_to(_WEIGHTS * np.eye(n_x, dtype=np.int64), (k, n_x, n_x))
    blocks = rng.permuted(np.broadcast_to(np.arange(n_x), (k, n_x)), axis=1)
    blocks = blocks % rng.integers(2, n_x + 1, k)[:, None]
    partition = _WEIGHTS * (blocks[:, :, None] == np.arange(n_x)).astype(np.int64)
    kept = rng.integers(0, _WEIGHTS, k)[:, None, None]
    cuts = np.sort((rng.random((k, n_x, n_x - 1)) * (_WEIGHTS - kept + 1)).astype(np.int64), axis=2)
    ends = [np.zeros((k, n_x, 1), np.int64), cuts, np.broadcast_to(_WEIGHTS - kept, (k, n_x, 1))]
    noisy = np.diff(np.concatenate(ends, axis=2), axis=2) + kept * np.eye(n_x, dtype=np.int64)
    return np.choose(rng.integers(0, 3, k)[:, None, None], [identity, partition, noisy])


def _riskiest(rng: np.random.Generator, counts: Ints) -> Bools:
    """Return X_H of the LDP watchdog at random budgets: the symbols of largest Gamma(x)."""
    rates = counts / counts.sum(axis=2, keepdims=True)
    gamma = rates.max(axis=1) / rates.min(axis=1)
    place = rng.integers(0, gamma.shape[1], (len(counts), 1))
    return np.asarray(gamma >= np.take_along_axis(np.sort(gamma, axis=1), place, axis=1))


def _proposition_2(rng: np.random.Generator, batches: Sequence[_Cases], cases: int) -> list[Claim]:
    """Compare what LDP's and ALIP's watchdogs keep at the same budget."""
    tables = [table for batch in batches for table in batch.counts]
    picked = rng.choice(len(tables), min(cases, len(tables)), replace=False).tolist()
    # Budgets in sixteenths make lam * epsilon and (1 - lam) * epsilon exact, and so their sum.
    epsilons = (rng.integers(1, 65, len(picked)) / 16).tolist()
    shares = (rng.integers(1, 16, len(picked)) / 16).tolist()
    drawn = zip((tables[k] for k in picked), epsilons, shares, strict=True)
    runs = [_ONE_RISKY_SYMBOL, _WORSE_PARTNER, *drawn]
    plain, repaired = (
        np.array([_kept_more(_kept(*run, repair)) for run in runs]) for repair in (False, True)
    )
    text = "I(X;Y) of LDP(ε) {} that of ALIP(λε, (1 − λ)ε), {} watchdogs"
    rows = [
        ("printed", (">", "unrepaired"), plain, plain <= 0, _told(_ONE_RISKY_SYMBOL, False)),
        ("corrected", ("≥", "unrepaired"), plain, plain < 0, ""),
        ("with repair", ("≥", "repaired"), repaired, repaired < 0, _told(_WORSE_PARTNER, True)),
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


def _kept_more(kept: Sequence[tuple[float, Sequence[int]]]) -> float:
    """Return by how much the first keeps more than the second, with an exact sign."""
    (ldp, ldp_masses), (alip, alip_masses) = kept
    if ldp - alip > _DOUBT:
        return ldp - alip
    if ldp_masses == alip_masses:
        return 0.0
    # I(X;Y) = H(Y) = log n - sum n_y log n_y / n: the smaller sum keeps more.
    slack = _slack(lambda bits: (_log_sum(ldp_masses, bits), _log_sum(alip_masses, bits)))
    return slack / sum(ldp_masses) or math.copysign(_LEAST, slack)


def _log_sum(masses: Sequence[int], bits: int) -> Ends:
    return _weighted([Fraction(n) for n in masses], [_log(Fraction(n), bits) for n in masses])


def _told(run: tuple[Table, float, float], repair: bool) -> str:
    counts, epsilon, lam = run
    (ldp, _), (alip, _) = _kept(counts, epsilon, lam, repair)
    return (
        f"counts {counts}, ε = {epsilon:g}, λ = {lam:g}: LDP keeps {ldp:.4f} nats, ALIP {alip:.4f}"
    )


#: LDP publishes both symbols, ALIP randomises the first, alone: that changes nothing.
_ONE_RISKY_SYMBOL = (((2, 9), (1, 9)), 0.6, 0.5)
#: X_H is one symbol for LDP and two for ALIP; the one takes a large symbol in.
_WORSE_PARTNER = (((5, 4, 2, 1), (4, 6, 1, 4)), 1.0, 0.5)
#: P_S = (.2, .8), lifts (.2, 1.2) and (1.2, .95).
_RARE = ((8, 192), (192, 608))
#: P_S uniform, one lift of 3/13 and two of 18/13 per symbol; no 2 x n table breaks 1(2).
_CYCLIC = ((1, 6, 6), (6, 1, 6), (6, 6, 1))
#: P_S = (.9, .1), lifts (.9, 1.9) for the first symbol.
_LIKELY = ((81, 819), (19, 81))

_BELOW = (" where 1 − e^−εl ≤ e^εu − 1", lambda m: (1 - m.d, m.u - 1))
_ABOVE = (" where 1 − e^−εu ≤ e^εl − 1", lambda m: (1 - 1 / m.u, 1 / m.d - 1))


def _false(
    number: str,
    measure: str,
    printed: tuple[str, Formula],
    corrected: tuple[str, Formula],
    where: tuple[str, Formula],
    example: Table,
) -> Iterator[_Inequality]:
    """Yield the three forms of an inequality that is false as printed."""
    text, formula = printed
    part, condition = _rational(formula), _rational(where[1])
    for form, bound, side, limit in (
        ("printed", text, part, None),
        ("corrected", corrected[0], _rational(corrected[1]), None),
        ("printed, where it holds", text + where[0], part, condition),
    ):
        yield _Inequality(number, form, f"{measure} ≤ {bound}", (side,), limit, example)


def _true(number: str, statement: str, *parts: _Part) -> _Inequality:
    return _Inequality(number, "printed", statement, parts)


def _informations(name: str) -> Iterator[_Part]:
    """Yield Sibson's or Arimoto's information against alpha / (alpha - 1) log u."""

    def part(alpha: Fraction, order: float) -> _Part:
        return _Part(
            lambda m: (getattr(m, name)(order), order / (order - 1) * np.log(m.u)),
            lambda case, bits: (
                getattr(case, name)(alpha, bits),
                _scaled_log(alpha, (case.u, case.u), bits),
            ),
        )

    return (part(alpha, float(alpha)) for alpha in _ALPHAS)


def _largest(parts: Sequence[Ends], divisor: Fraction = Fraction(1)) -> Ends:
    return max(lo for lo, _ in parts) / divisor, max(hi for _, hi in parts) / divisor


def _norms(side: int) -> Iterator[_Part]:
    """Yield max_y of the alpha-lift (side 1) or its inverse (-1) against the largest l**side."""

    def part(alpha: Fraction, order: float) -> _Part:
        return _Part(
            lambda m: (m.powers(side * order) ** (1 / order), m.u if side > 0 else 1 / m.d),
            lambda case, bits: (
                _root(_largest(case.powers(side * alpha, bits)), alpha, bits),
                _power(case.u if side > 0 else case.d, Fraction(side), bits),
            ),
        )

    return (part(alpha, float(alpha)) for alpha in _ALPHAS)


def _max_from_norm(alpha: Fraction) -> _Part:
    """Return u against the alpha-lift over P(s)**(1/alpha)."""
    order = float(alpha)
    return _Part(
        lambda m: (m.u, (m.powers(order) / m.p_at_max) ** (1 / order)),
        lambda case, bits: (
            (case.u, case.u),
            _root(_largest(case.powers(alpha, bits), case.p_at_max), alpha, bits),
        ),
    )


def _min_from_norm(alpha: Fraction) -> _Part:
    """Return P(s)**(1/alpha) over the alpha-lift-inverse against d."""
    order = float(alpha)

    def exact(case: _Exact, bits: int) -> tuple[Ends, Ends]:
        inverse = _root(_largest(case.powers(-alpha, bits), case.p_at_min), alpha, bits)
        return (1 / inverse[1], 1 / inverse[0]), (case.d, case.d)

    return _Part(lambda m: ((m.p_at_min / m.powers(-order)) ** (1 / order), m.d), exact)


def _max_from_chi2() -> _Part:
    """Return u against 1 + sqrt(chi2-lift / P(s))."""

    def exact(case: _Exact, bits: int) -> tuple[Ends, Ends]:
        square = case.chi2 / case.p_at_max
        low, high = _root((square, square), Fraction(2), bits)
        return (case.u, case.u), (1 + low, 1 + high)

    return _Part(lambda m: (m.u, np.sqrt(m.chi2 / m.p_at_max) + 1), exact)


def _min_from_chi2() -> _Part:
    """Return 1 / (1 + sqrt(chi2-lift-inverse / P(s))) against d."""

    def exact(case: _Exact, bits: int) -> tuple[Ends, Ends]:
        square = case.chi2_inverse / case.p_at_min
        low, high = _root((square, square), Fraction(2), bits)
        return (1 / (1 + high), 1 / (1 + low)), (case.d, case.d)

    return _Part(lambda m: (1 / (1 + np.sqrt(m.chi2_inverse / m.p_at_min)), m.d), exact)


_FOR = f", α = {', '.join(f'{float(alpha):g}' for alpha in _ALPHAS)}"

_INEQUALITIES: tuple[_Inequality, ...] = (
    _true(
        "1(1)",
        "I(S;Y) ≤ εu",
        _Part(
            lambda m: (m.information, np.log(m.u)),
            lambda case, bits: (case.information(bits), _log(case.u, bits)),
        ),
    ),
    *_false(
        "1(2)",
        "T(S;Y)",
        ("(e^εu − 1)/2", lambda m: (m.total_variation, (m.u - 1) / 2)),
        ("(e^εu − 1)(1 − e^−εl)/(e^εu − e^−εl)", lambda m: (m.total_variation, m.chord)),
        _BELOW,
        _CYCLIC,
    ),
    *_false(
        "1(2)",
        "χ²(S;Y)",
        ("(e^εu − 1)²", lambda m: (m.chi2_divergence, (m.u - 1) ** 2)),
        ("(e^εu − 1)(1 − e^−εl)", lambda m: (m.chi2_divergence, (m.u - 1) * (1 - m.d))),
        _BELOW,
        _CYCLIC,
    ),
    _true("1(3)", f"Sibson I_α(S;Y) ≤ α/(α − 1) εu{_FOR}", *_informations("sibson")),
    _true("1(3)", f"Arimoto I_α(S;Y) ≤ α/(α − 1) εu{_FOR}", *_informations("arimoto")),
    _true("1(4)", "max Γ(y) ≤ e^(εl + εu)", _rational(lambda m: (m.gamma, m.u / m.d))),
    *_false(
        "3(1)",
        "max l1-lift",
        ("e^εu − 1", lambda m: (m.l1, m.u - 1)),
        ("2(e^εu − 1)(1 − e^−εl)/(e^εu − e^−εl)", lambda m: (m.l1, 2 * m.chord)),
        _BELOW,
        _RARE,
    ),
    *_false(
        "3(2)",
        "max χ²-lift",
        ("(e^εu − 1)²", lambda m: (m.chi2, (m.u - 1) ** 2)),
        ("(e^εu − 1)(1 − e^−εl)", lambda m: (m.chi2, (m.u - 1) * (1 - m.d))),
        _BELOW,
        _RARE,
    ),
    _true("3(3)", f"max α-lift ≤ e^εu{_FOR}", *_norms(1)),
    _true(
        "4(1)",
        "max Λ(y) ≤ ε/P(s) + 1 for ε = max l1-lift",
        _rational(lambda m: (m.u, m.l1 / m.p_at_max + 1)),
    ),
    _true("4(2)", "max Λ(y) ≤ √(ε/P(s)) + 1 for ε = max χ²-lift", _max_from_chi2()),
    _true(
        "4(3)",
        f"max Λ(y) ≤ ε/P(s)^(1/α) for ε = max α-lift{_FOR}",
        *map(_max_from_norm, _ALPHAS),
    ),
    *_false(
        "5(1)",
        "max l1-lift-inverse",
        ("e^εl − 1", lambda m: (m.l1_inverse, 1 / m.d - 1)),
        ("max(e^εl − 1, 1 − e^−εu)", lambda m: (m.l1_inverse, m.farthest)),
        _ABOVE,
        _LIKELY,
    ),
    *_false(
        "5(2)",
        "max χ²-lift-inverse",
        ("(e^εl − 1)²", lambda m: (m.chi2_inverse, (1 / m.d - 1) ** 2)),
        ("max(e^εl − 1, 1 − e^−εu)²", lambda m: (m.chi2_inverse, m.farthest**2)),
        _ABOVE,
        _LIKELY,
    ),
    _true("5(3)", f"max α-lift-inverse ≤ e^εl{_FOR}", *_norms(-1)),
    _true(
        "6(1)",
        "min Ψ(y) ≥ P(s)/(ε + P(s)) for ε = max l1-lift-inverse",
        _rational(lambda m: (m.p_at_min / (m.l1_inverse + m.p_at_min), m.d)),
    ),
    _true(
        "6(2)",
        "min Ψ(y) ≥ √P(s)/(√ε + √P(s)) for ε = max χ²-lift-inverse",
        _min_from_chi2(),
    ),
    _true(
        "6(3)",
        f"min Ψ(y) ≥ P(s)^(1/α)/ε for ε = max α-lift-inverse{_FOR}",
        *map(_min_from_norm, _ALPHAS),
    ),
    _true(
        "7",
        "if: Γ(y) ≤ Γ(X_H) for X_H randomised without regard to x",
        _rational(lambda m: (m.gamma_invariant, m.gamma_merged)),
    ),
    _true(
        "7",
        "only if: Γ(X_H) ≤ max Γ(y) for any randomisation of X_H",
        _rational(lambda m: (m.gamma_merged, m.gamma_randomised)),
    ),
    _true(
        "Theorem 1",
        "max Γ(y) of X_H randomised without regard to x ≤ that of any other",
        _rational(lambda m: (m.gamma_invariant, m.gamma_randomised)),
    ),
)
