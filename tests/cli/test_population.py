"""``--for population``: the promise on audit, design, sanitize and tradeoff, said in words."""

import json
import random

import pytest

import lowlift as ll


@pytest.fixture
def people(tmp_path):
    draw = random.Random(4)
    lines = ["work,income"]
    for _ in range(3000):
        work = draw.choice(["none", "clerk", "chief", "guard"])
        rich = draw.random() < {"none": 0.25, "clerk": 0.3, "chief": 0.45, "guard": 0.35}[work]
        lines.append(f"{work},{'high' if rich else 'low'}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


COLUMNS = ("-s", "income", "-x", "work")


def test_the_screen_says_whom_the_bound_is_for(lowlift, people):
    table = lowlift("audit", people, *COLUMNS, "--at-most", "1.4")
    assert table.code == 0
    assert "The bound is for this table: its rows are everybody." in table.out
    whole = lowlift("audit", people, *COLUMNS, "--at-most", "1.4", "--for", "population")
    assert whole.code == 1
    assert "these rows do not support the bound for the population. About " in whole.out
    assert "rows with the same shares would." in whole.out
    assert "too small to support the bound. About " in table.out
    wide = lowlift("audit", people, *COLUMNS, "--at-most", "2.2", "--for", "population")
    assert wide.code == 0
    assert "random sample of, with confidence 0.95" in wide.out


def test_a_table_is_published_for_the_population(lowlift, people, tmp_path):
    out = tmp_path / "safe.csv"
    bound = ("--criterion", "lip", "--epsilon", "0.3", "--for", "population")
    made = lowlift("sanitize", people, *COLUMNS, *bound, "--confidence", "0.9", "-o", out, "--json")
    assert made.code == 0, made.err
    found = json.loads(made.out)
    assert found["is_verified"]
    assert found["design"]["published"]["for"] == "population"
    assert found["design"]["published"]["confidence"] == 0.9
    assert found["design"]["upper_bound"] >= found["design"]["published"]["nmi"]
    criterion = ll.Population(ll.LIP(0.3), 0.9)
    assert found["receipt"]["criterion"] == str(criterion)
    release = ll.Release.from_json(tmp_path / "safe.release.json")
    assert release.criterion == criterion
    book = json.loads((tmp_path / "safe.codebook.json").read_text())
    assert book["criterion"] == {
        "name": "Population", "criterion": {"name": "LIP", "epsilon": 0.3}, "confidence": 0.9,
    }  # fmt: skip
    assert "for the population that the rows are a random sample of" in book["guarantee"]
    assert lowlift("verify", tmp_path / "safe.release.json", out, "--against", people).code == 0
    assert lowlift("estimate", out, tmp_path / "safe.codebook.json").code == 0
    page = tmp_path / "report.html"
    report = lowlift("report", tmp_path / "safe.release.json", "-o", page)
    assert report.code == 0, report.err
    assert "with confidence 0.9" in page.read_text()


def test_design_and_tradeoff_take_it(lowlift, people, tmp_path):
    bound = ("--criterion", "lip", "--epsilon", "0.3")
    kept = []
    for whom in ("table", "population"):
        release = tmp_path / f"{whom}.json"
        made = lowlift("design", people, *COLUMNS, *bound, "--for", whom, "-o", release, "--json")
        assert made.code == 0, made.err
        kept.append(json.loads(made.out)["published"]["nmi"])
    assert kept[1] < kept[0]
    curves = []
    for whom in ("table", "population"):
        curve = tmp_path / f"{whom}.csv"
        options = ("--criterion", "lip", "--epsilon", "0.2,0.6", "--for", whom, "--json")
        found = lowlift("tradeoff", people, *COLUMNS, *options, "-o", curve)
        assert found.code == 0, found.err
        curves.append([point["nmi"] for point in json.loads(found.out)])
    assert all(a <= b for a, b in zip(curves[1], curves[0], strict=True))
    assert curves[1] == sorted(curves[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--for", "everybody"), "--for must be one of"),
        (("--for", "population", "--confidence", "1.2"), "confidence must lie between 0 and 1"),
        (("--confidence", "0.9"), "--confidence goes with --for population"),
    ],
)
def test_other_promises_are_refused(lowlift, people, options, message):
    found = lowlift("audit", people, *COLUMNS, "--at-most", "2", *options)
    assert found.code == 2
    assert message in found.err


def test_how_many_rows_a_bound_needs(lowlift, people):
    asked = ("rows-needed", people, *COLUMNS, "--criterion", "lip", "--epsilon", "0.3")
    found = lowlift(*asked, "--keep", "80%", "--json")
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert data["table_rows"] == 3000
    assert data["too_few"] < data["rows"]
    assert data["keep"] == 0.8 <= data["nmi"] <= data["most"]
    assert data["criterion"] == str(ll.Population(ll.LIP(0.3)))
    words = lowlift(*asked, "--keep", "0.8")
    assert f"About {data['rows']:,} rows: then LIP(epsilon=0.3) for the population" in words.out
    assert "for samples with the shares of this table" in words.out
    strict = lowlift(*asked, "--keep", "0.8", "--confidence", "0.999", "--json")
    assert json.loads(strict.out)["rows"] > data["rows"]
    none = lowlift("rows-needed", people, *COLUMNS, "--at-most", "1.1", "--keep", "0.9999")
    assert none.code == 1
    assert "No number of rows is enough: LIP(epsilon=0.09531017980432" in none.out


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--keep", "all"), "keep must be a number such as 0.8 or 80%; got 'all'."),
        (("--keep", "120%"), "keep must lie between 0 and 1; got 1.2."),
        (("--keep", "0.8", "--confidence", "95"), "confidence must lie between 0 and 1; got 95."),
        (("--keep", "0.8", "--at-most", "2"), "name one bound"),
    ],
)
def test_rows_needed_refuses_bad_input(lowlift, people, options, why):
    asked = ("rows-needed", people, *COLUMNS, "--criterion", "lip", "--epsilon", "0.3")
    found = lowlift(*asked, *options)
    assert found.code == 2
    assert why in found.err
