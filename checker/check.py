"""Check a release without lowlift: one file, the standard library, exact arithmetic.

    python check.py release.json [--codebook FILE] [--receipt FILE] [--table FILE] [--source FILE]
                                 [--distances FILE]

It decides for every published y whether the bound holds, from whole numbers and enclosures of
e**budget by Taylor sums. The other files must belong to the release. With the distances (a table in
JSON) of a mechanism of least distortion, its lower bound on the distance is checked too. Exit code
0: all of it holds. 1: something does not. 2: a file cannot be read, or cannot be decided here.
"""

import argparse
import csv
import hashlib
import json
import math
import struct
import sys
from fractions import Fraction
from pathlib import Path


class Refused(Exception):
    """Something does not hold; any other exception: undecided."""


def require(condition, what):
    """Refuse unless a condition is true."""
    if not condition:
        raise Refused(what)


def exp_between(x, bits):
    """Return fractions below and above e**x for a fraction x >= 0."""
    halvings = math.ceil(x).bit_length() + 1  # of x, down to 1/2 or less
    one = 1 << (bits + 3 * halvings + 2 * math.ceil(x))
    ends = []
    for up in (0, 1):
        t = (x.numerator * one // (x.denominator << halvings)) + up
        term = total = one
        k = 0
        while term > up:  # rounded up, a term stays at 1
            k += 1
            term = term * t // (one * k) + up
            total += term
        total += 2 * up  # what follows the last term is no more than it, as t <= one / 2
        for _ in range(halvings):
            total = total * total // one + up
        ends.append(Fraction(total, one))
    return ends


def is_at_most_exp(q, budget, minus=0, power=1):
    """Decide ``q <= (e**budget - minus)**power`` for q, budget >= 0; no after 2**14 bits."""
    if q <= (1 - minus) ** power or budget >= q.numerator.bit_length() + 2:  # e**b - 1 > 2**(b-1)
        return True
    bits = 64
    while budget > 0 and bits <= 1 << 14:
        low, high = exp_between(budget, bits)
        if q <= (low - minus) ** power or q > (high - minus) ** power:
            return q <= (low - minus) ** power
        bits *= 2
    return False


def parameter(criterion, name):
    """Return a parameter exactly; None for infinity."""
    value = criterion.get(name)
    if value == "inf":
        return None
    require(type(value) in (int, float) and 0 <= value < math.inf, f"{name} must be 0 or more")
    return Fraction(value)


def budget_of_factor(factor):
    """Return the largest float b with ``e**b <= factor``, as a fraction."""
    b = math.log(factor) * (1 + 2.0**-50)
    while b > 0 and exp_between(Fraction(b), 256)[1] > factor:
        b = math.nextafter(b, 0.0)
    return Fraction(max(b, 0.0))


def sides_of(criterion):
    """Return the budgets of the lower and the upper side in nats; None for no bound."""
    name = criterion.get("name")
    if name in ("LIP", "LDP"):
        return (parameter(criterion, "epsilon"),) * 2
    if name == "MaxLift":
        return None, parameter(criterion, "upper")
    if name == "AtMost":
        require(criterion.get("share", 1) == 1, "only the whole budgets are checked here")
        if parameter(criterion, "factor") is None:
            return None, None
        return (budget_of_factor(Fraction(repr(criterion["factor"]))),) * 2
    if name not in ("ALIP", "L1Lift", "Chi2Lift", "AlphaLift"):
        raise ValueError(f"the criterion {name!r} is not one that this program knows")
    return parameter(criterion, "lower"), parameter(criterion, "upper")


def is_within(name, alpha, lifts, prior, budget):
    """Decide one side of a criterion from lifts (or their inverses) and P(s)."""
    if budget is None or set(lifts) == {1}:
        return True
    if name in ("L1Lift", "Chi2Lift"):
        order = 1 if name == "L1Lift" else 2
        deviation = sum(p * abs(v - 1) ** order for p, v in zip(prior, lifts))
        return is_at_most_exp(deviation, budget, 1, order)
    if alpha is None:
        return is_at_most_exp(max(lifts), budget)
    if not 1 <= alpha <= 10_000 or alpha.denominator > 1:
        raise ValueError("alpha-lift is checked for whole alpha from 1 to 10,000")
    powers = sum(p * v**alpha.numerator for p, v in zip(prior, lifts))
    return (budget > 0 or alpha == 1) and is_at_most_exp(powers, alpha * budget)


def test_of(criterion, s_labels):
    """Return what decides an output: lifts and P(s) in, a verdict out."""
    name, (lower, upper) = criterion.get("name"), sides_of(criterion)
    place = {json.dumps(label): s for s, label in enumerate(s_labels)}
    # A value that is not written as one of S is a KeyError: it cannot be decided.
    beliefs = [(place[json.dumps(each["value"])], Fraction(repr(each["at_most"])))
               for each in criterion.get("beliefs", ())]  # fmt: skip
    alpha = parameter(criterion, "alpha") if name == "AlphaLift" else None

    def holds(lifts, prior):
        if name == "LDP" and upper is not None:  # P(y|s) / P(y|t) is l(s) / l(t)
            return min(lifts) > 0 and is_at_most_exp(max(lifts) / min(lifts), upper)
        if lower is not None:
            inverses = [1 / v for v in lifts if v]
            if len(inverses) < len(lifts) or not is_within(name, alpha, inverses, prior, lower):
                return False
        above = is_within(name, alpha, lifts, prior, upper)
        return above and all(lifts[s] * prior[s] <= bound for s, bound in beliefs)

    return holds


def whole(*values):
    """Tell whether values are whole numbers, 0 or more."""
    return all(type(value) is int and value >= 0 for value in values)


def read(path):
    """Return a JSON file; a name twice in one object is refused, NaN is no number of it."""

    def once(pairs):
        require(len(dict(pairs)) == len(pairs), "a name stands twice in one object")
        return dict(pairs)

    return json.loads(Path(path).read_text("utf-8"), object_pairs_hook=once)


def joint_of(saved):
    """Return P(s, x) up to one factor, exactly, a row for each s."""
    rows = saved["counts"] if "counts" in saved else saved["p_sx"]
    values = [value for row in rows for value in row]
    is_real = all(type(v) in (int, float) and 0 <= v < math.inf for v in values)
    require(whole(*values) or ("p_sx" in saved and is_real), "P(s, x) must be 0 or more")
    require(len(rows) == len(saved["s_labels"]) > 0, "each row of P(s, x) must have a label")
    require(all(len(row) == len(saved["x_labels"]) for row in rows), "so must each column")
    require(all(map(any, rows)) and all(map(any, zip(*rows))), "each value must occur")
    return [[Fraction(value) for value in row] for row in rows]


def check_bound(release):
    """Refuse a release that has no channel, or an output that breaks the bound."""
    is_known = release["format"] == "lowlift-release" and release["version"] in (1, 2)
    require(is_known, "the file must be a release of version 1 or 2")
    joint, channel, criterion = joint_of(release["joint"]), release["channel"], release["criterion"]
    denominator, labels = channel["denominator"], list(map(json.dumps, channel["y_labels"]))
    require(whole(denominator), "the denominator must be a whole number")
    require(len(channel["atoms"]) == len(labels) == len(set(labels)), "each output has one label")
    is_sample = criterion.get("name") == "Population"
    inside = criterion["criterion"] if is_sample else criterion
    holds, total = test_of(inside, release["joint"]["s_labels"]), sum(map(sum, joint))
    prior, sums = [sum(row) / total for row in joint], [0] * len(joint[0])
    for y, (members, weights) in enumerate(channel["atoms"]):
        fits = whole(*members, *weights) and 0 < len(set(members)) == len(members) == len(weights)
        require(fits and min(weights) > 0 and max(members) < len(sums), f"output {y} is no output")
        for x, weight in zip(members, weights):
            sums[x] += weight
        masses = [sum(row[x] * w for x, w in zip(members, weights)) for row in joint]
        lifts = [mass / sum(masses) / p for mass, p in zip(masses, prior)]
        require(holds(lifts, prior), f"output {y} breaks the bound")
    require(set(sums) == {denominator}, "P(y|x) must sum to 1 over y for every x")
    require(release["audit"]["is_satisfied"] is True, "the release says that the bound fails")
    if is_sample:
        raise ValueError("the bound holds for the table; for the population it is not checked here")
    return f"the bound holds for each of {len(labels)} outputs: {json.dumps(criterion)}"


def check_codebook(release, book, table):
    """Refuse a codebook of another release, and a table with a row that is no output."""
    is_same = book["criterion"] == release["criterion"] and book["format"] == "lowlift-codebook"
    require(is_same, "the file must be a codebook for the release's criterion")
    if not book["outputs"]:
        return "the codebook has the release's criterion (rows are published: it has no channel)"
    atoms = release["channel"]["atoms"]
    require(book["x_labels"] == release["joint"]["x_labels"], "the codebook has another X")
    texts = {out["text"] for out in book["outputs"]}
    require(len(texts) == len(book["outputs"]) == len(atoms), "the codebook has other outputs")
    sizes = [sum(column) for column in zip(*joint_of(release["joint"]))]
    for out, (members, weights) in zip(book["outputs"], atoms):
        require(out["members"] == members, "an output of the codebook stands for other values")
        require(out.get("weights", weights) == weights, "the codebook has another channel")
        masses = [sizes[x] * w for x, w in zip(members, weights)]
        for value, mass in zip(out["p_x_given_y"], masses, strict=True):
            share = float(mass / sum(masses))
            low, high = value if isinstance(value, list) else (value - 1e-12, value + 1e-12)
            require(low - 1e-15 <= share <= high + 1e-15, "P(x|y) of the codebook is another")
    if not str(table).lower().endswith(".csv"):
        return "the codebook is of this release" + "; only rows of CSV are looked at" * bool(table)
    known = set(zip(*(["" if t is None else t for t in c["texts"]] for c in book["columns"])))
    with Path(table).open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    places = [head.index(column["name"]) for column in book["columns"]]
    is_known = all(tuple(row[k] for k in places) in known for row in rows)
    require(is_known, "a row of the table is no output of the release")
    return f"the codebook is of this release, and each of {len(rows):,} rows is an output of it"


def check_receipt(release, receipt, table, source):
    """Refuse a receipt of another release, and files that are not the ones it names."""
    channel = release["channel"]
    parts = {"x_labels": release["joint"]["x_labels"], "y_labels": channel["y_labels"]}
    parts |= {"denominator": channel["denominator"], "atoms": channel["atoms"]}
    parts |= {name: release[name] for name in ("draws", "refines") if name in release}
    found = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode())
    require(receipt["release"] == found.hexdigest(), "the receipt is of another release")
    for path, name in ((table, "output_sha256"), (source, "source_sha256")):
        if path is not None:
            found = hashlib.sha256(Path(path).read_bytes()).hexdigest()
            require(found == receipt[name], f"{path} is not the file that the receipt names")
    return "the receipt is of this release" + " and of this table" * (table is not None)


