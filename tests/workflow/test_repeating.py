"""The command that repeats a publication: the command line reads it back as what was asked."""

import json
import re
import shlex
from fractions import Fraction
from html import unescape

import pytest

import lowlift as ll
from lowlift.tables.bins import as_bins, bins_text
from lowlift.workflow.repeating import (
    bound_options,
    sanitize_command,
    verify_command,
    what_is_drawn,
)
from people import write_people


@pytest.mark.parametrize(
    "text",
    [
        "0,18,30.5",
        "width:10",
        "width:0.25",
        "each",
        "quantiles:4",
        "month",
        "2024-01-01,2024-07-01",
    ],
)
def test_bins_are_written_as_they_are_read(text):
    bins = as_bins("age", text)
    assert as_bins("age", bins_text(bins)) == bins


def test_weeks_are_a_width():
    from lowlift.tables.date_bins import Days

    assert bins_text(Days(7)) == "width:7"


@pytest.mark.parametrize(
    "criterion",
    [
        ll.LIP.at_most(2),
        ll.LIP.at_most(Fraction("1.5")),
        ll.LIP(0.4321),
        ll.ALIP(0.5, 1.25),
        ll.LDP(1.1),
        ll.MaxLift(0.7),
        ll.L1Lift(float("inf"), 0.3),
        ll.Chi2Lift(0.5, 0.4),
        ll.AlphaLift(2, 0.5, 0.2),
        ll.Population(ll.LIP.at_most(3), 0.9),
        ll.AtMost({"asthma": 0.5}, 2.0),
        ll.BetaLikeness(0.25),
        ll.DeltaDisclosure(0.4),
        ll.TCloseness(0.1),
        ll.EveryPrior.at_most(2, at_least=0.05),
        ll.EveryPrior(0.1, float("inf"), 0.5),
        ll.Population(ll.EveryPrior(0.1, 0.25, 0.5)),
    ],
)
def test_the_bound_is_the_same_bound(criterion, lowlift, tmp_path):
    """The command writes the bound in options that the command line reads as this very bound."""
    write_people(tmp_path / "people.csv")
    options = bound_options(criterion, ["disease"])
    ran = lowlift("audit", "people.csv", "-s", "disease", "-x", "ward", *options, "--json")
    assert ran.code in {0, 1}, ran.err
    assert json.loads(ran.out)["criterion"] == str(criterion)


def test_factors_are_said_as_factors():
    assert bound_options(ll.LIP.at_most(Fraction("1.5")), ["s"]) == ["--at-most", "1.5"]
    every = ll.EveryPrior.at_most(2, at_least=0.05)
    assert bound_options(every, ["s"]) == ["--at-most", "2", "--at-least", "0.05"]
    assert bound_options(ll.DeltaDisclosure(1, "bits"), ["s"]) == []  # there is no option for it
    assert bound_options(ll.Population(ll.LIP.at_most(2), 0.95), ["s"]) == [
        *("--at-most", "2", "--for", "population")
    ]


def command_of(safe, *files, **options):
    return sanitize_command(safe.design.asked, safe.release.criterion, *files, **options)


def test_what_is_published_from_python_is_repeated_by_a_command(lowlift, tmp_path):
    import pandas as pd

    table = pd.read_csv(write_people(tmp_path / "people.csv"))
    safe = ll.sanitize(table, sensitive="disease", released=["ward"], criterion=ll.LIP.at_most(2))
    command = command_of(safe, "people.csv", "our safe.csv", encoding="values", round_to=0.01)
    name, *arguments = shlex.split(command.replace("\\\n", " "))
    assert name == "lowlift"
    ran = lowlift(*arguments)
    assert ran.code == 0, ran.err
    again = ll.Release.from_json(tmp_path / "our safe.release.json")
    assert again.fingerprint == safe.release.fingerprint
    assert again.criterion == safe.release.criterion
    name, *arguments = shlex.split(
        verify_command("our safe.csv", "people.csv").replace("\\\n", " ")
    )
    assert lowlift(*arguments).code == 0


def test_rows_are_repeated_with_their_cells_and_weights(lowlift, tmp_path):
    import pandas as pd

    table = pd.read_csv(write_people(tmp_path / "people.csv"))
    safe = ll.sanitize(
        *(table,),
        sensitive="disease",
        released=["ward", "year"],
        criterion=ll.LIP.at_most(2),
        cells=6,
        min_rows=10,
        weights={"year": 2.0},
    )
    command = command_of(safe, "people.csv", "rows.csv")
    assert "--cells 6 --min-rows 10 --weight year=2" in command
    ran = lowlift(*shlex.split(command.replace("\\\n", " "))[1:])
    assert ran.code == 0, ran.err


def test_keyed_draws_are_repeated_by_the_printed_command(lowlift, tmp_path):
    """The command that the page prints draws the very table again."""
    write_people(tmp_path / "people.csv")
    assert lowlift("key", "new", "KEY").code == 0
    by_key = "--id", "pid", "--key-file", "KEY", "--no-ledger", "--force"
    table = "people.csv", "-s", "disease", "-x", "ward", "--at-most", "1.2"
    ran = lowlift("sanitize", *table, *by_key, "-o", "safe.csv", "--report", "r.html")
    assert ran.code == 0, ran.err
    first = (tmp_path / "safe.csv").read_bytes()
    text = (tmp_path / "r.html").read_text("utf-8")
    code = re.search(r'<pre class="command"[^>]*><code>(.*?)</code>', text, re.DOTALL)[1]
    words = shlex.split(unescape(re.sub(r"<[^>]*>", "", code)).replace("\\\n", " "))
    assert words[1] == "apply"
    ran = lowlift(*words[1:], "--no-ledger", "--force")
    assert ran.code == 0, ran.err
    assert sorted((tmp_path / "safe.csv").read_bytes().split()) == sorted(first.split())
    assert "draws anew" not in text
    assert "or draw by a key" not in text


def test_a_keyed_frame_is_repeated_with_the_key(tmp_path):
    import pandas as pd

    table = pd.read_csv(write_people(tmp_path / "people.csv"))
    how = {"sensitive": "disease", "released": ["ward"], "criterion": ll.LIP.at_most(2)}
    safe = ll.sanitize(table, **how, id="pid", key=bytes(range(32)))
    (again,) = safe.report(points=()).commands
    assert "--id pid --key-file KEY" in again.value.replace("\\\n ", "")
    assert again.note.startswith("KEY is the file of the key.")


@pytest.mark.parametrize("draws", ["fresh", "keyed"])
def test_of_merging_nothing_is_drawn(draws):
    assert what_is_drawn(draws, is_merged=True).startswith("Nothing is drawn")
    assert ("draws anew" in what_is_drawn(draws, is_merged=False)) is (draws == "fresh")


def test_the_report_of_a_merged_table_says_that_nothing_is_drawn(tmp_path):
    import pandas as pd

    table = pd.read_csv(write_people(tmp_path / "people.csv"))
    how = {"sensitive": "disease", "released": ["ward"], "criterion": ll.LIP.at_most(2)}
    report = ll.sanitize(table, **how, mechanism="subset-merging", encoding="groups").report(
        points=()
    )
    assert report.commands[0].note.startswith("Nothing is drawn")
    again = next(limit for limit in report.limits if limit.name == "Repeated releases")
    assert "key" not in again.text
