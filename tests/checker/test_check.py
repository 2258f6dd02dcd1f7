"""The checker shares no code with the library: what both say of a release must be the same."""

import ast
import copy
import functools
import importlib.util
import json
import math
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import lowlift as ll
from lowlift._distortion.distances import distances_of
from lowlift.criteria import criterion_on, from_dict
from lowlift.errors import LowliftError

CHECK = Path(__file__).parents[2] / "checker" / "check.py"


@functools.cache
def checker():
    spec = importlib.util.spec_from_file_location("check", CHECK)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-I", CHECK, *map(str, arguments)],
        check=False,
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_the_checker_is_short_and_imports_only_the_standard_library():
    text = CHECK.read_text("utf-8")
    assert len(text.splitlines()) <= 300
    found = [
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    names = {
        name.split(".")[0]
        for node in found
        for name in (
            [node.module] if isinstance(node, ast.ImportFrom) else [a.name for a in node.names]
        )
    }
    assert names <= sys.stdlib_module_names


@pytest.mark.parametrize("x", ["0", "1e-300", "0.5", "0.6931471805599453", "1", "17.25", "300"])
@pytest.mark.parametrize("bits", [8, 64, 500])
def test_powers_of_e_are_enclosed(x, bits):
    low, high = checker().exp_between(Fraction(x), bits)
    with mpmath.workdps(600):
        true = mpmath.exp(mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator)
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        assert mpmath.mpf(high.numerator) / high.denominator >= true
    assert high - low <= high * Fraction(1, 2 ** (bits // 2))


def designed():
    """Yield releases of each criterion, as their files say them."""
    small = ll.Joint.from_counts(np.random.default_rng(0).integers(1, 60, (3, 7)))
    for joint in (ll.datasets.titanic(), small):
        most = float(joint.p_s[1]) * 1.2
        for criterion in (
            ll.LIP(0.5),
            ll.ALIP(0.3, 0.6),
            ll.ALIP(math.inf, 0.4),
            ll.MaxLift(0.4),
            ll.LDP(0.7),
            ll.L1Lift(math.inf, 0.4),
            ll.L1Lift(0.4, 0.4),
            ll.Chi2Lift(math.inf, 0.5),
            ll.AlphaLift(2, 0.4, 0.4),
            ll.AlphaLift(3, math.inf, 0.2),
            ll.AtMost({joint.s_labels[1]: round(most, 3)}, 2.0),
        ):
            yield content(ll.subset_merging(joint, criterion_on(criterion, joint)))
            if getattr(criterion, "is_convex", True):
                bound = criterion_on(criterion, joint)
                yield content(ll.random_response(joint, bound, time_limit=5))


def content(release):
    from lowlift._release_files import content_of

    return json.loads(json.dumps(content_of(release)))


def mutated(saved, rng):
    """Return a release with one or two changes, most of which leave it a channel."""
    out = copy.deepcopy(saved)
    atoms = out["channel"]["atoms"]
    for _ in range(rng.choice((1, 1, 2))):
        kind, y = rng.randrange(4), rng.randrange(len(atoms))
        members, weights = atoms[y]
        k = rng.randrange(len(weights))
        if kind == 0 and weights[k] > 1:  # some of a symbol's weight goes to another output
            amount = rng.choice((1, weights[k] // 2, weights[k] - 1, rng.randrange(1, weights[k])))
            others, theirs = atoms[rng.randrange(len(atoms))]
            if others is not members and amount:
                weights[k] -= amount
                if members[k] not in others:
                    others.append(members[k])
                    theirs.append(0)
                theirs[others.index(members[k])] += amount
        elif kind == 1:
            row = rng.choice(out["joint"]["counts"])
            x = rng.randrange(len(row))
            row[x] = max(0, row[x] + rng.choice((-1, 1, -5, 5, 30)))
        elif kind == 2:
            for name in ("epsilon", "upper", "lower", "factor"):
                value = out["criterion"].get(name)
                if isinstance(value, float):
                    factor = rng.choice((1 - 1e-15, 1 - 1e-9, 0.999, 0.9, 1.001, 1.5))
                    out["criterion"][name] = value * factor
        else:
            weights[k] = max(1, weights[k] + rng.choice((-1, 1)))
    return out


def is_accepted(saved):
    try:
        checker().check_bound(saved)
    except checker().Refused:
        return False
    return True


def is_allowed(saved):
    """Judge by the library's exact audit; what it refuses to read is not allowed."""
    stored, part = saved["joint"], saved["channel"]
    try:
        joint = ll.Joint.from_counts(stored["counts"], stored["s_labels"], stored["x_labels"])
        channel = ll.Channel.from_atoms(joint, part["atoms"], part["denominator"], part["y_labels"])
        bound = criterion_on(from_dict(saved["criterion"]), joint)
        return ll.audit(joint, channel, bound).is_satisfied
    except LowliftError:
        return False


@pytest.mark.parametrize(
    "count",
    [pytest.param(60, id="some"), pytest.param(2400, marks=pytest.mark.second_lane, id="100000")],
)
@pytest.mark.timeout(900)
@pytest.mark.filterwarnings("ignore")
def test_mutated_releases_get_the_verdict_of_the_exact_audit(count):
    rng, accepted, tried = random.Random(18), 0, 0
    for saved in designed():
        assert is_accepted(saved)
        for _ in range(count):
            changed = mutated(saved, rng)
            verdict = is_accepted(changed)
            assert verdict == is_allowed(changed), changed["criterion"]
            accepted, tried = accepted + verdict, tried + 1
    assert tried >= 42 * count
    assert tried / 10 < accepted < tried * 9 / 10


def test_a_release_with_a_forged_verdict_is_refused():
    saved = content(ll.subset_merging(ll.datasets.titanic(), ll.LIP(0.5)))
    saved["criterion"]["epsilon"] = 0.1
    assert not is_accepted(saved)
    saved = content(ll.subset_merging(ll.datasets.titanic(), ll.LIP(0.5)))
    saved["audit"]["is_satisfied"] = False
    assert not is_accepted(saved)


def sanitized(lowlift, *options):
    ll.datasets.write_titanic(Path("titanic.csv"))
    done = lowlift(
        "sanitize", "titanic.csv", "-s", "survived", "-x", "class", "-x", "sex", "-x", "age",
        "--at-most", "2", "-o", "safe.csv", *options,
    )  # fmt: skip
    assert done.code == 0, done.err
    return [
        "safe.release.json", "--codebook", "safe.codebook.json", "--receipt", "safe.receipt.json",
        "--table", "safe.csv", "--source", "titanic.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--mechanism", "subset-merging"),
        ("--mechanism", "least-distortion"),
        ("--round-to", "0.01"),
        ("--cells", "8"),
    ],
    ids=["codes", "groups", "values", "rounded", "rows"],
)
def test_files_of_one_publication_belong_together(lowlift, options):
    code, text = run(*sanitized(lowlift, *options))
    assert code == 0, text
    assert text.count("ok  ") == 3


def test_files_that_do_not_belong_together_are_refused(lowlift, tmp_path):
    given = sanitized(lowlift)
    Path("other.csv").write_text(Path("safe.csv").read_text().replace("\n0\n", "\n99\n"))
    code, text = run(*given[:-3], "other.csv")
    assert code == 1
    assert "is not the file that the receipt names" in text
    assert "a row of the table is no output" in text
    book = json.loads(Path("safe.codebook.json").read_text())
    book["outputs"][0]["weights"][0] -= 1
    Path("book.json").write_text(json.dumps(book))
    assert run(given[0], "--codebook", "book.json")[0] == 1
    receipt = json.loads(Path("safe.receipt.json").read_text())
    receipt["release"] = "0" * 64
    Path("receipt.json").write_text(json.dumps(receipt))
    assert run(given[0], "--receipt", "receipt.json")[0] == 1


@pytest.mark.parametrize("criterion", [ll.LIP(0.5), ll.ALIP(0.2, 0.9), ll.MaxLift(0.4)], ids=str)
def test_a_bound_on_the_distance_is_proven_from_its_multipliers(criterion, tmp_path):
    joint = ll.datasets.titanic()
    saved = content(ll.least_distortion(joint, criterion))
    distance = distances_of(joint, None, None).tolist()
    assert "no channel" in checker().check_distance(saved, distance)
    for change in (1e-6, 0.01):
        forged = copy.deepcopy(saved)
        forged["certificate"]["lower_bound"] += change
        with pytest.raises(checker().Refused, match="not proven"):
            checker().check_distance(forged, distance)
    distance[0][1] += 0.5
    with pytest.raises(checker().Refused, match="not the certificate's"):
        checker().check_distance(saved, distance)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", 2),
        ("[]", 2),
        ("{}", 2),
        ('{"format": "lowlift-codebook", "version": 1}', 1),
        ('{"format": 1, "format": 1}', 1),
    ],
)
def test_files_that_are_no_release_are_not_accepted(text, code, tmp_path):
    path = tmp_path / "release.json"
    path.write_text(text)
    assert run(path)[0] == code
    assert run(tmp_path / "none.json")[0] == 2


def test_what_cannot_be_decided_is_said(tmp_path):
    joint = ll.datasets.titanic()
    path = tmp_path / "release.json"
    ll.subset_merging(joint, ll.Population(ll.LIP(1.0))).to_json(path)
    code, text = run(path)
    assert (code, "for the population it is not checked here" in text) == (2, True)


@pytest.fixture
def page(chromium):
    found = chromium.new_page()
    found.goto((CHECK.parent / "check.html").as_uri())
    yield found
    found.close()


JUDGED = """texts => texts.map(text => {
    try { checkBound(parse(text)); return true; }
    catch (error) { if (error instanceof Refused) return false; throw error; }
})"""


@pytest.mark.xdist_group("browser")
@pytest.mark.filterwarnings("ignore")
def test_the_page_says_of_mutated_releases_what_the_program_says(page):
    rng = random.Random(5)
    files = [mutated(saved, rng) for saved in designed() for _ in range(20)]
    found = page.evaluate(JUDGED, [json.dumps(saved) for saved in files])
    assert found == [is_accepted(saved) for saved in files]
    assert 0 < sum(found) < len(found)


@pytest.mark.xdist_group("browser")
def test_files_dropped_on_the_page_are_checked_together(page, lowlift):
    files = [name for name in sanitized(lowlift) if not name.startswith("--")]
    page.set_input_files("#files", files)
    page.wait_for_selector("#found[data-state=done]")
    assert page.locator("#found .ok").count() == 8
    assert page.locator("#found li").count() == 8
    Path("safe.csv").write_text(Path("safe.csv").read_text().replace("\n0\n", "\n99\n"))
    Path("safe.release.json").write_text("{}")
    page.set_input_files("#files", ["safe.csv", "safe.receipt.json", "safe.release.json"])
    page.wait_for_selector("#found[data-state=done] .undecided")
    assert "a release is needed" in page.inner_text("#found")


@pytest.mark.xdist_group("browser")
def test_the_page_has_no_connection(page):
    refused = page.evaluate(
        """() => new Promise(done => {
            document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective));
            fetch("http://127.0.0.1:9/").catch(() => setTimeout(() => done("not refused"), 2000));
        })"""
    )
    assert refused == "connect-src"
