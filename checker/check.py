"""Check a release without lowlift: one file, the standard library, exact arithmetic.

    python check.py RELEASE [--codebook F] [--receipt F] [--table F] [--source F] [--distances F]

It decides, in whole numbers and enclosures of e**budget by Taylor sums, whether the bound holds
for every published y; whether the other files are of this release; and, where its proof is the dual
of a linear program, the bound on utility. Exit code 0: all holds. 1: not so. 2: not decided here.
"""

import argparse
import csv
import functools
import hashlib
import json
import math
import struct
import sys
from fractions import Fraction
from pathlib import Path

SIDES = ["lower", "upper"]
PARAMETERS = {"LIP": ["epsilon"], "LDP": ["epsilon"], "MaxLift": ["upper"], "ALIP": SIDES}
PARAMETERS |= {"L1Lift": SIDES, "Chi2Lift": SIDES, "AlphaLift": ["alpha", *SIDES]}
PARAMETERS |= {"AtMost": ["beliefs", "factor", "share"], "EveryPrior": ["at_least", *SIDES]}
PARAMETERS |= {"BetaLikeness": ["beta"], "TCloseness": ["t"], "DeltaDisclosure": ["delta", "unit"]}
BOUNDED = {"epsilon": SIDES, "delta": SIDES, "factor": SIDES, "beta": ["upper"], "t": ["upper"]}
EXACT = ["factor", "beta", "t", "at_least"]  # the number that is written counts, not its float
LEAST = {"alpha": 1, "factor": 1, "delta": math.ulp(0)}  # the least float above 0; of others, 0


class Refused(Exception):
    """Something does not hold; any other exception: undecided."""


def require(condition, what, error=Refused):
    if not condition:
        raise error(what)


def whole(*values):
    return all(type(value) is int and value >= 0 for value in values)


def frozen(label, depth=8):  # 1, 1.0 and true are one label, not three
    return tuple(frozen(p, depth - 1) for p in label) if depth and type(label) is list else label


def read(path):
    """Return a JSON file; not one with a name twice in an object, NaN or infinity."""

    def once(pairs):
        require(len(dict(pairs)) == len(pairs), "a name must stand once in an object")
        return dict(pairs)

    found = json.loads(Path(path).read_text("utf-8"), object_pairs_hook=once)
    return json.loads(json.dumps(found, allow_nan=False))  # a ValueError for the latter


