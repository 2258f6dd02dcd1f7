"""Prove a certificate's bound on utility anew, by an LP dual. Beside check.py, which asks it."""

import math
from fractions import Fraction

from check import exp_between, power_end, require, whole

ONE, HALF = 2**30, Fraction(1, 2)  # multipliers count in parts of ONE


def power(v, a, up):  # v**a in parts of 2**-128, rounded up (1) or down (0)
    if not isinstance(a, Fraction):  # the next float on the side on which the power is safe
        a = Fraction(math.nextafter(a, math.inf if (v > 1) == up else 0.0))
    found = power_end(math.floor(v * 2**128) + up, a, 128, up, 2**1200)
    require(found <= 2**1200, "a power is too large", ValueError)
    return Fraction(found, 2**128)


def power_of(box, budget):  # e to the budget, or 2 to it, rounded up
    if budget >= 700:
        return math.inf
    return power(2, budget, 1) if box.bits else exp_between(budget, 128)[1]


def ends(box, law, up, down):
    """Return the largest and the least lift of each s in the bound, rounded outward."""
    tops, lows = [up for _ in law], [Fraction(1 / down) for _ in law]
    for s, belief in box.beliefs.items():
        tops[s] = min(up, power(belief / law[s], box.share, 1))
    if box.name == "AlphaLift":
        far = [power(1 / p, float(1 / box.alpha), 1) if box.alpha < math.inf else 1 for p in law]
        return [up * v for v in far], [Fraction(1 / (down * v)) for v in far]
    if box.name in ("L1Lift", "TCloseness"):
        far = [(up - 1) / (2 * p) for p in law]
    elif box.name == "Chi2Lift":
        far = [(up - 1) * power((1 - p) / p, HALF, 1) for p in law]
    else:
        return tops, lows
    return [1 + v for v in far], [Fraction(max(0, 1 - v)) for v in far]


def norm(values, law, alpha):  # (sum_s P(s) v_s**alpha)**(1/alpha), near enough
    most = max(values)
    return most * sum(p * (v / most) ** alpha for p, v in zip(law, values)) ** (1 / alpha)


def mean(normal, law, t, up):  # (sum_s P(s) (a_s / P(s))**t)**(1/t), rounded; it grows with t
    t = Fraction(math.nextafter(t, math.inf if up else 0.0))
    return power(sum(p * power(a / p, t, up) for p, a in zip(law, normal)), float(1 / t), up)


def alpha_tangents(box, law, lifts, up, down):
    """Return rows at some lifts, by the inequality of Hoelder, whatever their normals are."""
    p_s, values, alpha, rows = [*map(float, law)], [*map(float, lifts)], float(box.alpha), []
    steep = min(alpha, 1e8) - 1
    if alpha > 1 and up < math.inf:
        size = norm(values, p_s, alpha)
        normal = [Fraction(p * (v / size) ** steep) for p, v in zip(p_s, values)]
        rows = [[*normal, -up * mean(normal, law, float(box.alpha / (box.alpha - 1)), 1)]]
    if min(values) > 0 and down < math.inf:
        size = norm([1 / v for v in values], p_s, alpha)
        normal = [Fraction(p * (1 / v / size) ** steep / v / v) for p, v in zip(p_s, values)]
        least = mean(normal, law, float(box.alpha / (box.alpha + 1)), 0) / down
        rows.append([*(-v for v in normal), least])
    return rows


def tangents(box, law, lifts, up, down):
    """Return rows that hold in the bound, of those that these lifts may break, the box apart."""
    n, c = range(len(law)), box.at_least
    if box.name in ("LDP", "EveryPrior"):  # a mean has c of each lift, and the rest of one
        s, t = lifts.index(max(lifts)), lifts.index(min(lifts))
        most, least = ([c + (1 - c * len(n)) * (r == end) for r in n] for end in (s, t))
        rows = [[*((r == s) - up * least[r] for r in n), 0]] if up < math.inf else []
        if box.name == "EveryPrior" and down < math.inf:
            rows.append([*(most[r] / down - (r == t) for r in n), 0])
        return rows
    if box.name == "AlphaLift" and box.alpha < math.inf:
        return alpha_tangents(box, law, lifts, up, down)
    if box.name not in ("L1Lift", "TCloseness", "Chi2Lift") or up == math.inf:
        return []
    off = [v - 1 for v in lifts]  # sum_s P(s) w_s (l(s) - 1) is at most up - 1 for these w
    if box.name == "Chi2Lift":
        size = power(sum(p * v * v for p, v in zip(law, off)), HALF, 1)
        normal = [p * v / size for p, v in zip(law, off)]
    else:
        normal = [p * ((v > 0) - (v < 0)) for p, v in zip(law, off)]
    return [[*normal, 1 - up - sum(normal)]]


