"""Check a release without lowlift. Exit code 0: all holds. 1: not so. 2: not decided."""

import argparse
import csv
import functools
import hashlib
import json
import math
import runpy
import sys
from fractions import Fraction
from pathlib import Path

SIDES, EXACT = ["lower", "upper"], ["factor", "beta", "t", "at_least"]  # as written, not as floats
PARAMETERS = {"LIP": ["epsilon"], "LDP": ["epsilon"], "MaxLift": ["upper"], "ALIP": SIDES}
PARAMETERS |= {"L1Lift": SIDES, "Chi2Lift": SIDES, "AlphaLift": ["alpha", *SIDES]}
PARAMETERS |= {"AtMost": ["beliefs", "factor", "share"], "EveryPrior": ["at_least", *SIDES]}
PARAMETERS |= {"BetaLikeness": ["beta"], "TCloseness": ["t"], "DeltaDisclosure": ["delta", "unit"]}
BOUNDED = {"epsilon": SIDES, "delta": SIDES, "factor": SIDES, "beta": ["upper"], "t": ["upper"]}
LEAST, MOST = {"alpha": 1, "factor": 1, "delta": 5e-324}, {"t": 1, "share": 1.7976931348623157e308}
UTILITY = Path(__file__).with_name("utility.py")
Refused = type("Refused", (Exception,), {})  # something does not hold; any other: undecided


def require(condition, what, error=Refused):
    if not condition:
        raise error(what)


def whole(*values):
    return all(type(value) is int and value >= 0 for value in values)


def read(path):  # a JSON file; not one with a name twice in an object, NaN or infinity
    by = {"object_pairs_hook": lambda p: require(len(dict(p)) == len(p), "a name twice") or dict(p)}
    return json.loads(json.dumps(json.loads(Path(path).read_text("utf-8"), **by), allow_nan=False))


@functools.lru_cache(maxsize=2**12)
def power_end(x, a, bits, up, most=math.inf):  # x**a in 2**-bits, rounded; less above `most`
    for _ in range(a.denominator.bit_length() - 1):
        x = math.isqrt(x << bits) + up
    power = one = 1 << bits
    for digit in f"{a.numerator:b}":
        if power <= most:
            power = (((power * power >> bits) + up) * (x if digit == "1" else one) >> bits) + up
    return power


@functools.cache
def exp_between(b, bits):  # fractions below and above e**b, for a float b >= 0
    bits += b.numerator.bit_length() + 8
    e = one = 1 << bits
    for k in range(bits, 0, -1):  # 1 + (1 + (1 + ...) / 2) / 1, less than 3 units too small
        e = one + e // k
    return [Fraction(power_end(e + 3 * up, b, bits, up), one) for up in (0, 1)]


