"""``lowlift refine`` on the command line."""

import json

import pytest

import lowlift as ll
from people import write_people


@pytest.fixture
def published(lowlift, tmp_path):
    write_people(tmp_path / "people.csv")
    assert lowlift("key", "new", "draws.key").code == 0
    ran = lowlift(
        *("sanitize", "people.csv", "-s", "disease", "-x", "ward", "--criterion", "lip"),
        *("--epsilon", 0.2, "--encoding", "codes", "--id", "pid", "--key-file", "draws.key"),
        *("-o", "first.csv"),
    )
    assert ran.code == 0, ran.err


def refine(lowlift, *more, epsilon=0.4):
    return lowlift(
        *("refine", "first.release.json", "people.csv", "--criterion", "lip", "--epsilon", epsilon),
        *("-o", "second.csv", *more),
    )


KEYED = ("--id", "pid", "--key-file", "draws.key", "--first", "first.csv")


def test_a_refinement_is_published_and_verified(lowlift, published, tmp_path):
    ran = refine(lowlift, *KEYED, "--json")
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert data["is_verified"]
    assert data["design"]["mechanism"] == "refine"
    for part in ("csv", "release.json", "codebook.json", "receipt.json"):
        assert (tmp_path / f"second.{part}").exists()
    assert lowlift("verify", "second.release.json", "second.csv").code == 0


def test_the_screen_says_what_is_confidential(lowlift, published):
    ran = refine(lowlift, *KEYED)
    assert ran.code == 0, ran.err
    assert "Confidential: second.release.json." in ran.out


def test_a_total_below_the_first_is_bad_input(lowlift, published, tmp_path):
    ran = refine(lowlift, *KEYED, epsilon=0.1)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert "is smaller than LIP(epsilon=0.2)" in ran.err
    assert not list(tmp_path.glob("second.*"))


def test_without_the_key_nothing_is_drawn(lowlift, published, tmp_path):
    ran = refine(lowlift)
    assert "Give it with --first" in ran.err
    ran = refine(lowlift, "--first", "first.csv")
    assert ran.code == 2
    assert "Give the id column and the key that the first was drawn by" in ran.err
    assert not list(tmp_path.glob("second.*"))


def test_a_refinement_for_the_population(lowlift, published, tmp_path):
    first = lowlift(
        *("sanitize", "people.csv", "-s", "disease", "-x", "ward", "--criterion", "lip"),
        *("--epsilon", 0.2, "--encoding", "codes", "--id", "pid", "--key-file", "draws.key"),
        *("--for", "population", "-o", "one.csv", "--no-ledger"),
    )
    assert first.code == 0, first.err
    ran = lowlift(
        *("refine", "one.release.json", "people.csv", "--criterion", "lip", "--epsilon", 0.5),
        *("--for", "population", "--id", "pid", "--key-file", "draws.key", "--first", "one.csv"),
        *("-o", "two.csv", "--json"),
    )
    assert ran.code == 0, ran.err
    data = json.loads(ran.out)
    assert data["is_verified"]
    assert data["design"]["published"]["for"] == "population"
    before = ll.Release.from_json(tmp_path / "one.release.json")
    after = ll.Refinement.from_json(tmp_path / "two.release.json")
    assert after.release.criterion == ll.Population(ll.LIP(0.5))
    assert after.audit.is_satisfied
    assert after.nmi > before.audit.nmi + 0.01
    assert lowlift("verify", "two.release.json", "two.csv", "--against", "people.csv").code == 0
