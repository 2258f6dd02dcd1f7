"""The truth, found without lowlift: Fractions, and mpmath intervals where a bound is e**budget.

A table is a list of |S| rows of |X| numbers; a column is the list of P(s, y) of one output up to
one factor. A comparison with e**budget is made between intervals whose precision doubles until
they are apart. It ends, as e**x is transcendental for rational x != 0 (budgets are floats).
"""

import math
from fractions import Fraction

from mpmath import iv

import lowlift as ll


def prior(table):
    """Return P(s)."""
    sums = [sum(map(Fraction, row)) for row in table]
    return [row / sum(sums) for row in sums]


def columns(table, weights):
    """Return P(s, y) per output of the channel with these integer weights, up to one factor."""
    rows = [[Fraction(cell) for cell in row] for row in table]
    return [
        [sum(n * w[y] for n, w in zip(row, weights, strict=True)) for row in rows]
        for y in range(len(weights[0]))
    ]


def block_column(table, block):
    """Return P(s, y) of the output that a block of symbols is merged to, up to one factor."""
    return [sum(Fraction(row[x]) for x in block) for row in table]


def lift(column, p_s):
    """Return P(s|y) / P(s)."""
    mass = Fraction(sum(column))
    return [n / mass / p for n, p in zip(column, p_s, strict=True)]


def lifts(table, weights):
    """Return the lift vector of every output."""
    p_s = prior(table)
    return [lift(column, p_s) for column in columns(table, weights)]


def extremes(release):
    """Return the smallest and the largest lift of a table with weights."""
    found = [v for l_s in lifts(*release) for v in l_s]
    return min(found), max(found)


def tight_budgets(release):
    """Return the smallest float budgets of ALIP that hold; inf below when a lift is 0."""
    d, u = extremes(release)
    return (log_up(1 / d) if d else math.inf), log_up(u)


def inverse(l_s):
    """Return 1/l, or None when a lift is 0."""
    return None if 0 in l_s else [1 / v for v in l_s]


def l1(values, p_s):
    """Return sum_s P(s) |value - 1|."""
    return sum(p * abs(v - 1) for v, p in zip(values, p_s, strict=True))


def chi2(values, p_s):
    """Return sum_s P(s) (value - 1)**2."""
    return sum(p * (v - 1) ** 2 for v, p in zip(values, p_s, strict=True))


def power_mean(values, p_s, alpha):
    """Return sum_s P(s) value**alpha for a whole alpha: the alpha-lift to the power alpha."""
    return sum(p * v**alpha for v, p in zip(values, p_s, strict=True))


def is_allowed(criterion, column, p_s):
    """Decide whether the criterion allows an output, from its definition in the paper."""
    l_s = lift(column, p_s)
    match criterion:
        case ll.LDP(epsilon=epsilon):
            if math.isinf(epsilon):
                return True
            return min(l_s) > 0 and at_most_exp(max(l_s) / min(l_s), epsilon)
        case ll.BetaLikeness(beta=beta):
            return math.isinf(beta) or max(l_s) - 1 <= Fraction(repr(beta))
        case ll.TCloseness(t=t):
            return l1(l_s, p_s) / 2 <= Fraction(repr(t))
        case ll.DeltaDisclosure(delta=delta, unit=unit):
            return min(l_s) > 0 and all(
                below_power(v, delta, unit) for v in (max(l_s), 1 / min(l_s))
            )
        case ll.EveryPrior():
            return all(
                at_most_exp(v, criterion.upper) and v and at_most_exp(1 / v, criterion.lower)
                if criterion.lower < math.inf
                else at_most_exp(v, criterion.upper)
                for q in [p_s, *corners(len(p_s), criterion.at_least)]
                for v in lifts_under(q, l_s)
            )
        case ll.LIP(epsilon=epsilon):
            lower = upper = epsilon
        case ll.MaxLift(upper=upper):
            lower = math.inf
        case _:
            lower, upper = criterion.lower, criterion.upper
    return _side(criterion, l_s, p_s, upper) and _side(criterion, inverse(l_s), p_s, lower)