def is_below_one(*terms):  # if w * (v / e**b)**a of all sum to below 1; no after 2**15 bits
    for bits in (128, 512, 2048, 8192, 32768):
        one, ends = 1 << bits, [0, 0]  # a term that is above 1 is known well enough
        for w, v, b, a in terms:
            for up, power in enumerate(reversed(exp_between(b, bits))):
                ends[up] += w * power_end(v * one // power + up, a, bits, up, max(one, one // w))
        if ends[1] < one or ends[0] >= one:
            break
    return ends[1] < one


class Criterion:  # its budgets in nats or bits; a side without a bound is infinite
    lower, upper, alpha, share, at_least, beliefs = math.inf, math.inf, math.inf, 1, 0, {}

    def __init__(self, saved, s_labels):
        self.name, self.bits = saved["name"], ["nats", "bits"].index(saved.get("unit", "nats"))
        require(self.name in PARAMETERS, f"{self.name!r} is not a criterion known here", ValueError)
        require({*saved} == {"name", *PARAMETERS[self.name]}, "a criterion has other parameters")
        for key in {*saved} - {"name", "beliefs", "unit"}:
            value = math.inf if saved[key] == "inf" else saved[key]
            least, most = LEAST.get(key, 0), MOST.get(key, math.inf)
            fits = type(value) in (int, float) and least <= float(value) == value <= most
            require(fits, f"{key} must be a number from {least} to {most}")
            exact = Fraction(repr(value) if key in EXACT else value) if value < math.inf else value
            vars(self).update(dict.fromkeys(BOUNDED.get(key, [key]), exact))
        self.upper = math.inf if self.alpha == 1 else self.upper  # the mean lift is 1
        require(self.at_least * len(s_labels) <= 1, "at_least must be at most 1/|S|")
        if self.name != "AtMost":
            return
        said, low, high, factor = saved["beliefs"], 0.0, 2 * math.log(self.upper), self.upper
        while low < (b := (low + high) / 2) < high:  # to the largest float b with e**b <= factor
            low, high = (b, high) if exp_between(Fraction(b), 256)[1] <= factor else (low, b)
        if self.share == 0 or factor < math.inf:
            self.lower = self.upper = Fraction(min(low * float(self.share), MOST["share"]))
        place = {json.dumps(label): s for s, label in enumerate(s_labels)}  # others: undecided
        self.beliefs = {place[json.dumps(b["value"])]: Fraction(repr(b["at_most"])) for b in said}
        fits = 0 < len(self.beliefs) == len(said) and all(0 < b <= 1 for b in self.beliefs.values())
        require(fits, "beliefs must be probabilities")

    def is_within(self, lifts, prior, bound):  # one side, from lifts or their inverses
        if (most := max(lifts)) <= 1 or math.inf in (most, bound):  # all are 1, or one is infinite
            return most <= 1 or bound == math.inf
        if self.name == "BetaLikeness":
            return most <= 1 + bound
        bound = min(bound, most.numerator.bit_length() + 2)  # e to the latter is above 2 * most
        if self.name == "TCloseness":
            return sum(p * max(v - 1, 0) for p, v in zip(prior, lifts)) <= bound
        if k := {"L1Lift": 1, "Chi2Lift": 2}.get(self.name):
            deviation = sum(p * abs(v - 1) ** k for p, v in zip(prior, lifts))
            return is_below_one((1, 1, bound, 1), (1, deviation, k * bound, Fraction(1, k)))
        if self.alpha < math.inf:
            return is_below_one(*((p, v, bound, self.alpha) for p, v in zip(prior, lifts)))
        return is_below_one((most, Fraction(1, 2), 0, bound) if self.bits else (1, most, bound, 1))

    def allows(self, lifts, prior):
        over, under = lifts, [1 / v if v else math.inf for v in lifts]
        if self.name in ("LDP", "EveryPrior"):  # against the least and the largest mean of a prior
            even, rest = self.at_least * sum(lifts), 1 - self.at_least * len(lifts)
            least, most = min(1, even + rest * min(lifts)), max(1, even + rest * max(lifts))
            over, under = [max(lifts) / least if least else math.inf], [most * max(under)]
        for lift, most in [(lifts[s], b / prior[s]) for s, b in self.beliefs.items()]:
            is_met = lift <= (most if self.share == 1 else min(most, 1))  # another power: strictly
            if not is_met and (most <= 1 or not is_below_one((lift, 1 / most, 0, self.share))):
                return False
        return self.is_within(under, prior, self.lower) and self.is_within(over, prior, self.upper)


class Release:  # one whose parts are numbers that fit together
    def __init__(self, saved):
        def frozen(n, depth=8):  # a label; 1, 1.0 and true are one, not three
            return tuple(frozen(p, depth - 1) for p in n) if depth and type(n) is list else n

        is_known = saved["version"] in (1, 2) and whole(saved["version"])
        require(is_known and saved["format"] == "lowlift-release", "it must be a release")
        self.saved, joint, channel = saved, saved["joint"], saved["channel"]
        rows = joint["counts"] if "counts" in joint else joint["p_sx"]
        self.labels, self.atoms, d = joint["x_labels"], channel["atoms"], channel["denominator"]
        values = [value for row in rows for value in row]
        fits = {*map(type, values)} <= {int, float} and min({*values, 1} - {0}) >= 1e-300
        fits = whole(*values) if "counts" in joint else fits and abs(math.fsum(values) - 1) <= 1e-9
        require(fits, "P(s, x) must be counts, or probabilities that sum to 1")
        fits = len(joint) == len(channel) == 3 and {len(row) for row in rows} == {len(self.labels)}
        require(fits and all(map(any, (*rows, *zip(*rows)))), "each value of S and X must occur")
        parts = (joint["s_labels"], rows), (self.labels, rows[0]), (channel["y_labels"], self.atoms)
        fits = all(type(n) is list and len({*map(frozen, n)}) == len(n) == len(p) for n, p in parts)
        require(fits, "each value of S, X and Y must have a label of its own")
        self.joint = rows if "counts" in joint else [[*map(Fraction, row)] for row in rows]
        self.total, self.sizes = sum(map(sum, self.joint)), [*map(sum, zip(*self.joint))]
        self.prior, sums = [Fraction(sum(row), self.total) for row in self.joint], {}
        for members, weights in self.atoms:
            fits = whole(*members, *weights) and 0 < len({*members}) == len(members) == len(weights)
            require(fits and min(weights) > 0 and max(members) < len(rows[0]), "an output is none")
            sums |= {x: sums.get(x, 0) + weight for x, weight in zip(members, weights)}
        fits = whole(d) and d and 2**48 % d == 0 and [*sums.values()] == [d] * len(rows[0])
        require(fits, "P(y|x) must sum to 1 over y for every x, in parts of a power of two")
        self.criterion = Criterion((b := saved["criterion"]).get("criterion", b), joint["s_labels"])

    def check_release(self, _):
        saved, d = self.saved, self.saved["channel"]["denominator"]
        require(not (saved["table"] or {}).get("pilot"), "a population is not decided", ValueError)
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
        require("criterion" not in saved["criterion"], "a population is not decided", ValueError)
        return f"by its counts all {len(self.atoms)} outputs keep {json.dumps(saved['criterion'])}"

    def published(self):  # columns: name, texts; outputs: number, label, text, members
        def text_of(t, marked=()):  # as a person would write it, "'" before what is marked
            found = f"({', '.join(map(text_of, t))})" if type(t) is list else json.dumps(t)
            return "'" * t.startswith(marked) + t if type(t) is str else found

        table, labels = self.saved["table"], self.saved["channel"]["y_labels"]
        encoding, released = table["encoding"], table["released"]
        marked = tuple("=+-@\t\r\n'") if table.get("escape_formulas") is True else ()
        columns = [(column["name"], marked * (column["kind"] == "text")) for column in released]
        if encoding in ("rows", "columns"):  # of cells, whose rows have no list
            return [(name, []) for name in released[0]["bins"]["columns"]], []
        if encoding == "codes":
            columns, labels = [("code", ())], [*range(len(labels))]
        texts = [*map(text_of, labels)]
        if encoding == "groups":
            columns = [("+".join(name for name, _ in columns), marked)]
            labels = [[self.labels[x] for x in sorted(members)] for members, _ in self.atoms]
            texts = [f"{{{text_of(b)[1:-1]}}}" if b[1:] else text_of(b[0]) for b in labels]
        if len({*texts}) < len(texts):  # two would be alike
            texts = [json.dumps(label, ensure_ascii=False) for label in labels]
        parts = [label if type(label) is list else [label] for label in labels]
        parts = zip(*parts, strict=True) if encoding == "values" else [texts]
        pairs = zip(columns, parts, strict=True)
        columns = [(n, [t if t is None else text_of(t, m) for t in part]) for (n, m), part in pairs]
        return columns, [(y, labels[y], texts[y], atom[0]) for y, atom in enumerate(self.atoms)]

    def check_codebook(self, given):
        book, saved, (columns, outputs) = read(given.codebook), self.saved, self.published()
        has = [book[name] for name in ("format", "version", "criterion", "encoding", "x_labels")]
        has.append([(column["name"], outputs and column["texts"]) for column in book["columns"]])
        has.append([[o[n] for n in ("code", "label", "text", "members")] for o in book["outputs"]])
        same = ["lowlift-codebook", 1, saved["criterion"], saved["table"]["encoding"]]
        same += [self.labels * bool(outputs), columns, outputs]
        require(json.dumps(has) == json.dumps(same), "the codebook is of another release")
        for out, (members, weights) in zip(book["outputs"], self.atoms):
            require(json.dumps(out.get("weights", weights)) == json.dumps(weights), "other weights")
            masses = [self.sizes[x] * w for x, w in zip(members, weights)]
            for value, mass in zip(out["p_x_given_y"], masses, strict=True):
                low, high = value if type(value) is list else (value - 1e-12, value + 1e-12)
                require(low - 1e-15 <= mass / sum(masses) <= high + 1e-15, "P(x|y) is another")
        return "the codebook is of this release"

    def check_table(self, given):
        columns, outputs = self.published()
        kept = read(given.receipt)["kept"] if given.receipt else []
        require(given.table.lower().endswith(".csv"), "a table is read if it is a CSV", ValueError)
        with Path(given.table).open(newline="", encoding="utf-8") as file:
            head, *rows = (row or [""] for row in csv.reader(file))
        require(sorted(head) == sorted([*dict(columns), *kept]), "the table has other columns")
        require(outputs, "rows are not looked at where cells are drawn", ValueError)
        known = {*zip(*([text or "" for text in texts] for _, texts in columns))}
        places = [head.index(name) for name, _ in columns]
        fits = all(len(row) == len(head) and tuple(row[k] for k in places) in known for row in rows)
        require(fits, "a row is no output of the release")
        return f"each of {len(rows):,} rows is an output of the release"

    def check_receipt(self, given):
        receipt, of, origin = read(given.receipt), self.saved["channel"], self.saved["table"]
        parts = {"x_labels": self.labels} | {n: of[n] for n in ("y_labels", "denominator", "atoms")}
        parts |= {name: self.saved[name] for name in ("draws", "refines") if name in self.saved}
        digest = hashlib.sha256(json.dumps(parts, separators=(",", ":")).encode()).hexdigest()
        found = [receipt[name] for name in ("format", "version", "release", "encoding")]
        same = json.dumps(["lowlift-receipt", 1, digest, origin["encoding"]])
        require(json.dumps(found) == same, "the receipt is of another release")
        require(receipt["checked_on_this_table"] is True, "the bound was not checked on the table")
        for path, name in ((given.table, "output_sha256"), (given.source, "source_sha256")):
            digest = path and hashlib.sha256(Path(path).read_bytes()).hexdigest()
            require(not path or digest == receipt[name], f"{path} is not the receipt's file")
        rest = [*receipt["outside_the_guarantee"], *receipt["kept"], receipt["draws"]]
        rows, dropped = receipt["rows_in"], receipt["dropped"]
        is_made = whole(rows, dropped) and self.total + dropped == rows  # the counts are of these
        rest += ["another table"] * (not is_made or receipt["source_sha256"] != origin["sha256"])
        require(rest in (["fresh"], ["keyed"]), f"not decided here: {rest}", ValueError)
        return "the receipt is of this release" + " and of this table" * bool(given.table)

    def check_distances(self, given):  # a verdict needs this file alone, a proof of utility another
        return self.proven("check_distances", read(given.distances))

    def check_certificate(self, _):
        return self.proven("check_information")

    def proven(self, name, *given):
        sys.modules.setdefault("check", sys.modules["__main__"])  # which utility.py imports
        return runpy.run_path(UTILITY)[name](self, *given)

    @property
    def is_line(self):  # whether the certificate says what is kept for two values of S
        proof = self.saved.get("certificate") or {}
        is_plain = "criterion" not in self.saved["criterion"] and not proof.get("bins")
        return proof.get("scope") == "mechanisms" and is_plain and len(self.prior) == 2


if __name__ == "__main__":
    parser, code, release = argparse.ArgumentParser(description=__doc__.splitlines()[0]), 0, None
    for name in ("release", "--codebook", "--table", "--receipt", "--source", "--distances"):
        parser.add_argument(name)
    given = parser.parse_args()
    if given.source and not given.receipt:
        parser.error("--source needs --receipt")
    names = [name for name, path in vars(given).items() if path and name != "source"]
    for name in names:
        try:
            release = release or Release(read(given.release))
            names += ["certificate"] * (name == "release" and release.is_line)
            print(f"ok           {getattr(release, f'check_{name}')(given)}")
        except Exception as error:
            is_refused, kind = type(error) is Refused, type(error).__name__
            print(f"REFUSED      {error}" if is_refused else f"UNDECIDED    {kind}: {error}")
            code = 1 if is_refused else code or 2
    is_proven = not {"distances", "certificate"}.isdisjoint(names)
    if release and release.saved.get("certificate") and not is_proven:
        print("not checked  what the certificate says of utility")
    raise SystemExit(code)
