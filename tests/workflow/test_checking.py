"""Verifying: from scratch, without a solver; and several releases together."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lowlift as ll
from lowlift.tables import Each, Width
from lowlift.workflow import (
    Asked,
    Options,
    apply,
    audit_releases,
    design,
    estimate_table,
    sanitize,
    verify,
)
from people import (
    COUNTS,
    DISEASES,
    NAMES,
    ROWS,
    WARDS,
    read_csv,
    rows_of,
    sha256,
    write_csv,
    write_parquet,
    write_people,
)

ASKED = Asked(("disease",), ("ward",))


class Made:
    """A table, its release, and what was published by it."""

    def __init__(self, folder, encoding, mechanism="subset-merging"):
        self.people = write_people(folder / "people.csv")
        made = sanitize(
            self.people,
            ASKED,
            ll.LIP(0.4),
            str(folder / "safe.csv"),
            mechanism=mechanism,
            encoding=encoding,
            time_limit=5,
        )
        assert made.verification.is_ok
        self.made, self.release = made, str(folder / "safe.release.json")
        self.safe = folder / "safe.csv"
        self.receipt = (folder / "safe.receipt.json").read_bytes()

    def copy(self, folder, change):
        """Publish changed rows in another folder; the receipt is that of the true ones.

        Its hash is made to fit: something else must find what was changed.
        """
        safe = write_csv(folder / "safe.csv", *change(*read_csv(self.safe)))
        receipt = json.loads(self.receipt) | {"output_sha256": sha256(safe)}
        (folder / "safe.receipt.json").write_text(json.dumps(receipt))
        return safe


@pytest.fixture(scope="module")
def merged(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("merged"), "groups")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return Made(tmp_path_factory.mktemp("mixed"), "codes", "random-response")


def failures(found):
    assert found.is_ok is all(check.is_ok for check in found.checks)
    return [check.name for check in found.checks if not check.is_ok]


def test_what_is_good_passes(merged, mixed):
    for case in (merged, mixed):
        found = verify(case.release, against=case.people, published=str(case.safe))
        assert failures(found) == []
        # The bound, as published, the counts, the columns, the rows, the receipt, the shares.
        assert len(found.checks) >= 7
        assert failures(verify(case.release)) == []
        assert failures(verify(case.release, against=case.people)) == []
        assert failures(verify(case.release, published=str(case.safe))) == []


def test_the_number_behind_the_verdict_is_exact(merged):
    check = verify(merged.release).checks[0]
    leakage = merged.made.design.release.audit.leakage
    assert f"{leakage.lower:.6f}" in check.detail
    assert f"{leakage.upper:.6f}" in check.detail


@pytest.mark.parametrize(
    "change",
    [
        lambda head, rows: ([*head, "disease"], [(*row, "cholera") for row in rows]),
        lambda head, rows: ([*head, "n"], [(*row, k) for k, row in enumerate(rows)]),
        lambda head, rows: ([f"{head[0]}s"], rows),
        lambda head, rows: (head, [("SECRET123",), *rows[1:]]),
        lambda head, rows: (head, [("",), *rows[1:]]),
        lambda head, rows: (head, [("east",), *rows[1:]]),
        lambda head, rows: (head, [("1.5",), *rows[1:]]),
        lambda head, rows: (head, rows[1:]),
        lambda head, rows: (head, [*rows, rows[0]]),
        lambda head, rows: (head, [rows[0]] * len(rows)),
    ],
    ids=[
        *("extra", "numbered", "renamed", "unknown", "missing", "member", "number"),
        *("fewer", "more", "one"),
    ],
)
def test_a_published_table_that_was_changed_fails(merged, tmp_path, change):
    safe = merged.copy(tmp_path, change)
    found = verify(merged.release, published=safe)
    assert failures(found)
    assert "SECRET123" not in str(found)


def test_what_draws_nothing_has_exact_counts(merged, tmp_path):
    """Merged values are sums of counts: one row in another group is one too many."""

    def swapped(head, rows):
        place = next(k for k, row in enumerate(rows) if row != rows[0])
        return head, [rows[0] if k == place else row for k, row in enumerate(rows)]

    safe = merged.copy(tmp_path, swapped)
    assert failures(verify(merged.release, published=safe))


@pytest.mark.parametrize("value", ["1.5", "7", "x", "2020-01-01", "true", "-1"])
def test_an_unknown_code_fails_whatever_it_looks_like(mixed, tmp_path, value):
    safe = mixed.copy(tmp_path, lambda head, rows: (head, [(value,), *rows[1:]]))
    assert "every row is an output" in failures(verify(mixed.release, published=safe))


def test_a_table_published_by_another_release_fails(mixed, tmp_path):
    """Of the same columns and as many outputs: the shares and the receipt tell."""
    other = design(
        mixed.people,
        ASKED,
        ll.LIP(0.1),
        mechanism="random-response",
        encoding="codes",
        time_limit=5,
    )
    assert other.encoded.release.channel.n_y <= mixed.made.design.encoded.release.channel.n_y
    apply(mixed.people, other.release, str(tmp_path / "safe.csv"))
    assert failures(verify(mixed.release, published=str(tmp_path / "safe.csv")))
    (tmp_path / "safe.receipt.json").unlink()
    found = verify(mixed.release, published=str(tmp_path / "safe.csv"))
    assert failures(found) == ["receipt", "frequencies fit the release"]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: [(*rows[0][:2], "west", *rows[0][3:]), *rows[1:]],
        lambda rows: rows[1:],
        lambda rows: [*rows, rows[0]],
        lambda rows: [(*rows[0][:2], "SECRET123", *rows[0][3:]), *rows[1:]],
        lambda rows: [(rows[0][0], "", *rows[0][2:]), *rows[1:]],
        lambda rows: [row for row in rows if row[2] != "west"],
    ],
    ids=["one", "fewer", "more", "new", "missing", "gone"],
)
def test_a_table_with_other_counts_fails(merged, tmp_path, change):
    head, rows = read_csv(merged.people)
    table = write_csv(tmp_path / "t.csv", head, change(rows))
    found = verify(merged.release, against=table)
    assert failures(found) == ["the table's counts are the stored ones"]
    assert "SECRET123" not in str(found)


def test_the_order_of_a_table_does_not_matter(merged, tmp_path):
    head, rows = read_csv(merged.people)
    table = write_csv(tmp_path / "t.csv", head[::-1], [row[::-1] for row in rows[::-1]])
    assert failures(verify(merged.release, against=table)) == []


def test_a_damaged_receipt_is_refused(merged, tmp_path):
    safe = merged.copy(tmp_path, lambda head, rows: (head, rows))
    receipt = tmp_path / "safe.receipt.json"
    saved = json.loads(receipt.read_text())
    assert failures(verify(merged.release, published=safe)) == []
    texts = ["", "[]", "{}", "3", "null"]
    texts += [
        json.dumps(saved | change)
        for change in (
            {"kept": 3},
            {"kept": None},
            {"format": 1},
            {"release": None},
            {"rows_out": "many"},
        )
    ]
    for text in texts:
        receipt.write_text(text)
        with pytest.raises(ll.InvalidInput, match="receipt"):
            verify(merged.release, published=safe)


@pytest.mark.parametrize(
    "change",
    [{"release": "0" * 64}, {"output_sha256": "0" * 64}, {"rows_out": 7}],
    ids=["release", "sha256", "rows"],
)
def test_a_receipt_that_says_otherwise_fails(merged, tmp_path, change):
    """Of another release, or of another file."""
    (tmp_path / "safe.csv").write_bytes(merged.safe.read_bytes())
    receipt = json.loads(merged.receipt)
    (tmp_path / "safe.receipt.json").write_text(json.dumps(receipt))
    assert failures(verify(merged.release, published=str(tmp_path / "safe.csv"))) == []
    (tmp_path / "safe.receipt.json").write_text(json.dumps(receipt | change))
    assert failures(verify(merged.release, published=str(tmp_path / "safe.csv")))


def test_the_word_of_a_receipt_is_taken_only_where_the_table_is_not_at_hand(merged, tmp_path):
    """A table without S, published with that accepted; then somebody edits the receipt."""

    def said(found):
        (check,) = (c for c in found.checks if c.name.startswith("check of the bound"))
        return check.is_ok, check.detail

    given = verify(merged.release, against=merged.people, published=str(merged.safe))
    assert said(given) == (True, "S by X counted there")
    assert said(verify(merged.release, published=str(merged.safe)))[1].startswith(
        "the receipt says"
    )
    without = tmp_path / "without.csv"
    write_csv(without, ["ward"], [[x] for _, x in rows_of(COUNTS, DISEASES, WARDS)])
    release = ll.Release.from_json(merged.release)
    target = tmp_path / "other.csv"
    apply(str(without), release, str(target), Options(accept_unchecked=True))
    receipt = tmp_path / "other.receipt.json"
    saved = json.loads(receipt.read_text()) | {"checked_on_this_table": True}
    receipt.write_text(json.dumps(saved))
    taken = verify(merged.release, published=str(target))
    assert said(taken)[1].startswith("the receipt says")
    # Another table than the receipt names proves nothing; the one that it names has no S.
    other = verify(merged.release, against=merged.people, published=str(target))
    assert said(other)[1].startswith("the receipt says")
    with pytest.raises(ll.InvalidInput, match="disease"):
        verify(merged.release, against=str(without), published=str(target))


def test_a_missing_receipt_is_pointed_out(merged, tmp_path):
    """It is written last: a table without one was not published."""
    (tmp_path / "safe.csv").write_bytes(merged.safe.read_bytes())
    found = verify(merged.release, published=str(tmp_path / "safe.csv"))
    assert failures(found) == ["receipt"]
    assert "not published" in str(found)


def test_draws_by_a_seed_are_pointed_out(merged, tmp_path):
    target = str(tmp_path / "safe.csv")
    apply(merged.people, merged.made.design.release, target, Options(seed=1))
    assert "not for publication" in str(verify(merged.release, published=target))


def test_kept_columns_are_those_of_the_receipt(merged, tmp_path):
    options = Options(keep=("year",))
    target = str(tmp_path / "safe.csv")
    apply(merged.people, merged.made.design.release, target, options)
    assert failures(verify(merged.release, published=target)) == []
    (tmp_path / "safe.receipt.json").unlink()
    assert failures(verify(merged.release, published=target))


def test_a_receipt_cannot_let_a_sensitive_column_through(merged, tmp_path):
    target = tmp_path / "safe.csv"
    receipt = apply(merged.people, merged.made.design.release, str(target), Options(keep=("year",)))
    target.write_text(target.read_text().replace("year", "disease"))
    saved = json.loads((tmp_path / "safe.receipt.json").read_text())
    assert saved["kept"] == ["year"]
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    forged = saved | {"kept": ["disease"], "output_sha256": digest}
    (tmp_path / "safe.receipt.json").write_text(json.dumps(forged))
    assert receipt.output_sha256 != digest
    assert failures(verify(merged.release, published=str(target)))


def test_what_is_outside_the_guarantee_is_pointed_out(merged, tmp_path):
    target = str(tmp_path / "safe.csv")
    apply(merged.people, merged.made.design.release, target, Options(keep_order=True))
    assert "the order of the rows" in str(verify(merged.release, published=target))


def test_a_table_published_from_another_table_passes(tmp_path):
    """Its shares of X are not those of the design, and need not be: the channel is."""
    first = write_people(tmp_path / "first.csv", [[50, 50, 50, 50]] * 3)
    second = write_people(tmp_path / "second.csv", [[20, 20, 90, 90]] * 3)
    release = design(first, ASKED, ll.LIP(0.1)).release
    release.to_json(tmp_path / "release.json")
    apply(second, release, str(tmp_path / "safe.csv"))
    found = verify(str(tmp_path / "release.json"), published=str(tmp_path / "safe.csv"))
    assert failures(found) == []


def test_one_row_of_a_rare_output_is_no_proof_of_anything(tmp_path):
    """An output expected 0.01 times appears in one of a hundred honest tables."""
    rows = rows_of([[5000, 5000]] * 2, ("a", "b"), ("u", "v"))
    table = write_csv(tmp_path / "t.csv", ("s", "x"), rows)
    columns = design(table, Asked(("s",), ("x",)), ll.LIP(0.1)).spec.to_dict()
    joint = ll.Joint.from_counts([[5000, 5000]] * 2, ("a", "b"), ("u", "v"))
    whole = 1 << 21
    atoms = [([0, 1], [1, 1]), ([0], [whole - 1]), ([1], [whole - 1])]
    channel = ll.Channel.from_atoms(joint, atoms, whole)
    release = ll.Release.of(joint, channel, ll.LIP(0.1)).with_table(columns | {"encoding": "codes"})
    release.to_json(tmp_path / "release.json")
    apply(table, release, str(tmp_path / "safe.csv"))
    receipt = json.loads((tmp_path / "safe.receipt.json").read_text())

    def failures_with(codes):
        safe = write_csv(tmp_path / "safe.csv", ("code",), codes)
        changed = receipt | {"output_sha256": sha256(safe)}
        (tmp_path / "safe.receipt.json").write_text(json.dumps(changed))
        return failures(verify(str(tmp_path / "release.json"), published=safe))

    assert failures_with([(0,)] + [(1,), (2,)] * 9999 + [(1,)]) == []
    # A hundred of them are.
    many = [(0,)] * 100 + [(1,), (2,)] * 9950
    assert failures_with(many) == ["frequencies fit the release"]


LOOKS = (
    ("1.5", "2.5"),
    ("01", "02"),
    ("1e5", "2e5"),
    ("true", "false"),
    ("2024-01-01 10:00:00", "2024-01-01 10:00:01"),
    ("10:00:00", "11:00:00"),
    ("01/02/2024", "13/02/2024"),
    ("nan", "inf"),
    ("a\nb", 'a "b", c'),
    ("", None),
    ("null", None),
    (" a", "a "),
    ("1", "+1"),
)


@pytest.mark.parametrize("values", LOOKS, ids=map(repr, LOOKS))
def test_texts_are_texts_whatever_they_look_like(tmp_path, values):
    """A CSV is read back: nobody says there what is a text."""
    columns = {"s": ["a", "b", "b", "a"] * 50, "x": [values[0], values[1]] * 100}
    table = write_parquet(tmp_path / "t.parquet", columns)
    encoding = ("groups", "values")[LOOKS.index(values) % 2]
    target = str(tmp_path / "safe.csv")
    made = sanitize(table, Asked(("s",), ("x",)), ll.LIP(0.1), target, encoding=encoding)
    assert failures(made.verification) == []
    found = estimate_table(target, str(made.files["codebook"]))
    assert found.estimate.p_x.tolist() == [0.5, 0.5]


def test_every_kind_of_column_is_read_back(tmp_path):
    size = 400
    columns = {
        "s": ["a", "b"] * (size // 2),
        "n": [k // 2 % 2 for k in range(size)],
        "b": [k // 4 % 2 == 0 for k in range(size)],
        "r": [k % 8 / 10 for k in range(size)],
    }
    table = write_parquet(tmp_path / "t.parquet", columns)
    asked = Asked(("s",), ("n", "b", "r"), {"n": Each(), "r": Width(0.4)})
    for encoding, target in (
        ("codes", "a.csv"),
        ("groups", "b.csv"),
        ("groups", "c.tsv"),
        ("values", "d.csv"),
        ("values", "e.csv.gz"),
        ("values", "f.parquet"),
        ("groups", "g.duckdb?table=t"),
    ):
        made = sanitize(
            table,
            asked,
            ll.LIP(0.1),
            str(tmp_path / target),
            mechanism="subset-merging",
            encoding=encoding,
        )
        assert failures(made.verification) == [], target


def test_a_false_release_fails(tmp_path):
    joint = ll.Joint.from_counts(COUNTS, DISEASES, WARDS)
    release = ll.Release.of(joint, ll.Channel.identity(joint), ll.LIP(0.1))
    release.to_json(tmp_path / "release.json")
    assert failures(verify(str(tmp_path / "release.json"))) == ["the bound holds"]
    with pytest.raises(ll.InvalidInput, match="not designed on a table"):
        verify(str(tmp_path / "release.json"), against=write_people(tmp_path / "t.csv"))


def test_a_release_that_fails_for_one_column_fails(tmp_path):
    """Under L1 the pair (a, b) holds, column a alone does not."""
    pairs = (("a0", "b0"), ("a0", "b1"), ("a1", "b0"), ("a1", "b1"))
    rows = [(*s, x) for s, x in rows_of([[2, 11], [2, 15], [9, 17], [11, 3]], pairs, ("u", "v"))]
    table = write_csv(tmp_path / "t.csv", ("a", "b", "x"), rows)
    made = design(table, Asked(("a", "b"), ("x",)), ll.L1Lift(0.605, 9.0))
    made.release.to_json(tmp_path / "release.json")
    assert failures(verify(str(tmp_path / "release.json")))
    assert failures(verify(str(tmp_path / "release.json"), against=table))


NO_SOLVER = """
import sys
for name in ("highspy", "numba"):
    sys.modules[name] = None  # an import of it fails
