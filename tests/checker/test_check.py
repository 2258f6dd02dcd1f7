"""The checker shares no code with the library: what both say of a release must be the same."""

import argparse
import ast
import copy
import functools
import json
import math
import pickle
import random
import subprocess
import sys
import warnings
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest

import lowlift as ll
from checker import attacks
from checker.agreement import CHECK, checker, disagreement, is_accepted, is_allowed
from checker.attacks import saved_of
from fuzz.mutation import changed_json
from lowlift._distortion.distances import distances_of
from lowlift.criteria import criterion_on, to_dict
from lowlift.errors import LowliftError


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


@pytest.mark.parametrize(
    "x",
    [0.0, 5e-324, 1e-300, 0.5, 0.6931471805599453, 1 - 2**-53, 1.0, 17.25, 255.9, 300.0],
)
@pytest.mark.parametrize("bits", [8, 64, 500])
@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_powers_of_e_and_of_two_are_enclosed(x, bits, unit):
    low, high = checker().power_between(Fraction(x), bits, unit)
    with mpmath.workdps(600):
        true = mpmath.power(mpmath.e if unit == "nats" else 2, mpmath.mpf(x))
        assert mpmath.mpf(low.numerator) / low.denominator <= true
        assert mpmath.mpf(high.numerator) / high.denominator >= true
    assert high - low <= high * Fraction(1, 2 ** (bits - 2))
    assert (low == high) == (x == 0 or (unit == "bits" and x.is_integer()))