def half_spaces(release, points):
    """Return rows a with sum_s a_s l(s) + a_n <= 0 in the bound: as certificates number them."""
    box, law, n = release.criterion, release.prior, range(len(release.prior))
    saved = release.saved["criterion"].get("criterion", release.saved["criterion"])
    upper = box.upper if box.alpha != 1 else float(saved["upper"])  # it bounds what is 1
    up, down = (
        power_of(box, Fraction(upper) if upper < math.inf else upper),
        power_of(box, box.lower),
    )
    if times := {"BetaLikeness": 1, "TCloseness": 2}.get(box.name):
        up = 1 + times * box.upper
    tops, lows = ends(box, law, up, down)
    faces = [[*(int(r == s) for r in n), -tops[s]] for s in n if tops[s] < math.inf]
    faces += [[*(-int(r == s) for r in n), lows[s]] for s in n]

    def broken(lifts):
        rows = tangents(box, law, lifts, up, down) + (faces if box.name != "LDP" else [])
        return [row for row in rows if sum(a * v for a, v in zip(row, [*lifts, 1])) > 0]

    corners = [[10**300 if r == s else int(r != t) for r in n] for s in n for t in n if s != t]
    is_cut = box.name in ("LDP", "EveryPrior", "L1Lift", "TCloseness")
    found = [broken(lifts) for lifts in corners if is_cut]
    rows = [row for part in found for row in part] + (faces if not all(found) or not found else [])
    return rows + [broken([*map(Fraction, lifts)])[0] for lifts in points]


def check_distances(release, distances):
    """Return what is proven in words, if it is."""
    proof, n = release.saved["certificate"], len(release.prior)
    keeps_law, spaces = proof["keeps_law"] is True, half_spaces(release, proof["tangents"])
    law = [Fraction(round(b * ONE), ONE) * keeps_law for b in proof["duals"]]
    sums = [[*[0] * n, -b] for b in law]
    for h, k, g in zip(proof["spaces"], proof["outputs"], proof["multipliers"], strict=True):
        require(g >= 0 and whole(h, k), "multipliers must be 0 or more")
        sums[k] = [v + Fraction(round(g * ONE), ONE) * a for v, a in zip(sums[k], spaces[h])]
    parts = proof.get("bins") or range(len(release.sizes))  # of cells
    rows = [[*zip(row, parts, strict=True)] for row in release.joint]
    cells = [[sum(v for v, of in row if of == c) for row in rows] for c in sorted({*parts})]
    # sum_c p_c min_d [D(c,d) - b_d + sum_h g_hd (a_h . l(c) - o_h)] + sum_d p_d b_d
    bound = sum(sum(cell) * b for cell, b in zip(cells, law, strict=True))
    for cell, row in zip(cells, distances, strict=True):
        lifts = [*(v / p / sum(cell) for v, p in zip(cell, release.prior)), 1]
        gains = [sum(v * a for v, a in zip(lifts, part)) for part in sums]
        costs = [(float(d), g) for d, g in zip(row, gains, strict=True)]
        require(min(costs)[0] >= 0, "distances must be 0 or more")
        bound += sum(cell) * min(Fraction(d) + g for d, g in costs if d != math.inf)
    require(Fraction(proof["lower_bound"]) * release.total <= max(bound, 0), "it is not proven")
    kept = " that keeps P(x)" * keeps_law
    return f"no channel in the bound{kept} has a mean distance below {proof['lower_bound']:.6g}"


def series(v):  # the logarithm of 1/2 to 2, in parts of 2**-128: 2 (z + z**3 / 3 + ...)
    term = total = math.floor((v - 1) / (v + 1) * 2**128)
    square = term * term >> 128
    for odd in range(3, 85, 2):
        term = term * square >> 128
        total += term // odd
    return 2 * total


def log(v):  # the same of a fraction; wrong by less than 2**-100
    k = v.numerator.bit_length() - v.denominator.bit_length()
    return series(Fraction(v) / Fraction(2) ** k) + k * series(Fraction(2))


def entropy(shares):  # in parts of 2**-128
    return -sum(v * log(v) for v in shares if v)


def check_information(release):
    """Return what is proven in words, if it is, of a release for two values of S.

    For any numbers pi and allowed P(x|y), I(X;Y) <= H(X) - pi . P_X - min (H(v) - pi . v). That is
    the dual of a linear program over the corners v of what is allowed, as entropy is concave: with
    two values of S, a symbol whose lift is allowed, or two with a lift on an end of the bound.
    """
    proof, prior, total = release.saved["certificate"], release.prior, release.total
    said = f"no mechanism in the bound keeps more of X than {proof['upper_bound']:.6g} (NMI)"
    limit, pi = Fraction(proof["upper_bound"]), [*map(Fraction, proof["duals"])]
    if limit >= 1:
        return said  # all of X is 1
    shares = [Fraction(size) / total for size in release.sizes]
    known = {}  # of symbols with one lift, the one with the largest pi has the least value
    for mass, size, p in zip(release.joint[0], release.sizes, pi, strict=True):
        lift = Fraction(mass) / size / prior[0]
        known[lift] = max(p, known.get(lift, p))
    low, high = Fraction(0), 1 / prior[0]
    for a, b, c in half_spaces(release, proof["tangents"]):  # a l + b (1 - p l) / (1 - p) + c <= 0
        slope, end = a - b * prior[0] / prior[1], -c - b / prior[1]
        low, high = (low, min(high, end / slope)) if slope > 0 else (low, high)
        low = max(low, end / slope) if slope < 0 else low
    require(len(known) <= 1000, "too many pairs of symbols", ValueError)
    least = min((-p * 2**128 for v, p in known.items() if low <= v <= high), default=math.inf)
    for end in (low, high):
        over = [(v, p) for v, p in known.items() if v > end]
        for v, p in known.items():
            for u, q in over if v < end else ():
                w = (end - v) / (u - v)
                least = min(least, entropy((w, 1 - w)) - ((1 - w) * p + w * q) * 2**128)
    rest = entropy(shares) * (1 - limit) - sum(s * p for s, p in zip(shares, pi)) * 2**128
    require(least - rest >= 2**30, "it is not proven")
    return said