import lowlift.workflow.checking as checking
for name, module in list(sys.modules.items()):
    if name.startswith("lowlift._mechanisms"):
        for word, value in list(vars(module).items()):
            if callable(value) and getattr(value, "__module__", "") == name:
                def refuse(*arguments, word=word, **options):
                    raise AssertionError(word)
                setattr(module, word, refuse)
found = checking.verify(sys.argv[1], against=sys.argv[2], published=sys.argv[3])
assert found.is_ok and len(found.checks) >= 7
"""


def test_verifying_runs_no_solver(mixed):
    """In a process that can load none of their libraries, and in which calling one fails."""
    found = subprocess.run(
        [sys.executable, "-c", NO_SOLVER, mixed.release, mixed.people, str(mixed.safe)],
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        check=False,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "", "")


# --- several releases together ---------------------------------------------------------------


def counterexample(folder):
    """P(s=1|x) = (.2, .4, .6, .8): two releases of lift 1 that together tell x1."""
    counts = [[1, 2, 3, 4], [4, 3, 2, 1]]
    rows = rows_of(counts, ("yes", "no"), ("x1", "x2", "x3", "x4"))
    table = write_csv(folder / "t.csv", ("s", "x"), rows)
    made = design(table, Asked(("s",), ("x",)), ll.LIP(0.0))
    columns = made.spec.to_dict() | {"encoding": "codes"}
    joint = made.release.joint
    order = [joint.x_labels.index(f"x{k}") for k in (1, 2, 3, 4)]
    files = []
    for name, rows in (
        ("r1.json", [[1, 3], [0, 4], [3, 1], [0, 4]]),
        ("r2.json", [[1, 1], [0, 2], [0, 2], [1, 1]]),
    ):
        weights = [rows[order.index(x)] for x in range(4)]
        release = ll.Release.of(joint, ll.Channel(weights, joint.x_labels), ll.LIP(0.0))
        assert release.audit.is_satisfied
        release.with_table(columns).to_json(folder / name)
        assert verify(str(folder / name), against=table).is_ok
        files.append(str(folder / name))
    return files


def test_two_releases_that_each_reveal_nothing_together_reveal_the_record(tmp_path):
    files = counterexample(tmp_path)
    releases, found = audit_releases(files)
    assert [release.audit.max_lift_leakage for release in releases] == pytest.approx([0, 0])
    assert not found.is_satisfied
    assert (found.n_outputs, found.violations) == (4, 4)
    # The pair of first outputs leaves x1 only, whose lift of "no" is .8 / .5.
    assert found.lift.max() >= 1.6 - 1e-12


def test_the_same_merged_release_twice_says_no_more(merged):
    _, found = audit_releases([merged.release, merged.release])
    assert found.is_satisfied
    assert found.nmi == pytest.approx(merged.made.design.release.audit.nmi)


def test_releases_of_other_columns_are_never_taken_for_the_same(tmp_path):
    """S = X1 xor X2: each is independent of S, has the same labels and counts; both tell S."""
    rows = [(f"s{a ^ b}", f"v{a}", f"v{b}") for a in (0, 1) for b in (0, 1) for _ in range(25)]
    table = write_csv(tmp_path / "t.csv", ("s", "x1", "x2"), rows)
    files = []
    for name in ("x1", "x2"):
        made = design(table, Asked(("s",), (name,)), ll.LIP(0.0))
        assert made.release.audit.nmi == 1.0
        made.release.to_json(tmp_path / f"{name}.json")
        files.append(str(tmp_path / f"{name}.json"))
    with pytest.raises(ll.InvalidInput, match="columns"):
        audit_releases(files)
    bare = ll.Release.from_json(files[0]).with_table(None)
    bare.to_json(tmp_path / "bare.json")
    with pytest.raises(ll.InvalidInput):
        audit_releases([files[0], str(tmp_path / "bare.json")])


def test_releases_that_do_not_fit_together(merged, tmp_path):
    with pytest.raises(ll.InvalidInput, match="two or more"):
        audit_releases([merged.release])
    other = design(merged.people, ASKED, ll.LIP(0.5), mechanism="subset-merging")
    other.release.to_json(tmp_path / "other.json")
    with pytest.raises(ll.InvalidInput, match="criterion"):
        audit_releases([merged.release, str(tmp_path / "other.json")])
    head, rows = read_csv(merged.people)
    assert (tuple(head), len(rows)) == (NAMES, ROWS)
    table = write_csv(tmp_path / "t.csv", head, rows[1:])
    design(table, ASKED, ll.LIP(0.4)).release.to_json(tmp_path / "fewer.json")
    with pytest.raises(ll.InvalidInput, match="table"):
        audit_releases([merged.release, str(tmp_path / "fewer.json")])
    with pytest.raises(ll.InvalidInput, match="none"):
        audit_releases([merged.release, str(Path(merged.release).parent / "none.json")])


def test_releases_are_audited_as_they_are_published(merged, tmp_path):
    """`values` of a merging release draws anew each time, and tells no more than the merge."""
    made = design(merged.people, ASKED, ll.LIP(0.4), mechanism="subset-merging", encoding="values")
    made.release.to_json(tmp_path / "values.json")
    _, found = audit_releases([merged.release, str(tmp_path / "values.json")])
    assert found.is_satisfied
    assert found.n_outputs == 4


def test_the_files_of_a_folder_share_its_receipt(tmp_path):
    source = write_people(tmp_path / "people.csv")
    asked, bound = Asked(("disease",), ("ward",)), ll.ALIP(1.0, 1.0)
    made = sanitize(source, asked, bound, str(tmp_path / "safe.parquet"))
    (tmp_path / "safe.parquet").rename(tmp_path / "part")
    (tmp_path / "safe.parquet").mkdir()
    (tmp_path / "part").rename(tmp_path / "safe.parquet" / "part.parquet")
    found = verify(str(made.files["release"]), published=f"{tmp_path}/safe.parquet/*.parquet")
    assert "the receipt is of this release" in [check.name for check in found.checks]
    assert found.is_ok