@functools.cache
def designed():
    """Return releases of each criterion, as their files say them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(_designed())


def _designed():
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
            ll.BetaLikeness(0.5),
            ll.DeltaDisclosure(0.5),
            ll.DeltaDisclosure(1.0, "bits"),
            ll.DeltaDisclosure(0.7, "bits"),
            ll.TCloseness(0.15),
            ll.EveryPrior(0.1, 0.6, 0.7),
            ll.EveryPrior(0.05, math.inf, 0.5),
        ):
            yield saved_of(ll.subset_merging(joint, criterion_on(criterion, joint)))
            if getattr(criterion, "is_convex", True):
                bound = criterion_on(criterion, joint)
                yield saved_of(ll.random_response(joint, bound, time_limit=5))


def mutated(saved, rng):
    """Return a release with one or two changes, most of which leave it a channel."""
    out = pickle.loads(pickle.dumps(saved))  # a fifth of the time of a deep copy
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
            for name in ("epsilon", "upper", "lower", "factor", "beta", "delta", "t", "at_least"):
                value = out["criterion"].get(name)
                if isinstance(value, float):
                    factor = rng.choice((1 - 1e-15, 1 - 1e-9, 0.999, 0.9, 1.001, 1.5))
                    out["criterion"][name] = value * factor
        else:
            weights[k] = max(1, weights[k] + rng.choice((-1, 1)))
    return out


@pytest.mark.parametrize(
    ("count", "seed"),
    [
        pytest.param(36, 17, id="some"),
        # Two tests, so that two processes share the 100,000.
        pytest.param(720, 18, marks=pytest.mark.second_lane, id="50000"),
        pytest.param(720, 19, marks=pytest.mark.second_lane, id="50000 more"),
    ],
)
@pytest.mark.timeout(900)
def test_mutated_releases_get_the_verdict_of_the_exact_audit(count, seed):
    rng, accepted, tried = random.Random(seed), 0, 0
    for saved in designed():
        assert is_accepted(saved)
        for _ in range(count):
            changed = mutated(saved, rng)
            verdict = is_accepted(changed)
            assert verdict == is_allowed(changed), changed["criterion"]
            accepted, tried = accepted + verdict, tried + 1
    assert tried == 70 * count
    assert tried / 10 < accepted < tried * 9 / 10


@functools.cache
def attacked():
    return attacks.texts()


def test_what_is_attacked_is_accepted():
    for made in (attacks.release(), attacks.believed()):
        assert is_accepted(made)
        assert disagreement(json.dumps(made)) is None
    for name in attacks.NAMED:
        made = attacks.release()
        attacks.named(name)(made)
        assert is_accepted(made)
        assert is_allowed(made)


def at_the_edge():
    """Return releases whose lifts are 3/2 and 1/2, under bounds of which some are just these."""
    joint = ll.Joint.from_counts([[3, 1], [1, 3]])
    saved = saved_of(ll.subset_merging(joint, ll.LIP(9.0)))
    below, above = 0.6931471805599453, 0.6931471805599454  # log 2 lies between these floats
    for wide, narrow in (
        (ll.BetaLikeness(0.5), ll.BetaLikeness(0.49999999999999994)),
        (ll.TCloseness(0.25), ll.TCloseness(0.24999999999999997)),
        (ll.DeltaDisclosure(1.0000000000000002, "bits"), ll.DeltaDisclosure(1.0, "bits")),
        (ll.DeltaDisclosure(above), ll.DeltaDisclosure(below)),
        # The reader of prior (1/4, 3/4) has the lift (3/2) / (3/4); of (3/4, 1/4), (1/2) / (5/4).
        (ll.EveryPrior(0.25, math.inf, above), ll.EveryPrior(0.25, math.inf, below)),
        (ll.EveryPrior(0.25, 0.92, 9.0), ll.EveryPrior(0.25, 0.91, 9.0)),
        (ll.EveryPrior(0.5, above, 9.0), ll.EveryPrior(0.5, below, 9.0)),
    ):
        for criterion, accepted in ((wide, True), (narrow, False)):
            yield saved | {"criterion": to_dict(criterion)}, accepted
    # The float 0.3 is less than 3/10, which is the total variation: the decimal counts.
    joint = ll.Joint.from_counts([[8, 2], [2, 8]])
    saved = saved_of(ll.subset_merging(joint, ll.LIP(9.0)))
    for t in (0.3, 0.1 + 0.2, 0.29999999999999993):
        yield saved | {"criterion": {"name": "TCloseness", "t": t}}, t >= 0.3
    # An output that rules a value out.
    joint = ll.Joint.from_counts([[4, 0], [1, 3]])
    saved = saved_of(ll.subset_merging(joint, ll.MaxLift(9.0)))
    for criterion, accepted in (
        (ll.BetaLikeness(1.0), True),
        (ll.TCloseness(0.5), True),
        (ll.DeltaDisclosure(700.0), False),
        (ll.DeltaDisclosure(700.0, "bits"), False),
        (ll.DeltaDisclosure(math.inf, "bits"), True),
        (ll.EveryPrior(0.1, math.inf, 9.0), True),
        (ll.EveryPrior(0.0, math.inf, 9.0), False),
        (ll.EveryPrior(0.1, 9.0, math.inf), False),
    ):
        yield saved | {"criterion": to_dict(criterion)}, accepted


def test_bounds_that_are_just_met_and_just_missed():
    for saved, accepted in at_the_edge():
        assert (is_accepted(saved), is_allowed(saved)) == (accepted, accepted), saved["criterion"]


@pytest.mark.parametrize(
    "name",
    [*attacks.CHANGES, *attacks.OF_NAMED, *attacks.OF_BELIEFS, *attacks.OF_TEXTS],
    ids=lambda name: name,
)
def test_a_forged_release_is_not_accepted(name, tmp_path):
    path = tmp_path / "release.json"
    path.write_text(attacked()[name], "utf-8")
    with pytest.raises((LowliftError, AssertionError)):
        assert ll.Release.from_json(path).audit.is_satisfied
    with pytest.raises(Exception):  # noqa: B017, PT011 (refused, or undecided by any error)
        checker().Release(checker().read(path)).check_bound(None)


def test_a_share_of_the_budgets_is_said_to_be_undecided(tmp_path):
    joint, path = ll.datasets.titanic(), tmp_path / "release.json"
    bound = ll.AtMost({joint.s_labels[1]: 0.5}, 2.0, share=0.5)
    ll.subset_merging(joint, criterion_on(bound, joint)).to_json(path)
    code, text = run(path)
    assert code == 2
    assert "UNDECIDED" in text
    assert "share 1, to be decided here" in text


def test_a_forged_release_has_an_exit_code_and_no_traceback(tmp_path):
    path = tmp_path / "release.json"
    for name, expected in (("budget no number", 2), ("nested too deeply", 2), ("a name twice", 1)):
        path.write_text(attacked()[name], "utf-8")
        code, text = run(path)
        assert (code, "Traceback" in text) == (expected, False), text


@pytest.mark.parametrize(
    "count", [100, pytest.param(3000, marks=pytest.mark.second_lane, id="many")]
)
@pytest.mark.filterwarnings("ignore")
def test_what_the_checker_accepts_of_damaged_files_the_audit_accepts(count, tmp_path):
    """Any place of the file is changed, not only numbers: labels, names, kinds, digits."""
    rng, path, accepted = random.Random(7), tmp_path / "release.json", 0
    files = [json.dumps(saved).encode() for saved in (*designed(), attacks.release())]
    for _ in range(count):
        path.write_bytes(changed_json(rng.choice(files), rng))
        try:
            saved = checker().read(path)
            checker().Release(saved).check_bound(None)
        except Exception:  # noqa: BLE001 (refused or undecided)
            continue
        accepted += 1
        assert is_allowed(saved), path.read_text()
    path.unlink()
    assert accepted > count / 20


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
    ("options", "undecided"),
    [
        ((), ""),
        (("--mechanism", "subset-merging"), ""),
        (("--mechanism", "least-distortion"), ""),
        (("--round-to", "0.01"), ""),
        (("--cells", "8"), "not where cells are drawn"),
        (("--keep-order",), "the order of the rows"),
        (("--seed", "1"), "seeded"),
    ],
    ids=["codes", "groups", "values", "rounded", "rows", "order", "seed"],
)
def test_files_of_one_publication_belong_together(lowlift, options, undecided):
    code, text = run(*sanitized(lowlift, *options))
    assert code == (2 if undecided else 0), text
    assert undecided in text
    assert text.count("ok  ") == (3 if undecided else 4)


def keyed_rows(lowlift):
    """Publish rows of cells by a key; return the names of the files."""
    ll.datasets.write_titanic(Path("titanic.csv"))
    head, *rows = Path("titanic.csv").read_text().splitlines()
    rows = [f"{row},{k}" for k, row in enumerate(rows)]
    Path("people.csv").write_text("\n".join([f"{head},id", *rows, ""]))
    assert lowlift("key", "new", "draws.key").code == 0
    done = lowlift(
        "sanitize", "people.csv", "-s", "survived", "-x", "class", "-x", "sex", "-x", "age",
        "--cells", "8", "--at-most", "2", "--id", "id", "--key-file", "draws.key", "-o", "safe.csv",
    )  # fmt: skip
    assert done.code == 0, done.err
    return [
        "safe.release.json", "--codebook", "safe.codebook.json", "--receipt", "safe.receipt.json",
        "--table", "safe.csv", "--source", "people.csv",
    ]  # fmt: skip


def test_rows_drawn_by_a_key_are_judged_as_fresh_ones_are(lowlift):
    given = keyed_rows(lowlift)
    assert json.loads(Path("safe.receipt.json").read_text())["draws"] == "keyed"
    code, text = run(*given)
    assert (code, text.count("ok  ")) == (2, 3), text
    assert "not where cells are drawn" in text
    forged = edited("receipt", lambda receipt: receipt.update(release="0" * 64))
    assert run(given[0], "--receipt", forged)[0] == 1
    Path("safe.csv").write_text(Path("safe.csv").read_text() + "crew,male,adult\n")
    assert run(*given)[0] == 1


def test_a_file_that_is_not_csv_is_not_looked_into(lowlift):
    given = sanitized(lowlift)
    Path("safe.parquet").write_bytes(b"PAR1")
    code, text = run(given[0], "--codebook", "safe.codebook.json", "--table", "safe.parquet")
    assert (code, "rows are looked at in CSV files alone" in text) == (2, True)
    for lonely in (("--table", "safe.csv"), ("--source", "titanic.csv")):
        assert run(given[0], *lonely)[0] == 2


def edited(name, change):
    """Write a copy of a file of the publication with a change, and return its name."""
    saved = json.loads(Path(f"safe.{name}.json").read_text())
    change(saved)
    Path(f"other.{name}.json").write_text(json.dumps(saved))
    return f"other.{name}.json"


def test_files_that_do_not_belong_together_are_refused(lowlift):
    given = sanitized(lowlift)
    rows = Path("safe.csv").read_text()
    Path("other.csv").write_text(rows.replace("\n0\n", "\n99\n"))
    code, text = run(*given[:-3], "other.csv")
    assert code == 1
    assert "is not the receipt's file" in text
    assert "a row is no output" in text

    def refused(option, name, change):
        return run(given[0], option, edited(name, change))[0] == 1

    assert refused("--codebook", "codebook", lambda book: book["outputs"][0].update(weights=[1]))
    assert refused("--codebook", "codebook", lambda book: book["criterion"].update(epsilon=0.1))
    assert refused("--codebook", "codebook", lambda book: book.update(encoding="rows", outputs=[]))
    assert refused("--receipt", "receipt", lambda receipt: receipt.update(release="0" * 64))
    assert refused("--receipt", "receipt", lambda r: r.update(checked_on_this_table=False))
    other = edited("receipt", lambda receipt: receipt.update(source_sha256="0" * 64))
    assert run(given[0], "--receipt", other)[0] == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [f"{row},{k % 2}" for k, row in enumerate(rows)],
        lambda rows: [rows[0], *(f"{row},{k % 2}" for k, row in enumerate(rows[1:]))],
        lambda rows: ["class", *rows[1:]],
        lambda rows: [f"{row},{row}" for row in rows],
        lambda rows: [*rows, "0,0"],
    ],
    ids=["a column more", "cells without a column", "renamed", "twice", "a cell more"],
)
def test_a_table_that_says_more_than_the_outputs_is_refused(lowlift, change):
    given = sanitized(lowlift)
    Path("other.csv").write_text("\n".join(change(Path("safe.csv").read_text().split())) + "\n")
    code, text = run(given[0], "--codebook", "safe.codebook.json", "--table", "other.csv")
    assert code == 1, text


@pytest.mark.parametrize("criterion", [ll.LIP(0.5), ll.ALIP(0.2, 0.9), ll.MaxLift(0.4)], ids=str)
def test_a_bound_on_the_distance_is_proven_from_its_multipliers(criterion, tmp_path):
    joint = ll.datasets.titanic()
    saved = saved_of(ll.least_distortion(joint, criterion))
    distance = distances_of(joint, None, None).tolist()

    def checked(release, table):
        (tmp_path / "distances.json").write_text(json.dumps(table))
        given = argparse.Namespace(distances=tmp_path / "distances.json")
        return checker().Release(release).check_distances(given)

    assert "no channel" in checked(saved, distance)
    for change in (1e-6, 0.01):
        forged = copy.deepcopy(saved)
        forged["certificate"]["lower_bound"] += change
        with pytest.raises(checker().Refused, match="not proven"):
            checked(forged, distance)
    distance[0][1] += 0.5
    with pytest.raises(checker().Refused, match="not the certificate's"):
        checked(saved, distance)
    distance[0][1] = "nan"
    with pytest.raises((ValueError, checker().Refused)):
        checked(saved, distance)


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
    assert (code, "the population's is not decided here" in text) == (2, True)


@pytest.fixture
def page(chromium):
    found = chromium.new_page()
    found.goto((CHECK.parent / "check.html").as_uri())
    yield found
    found.close()


JUDGED = """texts => texts.map(text => {
    try { new Release(parse(text)).checkBound(); return true; }
    catch (error) { return error instanceof Refused ? false : null; }
})"""


def verdicts(texts, tmp_path):
    """Return what the program says of files: True, False, or None for undecided."""
    found, path = [], tmp_path / "text.json"
    for text in texts:
        path.write_text(text, "utf-8")
        try:
            saved = checker().read(path)
        except checker().Refused:
            found.append(False)
        except (ValueError, RecursionError):
            found.append(None)
        else:
            found.append(is_accepted(saved))
    return found


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(
    "count", [12, pytest.param(90, marks=pytest.mark.second_lane, id="thousands")]
)
def test_the_page_says_of_mutated_releases_what_the_program_says(page, count, tmp_path):
    rng = random.Random(5)
    texts = [json.dumps(mutated(saved, rng)) for saved in designed() for _ in range(count)]
    found = page.evaluate(JUDGED, texts)
    assert found == verdicts(texts, tmp_path)
    assert 0 < sum(found) < len(found)


@pytest.mark.xdist_group("browser")
def test_the_page_says_of_bounds_that_are_just_met_what_the_program_says(page):
    texts, accepted = zip(*((json.dumps(saved), yes) for saved, yes in at_the_edge()), strict=True)
    assert page.evaluate(JUDGED, texts) == [*accepted]


@pytest.mark.xdist_group("browser")
def test_the_page_does_not_accept_a_forged_release(page, tmp_path):
    texts = {name: text for name, text in attacked().items() if name != "nested too deeply"}
    texts |= {"true": json.dumps(attacks.release()), "believed": json.dumps(attacks.believed())}
    found = dict(zip(texts, page.evaluate(JUDGED, list(texts.values())), strict=True))
    assert {name for name, word in found.items() if word} == {"true", "believed"}
    assert found == dict(zip(texts, verdicts(texts.values(), tmp_path), strict=True))


@pytest.mark.xdist_group("browser")
@pytest.mark.filterwarnings("ignore")
def test_the_page_accepts_no_damaged_file_that_the_program_does_not(page, tmp_path):
    rng = random.Random(8)
    files = [json.dumps(saved).encode() for saved in (*designed(), attacks.release())]
    texts = [changed_json(rng.choice(files), rng).decode("utf-8", "replace") for _ in range(300)]
    theirs = page.evaluate(JUDGED, texts)
    ours = verdicts(texts, tmp_path)
    assert [text for text, page_says, says in zip(texts, theirs, ours, strict=True)
            if page_says is not says and True in (page_says, says)] == []  # fmt: skip
    assert sum(map(bool, ours)) > 10


def look(page, files):
    page.evaluate("() => delete document.getElementById('found').dataset.state")
    page.set_input_files("#files", files)
    page.wait_for_selector("#found[data-state=done]")
    return page.inner_text("#found")


@pytest.mark.xdist_group("browser")
def test_files_dropped_on_the_page_are_checked_together(page, lowlift):
    files = [name for name in sanitized(lowlift) if not name.startswith("--")]
    text = look(page, files)
    assert page.locator("#found .ok").count() == 7, text
    assert page.locator("#found li").count() == 8
    assert "not checked" in text
    rows = Path("safe.csv").read_text()
    Path("safe.csv").write_text(rows.replace("\n0\n", "\n99\n"))
    text = look(page, files)
    assert "a row is no output" in text
    assert "safe.csv is not the receipt's file" in text
    Path("safe.csv").write_text("".join(f"{row},1\n" for row in rows.split()))
    assert "the table has other columns" in look(page, files)
    Path("safe.parquet").write_bytes(b"PAR1")
    assert "rows are looked at in CSV files alone" in look(page, [*files[:2], "safe.parquet"])
    other = edited("codebook", lambda book: book["criterion"].update(epsilon=0.1))
    assert "the codebook is of another release" in look(page, [files[0], other])
    other = edited("receipt", lambda receipt: receipt.update(checked_on_this_table=False))
    assert "the bound was not checked on the table" in look(page, [files[0], other])
    Path("safe.release.json").write_text("{}")
    assert "a release is needed" in look(page, ["safe.receipt.json", "safe.release.json"])


@pytest.mark.xdist_group("browser")
def test_the_page_judges_rows_drawn_by_a_key(page, lowlift):
    files = [name for name in keyed_rows(lowlift) if not name.startswith("--")]
    text = look(page, files)
    assert "the receipt is of this release" in text
    assert "not where cells are drawn" in text
    forged = edited("receipt", lambda receipt: receipt.update(release="0" * 64))
    assert "the receipt is of another release" in look(page, [files[0], forged])


@pytest.mark.xdist_group("browser")
def test_the_page_proves_a_bound_on_the_distance(page, tmp_path):
    joint = ll.datasets.titanic()
    release, distances = tmp_path / "release.json", tmp_path / "distances.json"
    made = ll.least_distortion(joint, ll.ALIP(0.2, 0.9))
    distance = distances_of(joint, None, None).tolist()
    distances.write_text(json.dumps(distance))
    made.to_json(release)
    assert "no channel in the bound has a mean distance below" in look(page, [release, distances])
    saved = json.loads(release.read_text())
    saved["certificate"]["lower_bound"] += 1e-6
    release.write_text(json.dumps(saved))
    assert "it is not proven" in look(page, [release, distances])
    distance[0][1] += 0.5
    distances.write_text(json.dumps(distance))
    assert "the distances are not the certificate's" in look(page, [release, distances])


@pytest.mark.xdist_group("browser")
def test_the_page_has_no_connection(page):
    refused = page.evaluate(
        """() => new Promise(done => {
            document.addEventListener("securitypolicyviolation", e => done(e.effectiveDirective));
            fetch("http://127.0.0.1:9/").catch(() => setTimeout(() => done("not refused"), 2000));
        })"""
    )
    assert refused == "connect-src"