def _side(criterion, values, p_s, budget):
    """Decide one side; values are the lifts or their inverses (None when one is infinite)."""
    if math.isinf(budget):
        return True
    if values is None:
        return False
    match criterion:
        case ll.L1Lift():
            return at_most_exp(1 + l1(values, p_s), budget)
        case ll.Chi2Lift():
            return _root_at_most_expm1(chi2(values, p_s), budget)
        case ll.AlphaLift(alpha=alpha) if not math.isinf(alpha):
            return _power_mean_at_most_exp(values, p_s, alpha, budget)
        case _:
            return at_most_exp(max(values), budget)


def corners(n_s, at_least):
    """Return the priors that give all values of S but one the least that is allowed."""
    least = Fraction(repr(at_least))
    return [[1 - (n_s - 1) * least if s == k else least for s in range(n_s)] for k in range(n_s)]


def lifts_under(prior, l_s):
    """Return P(s|y) / q(s) for another prior q and the same P(y|s); None where P(y) is 0."""
    mean = sum(q * v for q, v in zip(prior, l_s, strict=True))
    return [v / mean if mean else math.inf for v in l_s]


def below_power(value, delta, unit):
    """Decide value < e**delta, or 2**delta in bits, for delta > 0."""
    if unit == "nats":
        return at_most_exp(value, delta)  # which is never equal
    if delta == int(delta):
        return value < 2 ** int(delta)
    return _decide(lambda: (iv.log(_interval(value)), iv.mpf(delta) * iv.log(2)))


def at_most_exp(value, budget):
    """Decide value <= e**budget."""
    if math.inf in (value, budget):
        return budget == math.inf
    if budget == 0 or value <= 1:
        return value <= 1
    return _decide(lambda: (_interval(value), iv.exp(iv.mpf(budget))))


def _root_at_most_expm1(square, budget):
    if budget == 0 or square == 0:
        return square == 0
    return _decide(lambda: (_interval(square), (iv.exp(iv.mpf(budget)) - 1) ** 2))


def _power_mean_at_most_exp(values, p_s, alpha, budget):
    terms = [(p, v) for p, v in zip(p_s, values, strict=True) if v > 0]
    if alpha == 1:  # a Fraction; identically 1 for the lifts themselves
        return at_most_exp(sum(p * v for p, v in terms), budget)
    if budget == 0 or all(v == 1 for v in values):
        return all(v == 1 for v in values)

    def ends():
        order = iv.mpf(alpha)
        powers = [_interval(p) * iv.exp(order * iv.log(_interval(v))) for p, v in terms]
        return sum(powers[1:], powers[0]), iv.exp(order * iv.mpf(budget))

    return _decide(ends)


def _interval(value):
    return iv.mpf(value.numerator) / iv.mpf(value.denominator)


def _decide(ends):
    """Decide left <= right for two reals that differ, from ever narrower intervals."""
    for doubled in range(12):
        iv.prec = 200 << doubled
        left, right = ends()
        if left.b <= right.a:
            return True
        if right.b < left.a:
            return False
    raise AssertionError(f"{iv.prec} bits do not tell two reals apart: they must differ")


def log_up(value):
    """Return the smallest float b with value <= e**b, for a rational value >= 1."""
    iv.prec = 200
    b = max(0.0, float(iv.log(_interval(Fraction(value))).mid))
    while not at_most_exp(value, b):
        b = math.nextafter(b, math.inf)
    while b > 0 and at_most_exp(value, math.nextafter(b, 0)):
        b = math.nextafter(b, 0)
    return b


def log1p_root_up(square):
    """Return a float b with square <= (e**b - 1)**2, the smallest or next to it."""
    iv.prec = 200
    b = max(0.0, float(iv.log(1 + iv.sqrt(_interval(Fraction(square)))).mid))
    while not _root_at_most_expm1(Fraction(square), b):
        b = math.nextafter(b, math.inf)
    return b


def sum_up(a, b):
    """Return the smallest float that is at least a + b."""
    total = a + b
    if math.isinf(total) or Fraction(total) >= Fraction(a) + Fraction(b):
        return total
    return math.nextafter(total, math.inf)