def check_distance(release, distance):
    """Refuse a lower bound on the mean distance that its multipliers do not prove."""
    proof, joint = release["certificate"], joint_of(release["joint"])
    lower, upper = sides_of(release["criterion"])
    if release["criterion"]["name"] not in ("LIP", "ALIP", "MaxLift") or proof["bins"]:
        raise ValueError("the distance is checked for LIP, ALIP and MaxLift, not for cells' parts")
    m, total, places = len(joint[0]), sum(map(sum, joint)), range(len(joint))
    limit = math.inf if proof["limit"] is None else proof["limit"]
    far = [[d if d <= limit or c == k else math.inf for k, d in enumerate(map(float, row))]
           for c, row in enumerate(distance)]  # fmt: skip
    digest = hashlib.sha256(b"".join(struct.pack(f"<{m}d", *row) for row in far))
    require(digest.hexdigest() == proof["distances"], "the distances are not the certificate's")
    p_x, prior = ([sum(part) / total for part in parts] for parts in (zip(*joint), joint))
    if max(lower or 0, upper or 0) > 699:
        raise ValueError("budgets above 699 nats are not checked here")
    spaces = [(s, 1, exp_between(upper, 128)[1]) for s in places if upper is not None]
    spaces += [(s, -1, -1 / exp_between(lower, 128)[1]) for s in places if lower is not None]
    units = 1 << 30  # of multipliers
    law = [Fraction(round(b * units), units) * bool(proof["keeps_law"]) for b in proof["duals"]]
    base, rates = [-b for b in law], [[Fraction(0)] * m for _ in joint]
    for h, d, g in zip(proof["spaces"], proof["outputs"], proof["multipliers"], strict=True):
        require(g >= 0 and whole(h, d), "multipliers must be 0 or more")
        (s, sign, offset), g = spaces[h], Fraction(round(g * units), units)
        base[d] -= g * offset
        rates[s][d] += g * sign
    # sum_c p_c min_d [D(c,d) - b_d + sum_h g_hd (a_h . l(c) - o_h)] + sum_d p_d b_d
    bound = sum(p * b for p, b in zip(p_x, law, strict=True))
    for c, p in enumerate(p_x):
        slopes = [(joint[s][c] / total / p / prior[s], rates[s]) for s in places]
        costs = (Fraction(far[c][d]) + base[d] + sum(v * row[d] for v, row in slopes)
                 for d in range(m) if far[c][d] < math.inf)  # fmt: skip
        bound += p * min(costs)
    require(Fraction(proof["lower_bound"]) <= max(bound, 0), "the distance's bound is not proven")
    return f"no channel in the bound has a mean distance below {proof['lower_bound']:.6g}"


def main():
    """Check what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("release")
    for name in ("codebook", "receipt", "table", "source", "distances"):
        parser.add_argument(f"--{name}")
    given, code, release = parser.parse_args(), 0, {}
    checks = [
        (given.release, lambda _: check_bound(release)),
        (given.codebook, lambda book: check_codebook(release, book, given.table)),
        (given.receipt, lambda found: check_receipt(release, found, given.table, given.source)),
        (given.distances, lambda distance: check_distance(release, distance)),
    ]
    for path, check in (pair for pair in checks if pair[0]):
        try:
            release = release or read(given.release)
            print(f"ok         {check(read(path))}")
        except Refused as error:
            print(f"REFUSED    {error}")
            code = 1
        except Exception as error:
            print(f"UNDECIDED  {type(error).__name__}: {error}")
            code = code or 2
    return code


if __name__ == "__main__":
    sys.exit(main())
