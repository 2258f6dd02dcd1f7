"""Perfect privacy: outputs whose lift is exactly 1, as integer weights.

Integer weights W with ``sum_x counts(s, x) W(x) = c prior(s)`` for every s give an output of lift
1. Such vectors add up: multiples of them, taken from the weights that are to be given away, leave
a rest that is one too. So rounding down is exact.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from lowlift._channel import MAX_DENOMINATOR, Channel
from lowlift._deadline import Deadline
from lowlift._joint import Joint
from lowlift._solver.classes import Mixture


def unit_lift_channel(joint: Joint, atoms: Mixture, deadline: Deadline) -> Channel:
    """Return the channel of exact lift 1 that is nearest to a mixture whose lifts are about 1.

    The supports of its atoms are kept, their shares solved for anew in integers. When the deadline
    is over, what is left becomes one output.
    """
    left = [MAX_DENOMINATOR] * joint.n_x
    outputs: list[tuple[list[int], list[int]]] = []
    for beta, (members, shares) in sorted(atoms, key=lambda atom: -atom[0]):
        if deadline.is_over:
            break
        xs = members.tolist()
        weights = unit_lift_weights(joint, xs)
        if weights is None:
            continue
        wanted = Fraction(beta * float(shares[0]) / float(joint.p_x[xs[0]])) * MAX_DENOMINATOR
        times = min(
            int(wanted) // weights[0], *(left[x] // w for x, w in zip(xs, weights, strict=True))
        )
        if times > 0:
            outputs.append((xs, [times * w for w in weights]))
            for x, w in zip(xs, weights, strict=True):
                left[x] -= times * w
    rest = [x for x, w in enumerate(left) if w]
    if rest:
        outputs.append((rest, [left[x] for x in rest]))
    return Channel.from_atoms(joint, outputs, MAX_DENOMINATOR)


def unit_lift_weights(joint: Joint, members: Sequence[int]) -> list[int] | None:
    """Return the least positive integers on these symbols that give an output of lift 1.

    None when there are none, when more than one ray of them exists, or when they are too large for
    a channel.
    """
    columns = joint.counts[:, list(members)].tolist()
    rows = [
        [*map(Fraction, row), -Fraction(p)] for row, p in zip(columns, joint.prior, strict=True)
    ]
    ray = _kernel_ray(rows)
    if ray is None or not all(value * ray[-1] > 0 for value in ray):
        return None
    common = lcm(*(value.denominator for value in ray[:-1]))
    whole = [abs(int(value * common)) for value in ray[:-1]]
    divisor = gcd(*whole)
    weights = [value // divisor for value in whole]
    return weights if max(weights) <= MAX_DENOMINATOR else None


def _kernel_ray(rows: list[list[Fraction]]) -> list[Fraction] | None:
    """Return the one direction that all rows annihilate; None when there is none, or more."""
    width = len(rows[0])
    pivots: list[int] = []
    for column in range(width):
        top = len(pivots)
        found = next((i for i in range(top, len(rows)) if rows[i][column]), None)
        if found is None:
            continue
        rows[top], rows[found] = rows[found], rows[top]
        lead = rows[top][column]
        rows[top] = [value / lead for value in rows[top]]
        for i in range(len(rows)):
            factor = rows[i][column]
            if i != top and factor:
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[top], strict=True)]
        pivots.append(column)
    free = [column for column in range(width) if column not in pivots]
    if len(free) != 1:
        return None
    ray = [Fraction(0)] * width
    ray[free[0]] = Fraction(1)
    for i, column in enumerate(pivots):
        ray[column] = -rows[i][free[0]]
    return ray