@functools.cache
def power_between(x, bits, unit="nats"):
    """Return fractions below and above e**x (in bits, 2**x), x >= 0, by Taylor sums."""
    twos, halved = (int(x), 0) if unit == "bits" else (0, int(x).bit_length())
    bits, ends = bits + bits.bit_length() + 2 * halved + 8, []
    for up, one in ((0, 1 << bits), (1, 1 << bits)):  # log 2 is the sum of 1 / (k 2**k)
        log = sum((one >> k) // k for k in range(1, bits)) + up * bits if unit == "bits" else one
        p, q, k, term, total = (x - twos).numerator * log, x.denominator * one << halved, 1, one, 0
        while k < 4 or term > 1:  # (p/q)**k / k!, p < q: what is left is less than twice the next
            total, term, k = total + term, (term * p + up * (q * k - 1)) // (q * k), k + 1
        power, shift = (total + 2 * up * term) ** (1 << halved), bits * ((1 << halved) - 1)
        ends.append(Fraction(power + up * ((1 << shift) - 1) >> shift << twos, one))
    return ends


def is_below(q, budget, minus=0, power=1, unit="nats"):
    """Decide ``q < (e**budget - minus)**power``, or <= at a budget of 0; no after 2**14 bits."""
    if q <= (1 - minus) ** power or budget >= q.numerator.bit_length() + 2:  # e**b - 1 > 2**(b-1)
        return True
    for bits in (64, 256, 1024, 4096, 16384):
        low, high = ((end - minus) ** power for end in power_between(budget, bits, unit))
        if not low <= q < high:
            return q < low
    return False


class Criterion:
    """A criterion, its budgets in nats or bits; a side without a bound is infinite."""

    lower = upper = alpha = math.inf
    share, at_least, beliefs = 1, 0, ()

    def __init__(self, saved, s_labels):
        self.name, self.unit = saved["name"], saved.get("unit", "nats")
        require(self.name in PARAMETERS, f"{self.name!r} is not a criterion known here", ValueError)
        require({*saved} == {"name", *PARAMETERS[self.name]}, "a criterion has other parameters")
        for key in {*saved} - {"name", "beliefs", "unit"}:
            value = math.inf if saved[key] == "inf" else saved[key]
            least, most = LEAST.get(key, 0), 1 if key == "t" else math.inf
            fits = type(value) in (int, float) and least <= float(value) <= most
            require(fits, f"{key} must be a number from {least} to {most}")
            exact = Fraction(repr(value) if key in EXACT else value) if value < math.inf else value
            vars(self).update(dict.fromkeys(BOUNDED.get(key, [key]), exact))
        if (self.alpha < math.inf and self.alpha not in range(1, 10_001)) or self.share != 1:
            raise ValueError("alpha must be whole, up to 10,000, and share 1, to be decided here")
        require(self.unit in ("nats", "bits"), "unit must be nats or bits")
        require(self.at_least * len(s_labels) <= 1, "at_least must be at most 1/|S|")
        if self.name == "AtMost":
            self.read_beliefs(saved["beliefs"], s_labels)

    def read_beliefs(self, said, s_labels):
        factor, low = self.upper, 0.0
        high = min(1.0 + math.log(factor), math.nextafter(factor - 1, math.inf))
        while low < (b := (low + high) / 2) < high:  # to the largest float b with e**b <= factor
            low, high = (b, high) if power_between(Fraction(b), 256)[1] <= factor else (low, b)
        self.lower = self.upper = Fraction(low) if high < math.inf else high
        place = {json.dumps(label): s for s, label in enumerate(s_labels)}  # others: undecided
        self.beliefs = {place[json.dumps(b["value"])]: Fraction(repr(b["at_most"])) for b in said}
        fits = 0 < len(self.beliefs) == len(said) and all(0 < b <= 1 for b in self.beliefs.values())
        require(fits, "beliefs must be probabilities")

    def is_within(self, lifts, prior, bound):
        """Decide one side from lifts (or their inverses) and P(s)."""
        if self.name in ("L1Lift", "Chi2Lift", "TCloseness"):
            order = 2 if self.name == "Chi2Lift" else 1
            deviation = sum(p * abs(v - 1) ** order for p, v in zip(prior, lifts))
            is_half = self.name == "TCloseness"
            return deviation <= 2 * bound if is_half else is_below(deviation, bound, 1, order)
        if self.name == "BetaLikeness":
            return max(lifts) <= 1 + bound
        if self.alpha == math.inf:
            return is_below(max(lifts), bound, unit=self.unit)
        powers = sum(p * v**self.alpha.numerator for p, v in zip(prior, lifts))
        return is_below(powers, self.alpha * bound)

    def allows(self, lifts, prior):
        low, high = min(lifts), max(lifts)
        if self.name in ("LDP", "EveryPrior"):  # the least and the largest mean lift of the priors
            even, rest = self.at_least * sum(lifts), 1 - self.at_least * len(lifts)
            least, most = min(1, even + rest * low), max(1, even + rest * high)
            sides = (self.upper, high, least), (self.lower, most, low)
            return all(b == math.inf or (v > 0 and is_below(u / v, b)) for b, u, v in sides)
        below = self.lower == math.inf or low > 0
        below = below and self.is_within([1 / v for v in lifts if v], prior, self.lower)
        is_believed = all(lifts[s] * prior[s] <= bound for s, bound in dict(self.beliefs).items())
        return below and is_believed and self.is_within(lifts, prior, self.upper)


class Release:
    """A release, whose parts are numbers that fit together."""

    def __init__(self, saved):
        is_known = saved["version"] in (1, 2) and whole(saved["version"])
        require(is_known and saved["format"] == "lowlift-release", "it must be a release")
        self.saved, joint, channel = saved, saved["joint"], saved["channel"]
        rows = joint["counts"] if "counts" in joint else joint["p_sx"]
        self.labels, self.atoms, d = joint["x_labels"], channel["atoms"], channel["denominator"]
        values = [value for row in rows for value in row]
        is_law = {*map(type, values)} <= {int, float} and abs(math.fsum(values) - 1) <= 1e-9
        fits = whole(*values) if "counts" in joint else is_law and min(values) >= 0
        require(fits, "P(s, x) must be counts, or probabilities that sum to 1")
        fits = len(joint) == len(channel) == 3 and {len(row) for row in rows} == {len(self.labels)}
        require(fits and all(map(any, (*rows, *zip(*rows)))), "each value of S and X must occur")
        names = joint["s_labels"], self.labels, channel["y_labels"]
        sizes = [len(rows), len(rows[0]), len(self.atoms)]
        fits = [len({*map(frozen, part)}) for part in names] == [*map(len, names)] == sizes
        require(fits, "each value of S, X and Y must have a label of its own")
        self.joint = rows if "counts" in joint else [[*map(Fraction, row)] for row in rows]
        self.total, self.sizes = sum(map(sum, self.joint)), [*map(sum, zip(*self.joint))]
        self.prior, sums = [Fraction(sum(row), self.total) for row in self.joint], {}
        for members, weights in self.atoms:
            fits = whole(*members, *weights) and 0 < len({*members}) == len(members) == len(weights)
            require(fits and min(weights) > 0 and max(members) < sizes[1], "an output is none")
            for x, weight in zip(members, weights):
                sums[x] = sums.get(x, 0) + weight
        fits = whole(d) and d.bit_count() == 1 and d <= 2**48 and [*sums.values()] == [d] * sizes[1]
        require(fits, "P(y|x) must sum to 1 over y for every x, in parts of a power of two")
        self.is_sample = saved["criterion"]["name"] == "Population"
        inside = saved["criterion"]["criterion"] if self.is_sample else saved["criterion"]
        self.criterion = Criterion(inside, joint["s_labels"])

    def check_bound(self, _):
        saved, d = self.saved, self.saved["channel"]["denominator"]
        for y, atom in enumerate(self.atoms):
            masses = [sum(row[x] * w for x, w in zip(*atom)) for row in self.joint]
            lifts = [Fraction(mass, sum(masses)) / p for mass, p in zip(masses, self.prior)]
            require(self.criterion.allows(lifts, self.prior), f"output {y} breaks the bound")
        require(saved["audit"]["is_satisfied"] is True, "the release says that the bound fails")
        left = {(x, y): 2**60 // d * w for y, a in enumerate(self.atoms) for x, w in zip(*a)}
        for x, pieces in enumerate(saved["draws"]["pieces"] if "draws" in saved else ()):
            for (start, y), (end, _) in zip(pieces, [*pieces[1:], (2**60, 0)]):
                require(whole(start, y) and start < end, "the pieces of a draw must ascend")
                left[x, y] = left.get((x, y), 0) - (end - start)
        require("draws" not in saved or not any(left.values()), "a key must draw by the channel")
        if saved["version"] == 1 and (saved["table"] or {}).get("encoding") == "values":
            raise ValueError("the file holds another channel than the one that is published")
        if self.is_sample:
            raise ValueError("the bound holds for the table; the population's is not decided here")
        return f"the bound holds in all {len(self.atoms)} outputs: {json.dumps(saved['criterion'])}"

    def check_codebook(self, given):
        book, encoding = read(given.codebook), self.saved["table"]["encoding"]
        found = [book[name] for name in ("format", "criterion", "encoding", "x_labels")]
        cells = encoding in ("rows", "columns")  # which have no channel in the codebook
        same = ["lowlift-codebook", self.saved["criterion"], encoding, self.labels * (not cells)]
        require(json.dumps(found) == json.dumps(same), "the codebook is of another release")
        for out, atom in () if cells else zip(book["outputs"], self.atoms, strict=True):
            same = json.dumps([out["members"], out.get("weights", atom[1])]) == json.dumps(atom)
            require(same, "the codebook has another channel")
            masses = [self.sizes[x] * w for x, w in zip(*atom)]
            for value, mass in zip(out["p_x_given_y"], masses, strict=True):
                low, high = value if type(value) is list else (value - 1e-12, value + 1e-12)
                require(low - 1e-15 <= mass / sum(masses) <= high + 1e-15, "P(x|y) is another")
        return "the codebook is of this release"

    def check_table(self, given):
        """Refuse a table with other columns than the codebook's, or a row that is no output."""
        book, kept = read(given.codebook), read(given.receipt)["kept"] if given.receipt else []
        if not given.table.lower().endswith(".csv") or not book["outputs"]:
            raise ValueError("rows are looked at in CSV files alone, and not where cells are drawn")
        with Path(given.table).open(newline="", encoding="utf-8") as file:
            head, *rows = (row or [""] for row in csv.reader(file))
        names = [column["name"] for column in book["columns"]]
        require(sorted(head) == sorted(names + kept), "the table has other columns")
        texts = [["" if t is None else t for t in column["texts"]] for column in book["columns"]]
        known, places = {*zip(*texts, strict=True)}, [head.index(name) for name in names]
        fits = all(len(row) == len(head) and tuple(row[k] for k in places) in known for row in rows)
        require(fits and len(texts[0]) == len(self.atoms), "a row is no output of the release")
        return f"each of {len(rows):,} rows is an output of the release"

    def check_receipt(self, given):
        """Refuse a receipt of another release, and files that are not the ones it names."""
        receipt, channel, origin = read(given.receipt), self.saved["channel"], self.saved["table"]
        parts = {"x_labels": self.labels}
        parts |= {name: channel[name] for name in ("y_labels", "denominator", "atoms")}
        parts |= {name: self.saved[name] for name in ("draws", "refines") if name in self.saved}
        digest = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
        same = receipt["format"] == "lowlift-receipt" and receipt["release"] == digest
        require(same, "the receipt is of another release")
        require(receipt["checked_on_this_table"] is True, "the bound was not checked on the table")
        for path, name in ((given.table, "output_sha256"), (given.source, "source_sha256")):
            digest = path and hashlib.sha256(Path(path).read_bytes()).hexdigest()
            require(not path or digest == receipt[name], f"{path} is not the receipt's file")
        outside = receipt["outside_the_guarantee"] + receipt["kept"]
        if (receipt["source_sha256"], receipt["rows_in"]) != (origin["sha256"], origin["rows"]):
            outside.append("published from another table than it was designed on")
        if outside or receipt["draws"] not in ("fresh", "keyed"):
            raise ValueError(f"not decided here: {', '.join([*outside, receipt['draws']])}")
        return "the receipt is of this release" + " and of this table" * bool(given.table)

    def check_distances(self, given):
        """Refuse a lower bound on the mean distance that its multipliers do not prove."""
        proof, m, n = self.saved["certificate"], len(self.labels), len(self.joint)
        if self.criterion.name not in ("LIP", "ALIP", "MaxLift"):
            raise ValueError("the distance is decided for LIP, ALIP and MaxLift alone")
        limit = math.inf if proof["limit"] is None else proof["limit"]
        far = [[math.inf if d > limit and c != k else d for k, d in enumerate(map(float, row))]
               for c, row in enumerate(read(given.distances))]  # fmt: skip
        digest = hashlib.sha256(b"".join(struct.pack(f"<{m}d", *row) for row in far)).hexdigest()
        require(digest == proof["distances"], "the distances are not the certificate's")
        ends = [(1, self.criterion.upper), (-1, self.criterion.lower)]
        sides = [(k, k * power_between(b, 128)[1] ** k) for k, b in ends if b < math.inf]
        is_kept = proof["keeps_law"] is True
        law = [Fraction(round(b * 2**30) * is_kept, 2**30) for b in proof["duals"]]
        base, rates = [-b for b in law], [[Fraction(0)] * m for _ in range(n)]
        for h, k, g in zip(proof["spaces"], proof["outputs"], proof["multipliers"], strict=True):
            require(g >= 0 and whole(h, k), "multipliers must be 0 or more")
            (sign, end), g = sides[h // n], Fraction(round(g * 2**30), 2**30)
            base[k] -= g * end
            rates[h % n][k] += g * sign
        # sum_c p_c min_d [D(c,d) - b_d + sum_h g_hd (a_h . l(c) - o_h)] + sum_d p_d b_d
        bound = sum(size * b for size, b in zip(self.sizes, law, strict=True))
        for c, size in enumerate(self.sizes):
            lifts = [row[c] / p / size for row, p in zip(self.joint, self.prior)]
            costs = [Fraction(far[c][k]) + base[k] + sum(v * row[k] for v, row in zip(lifts, rates))
                     for k in range(m) if far[c][k] < math.inf]  # fmt: skip
            bound += size * min(costs)
        require(Fraction(proof["lower_bound"]) * self.total <= max(bound, 0), "it is not proven")
        return f"no channel in the bound has a mean distance below {proof['lower_bound']:.6g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("release", "--codebook", "--table", "--receipt", "--source", "--distances"):
        parser.add_argument(name)
    given, code, release = parser.parse_args(), 0, None
    wanted = [name for name, path in vars(given).items() if path]
    for name in dict.fromkeys({"release": "bound", "source": "receipt"}.get(n, n) for n in wanted):
        try:
            release = release or Release(read(given.release))
            print(f"ok           {getattr(release, f'check_{name}')(given)}")
        except Exception as error:
            is_refused, kind = type(error) is Refused, type(error).__name__
            print(f"REFUSED      {error}" if is_refused else f"UNDECIDED    {kind}: {error}")
            code = 1 if is_refused else code or 2
    if release and release.saved["certificate"] and not given.distances:
        print("not checked  what the certificate says of utility")
    return code


if __name__ == "__main__":
    sys.exit(main())
